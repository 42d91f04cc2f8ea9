"""One walk over the expressions of a Python file, statement by statement, that shows each part what it looks for."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any

from envdoctor.core.facts import Problem
from envdoctor.readers.python.calls import Calls
from envdoctor.readers.python.emit import Emitter
from envdoctor.readers.python.environment.environ import Environ
from envdoctor.readers.python.environment.given import GivenByCalls, suggests
from envdoctor.readers.python.environment.mappings import Application, Item, Mappings, is_mapping, name_of
from envdoctor.readers.python.environment.settle import Settler
from envdoctor.readers.python.names.names import children
from envdoctor.readers.python.names.scopes import Where
from envdoctor.readers.python.names.words import is_capitals, says_environment, says_log, says_report
from envdoctor.readers.python.shell import ShellCalls
from envdoctor.readers.python.uses import Uses

NAME, CONSTANT, ATTRIBUTE, CALL = ast.Name, ast.Constant, ast.Attribute, ast.Call
SURE_KEYS = {"env_vars"}
"""Keys under which a dict is the environment of workers (Ray)."""
CHANGING = {"update", "setdefault", "pop"}
READ_CALLS = {"os.environ.get", "os.getenv"}
TEST_CALLS = {"setenv", "delenv", "setitem", "delitem"}


class Walk:
    """Walks one file. `calls` is None where only settings and uses are wanted."""

    def __init__(self, emit: Emitter, calls: Calls | None) -> None:
        self.emit = emit
        self.names = emit.names
        self.calls = calls
        self.mappings = Mappings(emit)
        self.environ = Environ(emit, self.mappings)
        self.given = GivenByCalls(emit, self.mappings)
        self.shell = ShellCalls(emit)
        self.uses = Uses(emit)
        self._special: dict[str, bool] = {}

    def run(self) -> None:
        """State the facts of the whole file."""
        for statement, where in self.emit.outline.statements:
            self._statement(statement, where)
        try:
            self.given.finish()
            Settler(self.emit, self.mappings).settle()
            self._settle_shell()
        except RecursionError:
            self._too_deep(self.emit.outline.statements[-1][0])

    def _settle_shell(self) -> None:
        """Read shell text and commands; most files have none, and the module that reads them is large."""
        shell = self.shell
        if shell.runs or shell.lists or shell.statements:
            from envdoctor.readers.python.commands import Commands

            Commands(self.emit).read(shell.runs, shell.lists, shell.statements)

    def _too_deep(self, statement: ast.stmt) -> None:
        message = "nested too deeply; the settings in it were not all read"
        self.emit.facts.problems.append(Problem(message, self.emit.code.place(statement)))

    def _statement(self, statement: ast.stmt, where: Where) -> None:
        handler = STATEMENTS.get(type(statement))
        if handler is None:
            return
        try:
            handler(self, statement, where)
        except RecursionError:
            self._too_deep(statement)

    def assign(self, node: ast.Assign, where: Where) -> None:
        """`os.environ["A"] = "1"`, `env = {...}`, `torch.backends.cudnn.benchmark = True`."""
        for target in node.targets:
            self._target(target, node.value, node, where)
        report = type(node.value) is ast.Dict and says_report(name_of(node.targets[0]))
        parts = [node.value, *(target for target in node.targets if type(target) is not NAME)]
        self.expressions(parts, where, said=report)
        self.shell.statement(node, where)

    def annotated(self, node: ast.AnnAssign, where: Where) -> None:
        """The same with an annotation, which is not looked at."""
        if node.value is not None:
            self._target(node.target, node.value, node, where)
            self.expressions((node.value, node.target), where)
            self.shell.statement(node, where)

    def _target(self, target: ast.expr, value: ast.expr, whole: ast.stmt, where: Where) -> None:
        if isinstance(target, (ast.Tuple, ast.List)):
            given = value.elts if isinstance(value, (ast.Tuple, ast.List)) else []
            for part, own in zip(target.elts, given if len(given) == len(target.elts) else [], strict=False):
                self._target(part, own, whole, where)
            return
        if self.uses.reads and type(value) is not CONSTANT:
            self.uses.assignment(target, value, where)
        if isinstance(target, ast.Subscript):
            self._item(target, value, whole, where)
        elif isinstance(target, ast.Attribute):
            if self.environ.is_environ(target, where):
                self.mappings.claim(value, where, Application("python-environ", where))
            if self.calls is not None:
                self.calls.assigned(target, value, whole, where)
        label = suggests(target)
        if label and is_mapping(value):
            owned = isinstance(target, ast.Attribute) and name_of(target.value) == "self"
            self.mappings.suggest(target if owned or isinstance(target, ast.Name) else value, where, label)

    def _item(self, target: ast.Subscript, value: ast.expr, whole: ast.stmt, where: Where) -> None:
        if self.environ.is_environ(target.value, where):
            self.environ.item(target.slice, value, whole, where)
        elif isinstance(target.slice, (ast.Constant, ast.Name)):
            key = target.slice
            if isinstance(key, ast.Name) or (isinstance(key.value, str) and is_capitals(key.value)):
                self.mappings.change(target.value, Item("set", key, value, whole, where))

    def augmented(self, node: ast.AugAssign, where: Where) -> None:
        """`os.environ["A"] += "1"`, `os.environ |= {...}`, `env |= {...}`."""
        target = node.target
        if isinstance(target, ast.Subscript):
            if self.environ.is_environ(target.value, where):
                self.environ.append(target, node.value, node, where)
            elif isinstance(target.slice, ast.Constant):
                self.mappings.change(target.value, Item("append", target.slice, node.value, node, where))
        elif isinstance(node.op, ast.BitOr):
            if self.environ.is_environ(target, where):
                self.mappings.claim(node.value, where, Application("python-environ", where))
            else:
                self.mappings.change(target, Item("set", None, node.value, node, where))
        self.expressions((node.value,), where)
        self.shell.statement(node, where)

    def delete(self, node: ast.Delete, where: Where) -> None:
        """`del os.environ["A"]`."""
        for target in node.targets:
            if isinstance(target, ast.Subscript):
                if self.environ.is_environ(target.value, where):
                    self.environ.unset(target.slice, node, where)
                else:
                    self.mappings.change(target.value, Item("unset", target.slice, None, node, where))

    def expression(self, node: ast.Expr, where: Where) -> None:
        """A call that stands alone; a string that stands alone says nothing."""
        if not isinstance(node.value, ast.Constant):
            self.uses.alone(node.value)
            self.expressions((node.value,), where)
            self.shell.statement(node, where)

    def return_(self, node: ast.Return, where: Where) -> None:
        """`return {...}` in a function that says that it builds an environment."""
        if node.value is None:
            return
        function = where.block.scope.fact().name.rsplit(".", 1)[-1]
        if says_environment(function) and is_mapping(node.value):
            self.mappings.suggest(node.value, where, function, function)
        report = isinstance(node.value, ast.Dict) and says_report(function)
        self.expressions((node.value,), where, said=report)
        self.shell.statement(node, where)

    def if_(self, node: ast.If, where: Where) -> None:
        """The condition; one that only guards a setting is no use of the variable."""
        if self.uses.reads:
            self.uses.guard(node, where)
        self.expressions((node.test,), where)

    def while_(self, node: ast.While, where: Where) -> None:
        """The condition of a loop."""
        self.expressions((node.test,), where)

    def for_(self, node: ast.For | ast.AsyncFor, where: Where) -> None:
        """What a loop goes through."""
        self.expressions((node.iter,), where)

    def with_(self, node: ast.With | ast.AsyncWith, where: Where) -> None:
        """The contexts of a `with`."""
        for item in node.items:
            if isinstance(item.context_expr, ast.Call):
                self.given.context(item.context_expr, where)
        self.expressions([item.context_expr for item in node.items], where)

    def said(self, node: ast.Raise | ast.Assert, where: Where) -> None:
        """What is raised or asserted says something and uses nothing."""
        parts = (node.exc, node.cause) if isinstance(node, ast.Raise) else (node.test, node.msg)
        self.expressions([part for part in parts if part is not None], where, said=True)

    def match(self, node: ast.Match, where: Where) -> None:
        """The subject of a `match`."""
        self.expressions((node.subject,), where)

    def function(self, node: ast.FunctionDef | ast.AsyncFunctionDef, where: Where) -> None:
        """Decorators and defaults of parameters; annotations are not looked at."""
        if self.calls is not None:
            self.calls.definition(node, where)
        defaults = [d for d in (*node.args.defaults, *node.args.kw_defaults) if d is not None]
        self.expressions([*node.decorator_list, *defaults], where)

    def class_(self, node: ast.ClassDef, where: Where) -> None:
        """Decorators, bases and keywords of a class."""
        if self.calls is not None:
            self.calls.definition(node, where)
        self.expressions([*node.decorator_list, *node.bases, *(k.value for k in node.keywords)], where)

    def import_(self, node: ast.Import | ast.ImportFrom, where: Where) -> None:
        """An import."""
        if self.calls is not None:
            self.calls.imports(node, where)

    def expressions(self, roots: Sequence[ast.AST], where: Where, said: bool = False) -> None:
        """Walk expressions in source order. `said`: they are printed, logged or raised, so that nothing is a use."""
        stack: list[ast.AST] = list(reversed(roots))
        uses = self.uses if self.uses.active and not said else None
        while stack:
            node = stack.pop()
            kind = type(node)
            if kind is NAME or kind is CONSTANT or node is None:  # the key of `**x` in a dict is None
                continue
            if kind is ATTRIBUTE:
                if uses is not None:
                    uses.attribute(node, where)  # type: ignore[arg-type]
                stack.append(node.value)  # type: ignore[attr-defined]
            elif kind is CALL:
                self._call(node, where, uses, stack, said)  # type: ignore[arg-type]
            else:
                handler = EXPRESSIONS.get(kind)
                if handler is not None:
                    handler(self, node, where, uses)
                children(node, kind, stack)

    def _call(self, node: ast.Call, where: Where, uses: Uses | None, stack: list[ast.AST], said: bool) -> None:
        function = node.func
        dotted = self.names.resolve(function, where)
        name = function.attr if type(function) is ATTRIBUTE else getattr(function, "id", "")
        if self.calls is not None:
            self.calls.call(node, dotted, where)
        if dotted is not None and dotted[0] == "." and self.names.function(dotted) is not None:
            self.mappings.calls.setdefault(dotted, []).append((node, where))
        if uses is not None:
            uses.called(node, dotted, name, where)
        if not said and says_log(name):
            self.expressions((*node.args, *(k.value for k in node.keywords)), where, said=True)
        else:
            self._changes(node, dotted or "", name, where)
            stack.extend([keyword.value for keyword in reversed(node.keywords)])
            stack.extend(reversed(node.args))
        stack.append(function)

    def _is_special(self, dotted: str, name: str) -> bool:
        """Whether calls by this name may change an environment or run something."""
        known = self._special.get(dotted or name)
        if known is None:
            special = name in CHANGING or name in TEST_CALLS or self.environ.is_special(dotted) or dotted in READ_CALLS
            known = special or self.given.is_special(dotted, name) or self.shell.is_special(dotted, name)
            self._special[dotted or name] = known
        return known

    def _changes(self, node: ast.Call, dotted: str, name: str, where: Where) -> None:
        """What a call may change: this environment, a mapping, or the environment of what it starts."""
        if not self._is_special(dotted, name):
            if node.keywords:
                self.given.keywords(node, dotted, where)
            return
        if dotted in READ_CALLS and node.args:
            self.mappings.looked_up(node.args[0], where)
        if self.environ.call(node, dotted, where):
            return
        if isinstance(node.func, ast.Attribute):
            if name in CHANGING:
                self._changed(node, node.func.value, name, where)
                return
            if name in TEST_CALLS and self.environ.test_double(node, name, where):
                return
        if node.keywords:
            self.given.keywords(node, dotted, where)
        self.given.call(node, dotted, name, where)
        self.shell.call(node, dotted, where)

    def _changed(self, node: ast.Call, target: ast.expr, name: str, where: Where) -> None:
        """`env.update({...})`, `env.setdefault("A", "1")`, `env.pop("A", None)`."""
        first = node.args[0] if node.args else None
        if name == "update":
            parts: list[ast.expr | ast.keyword] = [*node.args, *node.keywords]
            for part in parts:
                self.mappings.change(target, Item("set", None, part, node, where))
        elif isinstance(first, (ast.Constant, ast.Name)):
            if isinstance(first, ast.Constant) and not (isinstance(first.value, str) and is_capitals(first.value)):
                return
            default = name == "setdefault" and len(node.args) > 1
            item = Item("default" if default else "unset", first, node.args[1] if default else None, node, where)
            self.mappings.change(target, item)

    def display(self, node: ast.Dict, where: Where, uses: Uses | None) -> None:
        """A dict: entries whose key says that their value is an environment, and reads under their own name."""
        if uses is not None and uses.reads:
            uses.pairs(node.keys, node.values, where)
        for key, value in zip(node.keys, node.values, strict=True):
            if isinstance(key, ast.Constant) and isinstance(key.value, str) and says_environment(key.value):
                if isinstance(value, (ast.List, ast.Tuple)):
                    self.given.pairs(value, where)
                elif is_mapping(value) and key.value in SURE_KEYS:
                    self.mappings.claim(value, where, Application("runtime-env", via=key.value))
                elif is_mapping(value):
                    self.mappings.suggest(value, where, key.value, key.value)

    def sequence(self, node: ast.List | ast.Tuple, where: Where, uses: Uses | None) -> None:
        """A list or tuple: perhaps a command; reads beside their own name."""
        if uses is not None and uses.reads:
            uses.siblings(node.elts, where)
        self.shell.listed(node, where)

    def subscript(self, node: ast.Subscript, where: Where, uses: Uses | None) -> None:
        """`os.environ["A"]` where it is read."""
        if uses is not None and uses.reads and isinstance(node.ctx, ast.Load):
            uses.read(node, where)

    def compare(self, node: ast.Compare, where: Where, uses: Uses | None) -> None:
        """`"A" in os.environ`."""
        if uses is not None and uses.reads:
            uses.membership(node, where)


STATEMENTS: dict[type[ast.stmt], Callable[[Walk, Any, Where], None]] = {
    ast.Assign: Walk.assign, ast.AnnAssign: Walk.annotated, ast.AugAssign: Walk.augmented, ast.Delete: Walk.delete,
    ast.Expr: Walk.expression, ast.Return: Walk.return_, ast.If: Walk.if_, ast.While: Walk.while_,
    ast.For: Walk.for_, ast.AsyncFor: Walk.for_, ast.With: Walk.with_, ast.AsyncWith: Walk.with_,
    ast.Raise: Walk.said, ast.Assert: Walk.said, ast.Match: Walk.match, ast.FunctionDef: Walk.function,
    ast.AsyncFunctionDef: Walk.function, ast.ClassDef: Walk.class_, ast.Import: Walk.import_,
    ast.ImportFrom: Walk.import_,
}  # fmt: skip
EXPRESSIONS: dict[type[ast.AST], Callable[[Walk, Any, Where, Uses | None], None]] = {
    ast.Dict: Walk.display, ast.List: Walk.sequence, ast.Tuple: Walk.sequence, ast.Subscript: Walk.subscript,
    ast.Compare: Walk.compare,
}  # fmt: skip
