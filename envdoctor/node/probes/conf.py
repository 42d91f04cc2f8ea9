"""`nccl.conf` and `rccl.conf`: which files the library reads, and what it takes from them.

The library sets what a file names with setenv, without overwriting: the environment wins over the first file, that
over `/etc`. The settings appear only inside the process, never in /proc/PID/environ. NCCL_CONF_FILE, where it is set,
replaces the file in the home folder. NVIDIA/nccl@50673972 and ROCm/rccl@0cbce2a:src/misc/param.cc.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from envdoctor.node.probes.base import Absent, NodeView
from envdoctor.node.probes.files import NodeFiles
from envdoctor.node.probes.process import setting

State = Literal["read", "replaced", "ignored"]
"""Read by the library here; replaced by NCCL_CONF_FILE; or the file of the other vendor's library."""

CONF_FILE_SINCE = 22304
"""NCCL_CONF_FILE: NCCL 2.23.4; RCCL by its base, so from ROCm 7.0 (2.26.6) on."""
HOME_FROM_ENVIRONMENT_SINCE = 23003
"""NCCL 2.30.3 asks $HOME; before, the entry of the user in the password file counts."""
RCCL_NAMES_SINCE = 21212
"""RCCL of ROCm 5.2.3; older ones read nccl.conf."""


@dataclass(frozen=True, slots=True)
class ConfFile:
    """A conf file that is there."""

    path: str
    state: State


def parse_conf(text: str) -> list[tuple[str, str, int]]:
    """(name, value, line) of the lines NAME=value. Nothing is unquoted or expanded; `#` starts a comment line."""
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        name, equals, value = line.partition("=")
        if equals and name and not line.startswith("#"):
            found.append((name, value, number))
    return found


def home_of(files: NodeFiles, environment_home: str, uid: int | None, version: int | None) -> str:
    """The home folder that the library looks in; where its version is not known, that of the password file."""
    if version is not None and version >= HOME_FROM_ENVIRONMENT_SINCE:
        return environment_home
    for line in (files.read_text("/etc/passwd") or "").splitlines():
        fields = line.split(":")
        if len(fields) >= 6 and fields[2] == str(uid):
            return fields[5]
    return environment_home


def names_read(kind: str, version: int | None) -> str:
    """`rccl` or `nccl`: the word in the names of the files that a library reads."""
    old = kind == "rccl" and version is not None and version < RCCL_NAMES_SINCE
    return "nccl" if old else kind


def conf_files(view: NodeView, kind: str, version: int | None, uid: int | None) -> list[ConfFile]:
    """The conf files on the node, those that are read first, in the order in which the library reads them."""
    home = home_of(view.files, view.environment.get("HOME", ""), uid, version)
    named = view.environment.get("NCCL_CONF_FILE", "")
    honoured = bool(named) and (version is None or version >= CONF_FILE_SINCE)
    word = names_read(kind, version)
    others = [other for other in ("nccl", "rccl") if other != word]
    chain: list[tuple[str, State]] = [(named, "read" if honoured else "ignored")] if named else []
    chain.append((f"{home}/.{word}.conf", "replaced" if honoured else "read"))
    chain.append((f"/etc/{word}.conf", "read"))
    chain += [(path, "ignored") for other in others for path in (f"{home}/.{other}.conf", f"/etc/{other}.conf")]
    return [ConfFile(path, state) for path, state in chain if path.startswith("/") and view.files.exists(path)]


def conf_probe(view: NodeView, kind: str, version: int | None, uid: int | None) -> None:
    """Settings of the conf files, in the library's own order. Raises `Absent` where there is none."""
    files = conf_files(view, kind, version, uid) if kind else []
    if not files:
        raise Absent("no nccl.conf or rccl.conf")
    for file in files:
        view.facts.observe("ccl.conf_file", file.state, file.path, detail=file.path)
        text = view.files.read_text(file.path)
        if text is None:
            view.facts.problem(view.files.why(file.path), file.path)
        elif file.state == "read":
            take_settings(view, file.path, parse_conf(text))


def take_settings(view: NodeView, path: str, lines: Sequence[tuple[str, str, int]]) -> None:
    """One setting a line; each counts only where nothing before it set the variable, hence `default`."""
    for name, value, number in lines:
        if view.known(name):
            view.facts.settings.append(
                setting(view.facts, name, value, path, number, channel="conf-file", op="default")
            )
