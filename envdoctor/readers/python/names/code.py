"""Python text and its syntax tree: parsing that never raises, and places of nodes in the file."""

from __future__ import annotations

import ast
import re
import warnings
from bisect import bisect_right

from envdoctor.core.facts import Place, Problem
from envdoctor.core.regexes import regex
from envdoctor.core.source import Source

LARGEST = 4_000_000
"""Characters above which a file is not parsed: the tree of a larger one takes more than 250 MB of memory, and
Python files of that size are generated data."""
LINE_END = regex(r"\r\n?|\n")
WIDE = regex(r"[^\x00-\x7f][^\n]*")
TEMPLATE = regex(r"\{\{.*?\}\}|\{%.*?%\}|\{#.*?#\}", re.DOTALL)
NOT_BREAK = regex(r"[^\r\n]")


class Code:
    """The text of a Python file as the parser sees it. `ast` counts columns in UTF-8 bytes; places count characters."""

    __slots__ = ("_cell", "_path", "_plain", "_shift", "_wide", "source", "starts", "text")

    def __init__(self, source: Source) -> None:
        text = source.text
        if not text.isascii():
            # A lone surrogate, left by a lenient decoder, cannot be parsed; "?" keeps every position.
            text = text.encode("utf-8", "replace").decode("utf-8")
        self._shift = 1 if text.startswith("\ufeff") else 0
        self.text = text[self._shift :].replace("\0", " ")
        self.source = source
        self.starts = self._line_starts()
        self._path, self._cell = source.path, source.cell
        whole = type(source) is Source and source.anchors is None and not self._shift
        self._plain = whole and "\r" not in text
        self._wide = self._wide_lines()

    def _line_starts(self) -> list[int]:
        if "\r" not in self.text and not self._shift:
            return self.source.starts()
        return [0, *(m.end() for m in LINE_END.finditer(self.text))]

    def _wide_lines(self) -> set[int]:
        """Lines, from 1, with characters that take more than one byte."""
        if self.text.isascii():
            return set()
        return {self.row(match.start()) + 1 for match in WIDE.finditer(self.text)}

    def offset(self, line: int, byte_column: int) -> int:
        """The offset in `text` of a position that `ast` gives."""
        start = self.starts[line - 1] if line <= len(self.starts) else len(self.text)
        if line not in self._wide:
            return start + byte_column
        part = self.text[start : start + byte_column]
        return start + len(part.encode()[:byte_column].decode("utf-8", "ignore"))

    def span(self, node: ast.expr | ast.stmt | ast.keyword) -> tuple[int, int]:
        """Start and end of a node as offsets in `text`."""
        end_line = node.end_lineno or node.lineno
        return self.offset(node.lineno, node.col_offset), self.offset(end_line, node.end_col_offset or 0)

    def segment(self, node: ast.expr | ast.stmt | ast.keyword) -> str:
        """The source text of a node."""
        start, end = self.span(node)
        return self.text[start:end]

    def written(self, node: ast.expr) -> tuple[str, Place]:
        """The source text of an expression and its place."""
        line, end_line = node.lineno, node.end_lineno or node.lineno
        if self._plain and line not in self._wide and end_line not in self._wide:
            column, end_column = node.col_offset, node.end_col_offset or 0
            text = self.text[self.starts[line - 1] + column : self.starts[end_line - 1] + end_column]
            return text, Place(self._path, line, column + 1, end_line, end_column + 1, "", self._cell)
        start, end = self.span(node)
        return self.text[start:end], self.between(start, end)

    def place(self, node: ast.expr | ast.stmt | ast.keyword) -> Place:
        """The place of a node in the file."""
        line, end_line = node.lineno, node.end_lineno or node.lineno
        if self._plain and line not in self._wide and end_line not in self._wide:
            return Place(
                self._path, line, node.col_offset + 1, end_line, (node.end_col_offset or 0) + 1, "", self._cell
            )
        return self.between(*self.span(node))

    def heading(self, node: ast.stmt) -> tuple[Place, int]:
        """The place of the first line of a statement, and the line in the file that it ends on."""
        start = self.offset(node.lineno, node.col_offset)
        end = self.starts[node.lineno] - 1 if node.lineno < len(self.starts) else len(self.text)
        end_line = node.end_lineno or node.lineno
        if not self._plain:
            end_line, _ = self.point(self.offset(end_line, node.end_col_offset or 0))
        return self.between(start, max(end, start)), end_line

    def between(self, start: int, end: int) -> Place:
        """The place of `text[start:end]` in the file."""
        return self.source.place(start + self._shift, end + self._shift)

    def in_source(self, offset: int) -> int:
        """The offset in the text of the source, which a byte order mark moves by one."""
        return offset + self._shift

    def point(self, offset: int) -> tuple[int, int]:
        """Line and column in the file of an offset in `text`."""
        return self.source.point(offset + self._shift)

    def row(self, offset: int) -> int:
        """The index of the line of `text` that holds an offset."""
        return bisect_right(self.starts, offset) - 1

    def line(self, row: int) -> str:
        """A line of `text`, without its end."""
        start = self.starts[row]
        end = self.starts[row + 1] if row + 1 < len(self.starts) else len(self.text)
        return self.text[start:end].rstrip("\r\n")


def parse(code: Code) -> tuple[ast.Module | None, Problem | None]:
    """The tree of a file, or the problem that keeps it from being parsed.

    Text with template marks (`{{ }}`, `{% %}`) is parsed with the marks blanked where it cannot be parsed as it is.
    """
    if len(code.text) > LARGEST:
        size = f"{len(code.text) / 1e6:.0f} million characters"
        return None, Problem(f"too large to parse ({size}); only plain assignments were looked for", _line(code, 1))
    tree, problem = _parse(code, code.text)
    if problem is not None and ("{{" in code.text or "{%" in code.text):
        second, _ = _parse(code, TEMPLATE.sub(_blank_mark, code.text))
        if second is not None:
            return second, None
    return tree, problem


def _parse(code: Code, text: str) -> tuple[ast.Module | None, Problem | None]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text), None
    except SyntaxError as error:
        return None, Problem(f"not Python 3: {error.msg}", _line(code, error.lineno or 1))
    except RecursionError:
        return None, Problem("nested too deeply to parse", _line(code, 1))
    except MemoryError:  # what the parser raises when its own stack is full
        return None, Problem("nested too deeply to parse", _line(code, 1))
    except ValueError as error:
        return None, Problem(f"not Python 3: {error}", _line(code, 1))


def _line(code: Code, line: int) -> Place:
    """The whole of a line, counted from 1 as the parser counts."""
    row = min(max(line, 1), len(code.starts)) - 1
    start = code.starts[row]
    return code.between(start, start + len(code.line(row)))


def _blank_mark(mark: re.Match[str]) -> str:
    """Template marks as Python of the same length: a name for `{{ x }}`, blanks for a directive."""
    filler = "_" if mark[0].startswith("{{") else " "
    return NOT_BREAK.sub(filler, mark[0])
