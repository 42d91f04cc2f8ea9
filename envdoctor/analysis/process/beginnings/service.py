"""INI files: units of systemd, programs of supervisor, environments of tox.

Sources: systemd.exec(5) (files of `EnvironmentFile=` win over `Environment=`, `UnsetEnvironment=` over all; a service
inherits nothing but what PassEnvironment names), systemd.service(5) (ExecStartPre, ExecStart, ExecStartPost each are
processes of their own), podman-systemd.unit(5), Supervisor configuration (`[supervisord]` sets for all programs),
tox (`[testenv:a]` takes over from `[testenv]` what it does not say itself; only `pass_env` passes).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from envdoctor.analysis.process.beginnings.common import declared, line_of
from envdoctor.analysis.process.beginnings.root import Root, RootKind
from envdoctor.core.facts import FileFacts, Inclusion, Setting
from envdoctor.core.operations import Script
from envdoctor.core.records import replace
from envdoctor.readers.ini.entries import UNIT_SECTIONS, entries

EXEC_ORDER = ("ExecCondition", "ExecStartPre", "ExecStart", "Exec", "ExecStartPost", "ExecReload", "ExecStop",
              "ExecStopPost", "commands_pre", "commands", "commands_post")  # fmt: skip
SUPERVISED = ("program:", "eventlistener:", "fcgi-program:")
SHARED = {"supervisord": SUPERVISED, "testenv": ("testenv:",)}
"""Sections whose settings hold in others too -> how the names of those begin."""


class Sections:
    """The entries of a file by the line they begin on."""

    def __init__(self, text: str) -> None:
        self.starts: list[int] = []
        self.named: list[tuple[str, str]] = []
        line, at = 1, 0
        for entry in entries(text):
            line += text.count("\n", at, entry.start)
            at = entry.start
            self.starts.append(line)
            self.named.append((entry.section, entry.key))

    def at(self, line: int) -> tuple[str, str]:
        """Section and key of the entry that a line belongs to."""
        index = bisect_right(self.starts, line) - 1
        return self.named[index] if index >= 0 else ("", "")


def roots(facts: FileFacts, scripts: Sequence[Script], text: str) -> list[Root]:
    """The commands of all sections, those of a unit in the order in which systemd starts them."""
    sections = Sections(text)
    settings = declared(facts, scripts)
    found: list[Root] = []
    last: dict[str, int] = {}
    for script in sorted(scripts, key=lambda one: _rank(sections.at(line_of(one))[1])):
        section, key = sections.at(line_of(script))
        given = _ordered([s for s in settings if _holds(sections.at(s.place.line)[0], section)])
        files = tuple(i for i in facts.inclusions
                      if i.kind == "env-file" and sections.at(i.place.line)[0] == section)  # fmt: skip
        before = last.get(section, -1)
        last[section] = len(found)
        found.append(_root(facts, script, section, key, given, files)._replace(before=before))
    return found


def _root(
    facts: FileFacts, script: Script, section: str, key: str, given: tuple[Setting, ...], files: tuple[Inclusion, ...]
) -> Root:
    kind: RootKind = "service"
    name = section
    if section in UNIT_SECTIONS:
        name = facts.path.rpartition("/")[2] + ("" if key in ("ExecStart", "Exec") else f" {key}")
        kind = "container" if section == "Container" else kind
    elif not section.startswith(SUPERVISED):
        kind = "step"
    script = script._replace(shell="") if kind == "service" else script
    pod = kind == "container"
    image = next((part.version for part in facts.components if part.name == "image"), "") if pod else ""
    return Root(facts.path, kind, name, line_of(script), script, given, files, image=image, after_entrypoint=pod,
                over=section in UNIT_SECTIONS and not pod, inherits=section.startswith(SUPERVISED))  # fmt: skip


def _rank(key: str) -> int:
    return EXEC_ORDER.index(key) if key in EXEC_ORDER else 0


def _holds(given_in: str, section: str) -> bool:
    return given_in == section or section.startswith(SHARED.get(given_in, ("\n",)))


def _ordered(settings: Sequence[Setting]) -> tuple[Setting, ...]:
    """Names that are passed first, names that are removed last, whatever the order of the file."""
    ranks = {"pass": 0, "unset": 2}
    there = [replace(s, exported="yes") if s.exported == "unknown" else s for s in settings]
    return tuple(sorted(there, key=lambda s: ranks.get(s.op, 1)))
