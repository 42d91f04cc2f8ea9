"""What the catalogue says of a name on a target: one verdict per name, shared by the rules about names."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, NamedTuple

from envdoctor.checks.names import near
from envdoctor.core.target import Target
from envdoctor.knowledge.catalog.model import Catalog, Prefix, Reading, Variable
from envdoctor.knowledge.catalog.releases import Library

if TYPE_CHECKING:
    from envdoctor.knowledge.parameters.names import VerdictKind

OURS = ("cuda", "rocm")
"""The platforms whose settings are judged; Ascend's are real there and nobody's mistake elsewhere."""
PARTS = (
    "contrib", "doca", "build", "plugins/profiler", "plugins/tuner", "ext-profiler", "ext-tuner", "hipblaslt-bench",
)  # fmt: skip
"""Components that only some installations have: a slip of the pen did not mean their names."""
PLATFORMS = {"cuda": "CUDA", "rocm": "ROCm", "ascend": "Ascend"}


class Verdict(NamedTuple):
    """What is wrong with a name: the sentence, the way out, the real name if one is plain, and the evidence."""

    kind: VerdictKind
    message: str
    help: str = ""
    real: str | None = None
    evidence: tuple[str, ...] = ()


class Verdicts:
    """The verdicts on names by one catalogue, each found once for all files that run on the same."""

    def __init__(self, catalog: Catalog) -> None:
        self.catalog = catalog
        self._known: dict[Hashable, dict[str, Verdict | None]] = {}
        self._last: tuple[Target, dict[str, Verdict | None]] | None = None

    def of(self, name: str, target: Target) -> Verdict | None:
        """The verdict on a name, or None where nothing is wrong or nothing is known."""
        known = self._on(target)
        if name not in known:
            known[name] = judge(name, self.catalog, target)
        return known[name]

    def _on(self, target: Target) -> dict[str, Verdict | None]:
        """The verdicts on a target; one is asked about many names in turn."""
        if self._last is None or self._last[0] is not target:
            self._last = (target, self._known.setdefault(_asked(target), {}))
        return self._last[1]


def _asked(target: Target) -> Hashable:
    """All that a verdict may depend on."""
    versions = (*sorted(target.versions.items()), None, *sorted(target.minimums.items()))
    holds = frozenset(reason.holds for reason in target.reasons)
    return (target.platform, target.plain, target.gpus, versions, holds)


def judge(name: str, catalog: Catalog, target: Target) -> Verdict | None:
    """The verdict on a name, or None where nothing is wrong or nothing is known."""
    variable = catalog.variable(name)
    if variable is None:
        return _unlisted(name, catalog, target)
    if variable.status in ("ghost", "documented-only"):
        return _ghost(variable, catalog, target)
    if variable.status in ("build-time", "debug-build", "incidental") or variable.platform not in ("both", *OURS):
        return None
    found = _other_platform(variable, catalog, target) or _release(variable, catalog, target)
    return found or _renamed(variable, target)


def _unlisted(name: str, catalog: Catalog, target: Target) -> Verdict | None:
    """A name that stands nowhere in the catalogue."""
    prefix = catalog.prefix_of(name)
    if prefix is None and not _prefix_slip(name, catalog):
        return None
    if prefix is not None and (prefix.foreign or _others(name, prefix)):
        return None
    real = near.nearest(name, catalog.real_names(), lambda n: is_current(n, catalog, target))
    if real is not None and is_current(real, catalog, target):
        shown = name if name == name.strip() else repr(name)  # a conf file with a blank before `=`
        return Verdict("misnamed", f"nothing reads {shown}; {real} was meant", f"write {real}", real,
                       _evidence(catalog.variable(real)))  # fmt: skip
    if prefix is None or not prefix.closed:
        return None
    beyond = _beyond(prefix, catalog, target)
    if beyond:
        return Verdict("not-known", f"{name} is not known: {beyond}", evidence=prefix.evidence)
    return Verdict("ghost", f"{name} is read by no release of {covered(prefix, catalog)}", evidence=prefix.evidence)


def _others(name: str, prefix: Prefix) -> bool:
    """A name that belongs to a plug-in, a fork or a build, none of which the catalogue covers."""
    return any(name == p or (p.endswith("_") and name.startswith(p)) for p in (*prefix.private, *prefix.build))


def _prefix_slip(name: str, catalog: Catalog) -> bool:
    """The first word is one letter away from that of a known prefix."""
    first = name.split("_", 1)[0]
    if len(first) < 4 or "_" not in name:
        return False
    return any(_one_letter_off(first, p.name.split("_")[0]) for p in catalog.prefixes if not p.foreign)


def _one_letter_off(word: str, known: str) -> bool:
    """One letter was changed, added, lost or swapped with its neighbour; another first letter is another library.

    HCCL, UCCL, LCCL, MCCL and more are libraries of their own, so NCCL with another first letter is no slip.
    """
    if word == known or word[0] != known[0] or len(known) < 4 or abs(len(word) - len(known)) > 1:
        return False
    start = next((i for i, (a, b) in enumerate(zip(word, known, strict=False)) if a != b), min(len(word), len(known)))
    a, b = word[start:], known[start:]
    return a[1:] == b[1:] or a[1:] == b or a == b[1:] or (a[:2] == b[1::-1] and a[2:] == b[2:])


def is_current(name: str, catalog: Catalog, target: Target) -> bool:
    """Something current reads this name on this target: only such a name is worth suggesting."""
    variable = catalog.variable(name)
    if variable is None or variable.status not in ("real", "deprecated"):
        return False
    readings = _here(variable, catalog, target)
    return any(r.component not in PARTS and not r.ended(catalog.libraries[r.library]) for r in readings)


def _ghost(variable: Variable, catalog: Catalog, target: Target) -> Verdict:
    """A name that was looked for everywhere and found nowhere."""
    real = variable.meant
    prefix = catalog.prefix_of(variable.name)
    where = covered(prefix, catalog) if prefix is not None and prefix.closed else "any catalogued library"
    if real is not None and is_current(real, catalog, target):
        return Verdict("misnamed", f"no release of {where} reads {variable.name}; {real} was meant",
                       variable.instead or f"write {real}", real, variable.evidence)  # fmt: skip
    message = f"{variable.name} is read by no release of {where}"
    if variable.status == "documented-only":
        message += ", though documentation names it"
    return Verdict("ghost", message, variable.instead, evidence=variable.evidence)


def covered(prefix: Prefix, catalog: Catalog) -> str:
    """`NCCL (2.3.5-5 to 2.32.3) or RCCL (ROCm 2.5.0 to 6.2.2)`: what "no release" means."""
    parts = []
    for name, (first, last) in prefix.complete.items():
        library = catalog.libraries[name]
        counts = "ROCm " if library.counts == "rocm" else ""
        parts.append(f"{library.title} ({counts}{first} to {last})")
    return " or ".join(parts)


def _beyond(prefix: Prefix, catalog: Catalog, target: Target) -> str:
    """Why the catalogue cannot say that nobody reads a name of a closed prefix, or nothing.

    Without a platform it is enough that one library's list reaches its newest release: "no release of ..." then says
    which releases were looked into.
    """
    names = [n for n in prefix.complete if target.platform is None or _platform(catalog.libraries[n], target)]
    if not names:
        return f"the catalogue of {prefix.name}* does not cover this platform"
    reasons = [reason for name in names if (reason := _uncovered(catalog.libraries[name], prefix, target))]
    given = any(catalog.libraries[name].version(target.versions) for name in names)
    enough = not reasons if target.platform or given else len(reasons) < len(names)
    return "" if enough else reasons[0]


def _uncovered(library: Library, prefix: Prefix, target: Target) -> str:
    """Why the list of a prefix is not complete for the release of a library that the target has, or may have."""
    first, last = prefix.complete[library.name]
    if first == last:
        return f"the catalogue of {library.title} knows one state of it ({last}) only"
    version = library.version(target.versions)
    counts = "ROCm " if library.counts == "rocm" else ""
    known = f"the catalogue of {library.title} is complete up to {counts}{last}"
    if version is None and library.position(last) < library.position(library.newest):
        return f"{known}, and the release that this runs on is not known"
    if version is not None and library.position(version) > library.position(last):
        return f"{known}, and this runs on {counts}{version}"
    return ""


def _platform(library: Library, target: Target) -> bool:
    return library.platform in ("both", target.platform)


def _here(variable: Variable, catalog: Catalog, target: Target) -> list[Reading]:
    """The readings of a variable by libraries of the target's platform."""
    if target.platform is None:
        return list(variable.readings)
    return [r for r in variable.readings if _platform(catalog.libraries[r.library], target)]


