"""Words of a command line for tests: what is in single quotes or holds no `$` is known."""

from __future__ import annotations

import re
from typing import NamedTuple

from envdoctor.analysis.process.edges import Crossing
from envdoctor.core.facts import Place

_WORD = re.compile(r"(?:[^\s'\"]|'[^']*'|\"[^\"]*\")+")
_VARIABLE = re.compile(r"\$\{?(\w+)(?:\[@\])?\}?")


class PlainWord(NamedTuple):
    text: str
    known: bool = True
    quoted: bool = False
    column: int = 1

    @property
    def starts_unknown(self) -> bool:
        return not self.known and self.text.startswith(("$", "`"))

    def variable(self) -> str:
        match = _VARIABLE.fullmatch(self.text)
        return match[1] if match is not None and not self.known else ""

    def part(self, start: int, end: int | None = None) -> PlainWord:
        text = self.text[start:end]
        return PlainWord(text, self.known or not re.search(r"[$`]", text), self.quoted, self.column + start)

    def assignment(self) -> tuple[PlainWord, str, PlainWord] | None:
        match = re.match(r"([A-Za-z_]\w*)(\+?=)", self.text)
        return (self.part(0, match.end(1)), match[2], self.part(match.end())) if match is not None else None

    def place(self) -> Place:
        return Place("run.sh", 1, self.column, 1, self.column + len(self.text))


def words_of(line: str) -> list[PlainWord]:
    found = []
    for match in _WORD.finditer(line):
        text = re.sub(r"'([^']*)'|\"([^\"]*)\"", lambda m: m[1] or m[2] or "", match[0])
        known = not re.search(r"[$`]", re.sub(r"'[^']*'", "", match[0]))
        found.append(PlainWord(text, known, match[0].startswith('"'), match.start() + 1))
    return found


def carries(crossing: Crossing[PlainWord], name: str) -> bool | None:
    """Whether a variable that the caller exports arrives with the value it has there; None: nobody can tell."""
    given = [g for g in crossing.gives if _names(g.name.text, name) and (g.stars or g.name.text == name)]
    if name in crossing.resets or any(g.op == "unset" for g in given):
        return False
    if given and given[-1].op == "pass":
        return None if given[-1].maybe or given[-1].stars == "maybe" else True
    if any(g.wins == "over" for g in given):
        return None if given[-1].maybe else False
    if crossing.unknown:
        return None
    if any(_names(dropped, name) for dropped in crossing.drops):
        return False
    return crossing.start == "caller" or any(_names(kept, name) for kept in crossing.keeps)


def _names(pattern: str, name: str) -> bool:
    """Whether `NAME` or `PREFIX*` stands for a name."""
    return name.startswith(pattern[:-1]) if pattern.endswith("*") else name == pattern
