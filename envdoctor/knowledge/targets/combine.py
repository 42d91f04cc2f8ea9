"""How reasons add up to a target, as `rules/targets/combine.toml` says.

Reasons come in stages, nearest first: the launch unit's own files, then what the project says around it. A stage is
asked only for what the stages before it leave open.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from envdoctor.core.target import Platform, Reason, Target
from envdoctor.core.versions import agreed, at_least
from envdoctor.knowledge.targets.table import TargetTable, table

Conflict = tuple[Reason, Reason]
Staged = tuple[int, Reason]
"""A reason with the number of its stage."""
Winner = tuple[str, Reason]
"""A release and the reason it is taken from."""

MOST_GPUS = 2
"""A longer list of architectures is a build for distribution, not a target."""
IMAGE = 0
"""The rank of container images among the kinds of evidence."""


def combine(reasons: Sequence[Reason]) -> Target:
    """What the reasons of one launch unit say together."""
    return combine_stages([reasons])


def combine_stages(stages: Sequence[Sequence[Reason]], knowledge: TargetTable | None = None) -> Target:
    """What reasons say together, those of earlier stages first."""
    known = knowledge or table()
    platform, conflicts = _platform(stages, known)
    staged = [(number, reason) for number, stage in enumerate(stages) for reason in stage]
    usable = _usable(staged, platform)
    versions, mismatches = _versions(usable, platform, known)
    minimums = {key: value for key, value in _minimums(usable).items() if key not in versions}
    meant = [(n, r) for n, r in usable if platform is not None and r.platform == platform and not _is_weak(r)]
    return Target(platform, versions, _gpus(meant), tuple(r for _, r in staged), (*conflicts, *mismatches), minimums)


def _usable(staged: Sequence[Staged], platform: Platform | None) -> list[Staged]:
    """The reasons that go the way of the platform. A torch pinned in an image for another one is not among them."""
    plain = [r for _, r in staged if r.plain and r.platform is not None and r.confidence != "weak"]
    mine = {r.place.path for r in plain if r.platform == platform}
    foreign = {r.place.path for r in plain} - mine
    return [
        (number, r)
        for number, r in staged
        if (r.place.path not in foreign if r.platform is None else r.platform == platform)
    ]


def _gpus(meant: Sequence[Staged]) -> tuple[str, ...]:
    """The architectures that the first stage that names any is for; none where it is for many: nobody chose one."""
    first = min((number for number, reason in meant if reason.gpus), default=None)
    found = tuple(dict.fromkeys(gpu for number, reason in meant if number == first for gpu in reason.gpus))
    return found if len(found) <= MOST_GPUS else ()


def _platform(stages: Sequence[Sequence[Reason]], known: TargetTable) -> tuple[Platform | None, list[Conflict]]:
    """The platform by the first stage that says anything; a stage that contradicts itself ends the search.

    What nearer stages lean to, without being sure, chooses among the platforms of a later one.
    """
    for number, stage in enumerate(stages):
        decided = spoken_for(stage)
        if len(decided) > 1:
            leaning = _leaning([reason for nearer in stages[:number] for reason in nearer], known)
            if leaning in decided:
                return leaning, []
            first, second = list(decided.values())[:2]
            return None, [(first, second)]
        if decided:
            return next(iter(decided)), []
    return None, []


def _leaning(reasons: Sequence[Reason], known: TargetTable) -> Platform | None:
    """The one platform that all reasons speak for, each too weak to decide alone and some more than a mention.

    A variable of one vendor is a mention here: what runs on several platforms sets those of all of them.
    """
    platforms = {reason.platform for reason in reasons if reason.platform is not None}
    names = [entry["name"] for entry in known.data["order"]]
    some = any(r.corroborates and r.order < len(names) and names[r.order] != "environment" for r in reasons)
    return platforms.pop() if some and len(platforms) == 1 else None


def spoken_for(reasons: Sequence[Reason]) -> dict[Platform, Reason]:
    """The platforms that reasons of one stage decide for, each with the first of its reasons.

    Plain evidence decides; without any, strong settings or two different hints that corroborate each other.
    """
    ranked = sorted((r for r in reasons if r.platform is not None), key=lambda r: r.order)
    decided = _first_by_platform(r for r in ranked if r.plain and r.confidence != "weak")
    if not decided:
        strong = _first_by_platform(r for r in ranked if r.confidence != "weak")
        decided = {**_corroborated(ranked), **strong}
        if decided:
            # A launcher that sets variables of both vendors is written for both; a lone one is a leftover.
            decided = {**_repeated(ranked), **decided}
    return decided


def _first_by_platform(reasons: Iterable[Reason]) -> dict[Platform, Reason]:
    found: dict[Platform, Reason] = {}
    for reason in reasons:
        if reason.platform is not None:
            found.setdefault(reason.platform, reason)
    return found


def _corroborated(reasons: Sequence[Reason]) -> dict[Platform, Reason]:
    """Platforms that two different hints on different lines speak for, each too weak to decide alone."""
    found: dict[Platform, Reason] = {}
    first: dict[Platform, Reason] = {}
    for reason in reasons:
        if reason.platform is None or not reason.corroborates:
            continue
        other = first.setdefault(reason.platform, reason)
        if other.hint != reason.hint and _line(other) != _line(reason):
            found.setdefault(reason.platform, other)
    return found


def _repeated(reasons: Sequence[Reason]) -> dict[Platform, Reason]:
    """Platforms that weak hints speak for on more than one line, alike or not."""
    found: dict[Platform, Reason] = {}
    first: dict[Platform, Reason] = {}
    for reason in reasons:
        if reason.platform is not None and reason.corroborates:
            other = first.setdefault(reason.platform, reason)
            if _line(other) != _line(reason):
                found.setdefault(reason.platform, other)
    return found


def _line(reason: Reason) -> tuple[str, int]:
    return reason.place.path, reason.place.line


def _versions(
    usable: Sequence[Staged], platform: Platform | None, known: TargetTable
) -> tuple[dict[str, str], list[Conflict]]:
    """Versions of the libraries a program uses: stated by wheels and images, derived from them, then the system's."""
    holds: Sequence[str] = known.data["holds"]
    in_force, replaced = _in_force(usable, platform)
    bundled = [item for item in in_force if item[1].holds not in ("system", "")]
    system = [item for item in in_force if item[1].holds in ("system", "")]
    winners, disputed = _picked(bundled, holds)
    versions = {key: value for key, (value, _) in winners.items()}
    _derive(versions, winners, [r for _, r in bundled], platform, known)
    below, more = _picked([item for item in system if platform is not None], holds)
    for key, (value, _) in below.items():
        if key not in disputed:
            versions.setdefault(key, value)
    _derive_rocm(versions, platform, known)
    conflicts = {**{key: pair for key, pair in more.items() if key not in versions}, **disputed}
    return versions, [*conflicts.values(), *replaced, *_mismatches(in_force, winners)]


