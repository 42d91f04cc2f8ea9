"""The cells of a notebook, found without building what stands in their outputs.

Source: nbformat 4 (`cells`, `source`) and 3 (`worksheets`, `input`); a source is a string or a list of lines.
"""

from __future__ import annotations

from collections.abc import Iterator

from envdoctor.core.records import dataclass
from envdoctor.core.regexes import regex
from envdoctor.readers.json.scan import scan
from envdoctor.readers.shared.nodes import MappingNode, ScalarNode, TreeNode
from envdoctor.readers.shared.quoted_text import double_quoted, plain

MOST_CODE = 3_500_000
"""Characters of code that are read of one notebook."""

_BRACKET = regex(r'"[^"\\]*(?:\\.[^"\\]*)*"|[\[\]{}]')
_STRING = regex(r'"[^"\\]*(?:\\.[^"\\]*)*"')
_BLANK = regex(r"[\s,:]*")
_WORD = regex(r'[^\s,:\[\]{}"]+')


@dataclass(frozen=True, slots=True)
class Cell:
    """A code cell: its number among all cells, from 1, its text, and the offset of each character of it."""

    number: int
    start: int
    text: str
    offsets: list[int]


class Notebook:
    """The text of a notebook; `problem` is what was wrong with it and where."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.problem: tuple[str, int] | None = None
        self.language = "python"
        self.starts: list[int] = []

    def cells(self) -> list[Cell]:
        """All code cells, in source order; `language` is then that of the kernel and `starts` those of all cells."""
        found: list[Cell] = []
        size = 0
        for start in self.cell_starts():
            self.starts.append(start)
            cell = self.cell(start, len(self.starts))
            if cell is None:
                continue
            size += len(cell.text)
            if size > MOST_CODE:
                self.problem = (f"more than {MOST_CODE} characters of code: the rest was left out", start)
                break
            found.append(cell)
        return found

    def cell_starts(self) -> Iterator[int]:
        """Where each cell begins."""
        for key, start, end in self.members(_BLANK.match(self.text).end()):  # type: ignore[union-attr]
            if key == "cells":
                yield from (first for first, _ in self.elements(start))
            elif key == "worksheets":
                for sheet, _ in self.elements(start):
                    lists = (first for name, first, _ in self.members(sheet) if name == "cells")
                    yield from (first for listed in lists for first, _ in self.elements(listed))
            elif key == "metadata":
                self.kernel(start, end)

    def kernel(self, start: int, end: int) -> None:
        """The language of the kernel, from the metadata of the notebook."""
        roots = scan(self.text[start : min(end, start + 20_000)]).roots
        for group, name in (("kernelspec", "language"), ("language_info", "name")):
            node = _member(_member(roots[0], group), name) if roots else None
            if isinstance(node, ScalarNode) and node.value:
                self.language = node.value.lower()
                return

    def cell(self, start: int, number: int) -> Cell | None:
        """The code cell that begins at `start`; None for a cell of another kind."""
        kind, source = "", -1
        for key, first, end in self.members(start):
            if key == "cell_type":
                kind = self.text[first:end].strip('"')
            elif key in ("source", "input"):
                source = first
        if kind != "code" or source == -1:
            return None
        parts = [(source, self.skip(source))] if self.text[source : source + 1] == '"' else self.elements(source)
        pieces: list[str] = []
        offsets: list[int] = []
        for first, end in parts:
            if self.text[first] == '"':
                text, places = double_quoted(plain(self.text[first + 1 : end - 1], first + 1))
                pieces.append(text)
                offsets += places
        return Cell(number, start, "".join(pieces), offsets)

    def members(self, at: int) -> Iterator[tuple[str, int, int]]:
        """Key, start and end of each value of the object that begins at `at`."""
        if self.text[at : at + 1] != "{":
            return
        at += 1
        while key := _STRING.match(self.text, self.blank(at)):
            start = self.blank(key.end())
            end = self.skip(start)
            if end == start:
                return
            yield key[0][1:-1], start, end
            at = end

    def elements(self, at: int) -> Iterator[tuple[int, int]]:
        """Start and end of each value of the list that begins at `at`."""
        if self.text[at : at + 1] != "[":
            return
        at = self.blank(at + 1)
        while at < len(self.text) and self.text[at] not in "]}":
            end = self.skip(at)
            if end == at:
                return
            yield at, end
            at = self.blank(end)

    def blank(self, at: int) -> int:
        """The offset behind blanks, commas and colons."""
        return _BLANK.match(self.text, at).end()  # type: ignore[union-attr]

    def skip(self, at: int) -> int:
        """The offset behind the value that begins at `at`."""
        first = self.text[at : at + 1]
        if first == '"':
            string = _STRING.match(self.text, at)
            return string.end() if string else self.cut_off(at)
        if first not in ("[", "{"):
            word = _WORD.match(self.text, at)
            return word.end() if word else at
        depth = 0
        for match in _BRACKET.finditer(self.text, at):
            char = self.text[match.start()]
            depth += (char in "[{") - (char in "]}")
            if depth == 0:
                return match.end()
        return self.cut_off(at)

    def cut_off(self, at: int) -> int:
        """A value that never ends."""
        self.problem = self.problem or ("not quite JSON: a bracket or a string is never closed", at)
        return len(self.text)


def _member(node: TreeNode | None, name: str) -> TreeNode | None:
    """The value of a key of an object."""
    if not isinstance(node, MappingNode):
        return None
    return next((value for key, value in node.value if key.value == name), None)
