"""Tests of observations about the collectives library, its files of settings, and MIOpen's databases."""

from __future__ import annotations

import re
from collections.abc import Iterator

from envdoctor.checks.node.common import Seen, Told, listed
from envdoctor.checks.node.rocm import install_roots
from envdoctor.core.facts import Observation
from envdoctor.core.findings import Related, Severity
from envdoctor.knowledge.nodes.rocm_layout import root_of

TITLES = {"rccl": "RCCL", "nccl": "NCCL"}


def release_of(code: int) -> tuple[int, int, int]:
    """(2, 20, 5) of what ncclGetVersion says: X*10000+Y*100+Z from 2.9 on, X*1000+Y*100+Z before."""
    major, rest = divmod(code, 10000 if code >= 10000 else 1000)
    return major, rest // 100, rest % 100


def shown(release: tuple[int, ...]) -> str:
    """`2.20.5`."""
    return ".".join(str(part) for part in release)


def parts(version: str) -> tuple[int, ...]:
    """(2, 20, 5) of "2.20.5"."""
    return tuple(int(part) for part in re.findall(r"[0-9]+", version)[:3])


def used_library(seen: Seen) -> str:
    """The library that torch calls, or the only one mapped; "" where that is not known."""
    loaded = seen.texts("ccl.loaded")
    return seen.text("ccl.used_by_torch") or (loaded[0] if len(loaded) == 1 else "")


def version_of(seen: Seen, path: str) -> str:
    """`2.20.5` of a library on the node; "" where it is not told."""
    code = seen.by_item("ccl.version_code").get(path)
    return shown(release_of(code)) if isinstance(code, int) else ""


def named(seen: Seen, path: str) -> str:
    """A library with its version."""
    version = version_of(seen, path)
    return f"{path} ({version})" if version else path


def library_differs(seen: Seen) -> Iterator[Told]:
    """The collectives library in use is not the one that is installed, or that torch was built with."""
    yield from _built_with(seen)
    yield from _installed(seen)
    libraries = seen.all("job.rank_library")
    if len({o.value for o in libraries}) > 1:
        message = f"ranks of one job use different collectives libraries: {listed(seen.texts('job.rank_library'))}"
        yield Told(message, libraries[0].place)


def _built_with(seen: Seen) -> Iterator[Told]:
    header, code = parts(seen.text("ccl.torch_header_version")), seen.first("ccl.loaded_version_code")
    if not header or code is None or not isinstance(code.value, int):
        return
    loaded = release_of(code.value)
    if loaded == header:
        return
    path = used_library(seen)
    message = (
        f"torch was built with {_title(seen)} {shown(header)}, and {shown(loaded)} is loaded"
        f"{f' from {path}' if path else ''}; torch.cuda.nccl.version() gives the former"
    )
    # A newer library in a wheel beside torch is what `pip install --upgrade nvidia-nccl-...` makes, and is supported.
    upgraded = loaded > header and "-packages/nvidia/" in path
    yield Told(message, code.place, "info" if upgraded else None)


def _title(seen: Seen) -> str:
    return TITLES.get(seen.text("ccl.kind"), "NCCL")


def _installed(seen: Seen) -> Iterator[Told]:
    """Another release lies in the default ROCm, or on an NVIDIA node somewhere else."""
    used, root = used_library(seen), seen.text("rocm.root")
    version = version_of(seen, used)
    others = [o for o in seen.all("ccl.installed") if version and o.value != used]
    different = [o for o in others if version_of(seen, str(o.value)) not in ("", version)]
    roots = {root, *install_roots(seen)}
    for other in different if root and root_of(used, roots) != root else ():
        if root_of(str(other.value), roots) == root:
            has = named(seen, str(other.value))
            yield Told(f"torch uses {_title(seen)} {named(seen, used)}; the installed ROCm has {has}", other.place)
    idle = [o for o in different if o.value not in seen.texts("ccl.loaded")]
    if idle and not root:
        names = listed([named(seen, str(o.value)) for o in idle])
        message = f"torch uses {named(seen, used)}; also on this node, and not used here: {names}"
        yield Told(message, idle[0].place, "info")


def library_override(seen: Seen) -> Iterator[Told]:
    """LD_PRELOAD or LD_LIBRARY_PATH name a collectives library. Only the memory map shows whether it is used."""
    loaded, used = seen.texts("ccl.loaded"), used_library(seen)
    for entry in seen.all("ccl.preloaded"):
        path = str(entry.value)
        what = f"LD_PRELOAD names {named(seen, path)}"
        others = [p for p in loaded if p != path]
        so = "it is not mapped" if loaded and path not in loaded else "its functions are called before any other copy's"
        instead = f", in place of {listed([named(seen, p) for p in others])}" if others and path in loaded else ""
        yield Told(f"{what}: {so}{instead}", entry.place, variable="LD_PRELOAD")
    for entry in seen.all("ccl.on_library_path"):
        yield from _on_library_path(seen, entry, used)