def _other_platform(variable: Variable, catalog: Catalog, target: Target) -> Verdict | None:
    if target.platform is None or not target.plain or variable.platform in ("both", target.platform):
        return None
    if _here(variable, catalog, target) and variable.platform == "both":
        return None
    there, here = PLATFORMS[variable.platform], PLATFORMS[target.platform]
    readers = ", ".join(sorted({catalog.libraries[r.library].title for r in variable.readings})) or "other libraries"
    message = f"{variable.name} is a setting for {there} ({readers}), and this runs on {here}"
    return Verdict("other-platform", message, variable.instead, evidence=_evidence(variable))


def _release(variable: Variable, catalog: Catalog, target: Target) -> Verdict | None:
    """Retired in all current releases, or not read by the target's."""
    readings = _here(variable, catalog, target)
    if not readings:
        return None
    known = [(r, v) for r in readings if (v := catalog.libraries[r.library].version(target.versions))]
    if known and len(known) == len(readings):
        if not all(variable.read_in(catalog, r.library, v) is False for r, v in known):
            return None
        what = " and ".join(_release_of(catalog.libraries[r.library], v) for r, v in known)
        message = f"{variable.name} is not read by {what}, but {_span(known[0][0], catalog)}"
        return Verdict("other-release", message, _way_out(variable), variable.replaced_by, _evidence(variable))
    if all(r.ended(catalog.libraries[r.library]) for r in readings):
        spans = "; ".join(_span(r, catalog) for r in readings)
        message = f"no current release reads {variable.name}: {spans}"
        return Verdict("retired", message, _way_out(variable), variable.replaced_by, _evidence(variable))
    return None


