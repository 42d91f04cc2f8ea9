"""ROCm installs: folders below /opt, folders that variables name, and the wheels of TheRock."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from envdoctor.core.versions import release
from envdoctor.knowledge.nodes.rocm_layout import SYSTEM, parse_version, sort_key, version_of_names
from envdoctor.node.probes.amd.layout import LIBRARIES, home_of
from envdoctor.node.probes.base import Absent, NodeView
from envdoctor.node.probes.parts import Rocm
from envdoctor.node.probes.process import PATH_VARIABLES

WHEEL_ROOTS = ("_rocm_sdk_core", "_rocm_sdk_libraries*", "_rocm_sdk_devel")
"""Folders of TheRock's wheels in site-packages; the first carries the version."""
SYSTEM_LIBRARIES = ("lib64", "lib/x86_64-linux-gnu", "lib/aarch64-linux-gnu", "lib")
"""Folders of /usr where distributions put libraries: Fedora, Debian and Ubuntu, SUSE and Arch."""
HEADERS = ("include/rocm-core/rocm_version.h", "include/rocm_version.h")

_DEFINE = re.compile(r"^\s*#\s*define\s+(\w+)[ \t]+\"?([\w.+-]*)\"?", re.MULTILINE)


def defines(text: str) -> dict[str, str]:
    """Plain `#define NAME value` lines of a header; quotes are taken off."""
    return {m[1]: m[2] for m in _DEFINE.finditer(text)}


def header_version(text: str, prefix: str) -> str:
    """X.Y.Z of a header with `<prefix>_MAJOR`, `_MINOR`, `_PATCH`; "" where it has none."""
    found = defines(text)
    parts = [found.get(f"{prefix}_{part}", "") for part in ("MAJOR", "MINOR", "PATCH")]
    return ".".join(parts) if all(part.isdecimal() for part in parts) else ""


def install_version(view: NodeView, root: str) -> tuple[str, str] | None:
    """(version, build) of the ROCm in `root`: from `.info/version`, its header, its libraries; None: no ROCm there."""
    stated = parse_version(view.files.read_word(f"{root}/.info/version"))
    path, header = header_of(view, root)
    if stated and header and ".".join(map(str, release(stated[0])[:3])) != header:
        view.facts.observe("rocm.header_version", header, path, detail=root)
    folders = SYSTEM_LIBRARIES if root == SYSTEM else LIBRARIES
    runtimes = [name for folder in folders for name in view.files.names(f"{root}/{folder}", "libamdhip64.so*")]
    if root == SYSTEM and not runtimes:
        return None  # a header or librocm-core alone: what a package of tools needs
    if stated or header:
        return stated or (header, "")
    # An install without version files: its runtime shows that it is one, and may tell its release by its name.
    cores = [name for folder in folders for name in view.files.names(f"{root}/{folder}", "librocm-core.so*")]
    return (version_of_names([*runtimes, *cores]), "") if runtimes else None


def header_of(view: NodeView, root: str) -> tuple[str, str]:
    """(path, version) of the header of an install; the version is "" where it has none."""
    for name in HEADERS:
        if found := header_version(view.files.read_text(f"{root}/{name}") or "", "ROCM_VERSION"):
            return f"{root}/{name}", found
    return "", ""


def named_roots(view: NodeView) -> list[str]:
    """Folders that may hold a ROCm: below /opt, what variables and the linker's configuration name, what is mapped,
    and /usr."""
    opt = [p for p in view.files.paths("/opt", "rocm*") if view.files.is_folder(p)]
    cores = [p for folder in opt for p in view.files.paths(folder, "core*") if view.files.is_folder(p)]
    variables = [view.environment.get(name, "") for name in PATH_VARIABLES]
    libraries = [folder for _, folder in linker_folders(view)] + view.environment.get("LD_LIBRARY_PATH", "").split(":")
    libraries += [p.rpartition("/")[0] for p in view.mapped if "/libamdhip64.so" in p and not in_packages(p)]
    above = [f.rstrip("/").rpartition("/")[0] for f in libraries if f.rstrip("/").endswith(("/lib", "/lib64"))]
    return opt + cores + [r.rstrip("/") for r in (*variables, *above) if r.startswith("/") and r != SYSTEM] + [SYSTEM]


