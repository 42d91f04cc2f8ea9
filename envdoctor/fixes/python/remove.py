"""Takes a setting out of a Python program: a statement, or one entry of a dictionary. Pure; the rest stays as it is."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Sequence
from functools import lru_cache

from envdoctor.core.facts import Place, Setting
from envdoctor.core.findings import Edit
from envdoctor.core.regexes import regex
from envdoctor.fixes.spans import whole_lines

_SETS = {"setdefault", "putenv", "setenv"}
_REST = regex(r"[ \t]*(?:#.*)?")


def removal(setting: Setting, text: str) -> Edit | None:
    """The edit that takes a setting out, or None where that is not plain."""
    tree = _tree(text)
    if tree is None or setting.name_place is None or setting.place.cell is not None:
        return None
    lines = text.split("\n")
    for parent in ast.walk(tree):
        for body in _bodies(parent):
            for statement in body:
                if _within(setting, statement) and _only_sets(statement, setting.name):
                    return _statement(setting.place.path, statement, len(body) == 1, lines)
        if isinstance(parent, ast.Dict) and _within(setting, parent) and (edit := _entry(setting, parent, lines)):
            return edit
    return None


@lru_cache(maxsize=4)
def _tree(text: str) -> ast.Module | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _bodies(node: ast.AST) -> list[list[ast.stmt]]:
    """The blocks of statements of a node."""
    blocks = [getattr(node, field, None) for field in ("body", "orelse", "finalbody")]
    return [block for block in blocks if isinstance(block, list) and block and isinstance(block[0], ast.stmt)]


def _within(setting: Setting, node: ast.stmt | ast.expr) -> bool:
    place = setting.place
    return node.lineno <= place.line <= (node.end_lineno or node.lineno)


def _only_sets(statement: ast.stmt, name: str) -> bool:
    """`x["NAME"] = plain value`, or `x.setdefault("NAME", plain value)`."""
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        target = statement.targets[0]
        return isinstance(target, ast.Subscript) and _is(target.slice, name) and _plain(statement.value)
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        call = statement.value
        sets = isinstance(call.func, ast.Attribute) and call.func.attr in _SETS and not call.keywords
        return sets and len(call.args) == 2 and _is(call.args[0], name) and _plain(call.args[1])
    return False


def _is(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Constant) and node.value == name


def _plain(node: ast.expr) -> bool:
    """An expression that does nothing but give a value."""
    if isinstance(node, ast.Call):
        known = isinstance(node.func, ast.Name) and node.func.id in ("str", "int")
        return known and len(node.args) == 1 and not node.keywords and _plain(node.args[0])
    if isinstance(node, ast.IfExp):
        return all(_plain(part) for part in (node.test, node.body, node.orelse))
    return isinstance(node, (ast.Constant, ast.Name))


def _column(lines: Sequence[str], line: int, width: int) -> int:
    """Characters in the first `width` bytes of a line, which is what `ast` counts in."""
    return len(lines[line - 1].encode("utf-8")[:width].decode("utf-8", "replace"))


def _ends(node: ast.stmt | ast.expr, lines: Sequence[str]) -> tuple[int, int, int, int]:
    """First line, offset in it, last line, and offset behind the last character."""
    last = node.end_lineno or node.lineno
    return (node.lineno, _column(lines, node.lineno, node.col_offset), last,
            _column(lines, last, node.end_col_offset or 0))  # fmt: skip


def _statement(path: str, statement: ast.stmt, single: bool, lines: Sequence[str]) -> Edit | None:
    first, start, last, end = _ends(statement, lines)
    if lines[first - 1][:start].strip() or not _REST.fullmatch(lines[last - 1][end:]):
        return None
    if first > 1 and lines[first - 2].endswith("\\"):
        return None
    if single:
        return Edit(Place(path, first, start + 1, last, end + 1), "pass")
    return Edit(whole_lines(lines, path, first, last), "")


def _entry(setting: Setting, table: ast.Dict, lines: Sequence[str]) -> Edit | None:
    """One `"NAME": value` of a dictionary, with its comma."""
    assert setting.name_place is not None
    path = setting.place.path
    for index, (key, value) in enumerate(zip(table.keys, table.values, strict=True)):
        if key is None or key.lineno != setting.name_place.line or not _is(key, setting.name) or not _plain(value):
            continue
        first, start, _, _ = _ends(key, lines)
        _, _, last, end = _ends(value, lines)
        tail = re.match(r"[ \t]*(,?)[ \t]*", lines[last - 1][end:])
        rest = lines[last - 1][end + (tail.end() if tail else 0) :]
        if not lines[first - 1][:start].strip() and _REST.fullmatch(rest):
            previous_has_comma = index < len(table.keys) - 1 or bool(tail and tail[1]) or index == 0
            after_comma = index and lines[first - 2].rstrip().endswith(",")
            return Edit(whole_lines(lines, path, first, last), "") if previous_has_comma or after_comma else None
        if first != last:
            return None
        if tail and tail[1]:
            return Edit(Place(path, first, start + 1, first, end + tail.end() + 1), "")
        before = re.search(r",[ \t]*\Z", lines[first - 1][:start])
        cut = before.start() if before else start
        return Edit(Place(path, first, cut + 1, first, end + 1), "") if before or len(table.keys) == 1 else None
    return None
