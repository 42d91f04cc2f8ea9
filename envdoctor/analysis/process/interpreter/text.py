"""Words after expansion: text of which each piece knows where it was written, or that nobody knows it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from envdoctor.core.facts import Place
from envdoctor.core.regexes import regex

_ASSIGNMENT = regex(r"([A-Za-z_]\w*)(\+?=)")
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
    def likely(self) -> bool:
        """Whether a part of it is a default that nobody is seen to replace."""
        return any(piece.likely for piece in self.pieces)

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

    def part(self, start: int, end: int | None = None) -> Text:
        """`text[start:end]` as a word of its own."""
        stop = len(self.text) if end is None else end
        kept: list[Piece] = []
        at = 0
        for piece in self.pieces:
            first, last = max(start - at, 0), min(stop - at, len(piece.text))
            if first < last:
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
