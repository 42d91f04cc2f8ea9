"""Conditions of templates around statements (`{% if x %} ... {% endif %}`, `{{ if }}`), as `if` operations."""

from __future__ import annotations

import sys
from bisect import bisect_right
from collections.abc import Sequence
from itertools import groupby

from envdoctor.core.facts import Branch
from envdoctor.core.operations import Body, Operation
from envdoctor.core.regexes import regex

Stated = tuple[tuple[Branch, ...], Body]
"""The operations of one statement, with the conditions around it that are not around all of the statements."""
MOST_CONDITIONS = 10
_ELSE = regex(r"\{[{%][-~+]?\s*else\s*[-~+]?[%}]\}")


class Conditions:
    """The conditions around each place of a text, outermost first, no more than MOST_CONDITIONS."""

    __slots__ = ("_around", "_starts")

    def __init__(self, branches: Sequence[tuple[int, int, Branch]]) -> None:
        edges = sorted(branches, key=lambda edge: (edge[0], -edge[1]))
        self._starts = [0]
        self._around: list[tuple[Branch, ...]] = [()]
        opened: list[tuple[int, Branch]] = []
        for start, end, branch in edges:
            self._close(opened, start)
            opened.append((end, branch))
            self._add(start, opened)
        self._close(opened, sys.maxsize)

    def _close(self, opened: list[tuple[int, Branch]], until: int) -> None:
        while opened and opened[-1][0] <= until:
            end = opened.pop()[0]
            self._add(end, opened)

    def _add(self, start: int, opened: Sequence[tuple[int, Branch]]) -> None:
        self._starts.append(start)
        self._around.append(tuple(branch for _, branch in opened[:MOST_CONDITIONS]))

    def around(self, offset: int) -> tuple[Branch, ...]:
        """The conditions around a place."""
        return self._around[bisect_right(self._starts, offset) - 1]


def conditioned(stated: Sequence[Stated]) -> Body:
    """The operations of statements, those under one condition together."""
    out: list[Operation] = []
    for identity, group in groupby(stated, key=lambda item: item[0][0].id if item[0] else ""):
        items = list(group)
        if not identity:
            out += [operation for _, body in items for operation in body]
        else:
            out.append(_conditional(items))
    return tuple(out)


def _conditional(items: Sequence[Stated]) -> Operation:
    """One `if` for the arms of a condition."""
    arms: list[tuple[Body, Body]] = []
    otherwise: Body | None = None
    place = items[0][1][0][1:3]
    for _, group in groupby(items, key=lambda item: item[0][0].arm):
        inside = list(group)
        condition = inside[0][0][0].condition
        body = conditioned([(branches[1:], operations) for branches, operations in inside])
        if _ELSE.fullmatch(condition) and arms:
            otherwise = body
        else:
            arms.append(((("test", *inside[0][1][0][1:3], condition, ()),), body))
    return ("if", *place, tuple(arms), otherwise)