def _on_library_path(seen: Seen, entry: Observation, used: str) -> Iterator[Told]:
    path, bundled = str(entry.value), [p for p in seen.texts("torch.bundled") if re.search(r"/lib[nr]ccl\.so", p)]
    what = f"a folder of LD_LIBRARY_PATH holds {named(seen, path)}"
    severity: Severity | None = None
    if not used:
        message = f"{what}; which library torch loads is not known here"
        yield Told(message, entry.place, "info", variable="LD_LIBRARY_PATH")
    elif path != used:
        same = version_of(seen, path) == version_of(seen, used) != ""
        severity = "info" if same else None
        message = f"{what}, and torch uses {named(seen, used)}; other programs of this shell use the former"
        yield Told(message, entry.place, severity, variable="LD_LIBRARY_PATH")
    elif bundled:
        message = f"{what}, which is loaded in place of torch's own {named(seen, bundled[0])}"
        yield Told(message, entry.place, variable="LD_LIBRARY_PATH")


CONF_NAMES = {"rccl": "rccl.conf", "nccl": "nccl.conf"}


def conf_file(seen: Seen) -> Iterator[Told]:
    """A conf file in force, whose settings no environment shows, or one that the library here never reads."""
    kind = seen.text("ccl.kind")
    reads = CONF_NAMES.get(kind, "another file")
    before = {s.name for s in seen.settings if s.channel != "conf-file"}
    for file in seen.all("ccl.conf_file"):
        path, state = file.detail, str(file.value)
        if state == "read":
            yield _in_force(seen, file, before)
        elif state == "replaced":
            message = f"{path} is not read: NCCL_CONF_FILE names another file in its place"
            yield Told(message, file.place, "info", help="put all settings into the file that NCCL_CONF_FILE names")
        else:
            yield Told(f"{path} is never read here: {_title(seen)} of this release reads {reads}", file.place)


def _in_force(seen: Seen, file: Observation, before: set[str]) -> Told:
    """What a file sets that nothing `before` it does; its names count as set for the files after it."""
    mine = [s for s in seen.settings if s.channel == "conf-file" and s.place.path == file.detail]
    acting = [s for s in mine if s.name not in before]
    before |= {s.name for s in mine}
    if acting:
        message = f"{file.detail} is in force: it sets {listed([s.name for s in acting])} inside the process"
    elif mine:
        message = f"{file.detail} is read, and all that it names is set before it, by the environment or another file"
    else:
        message = f"{file.detail} is read, and sets nothing that is known"
    related = tuple(Related(s.place, f"{s.name}={s.value.text}", s.name) for s in acting)
    instead = "put what matters for results into the job's own environment, where it can be seen"
    return Told(message, file.place, "info", help=instead, related=related)


def debug_library(seen: Seen) -> Iterator[Told]:
    """A collectives library or a torch that was built without optimisation."""
    loaded, used = seen.texts("ccl.loaded"), used_library(seen)
    for build in seen.all("ccl.build_type"):
        if build.value == "Debug":
            message = f"{build.detail} was built without optimisation (Debug)"
            if loaded and build.detail != used:
                yield Told(f"{message}; the process does not call it", build.place, "info")
            else:
                yield Told(message, build.place)
    torch = seen.first("torch.build_type")
    if torch and torch.value == "Debug":
        yield Told("torch was built without optimisation (BUILD_TYPE=Debug)", torch.place)


def tuning_databases(seen: Seen) -> Iterator[Told]:
    """MIOpen chooses kernels by what earlier runs left in the user's database."""
    differs = {o.detail: o for o in seen.all("job.differs")}
    if found := differs.get("MIOPEN_USER_DB_PATH"):
        message = f"the ranks of this job have different MIOpen databases: {found.value}"
        yield Told(message, found.place, "warning", variable="MIOPEN_USER_DB_PATH")
        return
    named_folder, files = seen.first("miopen.user_db"), seen.all("miopen.user_db_files")
    filled = [o for o in files if isinstance(o.value, int) and o.value]
    if named_folder:
        count = sum(o.value for o in filled if isinstance(o.value, int))
        message = f"MIOPEN_USER_DB_PATH names {named_folder.value} ({count} database files now)"
        yield Told(message, named_folder.place, variable="MIOPEN_USER_DB_PATH")
    elif filled:
        yield Told(f"{filled[0].detail} holds {filled[0].value} MIOpen database files of earlier runs", filled[0].place)
