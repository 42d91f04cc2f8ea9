"""Settings on the environment of the running process: `os.environ`, `os.putenv`, test doubles of both."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from envdoctor.core.facts import Op, Value
from envdoctor.readers.python.emit import Emitter, GivenValue
from envdoctor.readers.python.environment.mappings import Application, Mappings
from envdoctor.readers.python.names.scopes import Block, Where
from envdoctor.readers.python.names.words import is_variable

ENVIRON = "os.environ"
TEST_DOUBLES = {"monkeypatch", "mp", "monkeypatch_module", "monkeypatch_session", "mpatch", "m"}
EMPTY = Value("literal", "")


class Environ:
    """Finds settings on `os.environ` of one file."""

    __slots__ = ("emit", "mappings", "names", "values")

    def __init__(self, emit: Emitter, mappings: Mappings) -> None:
        self.emit = emit
        self.mappings = mappings
        self.names = emit.names
        self.values = emit.values

    def is_environ(self, node: ast.AST, where: Where) -> bool:
        """`os.environ` under whatever name it goes here."""
        return isinstance(node, (ast.Name, ast.Attribute)) and self.names.resolve(node, where) == ENVIRON

    def item(self, key: ast.expr, value: ast.expr, whole: ast.AST, where: Where, op: Op = "set") -> None:
        """`os.environ[key] = value` and `os.environ.setdefault(key, value)`."""
        name = self.values.text(key, where)
        if name is None:
            self._looped(key, value, where, op)
        else:
            self.given(op, name, key, value, whole, where)

    def _looped(self, key: ast.expr, value: ast.expr, where: Where, op: Op) -> None:
        how = Application("python-environ", where, op)
        if op == "set" and isinstance(key, ast.Name) and self._any_absence(key, where):
            how = Application("python-environ", where, "default")
        self.mappings.claims += self.mappings.looped(key, value, where, how)

    def _any_absence(self, key: ast.Name, where: Where) -> bool:
        """`if k not in os.environ:` around, for the name that a loop goes through."""
        tests = where.block.condition
        return not isinstance(tests, str) and any(
            isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.NotIn)
            and isinstance(test.left, ast.Name) and test.left.id == key.id
            and self.is_environ(test.comparators[0], where)
            for test in tests
        )  # fmt: skip

    def given(self, op: Op, name: str, key: ast.AST, value: ast.expr, whole: ast.AST, where: Where) -> None:
        """State that a name is given a value; a value made from the variable itself extends it or is its default."""
        found = self.values.value(value, where)
        source = value
        if op == "set" and name in found.references:
            written = self.values.constant(value, where) or value
            read = self.values.read_under(name, written, where)
            if read is not None:
                if read.default is None:
                    return
                op, source, found = "default", read.default, self.values.value(read.default, where)
            elif isinstance(value, (ast.JoinedStr, ast.BinOp)):
                op = "append"
        if op == "set" and self.guarded_by_absence(name, where):
            op = "default"
        self._state(op, name, found, self._named(key, where), source, whole, where)

    def _named(self, key: ast.AST, where: Where) -> ast.AST:
        """Where the name is written: a constant stands for the string it was given."""
        return self.values.constant(key, where) or key

    def _state(
        self, op: Op, name: str, value: Value, key: ast.AST, source: ast.expr | None, whole: ast.AST, where: Where
    ) -> None:
        if is_variable(name):
            given = GivenValue(op, name, value, "python-environ", name_node=key, value_node=source)
            self.emit.setting(given, self.emit.code.span(whole), where)  # type: ignore[arg-type]

    def unset(self, key: ast.expr, whole: ast.AST, where: Where) -> None:
        """`del os.environ[key]`, `os.environ.pop(key)`, `os.unsetenv(key)`."""
        name = self.values.text(key, where)
        if name:
            self._state("unset", name, EMPTY, self._named(key, where), None, whole, where)
        else:
            self._looped(key, key, where, "unset")

    def append(self, target: ast.Subscript, value: ast.expr, whole: ast.AST, where: Where) -> None:
        """`os.environ[key] += value`."""
        name = self.values.text(target.slice, where)
        if name:
            key = self._named(target.slice, where)
            self._state("append", name, self.values.value(value, where), key, value, whole, where)

    def guarded_by_absence(self, name: str, where: Where) -> bool:
        """Whether the statement runs only where the variable is not set yet."""
        block: Block | None = where.block
        while block is not None and block.scope is where.block.scope:
            if block.id and not isinstance(block.condition, str):
                for test in block.condition:
                    if self._tests_absence(test, name, where, block.arm == "else"):
                        return True
            block = block.parent
        return False

    def _tests_absence(self, test: ast.AST, name: str, where: Where, negated: bool) -> bool:
        if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) and not negated:
            return any(self._tests_absence(part, name, where, negated) for part in test.values)
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            return self._tests_absence(test.operand, name, where, not negated)
        if isinstance(test, ast.Compare) and len(test.ops) == 1:
            return self._compares_absence(test, name, where, negated)
        return negated and self._reads(test, name, where)

    def _compares_absence(self, test: ast.Compare, name: str, where: Where, negated: bool) -> bool:
        operator, right = test.ops[0], test.comparators[0]
        if isinstance(operator, ast.In if negated else ast.NotIn):
            return self.values.text(test.left, where) == name and self.is_environ(right, where)
        if isinstance(operator, (ast.IsNot, ast.NotEq) if negated else (ast.Is, ast.Eq)):
            return self._reads(test.left, name, where) and isinstance(right, ast.Constant) and not right.value
        return False

    def _reads(self, node: ast.AST, name: str, where: Where) -> bool:
        read = self.values.read(node, where)
        return read is not None and read.name == name

    def is_special(self, dotted: str) -> bool:
        """Whether `call` does anything for this name."""
        return dotted in CALLS

    def call(self, node: ast.Call, dotted: str, where: Where) -> bool:
        """A call that changes the environment of the process; False where it is none."""
        handler = CALLS.get(dotted)
        if handler is not None:
            handler(self, node, where)
        return handler is not None

    def _setdefault(self, node: ast.Call, where: Where) -> None:
        if len(node.args) == 2:
            self.item(node.args[0], node.args[1], node, where, "default")

    def _putenv(self, node: ast.Call, where: Where) -> None:
        if len(node.args) == 2:
            self.item(node.args[0], node.args[1], node, where)

    def _unsetenv(self, node: ast.Call, where: Where) -> None:
        if node.args:
            self.unset(node.args[0], node, where)

    def _update(self, node: ast.Call, where: Where) -> None:
        self.mappings.applied(node, where, Application("python-environ", where))

    def test_double(self, node: ast.Call, attribute: str, where: Where) -> bool:
        """`monkeypatch.setenv("A", "1")` and its kin; no process outside the test gets the value."""
        assert isinstance(node.func, ast.Attribute)
        receiver = node.func.value
        if not isinstance(receiver, ast.Name) or (receiver.id not in TEST_DOUBLES and "monkey" not in receiver.id):
            return False
        arguments = node.args
        if attribute in ("setitem", "delitem"):
            if not arguments or not self.is_environ(arguments[0], where):
                return False
            arguments = arguments[1:]
        name = self.values.text(arguments[0], where) if arguments else None
        if name and is_variable(name):
            value = arguments[1] if len(arguments) > 1 and attribute in ("setenv", "setitem") else None
            found = self.values.value(value, where) if value else EMPTY
            key = self._named(arguments[0], where)
            op: Op = "set" if value else "unset"
            given = GivenValue(op, name, found, "python-environ", receiver.id, True, key, value)
            self.emit.setting(given, self.emit.code.span(node), where)
        return True


CALLS: dict[str, Callable[[Environ, Any, Where], None]] = {
    "os.environ.setdefault": Environ._setdefault,
    "os.environ.__setitem__": Environ._putenv,
    "os.environ.pop": Environ._unsetenv,
    "os.environ.update": Environ._update,
    "os.putenv": Environ._putenv,
    "os.unsetenv": Environ._unsetenv,
}
