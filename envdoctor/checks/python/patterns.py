"""Patterns of calls, as rule files give them: names, one argument with its values, and the target they hold for."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import translate
from functools import lru_cache
from typing import Any, Generic, TypeVar

from envdoctor.analysis.python.timeline import Event, Timeline
from envdoctor.core.facts import Argument, Call
from envdoctor.core.records import dataclass
from envdoctor.core.regexes import regex
from envdoctor.core.target import Target
from envdoctor.core.versions import at_least

Data = TypeVar("Data", bound=Mapping[str, Any])
"""A table of a rule file that holds a pattern."""
BOUND = regex(r"(<|>=)([\d.]+)")


class Named:
    """Several dotted names as one test, which remembers its answers; `*` stands for anything."""

    __slots__ = ("_answers", "_expression")

    def __init__(self, names: Iterable[str]) -> None:
        self._expression = re.compile("|".join(translate(name) for name in names) or r"\b\B")
        self._answers: dict[str, bool] = {}

    def __call__(self, name: str) -> bool:
        """Whether a dotted name is one of the names."""
        answer = self._answers.get(name)
        if answer is None:
            answer = self._answers[name] = self._expression.match(name) is not None
        return answer


_test = lru_cache(maxsize=1024)(Named)
"""A test for some names: the same names give the same one, so that its answers are remembered."""


def names_of(names: Iterable[str]) -> Named:
    """A test for a list of names of a rule file; whoever asks it about many names makes it once."""
    return _test(tuple(names))


def named(name: str, names: Iterable[str]) -> bool:
    """Whether a dotted name is one of `names`, a list of a rule file."""
    return names_of(names)(name)


def argument(call: Call, keyword: str | None, position: int | None) -> Argument | None:
    """The argument of a call by keyword, or by its place among the positional ones; None where it is not given."""
    if keyword:
        for given in call.arguments:
            if given.keyword == keyword:
                return given
    if position is None:
        return None
    listed = [a for a in call.arguments if a.keyword is None]
    starred = any(a.text.startswith("*") for a in listed[: position + 1])
    return listed[position] if position < len(listed) and not starred else None


def hidden_arguments(call: Call) -> bool:
    """Whether arguments may be hidden in `*args` or `**options`."""
    return any(a.keyword == "**" or (a.keyword is None and a.text.startswith("*")) for a in call.arguments)


@dataclass(frozen=True, slots=True)
class CallPattern:
    """A shape of call. `values`: the argument is one of these literals; `contains`: its text or names hold one of
    these; `absent`: it is not given, or None. `beside`: other arguments, by keyword, have one of these texts.
    `platform` and `versions` say where it holds; `open`: it holds as well where the target does not say."""

    names: tuple[str, ...]
    kind: str = ""
    keyword: str | None = None
    position: int | None = None
    values: tuple[Any, ...] = ()
    contains: tuple[str, ...] = ()
    absent: bool = False
    beside: Mapping[str, Sequence[str]] | None = None
    platform: str = ""
    versions: Mapping[str, str] | None = None
    open: bool = True

    def matches(self, call: Call) -> bool:
        """Whether a call has this shape."""
        if (self.kind and call.kind != self.kind) or not named(call.name, self.names):
            return False
        if self.beside and not all(_given(call, keyword, texts) for keyword, texts in self.beside.items()):
            return False
        if self.keyword is None and self.position is None:
            return True
        given = argument(call, self.keyword, self.position)
        if self.absent:
            missing = given is None and not hidden_arguments(call)
            return missing or (given is not None and given.is_literal and given.literal is None)
        if given is None:
            return False
        return self._fits(given)

    def _fits(self, given: Argument) -> bool:
        if self.values:
            return given.is_literal and any(_same(given.literal, value) for value in self.values)
        if self.contains:
            return any(part in given.text or any(part in name for name in given.names) for part in self.contains)
        return True

    def holds(self, target: Target) -> bool:
        """Whether the pattern is about this target."""
        return fits_target(self.platform, self.versions, target, self.open)


def _given(call: Call, keyword: str, texts: Sequence[str]) -> bool:
    given = argument(call, keyword, None)
    return given is not None and any(text in given.text or text in given.names for text in texts)


def _same(literal: object, value: object) -> bool:
    """Equal, and `1` is not `True`."""
    return literal == value and isinstance(literal, bool) == isinstance(value, bool)


def fits_target(platform: str, versions: Mapping[str, str] | None, target: Target, unknown: bool) -> bool:
    """Whether a target is of a platform and within bounds of releases; `unknown` is the answer where it is silent."""
    if platform:
        if target.platform is None:
            return unknown
        if target.platform != platform:
            return False
    for component, bounds in (versions or {}).items():
        have = target.versions.get(component)
        answer = within(have, bounds) if have else None
        if answer is False or (answer is None and not unknown):
            return False
    return True


def within(have: str, bounds: str) -> bool | None:
    """Whether a release lies within bounds like `>=2.7,<2.10`; None where that cannot be told."""
    answer: bool | None = True
    for sign, bound in BOUND.findall(bounds):
        above = at_least(have, bound)
        if above is None:
            answer = None if answer else answer
        elif above != (sign == ">="):
            return False
    return answer


def pattern(data: Mapping[str, Any]) -> CallPattern:
    """A pattern from a table of a rule file; keys that are not its own are left to the rule."""
    return CallPattern(
        tuple(data["names"]),
        data.get("kind", ""),
        data.get("argument"),
        data.get("position"),
        tuple(data.get("values", ())),
        tuple(data.get("contains", ())),
        data.get("absent", False),
        data.get("beside"),
        data.get("platform", ""),
        data.get("versions"),
        data.get("open", True),
    )


def events_named(timeline: Timeline, names: Sequence[str]) -> list[Event]:
    """The events of a program whose call is one of `names`, a list of a rule file, in the order in which they run."""
    return timeline.chosen(names_of(names))


def any_named(names: Iterable[str], patterns: Sequence[str]) -> bool:
    """Whether one of `names` is one of `patterns`."""
    return any(map(names_of(patterns), names))


class PatternTable(Generic[Data]):
    """Patterns with their data, by the names of calls: most calls have none."""

    __slots__ = ("_by_name", "_every", "entries")

    def __init__(self, tables: Sequence[Data]) -> None:
        self.entries = [(pattern(data), data) for data in tables]
        self._every = Named([name for entry, _ in self.entries for name in entry.names])
        self._by_name: dict[str, list[tuple[CallPattern, Data]]] = {}

    def knows(self, name: str) -> bool:
        """Whether any pattern is about calls of this name."""
        return bool(self._candidates(name))

    def _candidates(self, name: str) -> list[tuple[CallPattern, Data]]:
        candidates = self._by_name.get(name)
        if candidates is None:
            fitting = [entry for entry in self.entries if named(name, entry[0].names)] if self._every(name) else []
            candidates = self._by_name[name] = fitting
        return candidates

    def of(self, call: Call) -> list[tuple[CallPattern, Data]]:
        """The patterns that a call has the shape of, with their data."""
        candidates = self._candidates(call.name)
        return [entry for entry in candidates if entry[0].matches(call)] if candidates else candidates
