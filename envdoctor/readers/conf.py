"""Conf files: `nccl.conf` and `rccl.conf`, which the library itself reads, and other files `*.conf` with variables.

Source: NCCL src/misc/param.cc setEnvFile, every release: a line is cut at the first `=`, nothing else is taken off, so
that quotes, blanks and a comment behind a value belong to it, and blanks before `=` to the name. Lines that begin with
`#` are comments. Other files: systemd units and supervisor (sections), Open MPI's `mca_base_env_list`, Spark's
`spark.executorEnv.NAME`, `environment.d`.
"""

from __future__ import annotations

import re
from pathlib import PurePosixPath

from envdoctor.core.facts import Channel, FileFacts, Setting, Value
from envdoctor.core.regexes import regex
from envdoctor.core.source import Source
from envdoctor.readers.shared.collector import MOST_SETTINGS, Collector, comment_at
from envdoctor.readers.shared.embedded import is_embedded
from envdoctor.readers.shared.substitution import parts_of, value_of

LIBRARY_PREFIXES = ("NCCL_", "RCCL_")

_LINE = regex(r"(?m)^(?!#)([^=\n]*)=([^\n]*)$")
_PLAIN = regex(r"(?m)^([A-Z_][A-Z0-9_]*)=([^\n]*)$")
_SECTION = regex(r"(?m)^[ \t]*\[[^\]\n]+\][ \t]*$")
_SPARK = regex(
    r"(?m)^[ \t]*spark\.(?:executorEnv|yarn\.appMasterEnv|kubernetes\.driverEnv)\.([A-Za-z_]\w*)"
    r"(?:[ \t]*=[ \t]*|[ \t]+)(\S(?:[^\n]*\S)?)"
)
_MCA_LIST = regex(r"(?m)^[ \t]*mca_base_env_list[ \t]*=[ \t]*([^\n]*)$")
_MCA_ITEM = regex(r"([A-Za-z_]\w*)(?:=([^;]*))?")


def read(source: Source, kind: str) -> FileFacts:
    """Settings of a conf file.

    kind "nccl-conf" and "conf-file": one that NCCL or RCCL reads; "conf": what it is shows in its lines.
    """
    if kind != "conf":
        return _library(source, kind)
    if _SECTION.search(source.text):
        from envdoctor.readers.ini import reader as ini

        return ini.read(source, kind)
    if "environment.d" in PurePosixPath(source.path).parts:
        from envdoctor.readers import envfile

        return envfile.read(source, "env-file")
    if any(match[1].startswith(LIBRARY_PREFIXES) for match in _PLAIN.finditer(source.text)):
        return _library(source, kind)
    return _others(source, kind)


def _library(source: Source, kind: str) -> FileFacts:
    """What the library makes of each line."""
    out = Collector(source, kind)
    replaced = is_embedded(source)
    for match in _LINE.finditer(source.text):
        if out.full:
            out.problem(f"more than {MOST_SETTINGS} settings: the rest was left out", 0, 0)
            break
        name = match[1].rstrip(" \t") if replaced else match[1]
        if not name.strip().isidentifier() or name != name.lstrip():
            _not_a_name(out, match)
            continue
        value = value_of(parts_of(match[2], False), match[2]) if replaced else Value("literal", match[2])
        _add(out, name, match, value, "conf-file")
    return out.facts


def _not_a_name(out: Collector, match: re.Match[str]) -> None:
    """`export A=1` and an indented line set a variable whose name has a blank in it, which nothing reads."""
    if any(prefix in match[1] for prefix in LIBRARY_PREFIXES):
        message = f"the library sets a variable named {match[1]!r}, blanks and all, which nothing reads"
        out.problem(message, *match.span(1))


def _others(source: Source, kind: str) -> FileFacts:
    """Spark's and Open MPI's ways to give variables to processes."""
    out = Collector(source, kind)
    for match in _SPARK.finditer(source.text):
        if not out.full:
            _add(out, match[1], match, value_of(parts_of(match[2], False), match[2]), "task", "Spark")
    for listed in _MCA_LIST.finditer(source.text):
        for match in _MCA_ITEM.finditer(source.text, *listed.span(1)):
            if not out.full:
                _add(out, match[1], match, Value("literal", match[2] or ""), "launcher-argument", "Open MPI")
    return out.facts


def _add(out: Collector, name: str, match: re.Match[str], value: Value, channel: Channel, via: str = "") -> None:
    """State a setting: the name is group 1 of the match, the value group 2; without one it is forwarded."""
    source, start = out.source, match.start(1)
    given = match[2] is not None
    end = match.end(2) if given else match.end(1)
    out.add(
        Setting(
            "set" if given else "pass", name, value if given else Value("unknown"), source.place(start, end), channel,
            0, via=via, comment=comment_at(source, start, end),
            name_place=source.place(start, start + len(name)),
            value_place=source.place(*match.span(2)) if given else None,
        )
    )  # fmt: skip
