"""INI files: systemd units, supervisor, tox, pytest, and sections and keys that name an environment.

Sources: systemd.exec(5): `Environment="A=1" B=2`, quotes may hold blanks, `$` means nothing, `%` is a specifier;
Supervisor configuration: `environment=A="1",B="2"`, `%(ENV_A)s` is the value that supervisord has; tox: `set_env` lines
of `A = 1`, `pass_env` names; pytest-env: `D:` before a name gives a default.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from envdoctor.core.facts import Channel, Component, Exported, FileFacts, Inclusion, Op, Scope, Setting, Value
from envdoctor.core.records import replace
from envdoctor.core.regexes import regex
from envdoctor.core.source import Source
from envdoctor.readers.ini.entries import UNIT_SECTIONS, IniEntry, entries
from envdoctor.readers.shared.collector import MOST_SETTINGS, Collector, comment_at
from envdoctor.readers.shared.quoted_text import unescaped
from envdoctor.readers.shared.statement_reader import TELLING
from envdoctor.readers.yaml.keys import VARIABLE, names_environment, names_forwarding, names_script

MOST_COMMANDS = 500

_UNIT_WORD = regex(r"(?:[^\s\"'\\]+|\\[^\n]|\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*')+", re.DOTALL)
_QUOTED = regex(r"\"((?:[^\"\\]|\\.)*)\"|'((?:[^'\\]|\\.)*)'", re.DOTALL)
_ASSIGNMENT = regex(r"[\"']?([A-Za-z_]\w*)=")
_PAIR = regex(r"(?<![\w\"'])([A-Za-z_]\w*)=(\"[^\"\n]*\"|'[^'\n]*'|[^,\n]*)")
_LINE_PAIR = regex(r"\s*(?:([DRU]+):)?([A-Za-z_]\w*)\s*=\s*(.*)")
_SPECIFIER = regex(r"%[A-Za-z]")
_SUPERVISED = regex(r"%\(ENV_(\w+)\)s|%\(\w+\)\w")
_TOX = regex(r"\{env:(\w+)(?::([^}]*))?\}|\{\w+\}")
_EXEC_PREFIX = regex(r"[@:+!-]*")


def read(source: Source, kind: str) -> FileFacts:
    """Facts of an INI file; in each section environments come before commands, as a process meets them."""
    reader = Ini(source, kind)
    section: list[IniEntry] = []
    for entry in entries(source.text):
        if reader.out.full:
            break
        if section and section[0].section != entry.section:
            reader.section(section)
            section = []
        section.append(entry)
    if section:
        reader.section(section)
    if reader.out.full:
        reader.out.problem(f"more than {MOST_SETTINGS} settings: the rest was left out", 0, 0)
    return reader.out.facts


class Ini:
    """Reads the sections of one file."""

    def __init__(self, source: Source, kind: str) -> None:
        self.source = source
        self.text = source.text
        self.out = Collector(source, kind)
        self.commands = 0

    def section(self, found: Sequence[IniEntry]) -> None:
        """The entries of one section."""
        name = found[0].section
        unit = name in UNIT_SECTIONS
        if not unit and names_environment(name):
            for entry in found:
                if VARIABLE.fullmatch(entry.key):
                    self.whole(entry)
            return
        for entry in found:
            self.unit(entry) if unit else self.plain(entry)
        for entry in found:
            if entry.key.startswith("Exec") if unit else names_script(entry.key):
                self.command(entry, unit or entry.section.startswith("program:"))

    def unit(self, entry: IniEntry) -> None:
        """An entry of a systemd unit that is about the environment."""
        if entry.key in ("Environment", "DefaultEnvironment", "ManagerEnvironment"):
            for match in _UNIT_WORD.finditer(self.text, *entry.span):
                self.unit_word(match)
        elif entry.key in ("PassEnvironment", "UnsetEnvironment"):
            op: Op = "pass" if entry.key == "PassEnvironment" else "unset"
            for match in re.compile(r"[A-Za-z_]\w*").finditer(self.text, *entry.span):
                self.add(op, match.span(), None, Value("unknown"), "service", "systemd")
        elif entry.key == "EnvironmentFile":
            start, end = entry.span
            start += self.text.startswith("-", start)
            self.out.add(Inclusion("env-file", self.text[start:end], self.source.place(start, end), 0))
        elif entry.key == "Image":
            place = self.source.place(*entry.span)
            self.out.add(Component("image", self.text[slice(*entry.span)], place))

    def unit_word(self, match: re.Match[str]) -> None:
        """`A=1`, `"A=1 2"`, `A="1 2"`."""
        start, end = match.span()
        name = _ASSIGNMENT.match(self.text, start, end)
        if name is None or self.out.full:
            return
        first = name.end()
        if name.start(1) > start:  # quotes around the whole
            end -= 1
        elif self.text[first : first + 1] in ("'", '"') and _QUOTED.fullmatch(self.text, first, end):
            first, end = first + 1, end - 1
        text = unescaped(_QUOTED.sub(lambda m: m[1] if m[1] is not None else m[2], self.text[first:end]))
        value = Value("template" if _SPECIFIER.search(text) else "literal", text.replace("%%", "%"))
        self.add("set", name.span(1), (first, end), value, "service", "systemd", whole=match.span())

    def plain(self, entry: IniEntry) -> None:
        """An entry of another kind of file that is about the environment."""
        supervised = entry.section.startswith(("program:", "supervisord", "eventlistener:", "fcgi-program:"))
        if supervised and entry.key == "environment":
            for match in _PAIR.finditer(self.text, *entry.span):
                self.supervised(match)
        elif names_forwarding(entry.key) or entry.key == "pass_env":
            for match in re.compile(r"[A-Za-z_]\w*(?![\w*])").finditer(self.text, *entry.span):
                self.add("pass", match.span(), None, Value("unknown"), "configuration")
        elif entry.key in ("setenv", "set_env") or names_environment(entry.key):
            for start, end in entry.lines:
                if pair := _LINE_PAIR.match(self.text, start, end):
                    self.line(pair)

    def supervised(self, match: re.Match[str]) -> None:
        """One pair of `environment=A="1",B="2"`."""
        start, end = match.span(2)
        quoted = self.text[start : start + 1] in ("'", '"') and end - start > 1
        span = (start + quoted, end - quoted if quoted else start + len(match[2].rstrip()))
        text = self.text[slice(*span)]
        names = tuple(found[1] for found in _SUPERVISED.finditer(text) if found[1])
        value = Value("template", text, names) if _SUPERVISED.search(text) else Value("literal", text)
        self.add("set", match.span(1), span, value, "service", "supervisor", whole=(match.start(1), end))

    def line(self, match: re.Match[str]) -> None:
        """A line `A = 1` of tox or pytest."""
        flags, name, text = match[1] or "", match[2], match[3].rstrip()
        if not VARIABLE.fullmatch(name):
            return
        start = match.start(3)
        found = list(_TOX.finditer(text))
        value = Value("literal", text)
        if found:
            fallback = _TOX.sub(lambda m: m[2] or "", text) if all(m[2] is not None for m in found) else None
            value = Value("template", text, tuple(m[1] for m in found if m[1]), fallback)
        op: Op = "unset" if "U" in flags else "default" if "D" in flags else "set"
        self.add(op, match.span(2), (start, start + len(text)), value, "configuration", exported="unknown")

    def whole(self, entry: IniEntry) -> None:
        """An entry of a section that is an environment."""
        start, end = entry.lines[0]
        if end - start > 1 and self.text[start] == self.text[end - 1] and self.text[start] in "\"'":
            start, end = start + 1, end - 1
        value = Value("literal", self.text[start:end])
        self.add("set", (entry.start, entry.key_end), (start, end), value, "configuration", exported="unknown")

    def command(self, entry: IniEntry, runs: bool) -> None:
        """A command line; `%` and prefixes of systemd are no part of it. `runs`: it is one, whatever it looks like."""
        start, end = entry.span
        prefix = _EXEC_PREFIX.match(self.text, start, end)
        start = prefix.end() if prefix else start
        if self.commands < MOST_COMMANDS and (runs or TELLING.search(self.text, start, end)):
            self.commands += 1
            before = len(self.out.facts.problems)
            self.out.embed(self.source.part(start, end), "shell", Scope())
            del self.out.facts.problems[before:]

    def add(
        self, op: Op, name: tuple[int, int], value_span: tuple[int, int] | None, value: Value, channel: Channel,
        via: str = "", exported: Exported = "yes", whole: tuple[int, int] | None = None,
    ) -> None:  # fmt: skip
        """State a setting."""
        if self.out.full:
            return
        start, end = whole or (name[0], value_span[1] if value_span else name[1])
        setting = Setting(
            op, self.text[slice(*name)], value, self.source.place(start, max(start, end)), channel, 0, exported,
            via=via, comment=comment_at(self.source, start), name_place=self.source.place(*name),
        )  # fmt: skip
        if value_span:
            setting = replace(setting, value_place=self.source.place(*value_span))
        self.out.add(setting)