def _in_force(usable: Sequence[Staged], platform: Platform | None) -> tuple[list[Staged], list[Conflict]]:
    """The reasons whose versions count, and pins that would replace the torch of an image of AMD.

    The image of an earlier stage puts later images out of force, and with a torch of its own also what later stages
    install: nobody says that it is installed into that image. Nor is the torch of an earlier stage that of a later
    image.
    """
    first_image = min((n for n, r in usable if r.order == IMAGE), default=None)
    own_torch = min((n for n, r in usable if r.order == IMAGE and r.holds == "image"), default=None)
    installed = min((n for n, r in usable if r.holds in ("wheel", "pin") and "torch" in r.versions), default=None)
    kept: list[Staged] = []
    replaced: list[Conflict] = []
    for number, reason in usable:
        if installed is not None and reason.holds == "image" and number > installed:
            continue
        if first_image is not None and reason.order == IMAGE and number > first_image:
            continue
        if own_torch is not None and reason.holds not in ("system", "") and number > own_torch:
            continue
        if platform == "rocm" and reason.holds == "pin" and reason.versions and not _has_rocm_index(reason, usable):
            # From PyPI this pin is a CUDA wheel: it is not what runs here, unless it replaces what the image brings.
            replaced += _image_of_same_file(reason, usable)
            continue
        if platform == "cuda" and reason.holds == "image" and _is_replaced(number, reason, usable):
            continue
        kept.append((number, reason))
    return kept, replaced[:1]


def _has_rocm_index(pin: Reason, usable: Sequence[Staged]) -> bool:
    """Whether the file of a pin takes its packages from an index for ROCm."""
    return any(r.platform == "rocm" and r.holds == "index" and r.place.path == pin.place.path for _, r in usable)


def _image_of_same_file(pin: Reason, usable: Sequence[Staged]) -> list[Conflict]:
    """The image whose torch a pin of the same file would replace."""
    images = [r for _, r in usable if r.order == IMAGE and r.holds == "image" and r.place.path == pin.place.path]
    return [(images[0], pin)] if images else []


