"""The text of one body: where its characters stand in the file, and which spans of it nobody can tell."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator

from envdoctor.core.operations import Part
from envdoctor.core.regexes import regex
from envdoctor.core.source import Source
from envdoctor.readers.shared.embedded import MappedSource
from envdoctor.readers.shell.bodies.templates import Conditions
from envdoctor.readers.shell.syntax.mask import MaskedScript

PYTHON_VALUE = "${_value_from_python_}"
"""`UNKNOWN` of `readers.python.names.text`: stands for a value that only Python knows. Not imported: it loads `ast`."""
SHOWN = "{...}"
_PYTHON_VALUE = regex(r"\$\{_value_from_python_\}")
_LINE = regex(r"[^\n]*\n?")


class BodyText:
    """A text, its places, and its holes: (start, end, what is shown of it), in order."""

    __slots__ = (
        "conditions",
        "depth",
        "first",
        "holes",
        "last",
        "line",
        "mapped",
        "masked",
        "plain",
        "source",
        "starts",
        "text",
    )

    def __init__(self, source: Source, masked: MaskedScript, depth: int = 0) -> None:
        self.source = source
        self.text = source.text
        self.depth = depth
        """How many words and bodies of this text are open at the moment."""
        self.masked = masked
        self.conditions = Conditions(masked.branches) if masked.branches else None
        self.mapped = isinstance(source, MappedSource)
        self.plain = source.anchors is None and not self.mapped
        self.starts = source.starts() if self.plain else []
        self.first, self.last, self.line = 0, -1, 0
        self.holes = [(start, end, self.text[start:end]) for start, end in masked.holes]
        if PYTHON_VALUE in self.text:
            self.holes += [(*match.span(), SHOWN) for match in _PYTHON_VALUE.finditer(self.text)]
            self.holes.sort()

    def point(self, offset: int) -> tuple[int, int]:
        """Line and column in the file; most calls ask about one line, so that the line is remembered."""
        if not self.plain:
            return self.source.point(offset)
        if not self.first <= offset < self.last:
            starts = self.starts
            row = bisect_right(starts, offset)
            self.line, self.first = row, starts[row - 1]
            self.last = starts[row] if row < len(starts) else len(self.text) + 1
        return self.line, offset - self.first + 1

    def end(self, start: int, end: int) -> tuple[int, int]:
        """Line and column right after `text[start:end]`."""
        if not self.mapped or end <= start:
            return self.point(end)
        line, column = self.source.point(end - 1)
        return line, column + 1

    def hole_after(self, start: int, end: int) -> tuple[int, int, str] | None:
        """The first hole that ends behind `start` and begins before `end`."""
        holes = self.holes
        if not holes:
            return None
        at = bisect_right(holes, (start, len(self.text), "")) - 1
        if at >= 0 and holes[at][1] > start:
            return holes[at]
        return holes[at + 1] if at + 1 < len(holes) and holes[at + 1][0] < end else None

    def texts(self, start: int, end: int) -> Iterator[Part]:
        """`text[start:end]` as parts, each of which stands on one line, one column each character."""
        if self.mapped:
            yield from self._mapped_texts(start, end)
        elif self.text.find("\n", start, end) == -1:
            yield ("text", self.text[start:end], *self.point(start))
        else:
            while start < end:
                match = _LINE.match(self.text, start, end)
                stop = match.end() if match else end
                yield ("text", self.text[start:stop], *self.point(start))
                start = stop

    def _mapped_texts(self, start: int, end: int) -> Iterator[Part]:
        """The same where each character has a place of its own."""
        if isinstance(self.source, MappedSource) and self.source.is_straight(start, end):
            yield ("text", self.text[start:end], *self.source.point(start))
            return
        points = list(map(self.source.point, range(start, end)))
        begin = 0
        for index in range(1, len(points) + 1):
            before = points[index - 1]
            if index == len(points) or points[index] != (before[0], before[1] + 1):
                yield ("text", self.text[start + begin : start + index], *points[begin])
                begin = index
