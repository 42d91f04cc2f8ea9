"""Chains of `&&` and `||`, and redirections and pipes that belong to their last member.

The grammar gives `a && b > f` and the pipe behind a here-document to the whole chain; the shell to its last member.
"""

from __future__ import annotations

from collections.abc import Sequence

from envdoctor.core.operations import Body, Operation, Redirect

LONGEST_RUN = 16
"""Members of `a && b && c` that are nested to the left as the shell reads them; longer runs are halved, which means
the same: nothing may become so deep that it cannot be walked or stored."""
MOST_RUNS = 16

Link = tuple[str, int, int, Body]
"""Sign ("and", "or"), place, and what stands behind it."""


def chained(first: Body, links: Sequence[Link]) -> Operation:
    """One operation for `a && b || c`: of equal rank, read from the left."""
    result = first
    runs = 0
    at = 0
    while at < len(links):
        end = at
        while end < len(links) and links[end][0] == links[at][0]:
            end += 1
        runs += 1
        if runs > MOST_RUNS:
            return ("gap", links[at][1], links[at][2], "a chain of && and || too long to follow", "cut")
        result = _run(result, links[at:end])
        at = end
    return result[0]


def _run(first: Body, links: Sequence[Link]) -> Body:
    """Members under one sign."""
    if len(links) > LONGEST_RUN:
        middle = len(links) // 2
        sign, line, column, body = links[middle]
        return ((sign, line, column, _run(first, links[:middle]), _run(body, links[middle + 1 :])),)
    for sign, line, column, body in links:
        first = ((sign, line, column, first, body),)
    return first


def redirected(operation: Operation, redirects: tuple[Redirect, ...]) -> Operation:
    """An operation with redirections behind it."""
    kind = operation[0]
    if kind == "call":
        return (*operation[:7], operation[7] + redirects)
    if kind in ("and", "or") and operation[4]:
        right = operation[4]
        return (*operation[:4], (*right[:-1], redirected(right[-1], redirects)))
    if kind == "pipe":
        members = operation[3]
        last = members[-1]
        return (*operation[:3], (*members[:-1], (*last[:-1], redirected(last[-1], redirects)) if last else last))
    if kind == "not" and operation[3]:
        return (*operation[:3], (*operation[3][:-1], redirected(operation[3][-1], redirects)))
    return ("redirected", operation[1], operation[2], redirects, (operation,))


def piped(operation: Operation, members: tuple[Body, ...]) -> Operation:
    """An operation whose output goes into further members of a pipeline."""
    if operation[0] in ("and", "or") and operation[4]:
        right = operation[4]
        return (*operation[:4], (*right[:-1], piped(right[-1], members)))
    if operation[0] == "pipe":
        return (*operation[:3], operation[3] + members)
    return ("pipe", operation[1], operation[2], ((operation,), *members))