def in_packages(path: str) -> bool:
    """Whether a path lies in the packages of a Python: a wheel is no install."""
    return "-packages/" in path


def find_installs(view: NodeView, roots: Iterable[str]) -> dict[str, tuple[str, str]]:
    """Folder without links -> (version, build), each install once, in the order given."""
    found: dict[str, tuple[str, str]] = {}
    for root in roots:
        home = home_of(view.files, root)
        if home not in found and home != "/" and (version := install_version(view, home)):
            found[home] = version
    return found


def default_root(view: NodeView, installs: Mapping[str, tuple[str, str]]) -> str:
    """The install in use by default: what /opt/rocm leads to, else what ROCM_PATH names, else the newest."""
    preferred = ["/opt/rocm", "/opt/rocm/core", *(view.environment.get(name, "") for name in PATH_VARIABLES)]
    for path in preferred:
        if path and (real := home_of(view.files, path)) in installs:
            return real
    return max(installs, key=lambda root: sort_key(installs[root][0] or root.rpartition("-")[2]), default="")


def rocm_probe(view: NodeView, site_packages: Iterable[str]) -> Rocm:
    """All ROCm installs and which one is the default.

    Raises `Absent` where there is none.
    """
    folders = list(site_packages)
    installs = find_installs(view, named_roots(view))
    wheels = find_wheels(view, folders)
    state_wheels(view, folders)
    state_linker_folders(view)
    if not installs and not wheels:
        raise Absent("no ROCm below /opt, in /usr, in ROCM_PATH or in site-packages")
    root = default_root(view, installs) or next(iter(wheels))
    every = {**installs, **wheels}
    rocm = Rocm(*every[root], root, list(every), {path: version for path, (version, _) in every.items()})
    state(view, rocm)
    return rocm


def find_wheels(view: NodeView, site_packages: Iterable[str]) -> dict[str, tuple[str, str]]:
    """TheRock's wheels: where the folder does not tell its version, the distribution beside it does."""
    found = find_installs(view, [f"{folder}/{WHEEL_ROOTS[0]}" for folder in site_packages])
    for root, (version, _) in found.items():
        if not version:
            names = view.files.names(root.rpartition("/")[0], "rocm_sdk_core-*.dist-info")
            found[root] = (names[0][:-10].rpartition("-")[2] if names else "", "")
    return found


def state(view: NodeView, rocm: Rocm) -> None:
    """Facts of the installs."""
    source = f"{rocm.root}/.info/version"
    for key in ("version", "build", "root"):
        view.facts.observe(f"rocm.{key}", getattr(rocm, key), source)
    for path, version in rocm.versions.items():
        view.facts.observe("rocm.install", version, f"{path}/.info/version", detail=path)
        view.facts.component("ROCm", version, path)
        hip = f"{path}/include/hip/hip_version.h"
        if found := header_version(view.files.read_text(hip) or "", "HIP_VERSION"):
            view.facts.observe("rocm.hip_version", found, hip, detail=path)


def state_wheels(view: NodeView, site_packages: Iterable[str]) -> None:
    """Versions of ROCm's own distributions: TheRock's wheels must all be of one version (ROCm/TheRock#1057)."""
    for folder in site_packages:
        for pattern in ("rocm-*.dist-info", "rocm_sdk*-*.dist-info"):
            for name in view.files.names(folder, pattern):
                distribution, _, version = name.removesuffix(".dist-info").rpartition("-")
                view.facts.observe("rocm.wheel", version, f"{folder}/{name}", detail=distribution.replace("_", "-"))


def linker_folders(view: NodeView) -> list[tuple[str, str]]:
    """(file of /etc/ld.so.conf.d, ROCm folder that it gives to every program)."""
    found = []
    for path in view.files.paths("/etc/ld.so.conf.d", "*.conf"):
        lines = (line.strip() for line in (view.files.read_text(path) or "").splitlines())
        found += [(path, line) for line in lines if "rocm" in line and line.startswith("/")]
    return found


def state_linker_folders(view: NodeView) -> None:
    """Facts of ROCm folders that the dynamic linker searches, links followed as for a variable."""
    for path, folder in linker_folders(view):
        view.facts.observe("rocm.ld_so_conf", view.files.resolve(folder), path, detail=path)
