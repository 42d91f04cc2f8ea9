"""Words after expansion: text of which each piece knows where it was written, or that nobody knows it."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from envdoctor.core.facts import Place
from envdoctor.core.records import dataclass, field
from envdoctor.core.regexes import regex
from envdoctor.core.source import Source
from envdoctor.readers.shared.embedded import MappedSource

_ASSIGNMENT = regex(r"([A-Za-z_]\w*)(\+?=)")
LONGEST = 300
"""Characters of an expansion that are kept."""
_REFERENCE = regex(r"\$\w+|\$[@*#?$!-]|\$\{")
_BLANKS = regex(r"[ \t\n]+")


class Piece(NamedTuple):
    """A run of text that stands at one place. Unknown: `text` is how it is written; `name` is the variable, if any.

    `likely`: it is there unless somebody outside gave the variable another value (`${X:-text}`).
    """

    text: str
    known: bool
    path: str
    line: int
    column: int
    name: str = ""
    likely: bool = False
    several: bool = False
    """It stands unquoted where words are split: it may be no word, or many."""


class Text:
    """One word as the process gets it. `place` is where it is used; the pieces may come from elsewhere."""

    __slots__ = ("pieces", "quoted", "used")

    def __init__(self, pieces: Sequence[Piece], used: Place, quoted: bool = False) -> None:
        self.pieces = tuple(pieces)
        self.used = used
        self.quoted = quoted

    def __repr__(self) -> str:
        return f"Text({self.text!r})"

    @property
    def text(self) -> str:
        """The whole; unknown parts as they are written."""
        pieces = self.pieces
        return pieces[0].text if len(pieces) == 1 else "".join([piece.text for piece in pieces])

    @property
    def known(self) -> bool:
        """Whether the process gets exactly `text`."""
        return all(piece.known for piece in self.pieces)

    @property
    def sure(self) -> bool:
        """Whether it is so whatever somebody outside has set."""
        return all(piece.known and not piece.likely for piece in self.pieces)

    @property
    def likely(self) -> bool:
        """Whether a part of it is a default that nobody is seen to replace."""
        return any(piece.likely for piece in self.pieces)

    @property
    def several(self) -> bool:
        """Whether it may be no word or many: an unquoted variable that nobody knows, `*.py`, `{a,b}`."""
        return any(piece.several for piece in self.pieces)

    @property
    def starts_unknown(self) -> bool:
        """Whether the first character is not known."""
        return bool(self.pieces) and not self.pieces[0].known

    def variable(self) -> str:
        """The name where the whole word is one variable that nobody knows."""
        return self.pieces[0].name if len(self.pieces) == 1 and not self.pieces[0].known else ""

    def place(self) -> Place:
        """Where the word is used."""
        return self.used

    def origin(self) -> Piece:
        """Where the text begins, as it was written."""
        if self.pieces:
            return self.pieces[0]
        return Piece("", True, self.used.path, self.used.line, self.used.column)

    def written(self) -> Place:
        """Where a name was written."""
        at = self.origin()
        return Place(at.path, at.line, at.column, at.line, at.column + len(self.text))

    def part(self, start: int, end: int | None = None) -> Text:
        """`text[start:end]` as a word of its own."""
        stop = len(self.text) if end is None else end
        kept: list[Piece] = []
        at = 0
        for piece in self.pieces:
            first, last = max(start - at, 0), min(stop - at, len(piece.text))
            if first < last or (not piece.text and start <= at and (at < stop or stop == len(self.text))):
                whole = first == 0 and last == len(piece.text)
                kept.append(piece if whole else _cut(piece, first, last))
            at += len(piece.text)
        return Text(kept, self.used, self.quoted)

    def assignment(self) -> tuple[Text, str, Text] | None:
        """Name, sign and value of `NAME=VALUE`."""
        match = _ASSIGNMENT.match(self.text)
        if match is None or (self.pieces and len(self.pieces[0].text) < match.end(1) and not self._knows(match.end())):
            return None
        return self.part(0, match.end(1)), match[2], self.part(match.end())

    def _knows(self, end: int) -> bool:
        return all(piece.known for piece in self.part(0, end).pieces)

    def fields(self) -> list[Text]:
        """The words that it becomes where it is split at blanks; what is unknown stays whole."""
        if not self.known:
            return [self]
        text = self.text
        found: list[Text] = []
        at = 0
        for match in _BLANKS.finditer(text):
            if match.start() > at:
                found.append(self.part(at, match.start()))
            at = match.end()
        if at < len(text):
            found.append(self.part(at))
        return found


def _cut(piece: Piece, first: int, last: int) -> Piece:
    if not piece.known:
        return piece
    return piece._replace(text=piece.text[first:last], column=piece.column + first)


def joined(words: Iterable[Text], used: Place) -> Text:
    """Words with a blank between them, as `eval` and `ssh` join theirs."""
    pieces: list[Piece] = []
    for word in words:
        if pieces:
            last = pieces[-1]
            pieces.append(Piece(" ", True, last.path, last.line, last.column + len(last.text)))
        pieces += word.pieces
    return Text(pieces, used, quoted=True)


def shown(words: Iterable[Text]) -> str:
    """Words as somebody would read them."""
    return " ".join(word.text for word in words)


# Text as somebody wrote it


@dataclass(slots=True)
class PieceSource(MappedSource):
    """Text made of pieces, each with its own place; those of other files stand where the text is used."""

    starts_at: list[int] = field(default_factory=list)
    points: list[tuple[int, int, bool]] = field(default_factory=list)

    def point(self, offset: int) -> tuple[int, int]:
        """Line and column of a character."""
        index = max(bisect_right(self.starts_at, offset) - 1, 0)
        if not self.points:
            return 1, 1
        line, column, runs = self.points[index]
        return (line, column + offset - self.starts_at[index]) if runs else (line, column)

    def is_straight(self, start: int, end: int) -> bool:
        """Whether `text[start:end]` stands in one line as it is: in one piece that was written like this."""
        first = max(bisect_right(self.starts_at, start) - 1, 0)
        if end <= start or first >= len(self.points):
            return False
        following = self.starts_at[first + 1] if first + 1 < len(self.starts_at) else end
        return end == start + 1 or (end <= following and self.points[first][2])

    def place(self, start: int, end: int) -> Place:
        """The place of `text[start:end]`."""
        line, column = self.point(start)
        end_line, end_column = self.point(max(end - 1, start))
        return Place(self.path, line, column, end_line, end_column + 1)

    def part(self, start: int, end: int) -> PieceSource:
        """A part of the text with its places."""
        found = PieceSource(self.path, self.text[start:end])
        first = max(bisect_right(self.starts_at, start) - 1, 0)
        for begins, (line, column, runs) in zip(self.starts_at[first:], self.points[first:], strict=True):
            if begins >= end:
                break
            skipped = max(start - begins, 0)
            found.starts_at.append(begins + skipped - start)
            found.points.append((line, column + skipped if runs else column, runs))
        return found


def source_of(text: Text, path: str) -> Source:
    """A word as text to run."""
    pieces = text.pieces
    home = path if any(piece.path == path for piece in pieces) or not pieces else pieces[0].path
    found = PieceSource(home, text.text)
    at = 0
    for piece in pieces:
        line, column, runs = piece.line, piece.column, piece.known
        if piece.path != home:
            line, column, runs = text.used.line, text.used.column, False
        for number, part in enumerate(piece.text.split("\n")):
            found.starts_at.append(at)
            found.points.append((line + number if runs else line, column if not number or not runs else 1, runs))
            at += len(part) + 1
        at -= 1
    return found


def unquoted(text: Text) -> Text:
    """Text to run in which what nobody knows stands outside of single quotes, so that it is read as what it is."""
    if text.known or "'" not in text.text:
        return text
    pieces: list[Piece] = []
    single = False
    for piece in text.pieces:
        if piece.known:
            single = _in_single_quotes(piece.text, single)
        pieces.append(piece if piece.known or not single else piece._replace(text=f"'\"{piece.text}\"'"))
    return Text(pieces, text.used, text.quoted)


def _in_single_quotes(text: str, single: bool) -> bool:
    double = False
    for sign in text:
        if sign == "'" and not double:
            single = not single
        elif sign == '"' and not single:
            double = not double
    return single


def written_at(value: str | None, place: Place) -> Text | None:
    """A known value that stands at a place."""
    if value is None:
        return None
    return Text((Piece(value, True, place.path, place.line, place.column),), place)


def expansion_at(text: str, line: int, column: int) -> str:
    """The expansion that begins at a place: `$(...)`, a pair of backquotes, `${...}`, `$NAME`."""
    start = _offset(text, line, column)
    if start < 0:
        return "$?"
    if text.startswith("`", start):
        end = text.find("`", start + 1)
        return text[start : end + 1][:LONGEST] if end > 0 else text[start : start + 1]
    match = _REFERENCE.match(text, start)
    if match and match[0] != "${":
        return match[0]
    return text[start : _closing(text, start + 1) + 1][:LONGEST]


def _offset(text: str, line: int, column: int) -> int:
    at = 0
    for _ in range(line - 1):
        at = text.find("\n", at) + 1
        if not at:
            return -1
    return at + column - 1 if at + column - 1 < len(text) else -1


def _closing(text: str, start: int) -> int:
    depth = 0
    for index in range(start, min(len(text), start + 4 * LONGEST)):
        depth += (text[index] in "({") - (text[index] in ")}")
        if depth == 0:
            return index
    return min(len(text), start + LONGEST)
