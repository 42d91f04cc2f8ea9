"""Tests of observations about ROCm: installs, what is mapped of them, the driver, the architecture that is claimed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, cast

from envdoctor.checks.node.common import Seen, Told, listed
from envdoctor.core.facts import Observation
from envdoctor.core.findings import Related, Severity
from envdoctor.core.regexes import regex
from envdoctor.knowledge.nodes.rocm_layout import root_of

if TYPE_CHECKING:
    from envdoctor.knowledge.parameters.node import DriverPair, GfxOverride

LINKER = "the linker's configuration"
"""Asked last, after the library's own paths and LD_LIBRARY_PATH: where it points decides only if nothing else does."""


def install_roots(seen: Seen) -> list[str]:
    """Folders of the ROCm installs that are no wheels."""
    return [o.detail for o in seen.all("rocm.install") if "-packages/" not in o.detail]


def pointers(seen: Seen, root: str) -> list[str]:
    """What leads a program to the install in `root`."""
    roots = [o.detail for o in seen.all("rocm.install")]
    found = [o.detail for o in seen.all("rocm.rocm_path_env") if root_of(str(o.value), roots) == root]
    if any(root_of(str(o.value), roots) == root for o in seen.all("rocm.ld_so_conf")):
        found.append(LINKER)
    if any(root_of(str(o.value), roots) == root for o in seen.all("ccl.on_library_path")):
        found.append("LD_LIBRARY_PATH")
    if any(root_of(path, roots) == root for path in mapped(seen)):
        found.append("the process")
    return found


def mapped(seen: Seen) -> list[str]:
    """Paths that show from which installs the process has libraries."""
    keys = ("process.rocm_root", "process.hip_runtime", "process.miopen", "ccl.loaded")
    return [path for key in keys for path in seen.texts(key)]


def several_rocm(seen: Seen) -> Iterator[Told]:
    """More than one ROCm on the node: a warning where programs are led to different ones, else worth knowing."""
    installs = seen.all("rocm.install")
    if len(installs) < 2:
        return
    led = {o.detail: pointers(seen, o.detail) for o in installs}
    chosen = [root for root, ways in led.items() if set(ways) - {LINKER}]
    default = seen.text("rocm.root")
    severity: Severity = "warning" if len(chosen) > 1 else "info"
    parts = []
    for install in installs:
        ways = [*(["the default"] if install.detail == default else []), *led[install.detail]]
        parts.append(f"{install.value or 'a version that is not told'} in {install.detail}{_brackets(ways)}")
    message = f"{len(installs)} ROCm installs on this node: {'; '.join(parts)}"
    yield Told(message, installs[-1].place, severity)


def _brackets(words: list[str]) -> str:
    return f" ({', '.join(words)})" if words else ""


def mixed_rocm(seen: Seen) -> Iterator[Told]:
    """Parts of several ROCm, or several copies of one library, in one process or one set of packages."""
    yield from _two_roots(seen)
    yield from _two_copies(seen, "process.hip_runtime", "HIP runtimes", "each has its own devices, streams and memory")
    instead = "keep one of them: see LD_PRELOAD, LD_LIBRARY_PATH and what is imported before torch"
    yield from _two_copies(seen, "ccl.loaded", "collectives libraries", _which_is_called(seen), instead)
    yield from _path_variable(seen)
    yield from _mixed_packages(seen)
    for header in seen.all("rocm.header_version"):
        message = f"rocm_version.h of {header.detail} says {header.value}, its .info/version another release"
        yield Told(message, header.place, help="install one release into one folder")


def _two_roots(seen: Seen) -> Iterator[Told]:
    roots = [o for o in seen.all("process.rocm_root") if not o.detail.endswith("-packages")]
    if len({o.value for o in roots}) > 1:
        versions = seen.by_item("rocm.install")
        names = [f"{o.detail} ({versions[o.detail]})" if versions.get(o.detail) else o.detail for o in roots]
        message = f"one process has libraries of {len(roots)} ROCm installs mapped: {listed(names)}"
        files = [*seen.all("process.hip_runtime"), *seen.all("process.miopen"), *seen.all("ccl.loaded")]
        yield Told(message, roots[0].place, related=_related(files))


def _related(observations: list[Observation]) -> tuple[Related, ...]:
    return tuple(Related(o.place, str(o.value)) for o in observations)


def _two_copies(seen: Seen, key: str, what: str, so: str, instead: str = "") -> Iterator[Told]:
    copies = seen.all(key)
    if len(copies) > 1:
        message = f"{len(copies)} {what} are mapped into one process: {listed(seen.texts(key))}; {so}"
        yield Told(message, copies[0].place, help=instead)


def _which_is_called(seen: Seen) -> str:
    used = seen.text("ccl.used_by_torch")
    return f"torch calls {used}" if used else "nothing here tells which of them torch calls"


def _path_variable(seen: Seen) -> Iterator[Told]:
    """ROCM_PATH names another install than the one whose HIP runtime is mapped, or a folder without a ROCm."""
    roots = install_roots(seen)
    used = set(filter(None, (root_of(path, roots) for path in seen.texts("process.hip_runtime"))))
    for named in seen.all("rocm.rocm_path_env"):
        home = root_of(str(named.value), roots)
        if used and home not in used:
            roots_used = listed(sorted(used))
            message = f"{named.detail} names {named.value}, and the HIP runtime of the process is of {roots_used}"
            yield Told(message, named.place, variable=named.detail)
        elif roots and not home:
            message = f"{named.detail} names {named.value}, where no ROCm is; it is in {listed(roots)}"
            yield Told(message, named.place, variable=named.detail)