def _is_replaced(number: int, image: Reason, usable: Sequence[Staged]) -> bool:
    """Whether a wheel of the same stage, or an exact pin in the same file, takes the place of the image's torch."""
    for other_number, other in usable:
        if "torch" in other.versions and not _is_weak(other):
            if other.holds == "wheel" and other_number == number:
                return True
            if other.holds == "pin" and other.place.path == image.place.path:
                return True
    return False


def _picked(staged: Sequence[Staged], holds: Sequence[str]) -> tuple[dict[str, Winner], dict[str, Conflict]]:
    """For each component the release by the strongest reason, or the pair of equally strong ones that differ.

    Where these name releases of one series, the series is what is known.
    """

    def strength(item: Staged) -> tuple[int, int, bool, int]:
        number, reason = item
        return number, holds.index(reason.holds) if reason.holds else len(holds), _is_weak(reason), reason.order

    winners: dict[str, Winner] = {}
    disputed: dict[str, Conflict] = {}
    ranked = sorted(staged, key=strength)
    for key in dict.fromkeys(key for _, reason in ranked for key in reason.versions):
        having = [item for item in ranked if key in item[1].versions]
        best = [item[1] for item in having if strength(item) == strength(having[0])]
        value = best[0].versions[key]
        for other in best[1:]:
            shared = agreed(value, other.versions[key])
            if shared is None:
                disputed[key] = (best[0], other)
                break
            value = shared
        if key not in disputed:
            winners[key] = (value, best[0])
    return winners, disputed


def _is_weak(reason: Reason) -> bool:
    """A mere mention: left over, or one of several possibilities."""
    return reason.confidence == "weak" and not reason.corroborates


def _derive(
    versions: dict[str, str],
    winners: Mapping[str, Winner],
    bundled: Sequence[Reason],
    platform: Platform | None,
    known: TargetTable,
) -> None:
    """Adds what follows from the torch wheel: NCCL of its CUDA build, RCCL and MIOpen of its ROCm."""
    if platform == "rocm":
        _derive_rocm(versions, platform, known)
    torch = winners["torch"][1] if "torch" in winners else None
    if platform != "cuda" or torch is None or not torch.wheel:
        return
    builds = [r.flavour for r in (torch, *bundled) if r.flavour]
    other_index = any(r.hint == "index-cpu" for r in bundled)
    if builds:
        nccl = known.nccl_of(versions["torch"], builds[0])
        if nccl is not None:
            versions.setdefault("nccl", nccl)
    elif torch.holds == "pin" and not other_index:
        row = known.cuda_wheel(versions["torch"]) or {}
        for key in ("cuda", "nccl", "cudnn"):
            if key in row:
                versions.setdefault(key, row[key])


def _derive_rocm(versions: dict[str, str], platform: Platform | None, known: TargetTable) -> None:
    """RCCL (by its NCCL base) and MIOpen of a ROCm release."""
    if platform == "rocm" and "rocm" in versions:
        for key, value in known.rocm_release(versions["rocm"]).items():
            versions.setdefault(key, value)


def _mismatches(usable: Sequence[Staged], winners: Mapping[str, Winner]) -> list[Conflict]:
    """A second ROCm series beside the one that decides: a module of another release than the wheel's.

    A CUDA toolkit may well differ from that of the wheel, and the ROCm of a project file from that of the unit.
    """
    if "rocm" not in winners:
        return []
    value, winner = winners["rocm"]
    stages = {id(reason): number for number, reason in usable}
    for number, reason in usable:
        same_stage = number == stages[id(winner)]
        if same_stage and "rocm" in reason.versions and agreed(value, reason.versions["rocm"]) is None:
            return [(winner, reason)]
    return []


def _minimums(usable: Sequence[Staged]) -> dict[str, str]:
    """The highest bound from below that anything states, by component."""
    found: dict[str, str] = {}
    for _, reason in usable:
        for key, value in reason.minimums.items():
            if key not in found or at_least(value, found[key]):
                found[key] = value
    return found


def filled(target: Target, knowledge: TargetTable | None = None) -> Target:
    """A given target with the versions that follow from it by the tables (`--target` names no file)."""
    known = knowledge or table()
    versions = dict(target.versions)
    _derive_rocm(versions, target.platform, known)
    if target.platform == "cuda" and "torch" in versions:
        row = known.cuda_wheel(versions["torch"]) or {}
        nccl = known.nccl_of(versions["torch"], versions["cuda"]) if "cuda" in versions else row.get("nccl")
        if nccl is not None:
            versions.setdefault("nccl", nccl)
    return Target(target.platform, versions, target.gpus, target.reasons, target.conflicts, target.minimums)
