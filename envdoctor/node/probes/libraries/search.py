"""Where collectives libraries lie on a node, which of them a process has mapped, and which one it calls.

Paths are those on the node; the files come through `NodeFiles`, so a recorded tree goes through the same code.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from envdoctor.knowledge.nodes.rocm_layout import SYSTEM
from envdoctor.node.probes.files import NodeFiles
from envdoctor.node.probes.process import MAPS_LIMIT

Origin = Literal["LD_PRELOAD", "LD_LIBRARY_PATH", "wheel", "rocm", "distribution", "process"]

FILE_NAME = re.compile(r"(?:.*/)?lib[nr]ccl\.so(\.\d+)*$")
"""Plug-ins (`libnccl-net.so`, `libnccl-tuner.so`) are other libraries."""

ROCM_FOLDERS = (
    "/opt/rocm*/lib", "/opt/rocm*/lib64", "/opt/rocm*/core*/lib", "/opt/rocm*/core*/lib64", "/opt/rccl/lib",
)  # fmt: skip
DISTRIBUTION_FOLDERS = (
    "/usr/lib/*-linux-gnu", "/usr/lib64", "/usr/lib", "/lib/*-linux-gnu", "/lib64", "/usr/local/lib",
    "/usr/local/lib64", "/usr/local/nccl*/lib", "/usr/local/cuda*/lib64", "/usr/local/cuda*/targets/*/lib",
    "/opt/nvidia/hpc_sdk/*/*/comm_libs/nccl/lib", "/opt/conda/lib",
)  # fmt: skip
WHEEL_FOLDERS = ("nvidia/nccl/lib", "nvidia/cu*/lib", "torch/lib", "_rocm_sdk_*/lib", "jaxlib", "jaxlib/rocm")
PYTHON_FOLDERS = (
    "/usr/lib/python3*/dist-packages", "/usr/lib/python3*/site-packages", "/usr/local/lib/python3*/dist-packages",
    "/usr/local/lib/python3*/site-packages", "/opt/conda/lib/python3*/site-packages",
    "/opt/venv/lib/python3*/site-packages",
)  # fmt: skip
ROCM_VARIABLES = ("ROCM_PATH", "ROCM_HOME", "HIP_PATH")


@dataclass(frozen=True, slots=True)
class FoundLibrary:
    """A collectives library: its path on the node with links resolved, and every way it was found."""

    path: str
    origins: tuple[Origin, ...]


@dataclass(frozen=True, slots=True)
class MappedLibrary:
    """A collectives library in a process's map. `deleted`: its path now names another file, or none."""

    path: str
    deleted: bool = False


@dataclass(frozen=True, slots=True)
class LibraryInUse:
    """The library a process calls, or None where that cannot be told, and why."""

    path: str | None
    reason: str


def find_libraries(
    files: NodeFiles,
    environment: Mapping[str, str],
    *,
    python_folders: Iterable[str] = (),
    mapped: Sequence[str] = (),
    installs: Iterable[str] = (),
) -> list[FoundLibrary]:
    """Every librccl and libnccl of a node, each file once.

    `environment` is that of the process in question; `python_folders` are its site-packages folders where known;
    `mapped` are files it has mapped, which also show where its site-packages are; `installs` are those of ROCm that
    were found elsewhere than where they usually lie.
    """
    found: dict[str, list[Origin]] = {}
    packages = [*python_folders, *_python_folders(mapped)]
    for origin, path in _candidates(files, environment, packages, mapped, installs):
        resolved = files.resolve(path)
        if files.exists(resolved) and not files.is_folder(resolved):
            origins = found.setdefault(resolved, [])
            if origin not in origins:
                origins.append(origin)
    return [FoundLibrary(path, tuple(origins)) for path, origins in found.items()]


def _candidates(
    files: NodeFiles, environment: Mapping[str, str], python_folders: Iterable[str], mapped: Iterable[str],
    installs: Iterable[str],
) -> Iterator[tuple[Origin, str]]:  # fmt: skip
    folders = [f"{environment[name]}/lib" for name in ROCM_VARIABLES if environment.get(name, "").startswith("/")]
    folders += [f"{root}/{name}" for root in installs if root != SYSTEM for name in ("lib", "lib64")]
    yield from (("rocm", path) for path in _libraries_in(files, [*_matching(files, ROCM_FOLDERS), *folders]))
    system = [*_matching(files, DISTRIBUTION_FOLDERS), *_configured_folders(files)]
    yield from (("distribution", path) for path in _libraries_in(files, system))
    packages = [*_matching(files, PYTHON_FOLDERS), *_environment_folders(files, environment), *python_folders]
    wheels = [f"{package}/{folder}" for package in dict.fromkeys(packages) for folder in WHEEL_FOLDERS]
    yield from (("wheel", path) for path in _libraries_in(files, _matching(files, wheels)))
    searched = [folder for folder in environment.get("LD_LIBRARY_PATH", "").split(":") if folder.startswith("/")]
    yield from (("LD_LIBRARY_PATH", path) for path in _libraries_in(files, searched))
    for path in preloaded(environment):
        yield "LD_PRELOAD", path
    yield from (("process", path) for path in mapped if FILE_NAME.match(path))