def _mixed_packages(seen: Seen) -> Iterator[Told]:
    """Wheels of ROCm have to be of one version (ROCm/TheRock#1057)."""
    wheels = seen.all("rocm.wheel")
    if len({o.value for o in wheels}) > 1:
        names = [f"{o.detail} {o.value}" for o in wheels]
        yield Told(f"ROCm wheels of several versions: {listed(names, 6)}", wheels[0].place)


def driver_pair(seen: Seen) -> Iterator[Told]:
    """User space that the driver is not made for."""
    yield from _amd_pair(seen)
    yield from _cuda_pair(seen)


def _cuda_pair(seen: Seen) -> Iterator[Told]:
    """torch of a newer major CUDA than the driver: it runs only with NVIDIA's forward compatibility package."""
    newest, built = seen.first("cuda.driver_cuda"), seen.text("cuda.torch_cuda")
    if newest is None or not built or _major(built) <= _major(str(newest.value)):
        return
    works = seen.value("torch.cuda_available") is True
    message = f"torch is built for CUDA {built}, and the driver supports up to {newest.value}"
    message += "; it works here through the forward compatibility package" if works else ""
    instead = f"a newer driver, or a torch for CUDA {_major(str(newest.value))}"
    yield Told(message, newest.place, "info" if works else "error", help=instead)


def _major(version: str) -> int:
    first = version.partition(".")[0]
    return int(first) if first.isdecimal() else 0


def _amd_pair(seen: Seen) -> Iterator[Told]:
    """User space that AMD's compatibility tables do not pair with the driver."""
    if unlisted := seen.first("driver.unlisted"):
        message = f"the driver has the module version {unlisted.value}, which is not in the table of packages: which "
        yield Told(message + "ROCm releases AMD tests it with is not known here", unlisted.place, "info")
    supported = seen.first("driver.rocm_supported")
    if supported is None or not supported.value:
        return
    promised = cast("DriverPair", seen.parameters)["promised"]
    line, version = seen.text("driver.release"), seen.text("driver.version")
    paired = [_short(word) for word in str(supported.value).split(", ")]
    said: set[str] = set()
    for user in seen.all("rocm.user_space"):
        release, distance = str(user.value), seen.by_item("driver.rocm_distance").get(user.detail)
        far = distance if isinstance(distance, int) else None
        if release in said or (release in paired and (far is None or abs(far) <= promised)):
            continue
        said.add(release)
        head = f"{user.detail} is of ROCm {release}, the driver {version} of line {line}: "
        yield Told(head + _pair_verdict(release, paired, far), supported.place, _pair_severity(release, paired, far))


def _short(release: str) -> str:
    return ".".join(release.split(".")[:2])


def _pair_severity(release: str, paired: list[str], far: int | None) -> Severity:
    """A pair that the newest table lists, or a release that no table lists, is worth knowing and no more."""
    return "info" if release in paired or far is None else "warning"


def _pair_verdict(release: str, paired: list[str], far: int | None) -> str:
    if release in paired:
        way = "newer" if far and far > 0 else "older"
        return (
            f"AMD's newest table lists this pair as supported; it is {abs(far or 0)} releases {way} than the driver, "
            "and the tables up to ROCm 6.3 promised two either way"
        )
    if far is None:
        return f"AMD's newest table does not list this release; for this line it lists {listed(paired, 12)}"
    return f"AMD's newest table does not list this pair; for this line it lists {listed(paired, 12)}"


_GFX_VERSION = regex(r"([0-9]{1,2})\.([0-9]{1,3})\.([0-9]{1,3})$")
_GFX_VARIABLE = regex(r"HSA_OVERRIDE_GFX_VERSION(?:_[0-9]+)?$")


def gfx_of(version: str) -> str:
    """gfx942 of "9.4.2"; "" for anything else. The last two parts are hexadecimal digits of the name."""
    match = _GFX_VERSION.match(version.strip())
    return f"gfx{match[1]}{int(match[2]):x}{int(match[3]):x}" if match else ""


def _usual(arch: str, given: str, needed: list[str]) -> bool:
    """An override that names the chip itself, or a sibling of the same generation: gfx1030 for gfx1031 has the same
    instructions, for gfx1010 or gfx1201 it has others. The last two characters of a name are the stepping."""
    return given == arch or (arch.startswith(tuple(needed)) and given[:-1] == arch[:-1])


def gfx_override(seen: Seen) -> Iterator[Told]:
    """The runtime is told to report another chip than the one that is there."""
    archs, reported = seen.archs(), seen.first("gpu.arch_reported_by_hsa")
    truth = f"the kernel says {listed(archs)}" if archs else "what the chip really is could not be told"
    known = cast("GfxOverride", seen.parameters)
    settings = [s for s in seen.settings if _GFX_VARIABLE.match(s.name) and s.value.known]
    for setting in settings:
        given = gfx_of(setting.value.known or "")
        crash = next((c for c in known["crashes"] if c["chip"] in archs and c["claims"] == given), None)
        usual = bool(given and archs) and all(_usual(arch, given, known["often_needed"]) for arch in archs)
        severity: Severity | None = "info" if usual and crash is None else None
        message = f"{setting.name}={setting.value.known} makes the runtime report {given or 'no chip at all'}; {truth}"
        message += f"; programs are known to crash so ({crash['because']})" if crash else ""
        yield Told(message, setting.place, severity, variable=setting.name)
    # Where the environment is known, what a helper said in another one is no fact about this process.
    if not seen.settings and reported and len(archs) == 1 and reported.value not in ("mixed", archs[0]):
        yield Told(f"the HSA runtime reports {reported.value}; {truth}", reported.place)
