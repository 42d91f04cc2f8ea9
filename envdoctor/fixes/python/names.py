"""What names stand for in a Python file: imports, bindings, and how a function of a library is written there."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import libcst as cst

from envdoctor.core.findings import Edit
from envdoctor.fixes.python.tree import PythonTree, TreeStatement

ALIASES = {"numpy": "np", "tensorflow": "tf"}
"""Modules that everyone imports under a short name."""


class NameReference(NamedTuple):
    """How something is written in a file, and the statement that binds its name; without one, what to import."""

    text: str
    bound: TreeStatement | None
    missing: str = ""


def imports(tree: PythonTree) -> dict[str, tuple[str, TreeStatement]]:
    """Dotted name -> the name it has in the file and the statement of the module that binds it."""
    found: dict[str, tuple[str, TreeStatement]] = {}
    for statement in tree.top.statements:
        for part in _imports(statement):
            for dotted, name in _bindings(part):
                found.setdefault(dotted, (name, statement))
    return found


def _imports(statement: TreeStatement) -> Iterator[cst.Import | cst.ImportFrom]:
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


def reference(tree: PythonTree, dotted: str) -> NameReference | None:
    """How to write a dotted name in a file; None where the name of its module stands for something else there."""
    known = imports(tree)
    parts = dotted.split(".")
    for size in range(len(parts), 0, -1):
        if (head := ".".join(parts[:size])) in known:
            name, statement = known[head]
            return NameReference(".".join([name, *parts[size:]]), statement)
    root = parts[0]
    name = ALIASES.get(root, root)
    if name in bound(tree.module):
        return None
    line = f"import {root}" if name == root else f"import {root} as {name}"
    return NameReference(".".join([name, *parts[1:]]), None, line)


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


def add_import(tree: PythonTree, line: str) -> Edit:
    """An import at the top of a file, sorted into the first group of its kind: the standard library's, or others."""
    standard = _is_standard(line.split()[1])
    groups = list(_groups(tree))
    for group in groups:
        if any(_is_standard(name) == standard for name in _modules(group)):
            smaller = [s for s in group if isinstance(s.small(), cst.Import) and tree.at(s.node).strip() <= line]
            return tree.after(smaller[-1], line) if smaller else tree.before(group[0], line)
    if groups and standard:
        edit = tree.before(groups[0][0], line)
        return Edit(edit.place, f"{edit.text}\n")
    head = [s for s in tree.top.statements if _is_future(s)] or [s for s in tree.top.statements[:1] if is_docstring(s)]
    if groups or head:
        return Edit(tree.after(groups[-1][-1] if groups else head[-1], line).place, f"\n\n{line}")
    if not tree.top.statements:
        return tree.at_end(line)
    edit = tree.before(tree.top.statements[0], line)
    return Edit(edit.place, f"{edit.text}\n")


def _is_standard(module: str) -> bool:
    return module.split(".")[0] in sys.stdlib_module_names


def _modules(group: list[TreeStatement]) -> list[str]:
    """The modules that a group of imports names; relative ones are the project's own."""
    return [name for statement in group for name, _ in _bindings_of(statement)]


def _groups(tree: PythonTree) -> Iterator[list[TreeStatement]]:
    """The imports before anything is defined, in groups without a blank line in between."""
    group: list[TreeStatement] = []
    for statement in tree.top.statements:
        if isinstance(statement.node, (cst.FunctionDef, cst.ClassDef)):
            break
        if statement.small() is None or _is_future(statement) or not is_import(statement):
            continue
        if group and statement.lead > group[-1].last + 1:
            yield group
            group = []
        group.append(statement)
    if group:
        yield group


def _bindings_of(statement: TreeStatement) -> Iterator[tuple[str, str]]:
    for part in _imports(statement):
        yield from _bindings(part)


def _is_future(statement: TreeStatement) -> bool:
    return any(dotted.startswith("__future__.") for dotted, _ in _bindings_of(statement))


def is_docstring(statement: TreeStatement) -> bool:
    """Whether a statement is nothing but a string."""
    small = statement.small()
    return isinstance(small, cst.Expr) and isinstance(small.value, (cst.SimpleString, cst.ConcatenatedString))


def is_import(statement: TreeStatement) -> bool:
    """Whether a statement of the module imports something."""
    return next(_imports(statement), None) is not None
