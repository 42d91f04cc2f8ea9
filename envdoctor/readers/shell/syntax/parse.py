"""The parser for shell text: tree-sitter with the bash grammar, bounded in time."""

from __future__ import annotations

import importlib.util
import time
from functools import cache
from importlib.machinery import PathFinder
from typing import TYPE_CHECKING

from tree_sitter import Language, Parser, Range

from envdoctor.cache import dependency_log

if TYPE_CHECKING:
    from tree_sitter import Tree

CHUNK = 65_536
LONGEST = 4.0
"""Seconds for one text. A megabyte takes 0.1 to 0.2; some texts (thousands of `if x; then A=1 B=2`) take the grammar
a time that grows with the square of their length."""


@cache
def language() -> Language:
    """The bash grammar."""
    return Language(_grammar())


def _grammar() -> object:
    """The grammar from the module that holds it: the package around it imports `importlib.resources`, `tempfile` and
    `random` for query files that nobody asks for here, which takes as long as the rest of this reader."""
    package = importlib.util.find_spec("tree_sitter_bash")
    inner = package and PathFinder.find_spec("tree_sitter_bash._binding", package.submodule_search_locations)
    if inner is None or inner.loader is None:
        import tree_sitter_bash

        return tree_sitter_bash.language()
    module = importlib.util.module_from_spec(inner)
    inner.loader.exec_module(module)
    return module.language()


def parse(data: bytes, deadline: float | None = None) -> Tree | None:
    """The syntax tree of a script; None where the parser was not done at the deadline (`time.monotonic`)."""
    limit = time.monotonic() + LONGEST if deadline is None else deadline
    if len(data) <= CHUNK // 2:
        return Parser(language()).parse(data)

    def chunk(offset: int, _point: object) -> bytes:
        return data[offset : offset + CHUNK]

    def late(_offset: int, _error: bool) -> bool:
        if time.monotonic() > limit:
            dependency_log.hurry()
            return True
        return False

    try:
        return Parser(language()).parse(chunk, progress_callback=late)
    except ValueError:  # what py-tree-sitter raises when the callback stopped it
        return None


def parse_part(data: bytes, start: int, end: int) -> Tree:
    """The syntax tree of a part of a script, with the offsets of the whole."""
    row = data.count(b"\n", 0, start)
    column = start - (data.rfind(b"\n", 0, start) + 1)
    last = end - (data.rfind(b"\n", 0, end) + 1)
    part = Range((row, column), (row + data.count(b"\n", start, end), last), start, end)
    return Parser(language(), included_ranges=[part]).parse(data)
