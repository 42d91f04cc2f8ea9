"""Gathers the facts of one file in order, and the facts of text inside it (RUN bodies, block scalars)."""

from __future__ import annotations

from typing import Any

from envdoctor.core.facts import Branch, Component, FileFacts, Inclusion, Problem, Scope, Setting
from envdoctor.core.records import replace
from envdoctor.core.source import Source
from envdoctor.readers.shared.embedded import merge, next_order, read_embedded

MOST_SETTINGS = 10_000
"""Beyond this the rest of a file is left out: aliases can name one map any number of times."""
COMMENT_LINES = 20
LONGEST_LINE = 2000
"""How far a comment is looked for: minified files have one line for everything."""


class Collector:
    """Facts of one file and the number of the next one.

    `order` says what happens first: the environment of a container comes before its command, wherever the two stand.
    """

    def __init__(self, source: Source, kind: str) -> None:
        self.source = source
        self.facts = FileFacts(source.path, kind)
        self.order = 0

    @property
    def full(self) -> bool:
        """Whether no further setting is taken."""
        return len(self.facts.settings) >= MOST_SETTINGS

    def add(self, fact: Setting | Inclusion | Component) -> None:
        """Take a fact; its order is set to that of the next one."""
        if isinstance(fact, Component):
            self.facts.components.append(fact)
            return
        fact = fact if fact.order == self.order else replace(fact, order=self.order)
        self.order += 1
        if isinstance(fact, Inclusion):
            self.facts.inclusions.append(fact)
        elif not self.full:
            self.facts.settings.append(fact)

    def problem(self, message: str, start: int, end: int) -> None:
        """State that a part of the file could not be read."""
        self.facts.problems.append(Problem(message, self.source.place(start, end)))

    def embed(self, source: Source, kind: str, scope: Scope, branch: tuple[Branch, ...] = ()) -> None:
        """Read text inside this file with the reader of its kind."""
        if source.text.strip() and not self.full:
            self.take(read_embedded(source, kind, self.order, scope, branch))

    def take(self, facts: FileFacts) -> None:
        """Take the facts of a part of this file, which were numbered from `order` on."""
        self.order = next_order(facts, self.order)
        merge(self.facts, facts)

    def under(self, branch: Branch, first: int) -> None:
        """State that the facts from number `first` on happen only under a condition, outermost first."""
        mine: list[list[Any]] = [self.facts.settings, self.facts.launches, self.facts.inclusions, self.facts.calls]
        for facts in mine:
            for index in range(len(facts) - 1, -1, -1):
                if facts[index].order < first:
                    break
                facts[index] = replace(facts[index], branch=(branch, *facts[index].branch))


def comment_at(source: Source, start: int, *ends: int, sign: str = "#") -> str:
    """The comment behind one of `ends` on its line, or else the lines of comment above the line of `start`."""
    text = source.text
    for end in ends:
        limit = end + LONGEST_LINE
        line_end = text.find("\n", end, limit)
        behind = text[end : line_end if line_end != -1 else limit]
        mark = behind.find(sign)
        if mark != -1 and not behind[:mark].strip(" \t,\"']}"):
            return behind[mark:].strip().lstrip(sign).strip()
    above: list[str] = []
    at = text.rfind("\n", max(0, start - LONGEST_LINE), start)
    while at > 0 and len(above) < COMMENT_LINES:
        before = text.rfind("\n", max(0, at - LONGEST_LINE), at)
        line = text[before + 1 : at].strip() if before != -1 or at < LONGEST_LINE else ""
        if not line.startswith(sign):
            break
        above.append(line.lstrip(sign).strip())
        at = before
    return "\n".join(reversed(above))
