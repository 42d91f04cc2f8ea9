"""Arguments of a Python call put in, taken out, or given another value; comments and layout stay."""

from __future__ import annotations

import libcst as cst

from envdoctor.core.facts import Place
from envdoctor.core.findings import Edit
from envdoctor.fixes.python.tree import PythonTree


def argument(call: cst.Call, keyword: str, position: int | None = None) -> cst.Arg | None:
    """The argument by its keyword, or by its position where that is given."""
    for given in call.args:
        if given.keyword is not None and given.keyword.value == keyword:
            return given
    plain = [a for a in call.args if a.keyword is None and not a.star]
    return plain[position] if position is not None and position < len(plain) else None


def is_spread(call: cst.Call) -> bool:
    """Whether arguments come from a list or a mapping, so that nobody knows which."""
    return any(given.star for given in call.args)


def value(tree: PythonTree, given: cst.Arg, text: str) -> Edit:
    """Another value for an argument."""
    return Edit(tree.place(given.value), text)


def added(tree: PythonTree, call: cst.Call, text: str) -> Edit | None:
    """One more argument behind the others, laid out as they are."""
    path, end = tree.path, tree.place(call)
    if not call.args:
        if tree.at(call).rstrip()[-2:] != "()":
            return None
        return Edit(Place(path, end.end_line, end.end_column - 1, end.end_line, end.end_column - 1), text)
    last = call.args[-1]
    if isinstance(last.value, cst.GeneratorExp) and not last.value.lpar:
        return None
    where = tree.place(last.value)
    line, column = where.end_line, where.end_column
    if not isinstance(last.comma, cst.Comma):
        return Edit(Place(path, line, column, line, column), f", {text}")
    comma = tree.place(last.comma)
    point = Place(path, comma.line, comma.column + 1, comma.line, comma.column + 1)
    start = tree.place(last.keyword or last.value)
    indent = tree.lines[start.line - 1][: start.column - 1]
    if indent.strip():
        return Edit(point, f" {text},")
    rest = tree.lines[comma.line - 1][comma.column :]
    end_of_line = Place(path, comma.line, comma.column + 1 + len(rest), comma.line, comma.column + 1 + len(rest))
    return Edit(end_of_line, f"\n{indent}{text},")


def removed(tree: PythonTree, call: cst.Call, given: cst.Arg) -> Edit | None:
    """One argument less; None where a comment would go with it."""
    index = next(i for i, a in enumerate(call.args) if a is given)
    start = tree.place(given.keyword or given.value)
    end = tree.place(given.value)
    if index + 1 < len(call.args):
        following = call.args[index + 1]
        stop = tree.place(following.keyword or following.value)
        if following.star:
            return None
        place = Place(tree.path, start.line, start.column, stop.line, stop.column)
    elif index:
        before = tree.place(call.args[index - 1].value)
        place = Place(tree.path, before.end_line, before.end_column, end.end_line, end.end_column)
    else:
        comma = tree.place(given.comma) if isinstance(given.comma, cst.Comma) else None
        line, column = (comma.line, comma.column + 1) if comma else (end.end_line, end.end_column)
        place = Place(tree.path, start.line, start.column, line, column)
    lines = tree.lines[place.line - 1 : place.end_line]
    return None if len(lines) > 1 and any("#" in line for line in lines) else Edit(place, "")
