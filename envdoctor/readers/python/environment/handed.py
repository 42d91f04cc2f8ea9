"""What some calls are handed that is written elsewhere in a file: flags of compilers, configurations of DeepSpeed.

A flag is a call named `:compiler.flag`, with the flag and, under `module`, what is built with it. An entry of a
configuration is an assignment to `:deepspeed.` and its keys, joined by dots.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from envdoctor.core.facts import Argument, Branch, Call
from envdoctor.readers.python.emit import Emitter
from envdoctor.readers.python.names.scopes import NameBinding, Where

FLAG_CALL = ":compiler.flag"
CONFIGURATION = ":deepspeed"
BUILDERS = {"CUDAExtension", "CppExtension", "Extension"}
LOADERS = {"torch.utils.cpp_extension.load", "torch.utils.cpp_extension.load_inline"}
FLAG_KEYWORDS = {"extra_compile_args", "extra_cuda_cflags", "extra_cflags"}
CONFIGURED = {
    "initialize": ("config", "config_params"), "TrainingArguments": ("deepspeed",), "DeepSpeedStrategy": ("config",),
    "Seq2SeqTrainingArguments": ("deepspeed",), "DeepSpeedPlugin": ("hf_ds_config",),
}  # fmt: skip
GROWING = {"append", "extend", "insert", "update"}
DEEPEST = 8
MOST_PARTS = 2000
"""Parts of expressions that are looked at for one call."""


class Written(NamedTuple):
    """An expression and the statement it stands in."""

    node: ast.expr
    where: Where


class Handed:
    """Follows the arguments of a few calls to where their parts are written."""

    __slots__ = ("_grown", "emit")

    def __init__(self, emit: Emitter) -> None:
        self.emit = emit
        self._grown: dict[str, list[Written]] | None = None

    def call(self, node: ast.Call, dotted: str, where: Where) -> None:
        """State what a call is handed, if it builds something or takes a configuration."""
        last = dotted.rpartition(".")[2]
        if last in BUILDERS or dotted in LOADERS:
            module = self._module(node, where)
            for keyword in node.keywords:
                if keyword.arg in FLAG_KEYWORDS:
                    self._flags(keyword.value, module, where)
        elif last in CONFIGURED and (last != "initialize" or dotted == "deepspeed.initialize"):
            for keyword in node.keywords:
                if keyword.arg in CONFIGURED[last]:
                    for written in self._mappings(Written(keyword.value, where)):
                        self._entries(written, CONFIGURATION, where, DEEPEST)

    def _module(self, node: ast.Call, where: Where) -> str:
        """The name of what is built."""
        given = next((k.value for k in node.keywords if k.arg == "name"), node.args[0] if node.args else None)
        return (self.emit.values.text(given, where) or "") if given is not None else ""

    def _flags(self, given: ast.expr, module: str, where: Where) -> None:
        for text, part in self._texts(Written(given, where)):
            arguments = [Argument(None, text, text, True, self.emit.code.place(part.node))]
            if module:
                arguments.append(Argument("module", module, module, True))
            self._state(FLAG_CALL, "call", tuple(arguments), part, where)

    def _texts(self, start: Written) -> Iterator[tuple[str, Written]]:
        """The strings in an expression and in the names it uses, with what is appended to those. What a condition
        chooses between is left out."""
        pending, seen, count = [start], set(), 0
        while pending and count < MOST_PARTS:
            part = pending.pop()
            node, count = part.node, count + 1
            if isinstance(node, ast.Constant):
                if isinstance(node.value, str):
                    yield node.value, part
            elif isinstance(node, ast.Name):
                if node.id not in seen:
                    seen.add(node.id)
                    pending += reversed(self._written_to(node, part.where))
            elif not isinstance(node, ast.IfExp):
                pending += [Written(child, part.where) for child in reversed(_parts(node))]

    def _written_to(self, node: ast.Name, where: Where) -> list[Written]:
        """What a name is bound to, what is added to it, and what is appended to it or to its entries."""
        found = where.block.scope.find(node.id)
        bindings = found[1] if found else []
        values = [value for b in bindings if (value := _value(b)) is not None]
        return values + [w for w in self._appended().get(node.id, []) if w.where.block.scope.find(node.id) == found]

    def _appended(self) -> dict[str, list[Written]]:
        """All that is appended to lists in the file, by the name of the list."""
        if self._grown is None:
            self._grown = {}
            for statement, where in self.emit.outline.statements:
                grown = _grown(statement)
                if grown is not None:
                    self._grown.setdefault(grown[0], []).extend(Written(value, where) for value in grown[1])
        return self._grown

    def _mappings(self, given: Written) -> Iterator[Written]:
        """The dicts that an expression may be: written there, bound to the name, or returned by the function."""
        node = given.node
        if isinstance(node, ast.Dict):
            yield given
        elif isinstance(node, ast.Name):
            yield from (w for w in self._written_to(node, given.where) if isinstance(w.node, ast.Dict))
        elif isinstance(node, ast.Call):
            dotted = self.emit.names.resolve(node.func, given.where)
            scope = self.emit.outline.functions.get(dotted[1:]) if dotted and dotted[0] == "." else None
            for value, where in scope.returns if scope is not None else ():
                if not isinstance(value, ast.Call):
                    yield from self._mappings(Written(value, where))

    def _entries(self, written: Written, prefix: str, where: Where, depth: int) -> None:
        """State the entries of a dict, and of the dicts in it."""
        assert isinstance(written.node, ast.Dict)
        for key, value in zip(written.node.keys, written.node.values, strict=True):
            name = self.emit.values.text(key, written.where) if key is not None else None
            if name is None:
                continue
            inner = Written(value, written.where)
            if isinstance(value, ast.Dict):
                if depth:
                    self._entries(inner, f"{prefix}.{name}", where, depth - 1)
                continue
            text, place = self.emit.code.written(value)
            constant = value if isinstance(value, ast.Constant) else self.emit.values.constant(value, written.where)
            known = isinstance(constant, ast.Constant) and isinstance(constant.value, (str, int, float, bool))
            literal = constant.value if known and isinstance(constant, ast.Constant) else None
            argument = Argument(None, text, literal, known, place)  # type: ignore[arg-type]
            self._state(f"{prefix}.{name}", "assign", (argument,), inner, where)

    def _state(self, name: str, kind: str, given: tuple[Argument, ...], part: Written, where: Where) -> None:
        """State a part at its own place, under its own conditions and those of the call that is handed it."""
        emit = self.emit
        own = part.where.block.branches(emit.code)
        branches: tuple[Branch, ...] = (*where.block.branches(emit.code), *own)
        place = given[0].place or emit.code.place(part.node)
        scope = where.block.scope.fact()
        once = tuple(dict.fromkeys(branches))
        emit.facts.calls.append(Call(name, kind, given, place, emit.order(where), scope, once))  # type: ignore[arg-type]


def _parts(node: ast.expr) -> list[ast.expr]:
    """The expressions in an expression, without the names of functions and the keys of dicts."""
    if isinstance(node, ast.Call):
        return [*node.args, *(k.value for k in node.keywords)]
    if isinstance(node, ast.Dict):
        return list(node.values)
    return [child for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr)]


def _value(binding: NameBinding) -> Written | None:
    """The expression that a name is bound to, or that is added to it."""
    node = binding.node
    if binding.kind == "value" and isinstance(node, ast.expr):
        return Written(node, binding.where)
    if isinstance(node, ast.AugAssign):
        return Written(node.value, binding.where)
    return None


def _grown(statement: ast.stmt) -> tuple[str, list[ast.expr]] | None:
    """`flags.append("-O3")`, `flags["nvcc"] += ["-O3"]`, `flags["nvcc"] = [...]`: the name and what is added."""
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        function = statement.value.func
        if isinstance(function, ast.Attribute) and function.attr in GROWING:
            name = _owner(function.value)
            return (name, statement.value.args) if name else None
        return None
    if isinstance(statement, ast.AugAssign):
        target: ast.expr = statement.target
    elif isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        target = statement.targets[0]
    else:
        return None
    name = _owner(target) if isinstance(target, ast.Subscript) else ""
    return (name, [statement.value]) if name else None


def _owner(node: ast.expr) -> str:
    """The name of the list or dict that an expression is an entry of."""
    while isinstance(node, (ast.Subscript, ast.Attribute)):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""
