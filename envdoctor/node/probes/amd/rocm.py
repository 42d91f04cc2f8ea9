"""ROCm installs: folders below /opt, folders that variables name, and the wheels of TheRock."""

from __future__ import annotations

import re
from collections.abc import Iterable

from envdoctor.node.probes.base import Absent, NodeView
from envdoctor.node.probes.parts import Rocm
from envdoctor.node.probes.process import PATH_VARIABLES

WHEEL_ROOTS = ("_rocm_sdk_core", "_rocm_sdk_libraries*", "_rocm_sdk_devel")
"""Folders of TheRock's wheels in site-packages; the first carries the version."""

_VERSION = re.compile(r"(\d+)\.(\d+)\.(\d+)(?:\.(\d+))?(?:-(\S+))?$")
_DEFINE = re.compile(r"^\s*#\s*define\s+(\w+)[ \t]+\"?([\w.+-]*)\"?", re.MULTILINE)


def parse_version(text: str) -> tuple[str, str] | None:
    """(version, build) of a `.info/version` file: "6.2.0-66" -> ("6.2.0", "66"); None for anything else."""
    match = _VERSION.match(text.strip())
    if not match:
        return None
    version = ".".join(part for part in match.group(1, 2, 3, 4) if part)
    return version, match[5] or ""


def defines(text: str) -> dict[str, str]:
    """Plain `#define NAME value` lines of a header; quotes are taken off."""
    return {m[1]: m[2] for m in _DEFINE.finditer(text)}


def header_version(text: str, prefix: str) -> str:
    """X.Y.Z of a header with `<prefix>_MAJOR`, `_MINOR`, `_PATCH`; "" where it has none."""
    found = defines(text)
    parts = [found.get(f"{prefix}_{part}", "") for part in ("MAJOR", "MINOR", "PATCH")]
    return ".".join(parts) if all(part.isdecimal() for part in parts) else ""


def install_version(view: NodeView, root: str) -> tuple[str, str] | None:
    """(version, build) of the ROCm in `root`, from `.info/version`, else from its header; None: no ROCm there."""
    stated = parse_version(view.files.read_word(f"{root}/.info/version"))
    header = header_version(view.files.read_text(f"{root}/include/rocm-core/rocm_version.h") or "", "ROCM_VERSION")
    if stated and header and not (stated[0] + ".").startswith(header + "."):
        view.facts.observe("rocm.header_version", header, f"{root}/include/rocm-core/rocm_version.h", detail=root)
    if stated or header:
        return stated or (header, "")
    # An install without version files, or one that only holds links into another: its runtime shows that it is one.
    return ("", "") if view.files.names(f"{root}/lib", "libamdhip64.so*") else None


def named_roots(view: NodeView) -> list[str]:
    """Folders that may hold a ROCm: below /opt, and those that variables name."""
    below_opt = [p for p in view.files.paths("/opt", "rocm*") if view.files.is_folder(p)]
    variables = [view.environment.get(name, "") for name in PATH_VARIABLES]
    return below_opt + [v.rstrip("/") for v in variables if v.startswith("/")]


def find_installs(view: NodeView, roots: Iterable[str]) -> dict[str, tuple[str, str]]:
    """Folder without links -> (version, build), each install once, in the order given."""
    found: dict[str, tuple[str, str]] = {}
    for root in roots:
        real = view.files.resolve(root)
        if real not in found and real != "/" and (version := install_version(view, real)):
            found[real] = version
    return found


def default_root(view: NodeView, installs: Iterable[str]) -> str:
    """The install in use by default: what /opt/rocm points to, else what ROCM_PATH names, else the newest."""
    roots = list(installs)
    preferred = ["/opt/rocm", *(view.environment.get(name, "") for name in PATH_VARIABLES)]
    for path in preferred:
        if path and (real := view.files.resolve(path)) in roots:
            return real
    return max(roots, key=lambda r: [int(n) for n in re.findall(r"\d+", r)], default="")


def rocm_probe(view: NodeView, site_packages: Iterable[str]) -> Rocm:
    """All ROCm installs and which one is the default.

    Raises `Absent` where there is none.
    """
    folders = list(site_packages)
    installs = find_installs(view, named_roots(view))
    wheels = find_installs(view, [f"{folder}/{WHEEL_ROOTS[0]}" for folder in folders])
    state_wheels(view, folders)
    state_linker_folders(view)
    if not installs and not wheels:
        raise Absent("no ROCm below /opt, in ROCM_PATH or in site-packages")
    root = default_root(view, installs) or next(iter(wheels))
    every = {**installs, **wheels}
    rocm = Rocm(*every[root], root, list(every), {path: version for path, (version, _) in every.items()})
    state(view, rocm)
    return rocm


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


def state_linker_folders(view: NodeView) -> None:
    """ROCm folders that /etc/ld.so.conf.d gives to every program."""
    for path in view.files.paths("/etc/ld.so.conf.d", "*.conf"):
        for line in (view.files.read_text(path) or "").splitlines():
            if "rocm" in line and line.strip().startswith("/"):
                view.facts.observe("rocm.ld_so_conf", line.strip(), path, detail=path)
