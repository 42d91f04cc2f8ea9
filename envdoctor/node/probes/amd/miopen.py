"""MIOpen: version, find mode, and the databases that choose its kernels."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from envdoctor.node.probes.amd.rocm import header_version
from envdoctor.node.probes.base import Absent, NodeView
from envdoctor.node.probes.parts import Miopen, Rocm

NAME = "/libMIOpen.so"
USER_DB_FILES = ("*.udb.txt", "*.ufdb.txt", "*.udb", "*.ufdb")
"""Tuned parameters and remembered choices. ROCm/MIOpen@2d1fd997:src/db_path.cpp.in."""
VARIABLES = {"MIOPEN_FIND_MODE": "miopen.find_mode", "MIOPEN_FIND_ENFORCE": "miopen.find_enforce",
             "MIOPEN_CUSTOM_CACHE_DIR": "miopen.cache"}  # fmt: skip

_IN_TORCH = re.compile(r"^\s*- MIOpen ([0-9]+\.[0-9]+\.[0-9]+)", re.MULTILINE)


def torch_version(report: Mapping[str, Any]) -> str:
    """The MIOpen that torch was built with, from its configuration; "" where it says none."""
    shown = report.get("torch.__config__.show")
    match = _IN_TORCH.search(shown) if isinstance(shown, str) else None
    return match[1] if match else ""


def installed_version(view: NodeView, roots: Iterable[str]) -> tuple[str, str]:
    """(version, header) of the first install that has MIOpen's header."""
    for root in roots:
        path = f"{root}/include/miopen/version.h"
        if version := header_version(view.files.read_text(path) or "", "MIOPEN_VERSION"):
            return version, path
    return "", ""


def user_databases(view: NodeView) -> list[str]:
    """Folders of the user database: the one a variable names, else the default one and its versions' folders."""
    if named := view.environment.get("MIOPEN_USER_DB_PATH"):
        return [named]
    home = view.environment.get("HOME", "")
    default = f"{home}/.config/miopen"
    return [default] if home and view.files.is_folder(default) else []


def miopen_probe(view: NodeView, rocm: Rocm | None, report: Mapping[str, Any]) -> Miopen:
    """Facts of MIOpen; `report` is what torch said. Raises `Absent` where there is no MIOpen."""
    roots = list(dict.fromkeys([rocm.root, *rocm.installs])) if rocm else []
    version, header = installed_version(view, roots)
    built = torch_version(report)
    miopen = Miopen(version or built, [path for path in view.mapped if NAME in path])
    miopen.user_db = view.environment.get("MIOPEN_USER_DB_PATH") or None
    if not miopen.version and not miopen.loaded:
        raise Absent("no MIOpen in a ROCm install, and none that torch tells of")
    if miopen.version:
        view.facts.observe("miopen.version", miopen.version, header or "torch.__config__")
        view.facts.component("MIOpen", miopen.version, header or "torch.__config__")
    if built:
        view.facts.observe("miopen.torch_version", built, "torch.__config__")
    for path in miopen.loaded:
        view.facts.observe("miopen.loaded", path, f"{view.proc}/maps", detail=path)
    state_databases(view, miopen)
    return miopen


def state_databases(view: NodeView, miopen: Miopen) -> None:
    """Facts of the variables and of the user database."""
    source = f"{view.proc}/environ"
    view.facts.observe_known("miopen.user_db", miopen.user_db, source)
    for name, key in VARIABLES.items():
        view.facts.observe_known(key, view.environment.get(name), source)
    for folder in user_databases(view):
        files = {name for pattern in USER_DB_FILES for name in view.files.names(folder, pattern)}
        view.facts.observe("miopen.user_db_files", len(files), folder, detail=folder)
