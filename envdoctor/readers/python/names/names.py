"""Dotted names of expressions, resolved through imports, aliases and simple assignments."""

from __future__ import annotations

import ast

from envdoctor.readers.python.names.scopes import FileOutline, NameBinding, PythonScope, Where

DEPTH = 8
"""Assignments that are followed from one name to the next."""
NOT_PARTS = {
    "annotation", "arg", "attr", "conversion", "ctx", "id", "is_async", "kind", "op", "ops", "str", "type_comment",
}  # fmt: skip
"""Fields of expressions that hold no expression."""
_FIELDS: dict[type[ast.AST], tuple[str, ...]] = {}


UNBOUND = {"np": "numpy", "tf": "tensorflow"}
"""What a name stands for by convention where the file does not bind it: it came with a `from x import *`."""


class Names:
    """What the names of one file stand for.

    A name from an import is written as imported (`torch.backends.cudnn`), one of the file's own functions or classes
    with a dot in front (`.set_seed`, `.Net.forward`), what a call returns as `torch.Generator()`.
    """

    __slots__ = ("_cache", "outline")

    def __init__(self, outline: FileOutline) -> None:
        self.outline = outline
        self._cache: dict[tuple[PythonScope, str], str | None] = {}

    def resolve(self, node: ast.AST, where: Where, depth: int = DEPTH) -> str | None:
        """The dotted name of an expression, or None where it is none or cannot be told."""
        kind = type(node)
        if kind is ast.Name:
            return self._name(node.id, where, depth)  # type: ignore[attr-defined]
        if kind is ast.Attribute or kind is ast.Call:
            return self._chain(node, where, depth)
        return None

    def _chain(self, node: ast.AST, where: Where, depth: int) -> str | None:
        """The name of attributes and calls, one on the other."""
        parts: list[str] = []
        while True:
            if isinstance(node, ast.Attribute):
                value = node.value
                if isinstance(value, ast.Name):
                    own = value.id in ("self", "cls")
                    root = (self._own_attribute if own else self._name)(node.attr if own else value.id, where, depth)
                    parts += [] if own else ["." + node.attr]
                    break
                parts.append("." + node.attr)
                node = value
            elif isinstance(node, ast.Call):
                parts.append("()")
                node = node.func
            else:
                root = self._name(node.id, where, depth) if isinstance(node, ast.Name) else None
                break
        if root is None or not parts:
            return root
        return root + (parts[0] if len(parts) == 1 else "".join(reversed(parts)))

    def _name(self, name: str, where: Where, depth: int) -> str | None:
        scope = where.block.scope
        key = (scope, name)
        if key in self._cache:
            return self._cache[key]
        found = scope.find(name)
        if found is None:
            unbound = UNBOUND.get(name, name)
            self._cache[key] = unbound
            return unbound
        home, bindings = found
        if len(bindings) == 1:
            resolved = self._binding(bindings[0], depth)
            if depth == DEPTH:
                self._cache[key] = resolved
            return resolved
        return self._binding(latest(home, bindings, where), depth)

    def _own_attribute(self, attribute: str, where: Where, depth: int) -> str | None:
        """`self.x`: a method, a class attribute, or what a method assigned to it."""
        owner = where.block.scope.owner()
        if owner is None:
            return None
        bindings = owner.table.get(f"self.{attribute}") or owner.table.get(attribute)
        return self._binding(latest(owner, bindings, where), depth) if bindings else None

    def _binding(self, binding: NameBinding, depth: int) -> str | None:
        if binding.kind == "import":
            return binding.target
        if binding.kind == "definition":
            return "." + binding.target
        if binding.kind != "value" or binding.node is None or depth <= 0:
            return None
        return self.resolve(binding.node, binding.where, depth - 1)

    def function(self, dotted: str | None) -> PythonScope | None:
        """The scope of one of the file's own functions, by its dotted name."""
        if not dotted or dotted[0] != ".":
            return None
        scope = self.outline.functions.get(dotted[1:])
        return scope if scope is not None and scope.kind == "function" else None


def latest(home: PythonScope, bindings: list[NameBinding], where: Where) -> NameBinding:
    """Of several bindings the last one before a use in the same scope; elsewhere the last one of all."""
    if where.block.scope is home:
        before = [b for b in bindings if b.where.position < where.position]
        return before[-1] if before else bindings[0]
    return bindings[-1]


def children(node: ast.AST, kind: type[ast.AST], stack: list[ast.AST]) -> None:
    """Put the parts of a node on the stack, so that they come off in source order."""
    fields = _FIELDS.get(kind)
    if fields is None:
        fields = _FIELDS[kind] = tuple(name for name in reversed(kind._fields) if name not in NOT_PARTS)
    for name in fields:
        value = getattr(node, name)
        if type(value) is list:
            stack.extend(reversed(value))
        elif value is not None:
            stack.append(value)