def _release_of(library: Library, version: str) -> str:
    """`NCCL 2.20.5`, `RCCL of ROCm 6.2`."""
    return f"{library.title} of ROCm {version}" if library.counts == "rocm" else f"{library.title} {version}"


def _span(reading: Reading, catalog: Catalog) -> str:
    """`by NCCL 2.3.5-5 to 2.4.8-1`."""
    library = catalog.libraries[reading.library]
    since = _release_of(library, reading.since or library.oldest)
    return f"by {since} to {reading.until}" if reading.until else f"by {since} and later"


def _renamed(variable: Variable, target: Target) -> Verdict | None:
    """Still read, under a name that has a successor."""
    if variable.status != "deprecated" or variable.replaced_by is None:
        return None
    message = f"{variable.name} is deprecated in favour of {variable.replaced_by}"
    for component, since in variable.deprecated_since.items():
        version = target.versions.get(component)
        if _older(version, since) if version else _in_some_image(target):
            return None
        message += f" since {component} {since}"
    return Verdict("deprecated", message, _way_out(variable), variable.replaced_by, _evidence(variable))


def _in_some_image(target: Target) -> bool:
    """An image decides which releases are in use, and which ones it holds is not known."""
    return any(reason.holds == "image" for reason in target.reasons)


def _older(version: str, other: str) -> bool:
    from packaging.version import InvalidVersion, Version

    try:
        return Version(version) < Version(other)
    except InvalidVersion:
        return False


def _way_out(variable: Variable) -> str:
    if variable.replaced_by:
        return f"write {variable.replaced_by}"
    return variable.instead or "remove it"


def _evidence(variable: Variable | None) -> tuple[str, ...]:
    """The variable's own evidence, else that of its readings."""
    if variable is None:
        return ()
    return variable.evidence or tuple(r.evidence for r in variable.readings if r.evidence)
