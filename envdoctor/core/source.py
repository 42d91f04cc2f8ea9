"""Text with its place in a file, so that text inside text (RUN bodies, here-documents, strings) keeps its place."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from itertools import accumulate

from envdoctor.core.facts import FileFacts, Place
from envdoctor.core.records import dataclass, field


def unread(source: Source, kind: str) -> FileFacts:
    """No facts: nobody said who reads text inside text."""
    return FileFacts(source.path, kind)


@dataclass(slots=True)
class Source:
    """Text to read and where each of its lines stands in the file.

    `anchors[i]` is the (line, column) in the file, both from 1, of the first character of line i of `text`.
    For a whole file that is (i + 1, 1); for a here-document or a string inside a file it is where that line starts.
    `inside` reads text of another kind that stands in this one.
    """

    path: str
    text: str
    anchors: list[tuple[int, int]] | None = None
    cell: int | None = None
    inside: Callable[[Source, str], FileFacts] = unread
    _starts: list[int] = field(default_factory=list, init=False, repr=False)

    def starts(self) -> list[int]:
        """Offsets at which the lines of `text` begin."""
        if not self._starts:
            lines = self.text.split("\n")
            self._starts = [0, *accumulate([len(line) + 1 for line in lines[:-1]])]
        return self._starts

    def point(self, offset: int) -> tuple[int, int]:
        """Line and column in the file of the character at `offset` of `text`."""
        starts = self.starts()
        row = bisect_right(starts, offset) - 1
        column = offset - starts[row]
        if self.anchors is None:
            return row + 1, column + 1
        line, first = self.anchors[min(row, len(self.anchors) - 1)]
        return line, first + column

    def place(self, start: int, end: int) -> Place:
        """The place of `text[start:end]`."""
        line, column = self.point(start)
        end_line, end_column = self.point(end)
        return Place(self.path, line, column, end_line, end_column, cell=self.cell)

    def part(self, start: int, end: int) -> Source:
        """`text[start:end]` as a source of its own, unchanged, with its places kept."""
        starts = self.starts()
        first = bisect_right(starts, start) - 1
        last = bisect_right(starts, max(start, end - 1)) - 1
        anchors = [self.point(start)] + [self.point(starts[row]) for row in range(first + 1, last + 1)]
        return Source(self.path, self.text[start:end], anchors, self.cell, self.inside)

    def replaced(self, text: str, anchors: list[tuple[int, int]]) -> Source:
        """A source for text that was unescaped, dedented or joined; `anchors` gives the place of each line."""
        return Source(self.path, text, anchors, self.cell, self.inside)
