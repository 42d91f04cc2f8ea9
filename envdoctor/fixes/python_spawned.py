"""The function that spawned processes run, and where its body begins."""

from __future__ import annotations

import libcst as cst

from envdoctor.facts import Place
from envdoctor.findings import Edit
from envdoctor.fixes.python_moves import Trees
from envdoctor.fixes.python_names import is_docstring, used
from envdoctor.fixes.python_tree import Statement, Tree


def spawned_function(inner: Place, trees: Trees) -> tuple[Tree, Statement] | None:
    """The function of a file around a place, where the file hands it to something: `spawn(run, ...)`, `target=run`."""
    tree = trees(inner.path)
    statement = tree.statement_at(inner.line) if tree is not None else None
    if tree is None or statement is None:
        return None
    outer = tree.outer(statement)
    if not isinstance(outer.node, cst.FunctionDef) or not _is_handed_over(tree.module, outer.node.name.value):
        return None
    return tree, outer


def _is_handed_over(node: cst.CSTNode, name: str) -> bool:
    """Whether a name is an argument of some call."""
    if isinstance(node, cst.Arg) and isinstance(node.value, cst.Name) and node.value.value == name:
        return True
    return any(_is_handed_over(child, name) for child in node.children)


def top_of(tree: Tree, function: Statement, code: str) -> Edit | None:
    """Lines above the first statement of a function, below its docstring."""
    block = function.blocks[0] if function.blocks else None
    if block is None or not block.statements:
        return None
    first = block.statements[0]
    if not is_docstring(first):
        return tree.before(first, code)
    return tree.before(block.statements[1], code) if len(block.statements) > 1 else tree.after(first, code)


def parameters(function: Statement) -> set[str]:
    """The names of the parameters of a function."""
    node = function.node
    assert isinstance(node, cst.FunctionDef)
    return {p.name.value for p in (*node.params.params, *node.params.kwonly_params, *node.params.posonly_params)}


def can_be_told(function: Statement, text: str) -> bool:
    """Whether an expression means the same at the top of a function: numbers, and names of its own parameters."""
    try:
        node = cst.parse_expression(text)
    except cst.ParserSyntaxError:
        return False
    return used(node) <= parameters(function)