def preloaded(environment: Mapping[str, str]) -> list[str]:
    """Paths of collectives libraries in LD_PRELOAD. An entry without a folder is not looked up."""
    entries = re.split(r"[:\s]+", environment.get("LD_PRELOAD", ""))
    return [entry for entry in entries if entry.startswith("/") and FILE_NAME.match(entry)]


def _matching(files: NodeFiles, patterns: Iterable[str]) -> list[str]:
    """Folders that match a pattern with `*` in its parts, in natural order."""
    found: list[str] = []
    for pattern in patterns:
        folders = [""]
        for part in pattern.strip("/").split("/"):
            if "*" in part:
                folders = [path for folder in folders for path in files.paths(folder or "/", part)]
            else:
                folders = [f"{folder}/{part}" for folder in folders]
        found += [folder.replace("//", "/") for folder in folders if files.is_folder(folder)]
    return found


def _libraries_in(files: NodeFiles, folders: Iterable[str]) -> list[str]:
    real = dict.fromkeys(files.resolve(folder) for folder in folders)
    return [path for folder in real for path in files.paths(folder, "lib[nr]ccl.so*") if FILE_NAME.match(path)]


def _configured_folders(files: NodeFiles) -> list[str]:
    """Folders that the dynamic linker's configuration names."""
    texts = [files.read_text(path) or "" for path in files.paths("/etc/ld.so.conf.d", "*.conf")]
    return [line.strip() for text in texts for line in text.splitlines() if line.startswith("/")]


def _environment_folders(files: NodeFiles, environment: Mapping[str, str]) -> list[str]:
    """site-packages of the virtual or conda environment, and of the interpreters on PATH."""
    entries = [entry for entry in environment.get("PATH", "").split(":") if entry.endswith("/bin")]
    prefixes = [environment.get("VIRTUAL_ENV", ""), environment.get("CONDA_PREFIX", "")]
    prefixes += [entry.removesuffix("/bin") for entry in entries]
    chosen = [prefix for prefix in dict.fromkeys(prefixes) if prefix.startswith("/")]
    return _matching(files, [f"{prefix}/lib/python3*/site-packages" for prefix in chosen])


def _python_folders(mapped: Iterable[str]) -> list[str]:
    """site-packages folders that mapped files lie in."""
    found = (re.match(r"(/.*?/(?:site|dist)-packages)/", path) for path in mapped)
    return list(dict.fromkeys(match[1] for match in found if match))


def mapped_libraries(files: NodeFiles, proc: str = "/proc/self") -> list[MappedLibrary] | None:
    """Collectives libraries that a process has mapped, in the order of its map; None where that may not be read."""
    text = files.read_text(f"{proc}/maps", MAPS_LIMIT)
    if text is None:
        return None
    found: dict[str, MappedLibrary] = {}
    for line in text.splitlines():
        fields = line.split(None, 5)
        path = fields[5].removesuffix(" (deleted)") if len(fields) == 6 else ""
        if path.startswith("/") and FILE_NAME.match(path):
            found.setdefault(path, MappedLibrary(path, path != fields[5]))
    return list(found.values())


def library_in_use(
    files: NodeFiles, mapped: Sequence[str], environment: Mapping[str, str], *, banner: str = ""
) -> LibraryInUse:
    """Which of the mapped collectives libraries (`mapped`, their paths) the process calls.

    A mapped file is not yet a used one: with LD_PRELOAD both copies are mapped. In order of strength: the path that
    RCCL 6.3 and later print themselves (`banner`), a preloaded library, whose symbols come first, the only mapped one.
    """
    if banner:
        return LibraryInUse(files.resolve(banner), "the library's own banner names it")
    for entry in preloaded(environment):
        path = files.resolve(entry)
        if path in mapped:
            return LibraryInUse(path, "LD_PRELOAD names it, so its symbols come first")
    if len(mapped) == 1:
        return LibraryInUse(mapped[0], "the only one mapped")
    if not mapped:
        return LibraryInUse(None, "no collectives library is mapped")
    return LibraryInUse(
        None, f"{len(mapped)} are mapped, and neither a banner nor LD_PRELOAD tells which one is called"
    )
