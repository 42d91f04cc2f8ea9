"""The Python of a notebook as one program, and what an edit of it is in the JSON of the file.

Each character of a cell has its place in the file, behind escapes too. What is added goes into the string of the line
that it stands in, escaped; lines that go take their strings out of the list.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from functools import lru_cache
from re import MULTILINE

from envdoctor.core.facts import Place, Setting
from envdoctor.core.findings import Edit, Finding, Fix
from envdoctor.core.records import replace
from envdoctor.core.regexes import regex
from envdoctor.core.source import Source
from envdoctor.readers.notebook.cells import Cell, Notebook

_MAGIC = regex(r"^([ \t]*)[!%](?!%)", MULTILINE)
_OTHER = regex(r"\s*%%")
_ESCAPE = regex(r"\\u[Dd][89ABab]..\\u[Dd][C-Fc-f]..|\\u....|\\.")
_REST, _BETWEEN = regex(r'[^"\\\n]*(?:\\.[^"\\\n]*)*(?=")'), regex(r'"(\s*,\s*)"')
_FRONT = regex(r'[\[,](\s*)"\Z')
_NEXT, _BEFORE = regex(r'"\s*,\s*(?=")'), regex(r',\s*"\Z')


class Program:
    """The cells that are Python, one below the other; magics in them are comments here."""

    def __init__(self, path: str, text: str) -> None:
        self.path = path
        self._file = Source(path, text)
        self.offsets: list[int] = []
        """Where each character stands in the file; -1 for the line ends between cells."""
        pieces: list[str] = []
        notebook = Notebook(text)
        for cell in notebook.cells():
            if notebook.language in ("python", "ipython", "python3") and (code := _python(cell)) is not None:
                pieces += [code, "\n"]
                self.offsets += [*cell.offsets, -1]
        self.text = "".join(pieces)
        self._program = Source(path, self.text)
        self._known = sorted((offset, index) for index, offset in enumerate(self.offsets) if offset >= 0)

    def _offset(self, line: int, column: int) -> int:
        return self._file.starts()[line - 1] + column - 1

    def place(self, place: Place) -> Place | None:
        """A place of the file as one of the program; None where it is in no Python."""
        start, end = self._offset(place.line, place.column), self._offset(place.end_line, place.end_column)
        first = bisect_left(self._known, (start, -1))
        last = bisect_left(self._known, (end, -1))
        if first >= len(self._known) or self._known[first][0] != start or last <= first:
            return None
        return self._program.place(self._known[first][1], self._known[last - 1][1] + 1)

    def finding(self, finding: Finding) -> Finding | None:
        """A finding with its places in the program."""
        place = self.place(finding.place)
        if place is None:
            return None
        related = [
            r if r.place.path != self.path else replace(r, place=mapped)
            for r in finding.related
            if (mapped := self.place(r.place) if r.place.path == self.path else r.place) is not None
        ]
        return replace(finding, place=place, related=tuple(related))

    def setting(self, setting: Setting) -> Setting | None:
        """A setting with its places in the program."""
        place = self.place(setting.place)
        named = setting.name_place and self.place(setting.name_place)
        if place is None:
            return None
        return replace(setting, place=place, name_place=named, value_place=None)

    def fix(self, fix: Fix | None) -> Fix | None:
        """A fix of the program as one of the file; None where an edit has no plain place there."""
        if fix is None:
            return None
        edits: list[Edit] = []
        for edit in fix.edits:
            made = self._edits(edit) if edit.place.path == self.path else [edit]
            if made is None:
                return None
            edits += made
        return replace(fix, edits=tuple(edits))

    def _edits(self, edit: Edit) -> list[Edit] | None:
        starts = self._program.starts()
        start = starts[edit.place.line - 1] + edit.place.column - 1
        end = starts[edit.place.end_line - 1] + edit.place.end_column - 1
        while end > start and self.offsets[end - 1] == -1:
            end -= 1
        text = _escaped(edit.text)
        if start == end:
            point = self._point(start)
            return None if point is None else [self._edit(point, point, self._split(edit.text, point))]
        if -1 in self.offsets[start:end]:
            return None
        runs = list(self._runs(start, end))
        if not text:
            runs = self._with_strings(runs)
        return [self._edit(first, last, "" if index else text) for index, (first, last) in enumerate(runs)]

    def _edit(self, start: int, end: int, text: str) -> Edit:
        return Edit(self._file.place(start, end), text)

    def _behind(self, index: int) -> int:
        """The offset in the file behind a character of the program, which may be written as an escape."""
        offset = self.offsets[index]
        escape = _ESCAPE.match(self._file.text, offset)
        return escape.end() if escape else offset + 1

    def _point(self, index: int) -> int | None:
        """Where something is put in: at the start of a line in its own string, else behind what stands before."""
        if index < len(self.offsets) and self.offsets[index] >= 0 and self.text[index - 1 : index] in ("", "\n"):
            return self.offsets[index]
        if index and self.offsets[index - 1] >= 0:
            return self._behind(index - 1)
        return None

    def _split(self, text: str, point: int) -> str:
        """Text for one string as text for as many as it has lines, where the strings of a cell hold a line each."""
        behind = _REST.match(self._file.text, point)
        if behind is None:
            return _escaped(text)
        start = self._file.text.rfind('"', 0, point) + 1
        front = _FRONT.search(self._file.text, max(0, start - 200), start)
        between = _BETWEEN.match(self._file.text, behind.end())
        comma = between[1] if between else f",{front[1]}" if front else ""
        if "\n" not in comma:
            return _escaped(text)
        joint = f'\\n"{comma}"'
        parts = [_escaped(line) for line in text.split("\n")]
        ends = behind.end() == point  # nothing follows in this string: its last line end stays in it
        tail = parts.pop() if ends and len(parts) > 1 and not parts[-1] else None
        return joint.join(parts) + ("\\n" if tail == "" else "")

    def _runs(self, start: int, end: int) -> Iterator[tuple[int, int]]:
        """The parts of a piece of the program that stand in one string of the file each."""
        first = start
        for index in range(start, end):
            if index + 1 == end or self.offsets[index + 1] != self._behind(index):
                yield self.offsets[first], self._behind(index)
                first = index + 1

    def _with_strings(self, runs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
        """Parts that are whole strings of a list, with their quotes and the comma behind, or before the last one."""
        text, found = self._file.text, []
        for first, last in runs:
            whole = text[first - 1] == '"' and text[last : last + 1] == '"'
            behind = _NEXT.match(text, last) if whole else None
            before = _BEFORE.search(text, max(0, first - 200), first) if whole and len(runs) == 1 else None
            if behind:
                found.append((first - 1, behind.end()))
            elif before:
                found.append((before.start(), last + 1))
            else:
                found.append((first, last))
        return found


def _escaped(text: str) -> str:
    """Text as it stands in a string of JSON."""
    return json.dumps(text, ensure_ascii=False)[1:-1]


def _python(cell: Cell) -> str | None:
    """The text of a cell with its magics as comments; None where it is no Python."""
    import ast
    import warnings

    if _OTHER.match(cell.text):
        return None
    code = _MAGIC.sub(r"\1#", cell.text)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return code


@lru_cache(maxsize=4)
def program(path: str, text: str) -> Program:
    """The program of a notebook."""
    return Program(path, text)
