"""What all kinds of files have in common: the settings that a file gives to what it starts, and places of scripts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from envdoctor.core.facts import FileFacts, Scope, Setting
from envdoctor.core.operations import Script

OF_PROGRAMS = ("shell", "python-environ", "child-environment", "conf-file", "batch-directive", "module-file")
"""Channels of settings that a program of the file makes while it runs; nobody gives them to what the file starts."""
ELSEWHERE = ("file", "command", "function")
"""Kinds of scopes that are no process of the file: files that it writes, one command, bodies of functions."""

Point = tuple[int, int]
Span = tuple[Point, Point]
NOWHERE: Span = ((0, 0), (0, 0))


def declared(facts: FileFacts, scripts: Sequence[Script]) -> list[Setting]:
    """The settings that the file gives by itself, in order; what its scripts set while they run is none of them."""
    inside = Insides(scripts)
    return [
        setting
        for setting in facts.settings
        if setting.channel not in OF_PROGRAMS and setting.scope.kind not in ELSEWHERE and not setting.guarded
        and not inside.holds(setting.place.line, setting.place.column)
    ]  # fmt: skip


class Insides:
    """The spans of the scripts of a file, to be asked whether something stands in one of them."""

    def __init__(self, scripts: Iterable[Script]) -> None:
        self.by_line: dict[int, list[Span]] = {}
        for script in scripts:
            first, last = span(script)
            for line in range(first[0], last[0] + 1) if first[0] else ():
                self.by_line.setdefault(line, []).append((first, last))

    def holds(self, line: int, column: int) -> bool:
        """Whether a place lies in a script."""
        return any(first <= (line, column) < last for first, last in self.by_line.get(line, ()))


def line_of(script: Script) -> int:
    """The line a script begins on; 0 for one that does nothing."""
    return int(script.body[0][1]) if script.body else 0


def span(script: Script) -> Span:
    """First and last place of the words and operations of a script, the end exclusive."""
    first, last = NOWHERE
    for place in places(script.body):
        first = min(first, place) if first[0] else place
        last = max(last, place)
    return first, last


def places(body: Any) -> Iterator[Point]:
    """Places in a body: operations have one or two behind their name, words begin with two. Bodies are deep."""
    left = [body]
    while left:
        part = left.pop()
        numbers = part[1:5] if part and isinstance(part[0], str) else part[:4]
        if len(numbers) > 1 and isinstance(numbers[0], int) and isinstance(numbers[1], int):
            yield numbers[0], numbers[1]
            if len(numbers) > 3 and isinstance(numbers[2], int) and isinstance(numbers[3], int):
                yield numbers[2], numbers[3]
        left.extend(inner for inner in part if isinstance(inner, tuple))


def encloses(outer: Scope, inner: Scope) -> bool:
    """Whether what a file gives to `outer` is there in `inner`: the whole file, or a scope that the other lies in."""
    if outer == inner or outer == Scope():
        return True
    return bool(outer.name) and inner.name.startswith((outer.name + "/", outer.name + ".", outer.name + ","))


def depth(scope: Scope) -> int:
    """How far inside a scope is: what is set further inside wins."""
    return 0 if scope == Scope() else 1 + scope.name.count("/") + scope.name.count(".")


def given_to(scope: Scope, settings: Iterable[Setting], beside: str = "\n") -> tuple[Setting, ...]:
    """The settings that hold in a scope, those of outer scopes first; `beside` is the part of it that holds them."""
    held = [s for s in settings if encloses(s.scope, scope) or s.scope.name == scope.name + beside]
    return tuple(sorted(held, key=lambda setting: depth(setting.scope)))


def joined(first: Script, second: Script) -> Script:
    """Two scripts that one shell runs one after the other."""
    return second._replace(body=first.body + second.body)
