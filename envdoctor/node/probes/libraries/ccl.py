"""The collectives library: which files are on the node, which the process has mapped, which of them it calls.

The number that `torch.cuda.nccl.version()` gives is a constant of the header that torch was built with. It is kept
apart from what the loaded library says of itself.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from envdoctor.node.logs.nccl import DebugLog, read_logs
from envdoctor.node.probes.base import Absent, NodeView
from envdoctor.node.probes.libraries.library import LibraryFile
from envdoctor.node.probes.libraries.search import FILE_NAME, FoundLibrary, find_libraries, library_in_use, preloaded
from envdoctor.node.probes.parts import Ccl, Torch

_RANK = re.compile(
    r"^(?:\[[^\]]*\] )?(?P<host>[^:\s]+):\d+:\d+ .*\brank (?P<rank>\d+) nranks \d+ .*\bbusId (?P<bus>\S+) "
    r"commId (?P<comm>\S+)",
    re.MULTILINE,
)


def version_code(version: str) -> int | None:
    """The number of ncclGetVersion for X.Y.Z: X*10000+Y*100+Z from 2.9 on, X*1000+Y*100+Z before."""
    match = re.match(r"([0-9]+)\.([0-9]+)\.([0-9]+)", version)
    if not match:
        return None
    major, minor, patch = (int(part) for part in match.groups())
    return major * (10000 if (major, minor) >= (2, 9) else 1000) + minor * 100 + patch


def header_version(report: Mapping[str, Any]) -> list[int] | None:
    """`torch.cuda.nccl.version()`: a tuple, or in releases before 1.10 the number."""
    value = report.get("torch.cuda.nccl.version")
    if isinstance(value, list) and value and all(type(part) is int for part in value):
        return value[:3]
    if type(value) is int and value > 0:
        scale = 10000 if value >= 10000 else 1000
        return [value // scale, value % scale // 100, value % 100]
    return None


def kind_of(paths: Sequence[str], log: DebugLog, vendor: str) -> str:
    """rccl or nccl: what is mapped, else what ran, else what is there for the vendor's GPUs."""
    by_vendor = {"amd": "rccl", "nvidia": "nccl"}.get(vendor, "")
    kinds = {"rccl" if "librccl" in path else "nccl" for path in paths}
    kinds |= {component.name for component in log.components if component.name in ("rccl", "nccl")}
    return kinds.pop() if len(kinds) == 1 else by_vendor if by_vendor in kinds else ""


def banner_code(log: DebugLog) -> int | None:
    """Version of the library that wrote the log."""
    versions = (item.version for item in log.components if item.name in ("rccl", "nccl"))
    return next((code for version in versions if (code := version_code(version)) is not None), None)


def used_library(view: NodeView, loaded: Sequence[str], log: DebugLog, report: Mapping[str, Any]) -> str | None:
    """The library whose functions torch calls; None where several are mapped and nothing tells."""
    banner = next(iter(log.library_paths()), "")
    if path := library_in_use(view.files, loaded, view.environment, banner=banner).path:
        return path
    code, codes = banner_code(log), codes_by_path(report)
    matching = [path for path in loaded if code is not None and codes.get(path) == code]
    return matching[0] if len(matching) == 1 else None


def codes_by_path(report: Mapping[str, Any]) -> dict[str, int]:
    """What ncclGetVersion of each mapped library said."""
    told = report.get("ncclGetVersion.by_path")
    return {path: code for path, code in told.items() if type(code) is int} if isinstance(told, dict) else {}


def loaded_code(used: str | None, log: DebugLog, report: Mapping[str, Any], file: LibraryFile | None) -> int | None:
    """Version of the library in use: what its function says, else its banner, else its file."""
    told = codes_by_path(report).get(used or "")
    from_file = version_code(file.version) if file else None
    return next((code for code in (told, banner_code(log), from_file) if code is not None), None)


def ccl_probe(
    view: NodeView, torch: Torch | None, vendor: str, installs: Sequence[str] = ()
) -> tuple[Ccl, dict[str, LibraryFile]]:
    """The collectives library, and what each file on the node tells of itself, by path. `installs`: those of ROCm.

    Raises `Absent` where there is neither a file nor a run that tells of one.
    """
    report = torch.report if torch else {}
    log = read_logs(view.runner.logs())
    loaded = [path for path in view.mapped if FILE_NAME.match(path)]
    found = find_libraries(
        view.files, view.environment, python_folders=view.site_packages, mapped=view.mapped, installs=installs
    )
    installed = [library.path for library in found if library.origins != ("process",)]
    if not installed and not loaded and not log.components:
        raise Absent("no librccl or libnccl on this node")
    files = {library.path: view.library(library.path) for library in found}
    used = used_library(view, loaded, log, report)
    ccl = Ccl(kind_of(loaded or installed, log, vendor), loaded, used, installed=installed)
    ccl.loaded_version_code = loaded_code(used, log, report, files.get(used or ""))
    ccl.torch_header_version = header_version(report)
    state(view, ccl)
    state_files(view, found, files)
    state_runs(view)
    return ccl, files


def state(view: NodeView, ccl: Ccl) -> None:
    """Facts of the process."""
    maps, facts = f"{view.proc}/maps", view.facts
    if ccl.kind:
        facts.observe("ccl.kind", ccl.kind, maps)
    for path in ccl.loaded:
        facts.observe("ccl.loaded", path, maps, detail=path)
    facts.observe_known("ccl.used_by_torch", ccl.used_by_torch, maps)
    facts.observe_known("ccl.loaded_version_code", ccl.loaded_version_code, ccl.used_by_torch or maps)
    if ccl.torch_header_version:
        version = ".".join(str(part) for part in ccl.torch_header_version)
        facts.observe("ccl.torch_header_version", version, "torch.cuda.nccl.version()")
    for entry in preloaded(view.environment):
        facts.observe("ccl.preloaded", view.files.resolve(entry), f"{view.proc}/environ", detail=entry)


def state_files(view: NodeView, found: Sequence[FoundLibrary], files: Mapping[str, LibraryFile]) -> None:
    """Facts of the library files."""
    facts = view.facts
    for library in found:
        path, file = library.path, files[library.path]
        facts.component(file.kind, file.version, path, detail=file.version_text)
        facts.problems += file.problems
        if library.origins != ("process",):
            facts.observe("ccl.installed", path, path, detail=path)
        facts.observe_known("ccl.version_code", version_code(file.version), path, detail=path)
        if file.build != "unknown":
            facts.observe("ccl.build_type", file.build.capitalize(), path, detail=path)
        if "LD_LIBRARY_PATH" in library.origins:
            facts.observe("ccl.on_library_path", path, f"{view.proc}/environ", detail=path)


def most_ranks_per_gpu(text: str) -> int:
    """Most ranks that one GPU of one host had in one communicator of a debug log; 0 where none is told.

    A simulated node (NCCL_HOSTID) has a communicator and a host name in common with the others, and so a GPU.
    """
    ranks: dict[tuple[str, str, str], set[str]] = {}
    for match in _RANK.finditer(text):
        ranks.setdefault((match["host"], match["bus"], match["comm"]), set()).add(match["rank"])
    return max((len(found) for found in ranks.values()), default=0)


def state_runs(view: NodeView) -> None:
    """Facts of runs that left a debug log."""
    counts = {name: most_ranks_per_gpu(text) for name, text in view.runner.logs()}
    if counts and (most := max(counts, key=lambda name: counts[name])) and counts[most]:
        view.facts.observe("ccl.ranks_per_gpu", counts[most], most)
