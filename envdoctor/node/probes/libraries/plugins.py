"""Plug-ins of the collectives libraries: each may change what the library chooses, or answer for the environment."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from envdoctor.node.probes.base import Absent, NodeView

PATTERN = "lib[nr]ccl-*.so*"
PLUGIN = re.compile(r"(?:.*/)?lib[nr]ccl-(?:net|tuner|profiler|env|gin)[\w.-]*\.so[\d.]*$")
VARIABLES = ("NCCL_NET_PLUGIN", "NCCL_TUNER_PLUGIN", "NCCL_PROFILER_PLUGIN", "NCCL_ENV_PLUGIN", "NCCL_GIN_PLUGIN")
NO_PLUGIN = {"", "none"}
FOLDERS = ("/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib", "/usr/local/lib",
           "/opt/amazon/ofi-nccl/lib", "/opt/aws-ofi-nccl/lib")  # fmt: skip


def in_folders(view: NodeView, folders: Iterable[str]) -> Iterator[str]:
    """Plug-ins in folders that the dynamic linker searches."""
    for folder in dict.fromkeys(view.files.resolve(folder) for folder in folders if folder.startswith("/")):
        yield from (path for path in view.files.paths(folder, PATTERN) if PLUGIN.match(path))


def plugins_probe(view: NodeView, library_folders: Iterable[str]) -> None:
    """Plug-ins that are mapped, named by a variable, or installed where the library looks.

    Raises `Absent` where there is none.
    """
    states = {path: "mapped" for path in view.mapped if PLUGIN.match(path)}
    for name in VARIABLES:
        if (value := view.environment.get(name, "")).lower() not in NO_PLUGIN:
            states.setdefault(value, "named")
    searched = view.environment.get("LD_LIBRARY_PATH", "").split(":")
    for path in in_folders(view, [*searched, *library_folders, *FOLDERS]):
        states.setdefault(view.files.resolve(path), "installed")
    if not states:
        raise Absent("no plug-in of a collectives library")
    for path, state in states.items():
        view.facts.observe("ccl.plugin", state, path, detail=path)
