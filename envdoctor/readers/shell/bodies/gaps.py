"""Parts that the parser could not read: whole statements in them are kept, the lines between are parsed one by one."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from tree_sitter import Parser, Range

from envdoctor.core.operations import Operation
from envdoctor.core.regexes import regex
from envdoctor.readers.shell.bodies.builder import BodyBuilder
from envdoctor.readers.shell.recovery import _STATEMENTS as STATEMENTS
from envdoctor.readers.shell.recovery import LONGEST_LINE, MOST_LINES
from envdoctor.readers.shell.syntax.parse import language

if TYPE_CHECKING:
    from tree_sitter import Node

_CONTINUED = regex(r"(?:[^\n]*\\\n)*[^\n]*")
_EMPTY = regex(r"\s*(?:#.*)?")
_CONDITION = regex(r"\s*(?:if|elif|while|until|for|case|select)\b")
_WORD = regex(r"(?:^|[;&|\n(]|\b(?:then|do|else)[ \t])[ \t]*(if|case|while|until|for|select|fi|done|esac)(?![\w=-])")
_CLOSING = regex(r"\s*(?:fi|done|esac|else|then|do|\}|\)|;;)\s*(?:[;&|>].*|\\|#.*)?")
"""Lines that end or divide what began in another line: nothing in them is run."""


def error(builder: BodyBuilder, node: Node, out: list[Operation]) -> None:
    """An error of the parser: what is whole in it is kept, and where nothing smaller is marked, the whole is a gap."""
    whole = [
        child
        for child in node.named_children
        if child.type in STATEMENTS and not child.has_error and not builder.source.startswith("(", child.end_byte)
    ]
    before = len(out)
    if builder.recovered:
        gap = builder.gap(node.start_byte, _line_end(builder.source, node.start_byte, node.end_byte))
        if not any(operation[:2] == gap[:2] for operation in out):
            out.append(gap)
        out += builder.nested(whole)
        return
    builder.recovered = True
    at = node.start_byte
    for child in whole:
        lines(builder, at, child.start_byte, out)
        out += builder.nested([child])
        at = max(at, child.end_byte)
    lines(builder, at, node.end_byte, out)
    builder.recovered = False
    if not any(operation[0] == "gap" for operation in out[before:]):
        gap = builder.gap(node.start_byte, _line_end(builder.source, node.start_byte, node.end_byte))
        out.insert(before, gap)
    out[before:] = _doubted(builder, node, out[before:])


def _doubted(builder: BodyBuilder, node: Node, found: list[Operation]) -> list[Operation]:
    """What stands behind a condition that could not be read, up to the end of what it is for, may run or not."""
    first = next((n for n, one in enumerate(found) if one[0] == "gap" and _CONDITION.match(one[3])), None)
    if first is None:
        return found
    last_line = _last_line(builder, node, found[first][1])
    if not last_line:
        return found  # it is never closed, so that no shell runs it
    gaps = [one for one in found if one[0] == "gap"]
    inside = tuple(one for one in found[first:] if one[0] != "gap" and one[1] <= last_line)
    behind = [one for one in found[first:] if one[0] != "gap" and one[1] > last_line]
    ahead = [one for one in found[:first] if one[0] != "gap"]
    point = found[first][1:3]
    test: Operation = ("test", *point, "a condition that could not be read", ())
    return [*ahead, *gaps, *([("if", *point, (((test,), inside),), None)] if inside else []), *behind]


def _last_line(builder: BodyBuilder, node: Node, line: int) -> int:
    """The line in which a compound command ends that begins at a line, told by its words alone; 0: it does not."""
    start = node.start_byte
    while start < node.end_byte and builder.text.point(start)[0] < line:
        start = builder.source.find("\n", start, node.end_byte) + 1 or node.end_byte
    depth = 0
    for match in _WORD.finditer(builder.shape, start, node.end_byte):
        depth += -1 if match[1] in ("fi", "done", "esac") else 1
        if depth <= 0:
            return builder.text.point(match.start(1))[0]
    return 0


def lines(builder: BodyBuilder, start: int, end: int, out: list[Operation]) -> None:
    """The statements of the lines of a gap, each parsed for itself."""
    data = builder.text.masked.data
    for first, last in _spans(builder, start, end):
        part = Range((0, first), (0, last), first, last)
        root = Parser(language(), included_ranges=[part]).parse(data).root_node
        out += builder.nested([root] if root.type == "ERROR" else root.named_children)
        if time.monotonic() > builder.deadline:
            out.append(builder.cut(last, end))
            return


def _spans(builder: BodyBuilder, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Spans of lines, continued ones as one, that may hold statements."""
    for _ in range(MOST_LINES):
        if start >= end:
            return
        match = _CONTINUED.match(builder.source, start, end)
        stop = match.end() if match else end
        readable = stop - start <= LONGEST_LINE and not _EMPTY.fullmatch(builder.source, start, stop)
        if readable and not _CLOSING.fullmatch(builder.source, start, stop):
            yield start, stop
        start = stop + 1


def _line_end(text: str, start: int, limit: int) -> int:
    end = text.find("\n", start, limit)
    return limit if end == -1 else end
