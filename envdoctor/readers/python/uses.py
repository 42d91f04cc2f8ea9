"""Places where the code reads an environment variable and does something with it.

Printing a variable, putting it into a report under its own name, forwarding it, keeping it to put it back, and
testing whether it is there before it is set are no uses.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence

from envdoctor.readers.python.emit import Emitter
from envdoctor.readers.python.names.scopes import Where
from envdoctor.readers.python.names.values import CONVERSIONS, READS
from envdoctor.readers.python.names.words import (
    is_capitals,
    is_pair_class,
    says_environment,
    says_log,
    says_reader,
    says_saved,
)

NAMING_KEYWORDS = {"env", "envvar", "env_var", "env_name", "envname", "validation_alias"}
REGISTRIES = ("envs", "environs", "env_vars")
"""Last parts of modules whose attributes are environment variables (`envs.SOME_FLAG`)."""


class Uses:
    """Finds uses in one file. Parents must be shown before what is inside them."""

    __slots__ = ("_skipped", "active", "emit", "names", "reads", "values")

    def __init__(self, emit: Emitter) -> None:
        self.emit = emit
        self.names = emit.names
        self.values = emit.values
        self._skipped: set[int] = set()
        text = emit.code.text
        self.active = any(token in text for token in ("env", "ENV", "flag", "Flag"))
        self.reads = "environ" in text or "getenv" in text or (self.active and ".get(" in text)

    def read(self, node: ast.expr, where: Where) -> bool:
        """`os.environ["A"]`, `os.environ.get("A")` and `os.getenv("A")` where the value is used; False: no read."""
        if id(node) in self._skipped:
            return True
        read = self.values.read(node, where)
        if read is not None:
            self.emit.use(read.name, node, where)
        return read is not None

    def called(self, node: ast.Call, dotted: str | None, name: str, where: Where) -> None:
        """A call of any function."""
        if self.reads:
            self.siblings(node.args, where)
        if dotted in READS:
            self.read(node, where)
        elif name == "get":
            self.got(node, where)
        else:
            self.call(node, name, where)

    def got(self, node: ast.Call, where: Where) -> None:
        """`env.get("A")` of a mapping that goes by the name of an environment."""
        first = node.args[0] if node.args else None
        if isinstance(node.func, ast.Attribute) and says_environment(_name(node.func.value)):
            name = first.value if isinstance(first, ast.Constant) else None
            if isinstance(name, str) and is_capitals(name) and id(node) not in self._skipped:
                self.emit.use(name, node, where)

    def alone(self, node: ast.expr) -> None:
        """A call that stands alone: nobody takes its value."""
        self._skipped.add(id(node))

    def membership(self, node: ast.Compare, where: Where) -> None:
        """`"A" in os.environ`."""
        if id(node) in self._skipped or not isinstance(node.ops[0], (ast.In, ast.NotIn)):
            return
        name = self._member(node, where)
        if name:
            self.emit.use(name, node, where)

    def _member(self, node: ast.AST, where: Where) -> str | None:
        if not isinstance(node, ast.Compare) or not isinstance(node.ops[0], (ast.In, ast.NotIn)):
            return None
        if self.names.resolve(node.comparators[0], where) != "os.environ":
            return None
        return self.values.text(node.left, where)

    def attribute(self, node: ast.Attribute, where: Where) -> None:
        """`envs.SOME_FLAG`, where `envs` is a module of environment variables."""
        if not isinstance(node.value, ast.Name) or not isinstance(node.ctx, ast.Load) or not is_capitals(node.attr):
            return
        dotted = self.names.resolve(node.value, where)
        if dotted and dotted.rsplit(".", 1)[-1] in REGISTRIES and dotted != node.value.id:
            self.emit.use(node.attr, node, where)

    def call(self, node: ast.Call, function: str, where: Where) -> None:
        """`env_bool("A")`, `Field(env="A")`, `Option(envvar="A")`: a function that is told the name to read."""
        first = node.args[0] if node.args else None
        if isinstance(first, ast.Constant) and isinstance(first.value, str) and is_capitals(first.value):
            if says_reader(function) and id(first) not in self._skipped and not is_pair_class(function):
                self.emit.use(first.value, node, where)
            return
        for keyword in node.keywords:
            if keyword.arg in NAMING_KEYWORDS:
                for part in strings(keyword.value):
                    if is_capitals(part):
                        self.emit.use(part, node, where)

    def pairs(self, keys: Iterable[ast.expr | None], values: Iterable[ast.expr], where: Where) -> None:
        """A dict display: a read under its own name reports or forwards."""
        for key, value in zip(keys, values, strict=True):
            if isinstance(key, ast.Constant) and isinstance(key.value, str) and is_capitals(key.value):
                self.skip_own(value, {key.value}, where)

    def siblings(self, parts: Sequence[ast.expr], where: Where) -> None:
        """A tuple, list or call: a read that stands beside its own name reports it."""
        names = {p.value for p in parts if isinstance(p, ast.Constant) and isinstance(p.value, str)}
        if names:
            for part in parts:
                self.skip_own(part, names, where)

    def skip_own(self, node: ast.AST, names: set[str], where: Where) -> None:
        """A read of one of `names`, as it is or converted, is no use here."""
        while isinstance(node, (ast.Call, ast.BoolOp)):
            if isinstance(node, ast.BoolOp):
                node = node.values[0]
            elif len(node.args) == 1 and isinstance(node.func, ast.Name) and node.func.id in CONVERSIONS:
                node = node.args[0]
            else:
                break
        read = self.values.read(node, where)
        if read is not None and read.name in names:
            self._skipped.add(id(node))
        elif read is None and isinstance(node, ast.Call) and node.args:
            self._skipped |= {id(node), id(node.args[0])}

    def assignment(self, target: ast.expr, value: ast.expr, where: Where) -> None:
        """`env["A"] = os.environ["A"]` forwards, `old = os.environ.get("A")` keeps."""
        if isinstance(target, ast.Subscript):
            name = self.values.text(target.slice, where)
            if name:
                self.skip_own(value, {name}, where)
        elif says_saved(_name(target)):
            read = self.values.read(value, where)
            if read is not None:
                self._skipped.add(id(value))

    def guard(self, node: ast.If, where: Where) -> None:
        """`if "A" not in os.environ:` around no more than setting A, or saying that A should be set."""
        changed: set[str] = set()
        statements = (*node.body, *node.orelse)
        if not all(self._is_idle(statement, changed, where) for statement in statements):
            return
        text = "".join(self.emit.code.segment(s) for s in statements)
        for part in ast.walk(node.test):
            name = self._tested(part, where)
            if name is not None and (name in changed or (not changed and name in text)):
                self._skipped.add(id(part))

    def _tested(self, part: ast.AST, where: Where) -> str | None:
        read = self.values.read(part, where)
        return read.name if read else self._member(part, where)

    def _is_idle(self, statement: ast.stmt, changed: set[str], where: Where) -> bool:
        """A statement that says something or changes variables (noted in `changed`), and does nothing else."""
        if isinstance(statement, (ast.Raise, ast.Assert, ast.Pass)):
            return True
        keys: list[ast.expr] = []
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
            call = statement.value
            if self._changes_environ(call.func, where):
                keys = call.args[:1]
            elif not says_log(_name(call.func)):
                return False
        elif isinstance(statement, (ast.Assign, ast.Delete)):
            for target in statement.targets:
                if not isinstance(target, ast.Subscript) or not self._is_environ(target.value, where):
                    return False
                keys.append(target.slice)
        elif not isinstance(statement, ast.Expr):
            return False
        changed.update(name for key in keys if (name := self.values.text(key, where)))
        return True

    def _changes_environ(self, function: ast.expr, where: Where) -> bool:
        dotted = self.names.resolve(function, where)
        return dotted in ("os.environ.pop", "os.environ.setdefault", "os.environ.update", "os.putenv", "os.unsetenv")

    def _is_environ(self, node: ast.expr, where: Where) -> bool:
        return self.names.resolve(node, where) == "os.environ"


def strings(node: ast.expr) -> list[str]:
    """The plain strings in an expression or a list of them."""
    parts = node.elts if isinstance(node, (ast.List, ast.Tuple)) else [node]
    return [part.value for part in parts if isinstance(part, ast.Constant) and isinstance(part.value, str)]


def _name(node: ast.AST) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""
