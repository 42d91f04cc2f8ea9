"""Values of expressions, as far as they can be told without running anything, and reads of the environment."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from envdoctor.core.facts import Value
from envdoctor.readers.python.names.code import Code
from envdoctor.readers.python.names.names import Names
from envdoctor.readers.python.names.scopes import NameBinding, Where
from envdoctor.readers.python.names.words import says_reader

SHOWN = 500
"""Characters of source text that are kept of a value that is not a literal."""
DEPTH = 8
"""Names that are followed from one to the next."""
READS = {"os.environ.get", "os.getenv", "os.environ.pop", "os.environ.setdefault", "os.environ.copy().get"}
CONVERSIONS = {"str", "int", "bool", "float", "repr"}
SAME_TEXT = {"str", "shlex.quote", "pipes.quote", "os.fspath", "pathlib.Path"}


class Part(NamedTuple):
    """What is known of a text: the text with all variables in it at their fallback, and the names of those."""

    text: str | None
    references: tuple[str, ...] = ()


class ReadName(NamedTuple):
    """A read of one environment variable: its name and the value it falls back to."""

    name: str
    default: ast.expr | None


UNKNOWN = Part(None)


class Values:
    """Evaluates expressions of one file."""

    __slots__ = ("code", "names")

    def __init__(self, code: Code, names: Names) -> None:
        self.code = code
        self.names = names

    def value(self, node: ast.expr, where: Where) -> Value:
        """What a setting is given by this expression."""
        part = self.part(node, where)
        if part.text is not None and not part.references:
            return Value("literal", part.text)
        source = self.code.segment(node)[:SHOWN]
        if part.references or _is_template(node):
            return Value("template", source, tuple(dict.fromkeys(part.references)), part.text)
        return Value("unknown", source)

    def part(self, node: ast.AST | None, where: Where, depth: int = DEPTH) -> Part:
        """Text and references of an expression."""
        evaluate = EVALUATE.get(type(node))
        return evaluate(self, node, where, depth) if evaluate is not None and depth > 0 else UNKNOWN

    def text(self, node: ast.AST | None, where: Where) -> str | None:
        """The text of a literal, or of a constant that the expression names; None for everything else."""
        if isinstance(node, ast.Constant):
            return node.value if isinstance(node.value, str) else None
        if not isinstance(node, (ast.Name, ast.Attribute, ast.JoinedStr, ast.BinOp)):
            return None
        part = self.part(node, where)
        return part.text if not part.references else None

    def constant(self, node: ast.AST, where: Where) -> ast.expr | None:
        """The only expression that a name is ever bound to."""
        binding = self.binding(node, where)
        return binding.node if binding and binding.kind == "value" and isinstance(binding.node, ast.expr) else None

    def binding(self, node: ast.AST, where: Where) -> NameBinding | None:
        """The only binding of a name, or of an attribute of `self` or of one of the file's own classes."""
        bindings = self.bindings(node, where)
        return bindings[0] if len(bindings) == 1 else None

    def bindings(self, node: ast.AST, where: Where) -> list[NameBinding]:
        """All bindings of a name, or of an attribute of `self` or of one of the file's own classes."""
        if isinstance(node, ast.Name):
            found = where.block.scope.find(node.id)
            return found[1] if found else []
        if not isinstance(node, ast.Attribute) or not isinstance(node.value, ast.Name):
            return []
        if node.value.id in ("self", "cls"):
            owner = where.block.scope.owner()
            return (owner.table.get(f"self.{node.attr}") or owner.table.get(node.attr, [])) if owner else []
        dotted = self.names.resolve(node.value, where)
        scope = self.names.outline.functions.get(dotted[1:]) if dotted and dotted[0] == "." else None
        return scope.table.get(node.attr, []) if scope is not None and scope.kind == "class" else []

    def read(self, node: ast.AST | None, where: Where) -> ReadName | None:
        """The variable that an expression reads: `os.environ["A"]`, `os.environ.get("A")`, `os.getenv("A")`."""
        if isinstance(node, ast.Subscript):
            if self.names.resolve(node.value, where) != "os.environ":
                return None
            name = self.text(node.slice, where)
            return ReadName(name, None) if name else None
        if not isinstance(node, ast.Call) or not node.args or self.names.resolve(node.func, where) not in READS:
            return None
        name = self.text(node.args[0], where)
        default = node.args[1] if len(node.args) > 1 else _keyword(node, "default")
        return ReadName(name, default) if name else None

    def read_under(self, name: str, node: ast.AST, where: Where) -> ReadName | None:
        """A read of the variable `name`, also `os.environ.get(name) or "1"` and by a helper that says that it reads."""
        if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.Or) and len(node.values) == 2:
            read = self.read_under(name, node.values[0], where)
            return ReadName(name, node.values[1]) if read is not None else None
        if isinstance(node, ast.Call) and len(node.args) == 1 and getattr(node.func, "id", "") in CONVERSIONS:
            return self.read_under(name, node.args[0], where)
        read = self.read(node, where)
        if read is None and isinstance(node, ast.Call) and node.args and says_reader(_called(node.func)):
            default = node.args[1] if len(node.args) > 1 else None
            read = ReadName(name, default) if self.text(node.args[0], where) == name else None
        return read if read is not None and read.name == name else None

    def _constant(self, node: ast.Constant, where: Where, depth: int) -> Part:
        if node.value is None or node.value is Ellipsis:
            return UNKNOWN
        return Part(node.value.decode("utf-8", "replace") if isinstance(node.value, bytes) else str(node.value))

    def _named(self, node: ast.Name | ast.Attribute, where: Where, depth: int) -> Part:
        binding = self.binding(node, where)
        if binding is None or binding.kind != "value":
            return UNKNOWN
        return self.part(binding.node, binding.where, depth - 1)

    def _joined(self, node: ast.JoinedStr, where: Where, depth: int) -> Part:
        return concatenated(self._field(value, where, depth) for value in node.values)

    def _field(self, node: ast.expr, where: Where, depth: int) -> Part:
        if not isinstance(node, ast.FormattedValue):
            return self.part(node, where, depth)
        part = self.part(node.value, where, depth)
        plain = node.format_spec is None and node.conversion in (-1, 115)
        return part if plain else Part(None, part.references)

    def _operation(self, node: ast.BinOp, where: Where, depth: int) -> Part:
        left, right = self.part(node.left, where, depth), self.part(node.right, where, depth)
        if isinstance(node.op, ast.Add) and not _is_number(node.left) and not _is_number(node.right):
            return concatenated((left, right))
        return Part(None, left.references + right.references)

    def _call(self, node: ast.Call, where: Where, depth: int) -> Part:
        read = self.read(node, where)
        if read is not None:
            fallback = self.part(read.default, where, depth) if read.default else UNKNOWN
            return Part(fallback.text, (read.name, *fallback.references))
        given = [self.part(a, where, depth) for a in node.args]
        if len(given) == 1 and self.names.resolve(node.func, where) in SAME_TEXT:
            return given[0]
        if isinstance(node.func, ast.Attribute) and node.func.attr == "join" and len(node.args) == 1:
            return self._join(node.func.value, node.args[0], where, depth)
        inner = [self.part(node.func.value, where, depth)] if isinstance(node.func, ast.Attribute) else []
        return Part(None, concatenated([*inner, *given]).references)

    def _join(self, separator: ast.expr, items: ast.expr, where: Where, depth: int) -> Part:
        between = self.part(separator, where, depth)
        listed = self.constant(items, where) or items
        if between.text is None or not isinstance(listed, (ast.List, ast.Tuple)):
            return UNKNOWN
        parts: list[Part] = []
        for item in listed.elts:
            parts += [between] if parts else []
            parts.append(self.part(item, where, depth))
        return concatenated(parts)

    def _item(self, node: ast.Subscript, where: Where, depth: int) -> Part:
        read = self.read(node, where)
        return Part(None, (read.name,)) if read else UNKNOWN

    def _either(self, node: ast.BoolOp, where: Where, depth: int) -> Part:
        parts = [self.part(value, where, depth) for value in node.values]
        references = concatenated(parts).references
        if isinstance(node.op, ast.Or) and references and all(p.references for p in parts[:-1]):
            return Part(parts[-1].text, references)
        return Part(None, references)

    def _choice(self, node: ast.IfExp, where: Where, depth: int) -> Part:
        first, second = self.part(node.body, where, depth), self.part(node.orelse, where, depth)
        return first if first == second else Part(None, first.references + second.references)


