"""What names stand for in a Python file: imports, bindings, and how a function of a library is written there."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import libcst as cst

from envdoctor.findings import Edit
from envdoctor.fixes.python_tree import Statement, Tree

ALIASES = {"numpy": "np", "tensorflow": "tf"}
"""Modules that everyone imports under a short name."""


class Reference(NamedTuple):
    """How something is written in a file, and the statement that binds its name; without one, what to import."""

    text: str
    bound: Statement | None
    missing: str = ""


def imports(tree: Tree) -> dict[str, tuple[str, Statement]]:
    """Dotted name -> the name it has in the file and the statement of the module that binds it."""
    found: dict[str, tuple[str, Statement]] = {}
    for statement in tree.top.statements:
        for part in _imports(statement):
            for dotted, name in _bindings(part):
                found.setdefault(dotted, (name, statement))
    return found


def _imports(statement: Statement) -> Iterator[cst.Import | cst.ImportFrom]:
    """The imports of a statement of the module, those that it tries as well."""
    if isinstance(statement.node, cst.SimpleStatementLine):
        yield from (part for part in statement.node.body if isinstance(part, (cst.Import, cst.ImportFrom)))
    elif isinstance(statement.node, (cst.Try, cst.TryStar)):
        for inner in statement.blocks[0].statements if statement.blocks else ():
            yield from _imports(inner)


def _bindings(node: cst.Import | cst.ImportFrom) -> Iterator[tuple[str, str]]:
    """What an import binds: the dotted name, and the name in the file."""
    if isinstance(node, cst.Import):
        for alias in node.names:
            dotted = alias.evaluated_name
            if alias.asname is not None:
                yield dotted, alias.evaluated_alias or dotted
            else:
                root = dotted.split(".")[0]
                yield root, root
    elif not isinstance(node.names, cst.ImportStar) and not node.relative and node.module is not None:
        module = cst.helpers.get_full_name_for_node_or_raise(node.module)
        for alias in node.names:
            yield f"{module}.{alias.evaluated_name}", alias.evaluated_alias or alias.evaluated_name


def reference(tree: Tree, dotted: str) -> Reference | None:
    """How to write a dotted name in a file; None where the name of its module stands for something else there."""
    known = imports(tree)
    parts = dotted.split(".")
    for size in range(len(parts), 0, -1):
        if (head := ".".join(parts[:size])) in known:
            name, statement = known[head]
            return Reference(".".join([name, *parts[size:]]), statement)
    root = parts[0]
    name = ALIASES.get(root, root)
    if name in bound(tree.module):
        return None
    line = f"import {root}" if name == root else f"import {root} as {name}"
    return Reference(".".join([name, *parts[1:]]), None, line)


def bound(node: cst.CSTNode | Iterable[cst.CSTNode]) -> set[str]:
    """All names that something within gives a meaning: assignments, loops, parameters, functions, classes, imports."""
    found: set[str] = set()
    waiting = [node] if isinstance(node, cst.CSTNode) else list(node)
    while waiting:
        here = waiting.pop()
        found |= set(_names(here))
        waiting += here.children
    return found


def _names(node: cst.CSTNode) -> Iterator[str]:
    if isinstance(node, (cst.AssignTarget, cst.AnnAssign, cst.AugAssign, cst.NamedExpr, cst.For, cst.CompFor)):
        yield from _plain(node.target)
    elif isinstance(node, (cst.Param, cst.FunctionDef, cst.ClassDef)):
        yield node.name.value
    elif isinstance(node, cst.AsName):
        yield from _plain(node.name)
    elif isinstance(node, (cst.Import, cst.ImportFrom)):
        yield from (name for _, name in _bindings(node))
    elif isinstance(node, cst.ImportAlias) and node.asname is None and isinstance(node.name, cst.Name):
        yield node.name.value


def _plain(target: cst.CSTNode) -> Iterator[str]:
    """The names in a target; `x.a` and `x[0]` change what a name stands for."""
    while isinstance(target, (cst.Attribute, cst.Subscript)):
        target = target.value
    if isinstance(target, cst.Name):
        yield target.value
    elif isinstance(target, (cst.Tuple, cst.List)):
        for element in target.elements:
            yield from _plain(element.value)
    elif isinstance(target, cst.StarredElement):
        yield from _plain(target.value)


def used(node: cst.CSTNode) -> set[str]:
    """All names in something; of `a.b` the first."""
    if isinstance(node, cst.Name):
        return {node.value}
    children: Iterable[cst.CSTNode] = node.children
    if isinstance(node, (cst.Attribute, cst.Arg)):
        children = (node.value,)
    return {name for child in children for name in used(child)}


def add_import(tree: Tree, line: str) -> Edit:
    """An import at the top of a file: of the standard library above the others, else below them."""
    statements = [s for s in tree.top.statements if next(_imports(s), None) is not None]
    plain = [s for s in statements if s.small() is not None and not _is_future(s)]
    standard = line.split()[1].split(".")[0] in sys.stdlib_module_names
    if standard and plain:
        first = plain[0]
        ours = any(name.split(".")[0] in sys.stdlib_module_names for name, _ in _bindings_of(first))
        edit = tree.before(first, line)
        return edit if ours else Edit(edit.place, f"{edit.text}\n")
    if plain:
        return tree.after(_last_of_head(tree, plain), line)
    head = [s for s in tree.top.statements if _is_future(s)] or [s for s in tree.top.statements[:1] if is_docstring(s)]
    if head:
        return Edit(tree.after(head[-1], line).place, f"\n\n{line}")
    if not tree.top.statements:
        return tree.at_end(line)
    edit = tree.before(tree.top.statements[0], line)
    return Edit(edit.place, f"{edit.text}\n")


def _last_of_head(tree: Tree, plain: list[Statement]) -> Statement:
    """The last import before anything is defined."""
    ends = next((s.index for s in tree.top.statements if isinstance(s.node, (cst.FunctionDef, cst.ClassDef))), None)
    head = [s for s in plain if ends is None or s.index < ends]
    return (head or plain)[-1]


def _bindings_of(statement: Statement) -> Iterator[tuple[str, str]]:
    for part in _imports(statement):
        yield from _bindings(part)


def _is_future(statement: Statement) -> bool:
    return any(dotted.startswith("__future__.") for dotted, _ in _bindings_of(statement))


def is_docstring(statement: Statement) -> bool:
    """Whether a statement is nothing but a string."""
    small = statement.small()
    return isinstance(small, cst.Expr) and isinstance(small.value, (cst.SimpleString, cst.ConcatenatedString))


def is_import(statement: Statement) -> bool:
    """Whether a statement of the module imports something."""
    return next(_imports(statement), None) is not None
