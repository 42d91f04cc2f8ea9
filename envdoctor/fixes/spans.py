"""The bytes of a file and the places in its text: edits change the bytes they name, and no other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from envdoctor.core.decoding import decode
from envdoctor.core.facts import Place
from envdoctor.core.findings import Edit
from envdoctor.core.regexes import regex

_BOM = b"\xef\xbb\xbf"
WIDE = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}
"""Marks of UTF-16 and how the text behind them is read."""
_LINE_END = regex(rb"\r\n|\r|\n")
_LINE_END_OF_TEXT = regex(r"\r\n|\r|\n")


class FixRefused(Exception):  # noqa: N818  a refusal, with its reason, is no error of the program
    """A file or a place that is not edited; the message says why."""


class Span(NamedTuple):
    """Bytes from `start` to `end` (exclusive), and what takes their place."""

    start: int
    end: int
    new: bytes

    def meets(self, other: Span) -> bool:
        """Whether both change the same bytes. Two insertions at one point do not: both are made, in order."""
        if self.start == self.end == other.start == other.end:
            return False
        if self.start == self.end or other.start == other.end:
            return self.start < other.end and other.start < self.end
        return max(self.start, other.start) < min(self.end, other.end)


class FileBytes:
    """The bytes of one file, by line and column of its text as `decoding.decode` gives it.

    A byte order mark, line endings and bytes that are not UTF-8 stay what they are.
    """

    def __init__(self, path: str, data: bytes) -> None:
        self.path = path
        self.data = data
        self.text = decode(path, data).text
        self.lines = self.text.split("\n")
        self._codec = WIDE.get(data[:2], "utf-8")
        self._starts: list[int] = [0]
        self._ends: list[int] = []
        for start, end in self._line_ends():
            self._ends.append(start)
            self._starts.append(end)
        self._ends.append(len(data))
        if self._codec != "utf-8":
            self._starts[0] = 2
        elif data.startswith(_BOM) and not self.text.startswith("\ufeff"):
            self._starts[0] = len(_BOM)

    def _line_ends(self) -> Iterator[tuple[int, int]]:
        """Where each line ending starts and ends."""
        if self._codec == "utf-8":
            yield from (match.span() for match in _LINE_END.finditer(self.data))
            return
        position, done = 2, 0
        text = self.data[2:].decode(self._codec, "replace")
        for match in _LINE_END_OF_TEXT.finditer(text):
            position += len(text[done : match.start()].encode(self._codec, "surrogatepass"))
            end = position + 2 * len(match[0])
            yield position, end
            position, done = end, match.end()

    def newline(self, line: int) -> bytes:
        """The line ending at the end of a line; where it has none, that of the first line, else LF."""
        for index in (min(line, len(self._ends)) - 1, 0):
            end = self.data[self._ends[index] : self._starts[index + 1]] if index + 1 < len(self._starts) else b""
            if end:
                return end
        return "\n".encode(self._codec)

    def offset(self, line: int, column: int) -> int:
        """The offset of the character at a line and column, both from 1. `FixRefused`: there is no such place."""
        if not 0 < line <= len(self._starts):
            raise FixRefused(f"line {line} is not there")
        start = self._starts[line - 1]
        raw = self.data[start : self._ends[line - 1]]
        if raw.decode(self._codec, "replace") != self.lines[line - 1]:
            raise FixRefused(f"line {line} does not map onto its bytes")
        if self._codec == "utf-8":
            return start + _width(raw, column - 1, line)
        if column - 1 > len(self.lines[line - 1]) or "\ufffd" in self.lines[line - 1]:
            raise FixRefused(f"line {line} has no column {column}, or is not all UTF-16")
        return start + len(self.lines[line - 1][: column - 1].encode(self._codec))

    def span(self, edit: Edit) -> Span:
        """The bytes that an edit replaces, and what it puts there, with the line endings of the file."""
        place = edit.place
        start = self.offset(place.line, place.column)
        end = self.offset(place.end_line, place.end_column)
        if end < start:
            raise FixRefused(f"line {place.line}: the place ends before it starts")
        newline = self.newline(place.line).decode(self._codec)
        return Span(start, end, edit.text.replace("\n", newline).encode(self._codec))

    def apply(self, spans: Iterable[Span]) -> bytes:
        """The bytes with all spans replaced. They must not meet; insertions at one point are made in their order."""
        parts, position = [], 0
        for span in sorted(spans, key=lambda s: (s.start, s.end)):
            parts += [self.data[position : span.start], span.new]
            position = span.end
        return b"".join([*parts, self.data[position:]])


def _width(raw: bytes, characters: int, line: int) -> int:
    """How many bytes the first characters of a line take; a run that is not UTF-8 is one character, as in reading."""
    position, left = 0, characters
    while True:
        try:
            good, bad = raw[position:].decode("utf-8"), (0, 0)
        except UnicodeDecodeError as error:
            good, bad = raw[position : position + error.start].decode("utf-8"), (error.start, error.end)
        if left <= len(good):
            return position + len(good[:left].encode("utf-8"))
        if bad == (0, 0):
            raise FixRefused(f"line {line} has no column {characters + 1}")
        left -= len(good) + 1
        position += bad[1]


def at(lines: Sequence[str], place: Place) -> str:
    """The text at a place of one line; empty where it covers several lines or is not there."""
    if place.line != place.end_line or not 0 < place.line <= len(lines):
        return ""
    return lines[place.line - 1][place.column - 1 : place.end_column - 1]


def on_line(path: str, line: int, start: int, end: int) -> Place:
    """The place of `text[start:end]` of a line (offsets from 0)."""
    return Place(path, line, start + 1, line, end + 1)


def whole_lines(lines: Sequence[str], path: str, first: int, last: int) -> Place:
    """The place of whole lines, with their endings; at the end of the file, with the ending in front of them."""
    if last < len(lines):
        return Place(path, first, 1, last + 1, 1)
    end = len(lines[last - 1]) + 1
    if first == 1:
        return Place(path, 1, 1, last, end)
    return Place(path, first - 1, len(lines[first - 2]) + 1, last, end)
