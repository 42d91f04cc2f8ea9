"""The function that spawned processes run, and where its body begins."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from envdoctor.core.facts import Place
from envdoctor.core.findings import Edit
from envdoctor.core.regexes import regex
from envdoctor.fixes.python.moves import Trees, calls
from envdoctor.fixes.python.names import is_docstring, used
from envdoctor.fixes.python.tree import PythonTree, TreeStatement

_STARTS = regex(r"(?i)trainer|spawn|process|launch|distributor|executor")
"""Names of what runs a function in processes of its own."""


def spawned_function(inner: Place, trees: Trees, *, plainly: bool = False) -> tuple[PythonTree, TreeStatement] | None:
    """The function of a file around a place, or one that leads there, which the file hands to something:
    `spawn(run, ...)`, `target=run`.

    `plainly`: to something whose name says that it starts processes.
    """
    tree = trees(inner.path)
    statement = tree.statement_at(inner.line) if tree is not None else None
    if tree is None or statement is None:
        return None
    waiting, seen = [tree.outer(statement)], {0}
    while waiting:
        outer = waiting.pop(0)
        if not isinstance(outer.node, cst.FunctionDef) or outer.first in seen:
            continue
        seen.add(outer.first)
        name = outer.node.name.value
        starters = list(_handed_to(tree.module, name))
        if starters and (not plainly or any(_STARTS.search(tree.at(call.func)) for call in starters)):
            return tree, outer
        waiting += [s for s in tree.top.statements if isinstance(s.node, cst.FunctionDef) and calls(s.node.body, name)]
    return None


def _handed_to(node: cst.CSTNode, name: str) -> Iterator[cst.Call]:
    """The calls that have a name as an argument."""
    given = [a.value for a in node.args] if isinstance(node, cst.Call) else []
    if isinstance(node, cst.Call) and any(isinstance(value, cst.Name) and value.value == name for value in given):
        yield node
    for child in node.children:
        yield from _handed_to(child, name)


def top_of(tree: PythonTree, function: TreeStatement, code: str) -> Edit | None:
    """Lines above the first statement of a function, below its docstring."""
    block = function.blocks[0] if function.blocks else None
    if block is None or not block.statements:
        return None
    first = block.statements[0]
    if not is_docstring(first):
        return tree.before(first, code)
    return tree.before(block.statements[1], code) if len(block.statements) > 1 else tree.after(first, code)


def parameters(function: TreeStatement) -> set[str]:
    """The names of the parameters of a function."""
    node = function.node
    assert isinstance(node, cst.FunctionDef)
    return {p.name.value for p in (*node.params.params, *node.params.kwonly_params, *node.params.posonly_params)}


def can_be_told(function: TreeStatement, text: str) -> bool:
    """Whether an expression means the same at the top of a function: numbers, and names of its own parameters."""
    try:
        node = cst.parse_expression(text)
    except cst.ParserSyntaxError:
        return False
    return used(node) <= parameters(function)