def concatenated(parts: Iterable[Part]) -> Part:
    """One text after the other; unknown as soon as one of them is."""
    listed = list(parts)
    references = tuple(name for part in listed for name in part.references)
    texts = [part.text for part in listed]
    return Part(None if None in texts else "".join(t for t in texts if t is not None), references)


def _is_template(node: ast.expr) -> bool:
    """Text with parts that are only known at run time."""
    if isinstance(node, ast.JoinedStr):
        return len(node.values) > 1
    return isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Mod)) and _has_text(node)


def _has_text(node: ast.BinOp) -> bool:
    sides: tuple[ast.expr, ast.expr] = (node.left, node.right)
    return any(isinstance(side, ast.JoinedStr) or _is_text(side) for side in sides)


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _is_number(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and not isinstance(node.value, str)


def _called(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def _keyword(node: ast.Call, name: str) -> ast.expr | None:
    return next((k.value for k in node.keywords if k.arg == name), None)


EVALUATE: dict[type[Any], Callable[[Values, Any, Where, int], Part]] = {
    ast.Constant: Values._constant, ast.Name: Values._named, ast.Attribute: Values._named,
    ast.JoinedStr: Values._joined, ast.BinOp: Values._operation, ast.Call: Values._call,
    ast.Subscript: Values._item, ast.BoolOp: Values._either, ast.IfExp: Values._choice,
}  # fmt: skip
