"""Edits of texts, and what one planted fault consists of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from difflib import SequenceMatcher
from typing import NamedTuple


class Edit(NamedTuple):
    """`new` in the place of what stands from `start` to `end`."""

    start: int
    end: int
    new: str


def put(at: int, new: str) -> Edit:
    """Text put in at an offset."""
    return Edit(at, at, new)


def edited(text: str, edits: Iterable[Edit]) -> str:
    """A text with all of some edits, whose offsets are those of the text before."""
    parts, at = [], 0
    for edit in sorted(edits, key=lambda edit: edit.start):
        parts += [text[at : edit.start], edit.new]
        at = edit.end
    return "".join([*parts, text[at:]])


class Planting(NamedTuple):
    """One fault: the files as they are without it and with it, and what a scan should say of the second alone.

    `places` are (path, first line, last line) of the setting and of the start that does not get it.
    """

    kind: str
    shape: str
    repository: str
    path: str
    line: int
    name: str
    rules: tuple[str, ...]
    base: Mapping[str, str]
    fault: Mapping[str, str]
    places: tuple[tuple[str, int, int], ...]
    own: bool = False

    def changed(self) -> list[str]:
        """The lines that differ, as `path:line: - was` and `path:line: + is`."""
        return [row for path in self.fault for row in self._changed(path)]

    def _changed(self, path: str) -> Iterator[str]:
        before, after = self.base.get(path, "").splitlines(), self.fault[path].splitlines()
        for what, start, end, first, last in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
            if what != "equal":
                yield from (f"{path}:{number + 1}: - {before[number].strip()}" for number in range(start, end))
                yield from (f"{path}:{number + 1}: + {after[number].strip()}" for number in range(first, last))


def lines_with(files: Mapping[str, str], name: str) -> list[tuple[str, int, int]]:
    """Where a name stands."""
    return [
        (path, number, number)
        for path, text in files.items()
        for number, line in enumerate(text.splitlines(), 1)
        if name in line
    ]
