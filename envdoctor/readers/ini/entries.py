"""Sections and entries of INI files and systemd units, with the span of each line of a value."""

from __future__ import annotations

from collections.abc import Iterator

from envdoctor.core.records import dataclass, field
from envdoctor.core.regexes import regex

UNIT_SECTIONS = {"Unit", "Service", "Install", "Manager", "Container", "Pod", "Kube", "Socket", "Mount", "Slice"}

_SECTION = regex(r"[ \t]*\[([^\]\n]+)\]")
_ENTRY = regex(r"([ \t]*)([A-Za-z_][\w.:/-]*(?: [\w.-]+)*)[ \t]*[=:][ \t]*")


@dataclass(slots=True)
class IniEntry:
    """One `key = value`; `lines` are the spans of the value, that of the first line included."""

    section: str
    key: str
    start: int
    key_end: int
    lines: list[tuple[int, int]] = field(default_factory=list)

    @property
    def span(self) -> tuple[int, int]:
        """From the first to the last character of the value."""
        return self.lines[0][0], self.lines[-1][1]


def entries(text: str) -> Iterator[IniEntry]:
    """All entries in source order.

    A value goes on in lines that are indented (configparser), or behind a backslash (systemd); a comment is no part
    of it.
    """
    section, current, continued = "", None, False
    for start, end in _lines(text):
        line = text[start:end]
        if not line.strip() or line.lstrip().startswith(("#", ";")):
            continued = continued and bool(line.strip())
            continue
        if current is not None and (continued or (line[0] in " \t" and section not in UNIT_SECTIONS)):
            current.lines.append((start, end))
        elif match := _SECTION.match(line):
            if current is not None:
                yield current
            section, current = match[1].strip(), None
        elif match := _ENTRY.match(line):
            if current is not None:
                yield current
            key = start + match.start(2), start + match.end(2)
            current = IniEntry(section, match[2], *key, [(start + match.end(), end)])
        continued = line.endswith("\\")
    if current is not None:
        yield current


def _lines(text: str) -> Iterator[tuple[int, int]]:
    """Spans of lines without the blanks at their end."""
    at = 0
    while at < len(text):
        stop = text.find("\n", at)
        stop = len(text) if stop == -1 else stop
        yield at, at + len(text[at:stop].rstrip())
        at = stop + 1
