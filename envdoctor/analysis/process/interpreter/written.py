"""Text of files and of words, as somebody wrote it: expansions, lines of variables, lists of hosts."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import TYPE_CHECKING

from envdoctor.analysis.process.interpreter import assign
from envdoctor.analysis.process.interpreter.text import Piece, Text
from envdoctor.core.facts import Place
from envdoctor.core.records import dataclass, field
from envdoctor.core.regexes import regex
from envdoctor.core.source import Source
from envdoctor.readers.shared.embedded import MappedSource

if TYPE_CHECKING:
    from envdoctor.analysis.process.edges import EnvironmentFile
    from envdoctor.analysis.process.interpreter.state import Shell
    from envdoctor.analysis.process.interpreter.walker import Walker

LONGEST = 300
"""Characters of an expansion that are kept."""
_REFERENCE = regex(r"\$\w+|\$[@*#?$!-]|\$\{")
_HOST = regex(r"^[ \t]*[^#\s]", 8)
_NAMED = regex(r"^[ \t]*(?:export[ \t]+)?([A-Za-z_]\w*)=", 8)


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

    def place(self, start: int, end: int) -> Place:
        """The place of `text[start:end]`."""
        line, column = self.point(start)
        end_line, end_column = self.point(max(end - 1, start))
        return Place(self.path, line, column, end_line, end_column + 1)

    def part(self, start: int, end: int) -> PieceSource:
        """A part of the text with its places."""
        inner = [(self.point(at), at) for at in range(start, end)]
        found = PieceSource(self.path, self.text[start:end])
        found.starts_at = [at - start for _, at in inner]
        found.points = [(*point, False) for point, _ in inner]
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


def literal(value: str | None, place: Place) -> Text | None:
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


def hosts(text: str) -> int:
    """The hosts that a file lists, one a line."""
    return len(_HOST.findall(text))


def names_in(text: str) -> Sequence[str]:
    """The names of a file of `NAME=VALUE` lines."""
    return tuple(_NAMED.findall(text))


def read_file(walker: Walker, shell: Shell, file: EnvironmentFile[Text], place: Place) -> None:
    """Bind what a launcher reads from a file: of the tree, or written on the way."""
    kept = _kept(shell, file.path)
    if kept is not None:
        for text in kept:
            _bind_lines(walker, shell, text)
        return
    path = walker.find_text(file.path, place, shell)
    if path is not None:
        walker.load(path, shell, "file", under=file.wins == "under", maybe=file.maybe)
    else:
        walker.may_lack(shell)


def _kept(shell: Shell, path: str) -> tuple[Text, ...] | None:
    """A file that the script wrote, by its path or its name."""
    if path in shell.files:
        return shell.files[path]
    base = path.rsplit("/", 1)[-1]
    return next((kept for name, kept in shell.files.items() if name.rsplit("/", 1)[-1] == base), None)


def _bind_lines(walker: Walker, shell: Shell, text: Text) -> None:
    for word in text.fields():
        parts = word.assignment()
        if parts is not None:
            at = parts[0].origin()
            where = Place(at.path, at.line, at.column, at.line, at.column + len(parts[0].text))
            shell.lost.pop(parts[0].text, None)
            assign.bind(walker, shell, parts[0].text, parts[2], where, assign.Manner("file", "yes"))
