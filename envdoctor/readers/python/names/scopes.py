"""One pass over the statements of a Python file: blocks with their conditions, and what each name is bound to.

Expressions are not entered here. The result is a flat list of statements in source order, each with its block, so
that later passes need no recursion.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

from envdoctor.core.facts import Branch
from envdoctor.core.facts import Scope as ScopeFact
from envdoctor.readers.python.names.code import Code

CONDITION_LENGTH = 200
"""Characters of a condition that are kept: enough to tell a rank or platform test."""
Node = ast.expr | ast.stmt
BindingKind = Literal["import", "value", "definition", "parameter", "loop", "other"]


class Where(NamedTuple):
    """A statement: its block and its position among all statements in source order."""

    block: Block
    position: int


class NameBinding(NamedTuple):
    """One thing that a name is bound to.

    import: `target` is the dotted name. value: `node` is the expression. definition: `target` is the qualified name.
    parameter: `target` is the function, `node` the default value if there is one. loop: `node` is the `for`.
    """

    kind: BindingKind
    where: Where
    target: str = ""
    node: ast.AST | None = None


class PythonScope:
    """A module, function or class, what its names are bound to, and what a function returns."""

    __slots__ = ("_fact", "kind", "module_names", "name", "parameters", "parent", "returns", "table")

    def __init__(
        self, name: str, kind: Literal["module", "function", "class"], parent: PythonScope | None = None
    ) -> None:
        self.name = name
        self.kind = kind
        self.parent = parent
        self.table: dict[str, list[NameBinding]] = {}
        self.module_names: set[str] = set()
        self.returns: list[tuple[ast.expr, Where]] = []
        self.parameters: tuple[str, ...] = ()
        self._fact: ScopeFact | None = None

    def owner(self) -> PythonScope | None:
        """The class whose method this is, or which this is."""
        scope: PythonScope | None = self
        while scope is not None and scope.kind != "class":
            scope = scope.parent
        return scope

    def module(self) -> PythonScope:
        """The module that this is part of."""
        scope = self
        while scope.parent is not None:
            scope = scope.parent
        return scope

    def bind(self, name: str, binding: NameBinding) -> None:
        """Note one more thing that a name is bound to."""
        home = self.module() if name in self.module_names else self
        home.table.setdefault(name, []).append(binding)

    def find(self, name: str) -> tuple[PythonScope, list[NameBinding]] | None:
        """The scope that a name belongs to when it is used here, as Python looks it up, and its bindings."""
        scope: PythonScope | None = self
        while scope is not None:
            if name in scope.table and (scope is self or scope.kind != "class"):
                return scope, scope.table[name]
            scope = scope.parent
        return None

    def fact(self) -> ScopeFact:
        """The scope as facts name it: the function, or the process for what runs on import."""
        if self._fact is None:
            scope = self
            while scope.kind == "class" and scope.parent is not None:
                scope = scope.parent
            self._fact = ScopeFact("function", scope.name) if scope.kind == "function" else ScopeFact()
        return self._fact


class Block:
    """Statements that stand under the same conditions. Branches are made only when a fact asks for them."""

    __slots__ = ("_branches", "arm", "condition", "id", "parent", "scope")

    def __init__(
        self,
        scope: PythonScope,
        parent: Block | None = None,
        id: str = "",  # noqa: A002
        arm: str = "",
        condition: str | Sequence[Node] = "",
    ) -> None:
        self.scope = scope
        self.parent = parent
        self.id = id
        self.arm = arm
        self.condition = condition
        self._branches: tuple[Branch, ...] | None = None

    def branches(self, code: Code) -> tuple[Branch, ...]:
        """The conditions around, outermost first."""
        if self._branches is None:
            outer = self.parent.branches(code) if self.parent else ()
            own = (Branch(self.id, self.arm, self._condition(code)),) if self.id else ()
            self._branches = outer + own
        return self._branches

    def _condition(self, code: Code) -> str:
        if isinstance(self.condition, str):
            return self.condition
        text = ", ".join(code.segment(node) for node in self.condition)
        if self.arm == "else":
            text = f"not ({text})"
        return " ".join(text.split())[:CONDITION_LENGTH]


class FileOutline:
    """All statements of a file in source order, its scopes by qualified name, and the top-level modules it imports."""

    __slots__ = ("code", "functions", "imported", "module", "statements")

    def __init__(self, code: Code, module: PythonScope) -> None:
        self.code = code
        self.module = module
        self.statements: list[tuple[ast.stmt, Where]] = []
        self.functions: dict[str, PythonScope] = {}
        self.imported: set[str] = set()

    def release(self) -> None:
        """Let go of scopes, which hold each other through their bindings: the tree goes at once, without a search."""
        for scope in (self.module, *self.functions.values()):
            scope.table.clear()
            scope.returns.clear()
        self.functions.clear()
        self.statements.clear()


def outline(tree: ast.Module, code: Code) -> FileOutline:
    """The statements of a file with their blocks, and the names they bind."""
    result = FileOutline(code, PythonScope("", "module"))
    walker = _Outliner(result)
    walker.push(tree.body, Block(result.module))
    walker.run()
    return result


class _Outliner:
    """`chains` holds of each `elif` the block that the whole chain stands in, its id, and the place in the chain."""

    __slots__ = ("chains", "result", "stack")

    def __init__(self, result: FileOutline) -> None:
        self.result = result
        self.stack: list[tuple[ast.stmt, Block]] = []
        self.chains: dict[int, tuple[Block, str, int]] = {}

    def push(self, body: Sequence[ast.stmt], block: Block) -> None:
        self.stack.extend((statement, block) for statement in reversed(body))

    def run(self) -> None:
        stack, statements = self.stack, self.result.statements
        while stack:
            statement, block = stack.pop()
            where = Where(block, len(statements))
            statements.append((statement, where))
            handler = HANDLERS.get(type(statement))
            if handler is not None:
                handler(self, statement, where)

    def function(self, node: ast.FunctionDef | ast.AsyncFunctionDef, where: Where) -> None:
        scope = where.block.scope
        name = f"{scope.name}.{node.name}" if scope.name else node.name
        scope.bind(node.name, NameBinding("definition", where, name, node))
        inner = PythonScope(name, "function", scope)
        self.result.functions.setdefault(name, inner)
        inner.parameters = _bind_parameters(inner, node.args, where)
        self.push(node.body, Block(inner, where.block))

    def class_(self, node: ast.ClassDef, where: Where) -> None:
        scope = where.block.scope
        name = f"{scope.name}.{node.name}" if scope.name else node.name
        scope.bind(node.name, NameBinding("definition", where, name, node))
        inner = PythonScope(name, "class", scope)
        self.result.functions.setdefault(name, inner)
        self.push(node.body, Block(inner, where.block))

    def if_(self, node: ast.If, where: Where) -> None:
        block, id_, position = self.chains.pop(id(node), (where.block, _id(node), 0))
        arm = f"elif {position}" if position else "if"
        if node.orelse:
            follower = node.orelse[0]
            if len(node.orelse) == 1 and isinstance(follower, ast.If) and self._is_elif(follower):
                self.chains[id(follower)] = (block, id_, position + 1)
                self.push(node.orelse, block)
            else:
                self.push(node.orelse, Block(block.scope, block, id_, "else", "" if position else [node.test]))
        self.push(node.body, Block(block.scope, block, id_, arm, [node.test]))

    def _is_elif(self, node: ast.If) -> bool:
        offset = self.result.code.offset(node.lineno, node.col_offset)
        return self.result.code.text.startswith("elif", offset)

    def for_(self, node: ast.For | ast.AsyncFor, where: Where) -> None:
        block = where.block
        _bind_all(block.scope, node.target, NameBinding("loop", where, node=node))
        self.push(node.orelse, block)
        self.push(node.body, Block(block.scope, block, _id(node), "loop", [node.iter]))

    def while_(self, node: ast.While, where: Where) -> None:
        block = where.block
        self.push(node.orelse, block)
        self.push(node.body, Block(block.scope, block, _id(node), "loop", [node.test]))

    def with_(self, node: ast.With | ast.AsyncWith, where: Where) -> None:
        block = where.block
        for item in node.items:
            if item.optional_vars is not None:
                _bind_target(block.scope, item.optional_vars, item.context_expr, where)
        contexts = [item.context_expr for item in node.items]
        self.push(node.body, Block(block.scope, block, _id(node), "with", contexts))

    def try_(self, node: ast.Try, where: Where) -> None:
        block, id_ = where.block, _id(node)
        self.push(node.finalbody, block)
        # A handler runs after a part of the body has run, so only handlers and `else` exclude each other.
        self.push(node.orelse, Block(block.scope, block, f"{id_}!", "else"))
        for number, handler in reversed(list(enumerate(node.handlers))):
            if handler.name:
                block.scope.bind(handler.name, NameBinding("other", where))
            condition = [handler.type] if handler.type else ""
            self.push(handler.body, Block(block.scope, block, f"{id_}!", f"except {number}", condition))
        self.push(node.body, Block(block.scope, block, id_, "try"))

    def match(self, node: ast.Match, where: Where) -> None:
        block, id_ = where.block, _id(node)
        for number, case in reversed(list(enumerate(node.cases))):
            pattern = f"{ast.unparse(node.subject)}: {ast.unparse(case.pattern)}"[:CONDITION_LENGTH]
            self.push(case.body, Block(block.scope, block, id_, f"case {number}", pattern))
            for part in ast.walk(case.pattern):
                if isinstance(part, (ast.MatchAs, ast.MatchStar)) and part.name:
                    block.scope.bind(part.name, NameBinding("other", where))

    def import_(self, node: ast.Import, where: Where) -> None:
        for alias in node.names:
            self.result.imported.add(alias.name.split(".", 1)[0])
            if alias.asname:
                where.block.scope.bind(alias.asname, NameBinding("import", where, alias.name))
            else:
                top = alias.name.split(".", 1)[0]
                where.block.scope.bind(top, NameBinding("import", where, top))

    def import_from(self, node: ast.ImportFrom, where: Where) -> None:
        prefix = import_prefix(node)
        self.result.imported.add(prefix.split(".", 1)[0])
        for alias in node.names:
            if alias.name != "*":
                where.block.scope.bind(alias.asname or alias.name, NameBinding("import", where, prefix + alias.name))

    def assign(self, node: ast.Assign, where: Where) -> None:
        for target in node.targets:
            _bind_target(where.block.scope, target, node.value, where)

    def annotated(self, node: ast.AnnAssign, where: Where) -> None:
        if node.value is not None:
            _bind_target(where.block.scope, node.target, node.value, where)

    def augmented(self, node: ast.AugAssign, where: Where) -> None:
        if isinstance(node.target, ast.Name):
            where.block.scope.bind(node.target.id, NameBinding("other", where, node=node))

    def global_(self, node: ast.Global, where: Where) -> None:
        where.block.scope.module_names.update(node.names)

    def return_(self, node: ast.Return, where: Where) -> None:
        if node.value is not None:
            where.block.scope.returns.append((node.value, where))


def import_prefix(node: ast.ImportFrom) -> str:
    """What stands before the imported name: dots of a relative import, and the module with a dot."""
    dots = "." * node.level
    return f"{dots}{node.module}." if node.module else dots


def _id(node: ast.stmt) -> str:
    return f"{node.lineno}:{node.col_offset}"


def _bind_parameters(scope: PythonScope, arguments: ast.arguments, where: Where) -> tuple[str, ...]:
    """Bind the parameters of a function; returns their names in order, positional ones first."""
    positional = [*arguments.posonlyargs, *arguments.args]
    missing: list[ast.expr | None] = [None] * (len(positional) - len(arguments.defaults))
    defaults = [*missing, *arguments.defaults, *arguments.kw_defaults]
    named = [*positional, *arguments.kwonlyargs]
    for argument, default in zip(named, defaults, strict=False):
        scope.bind(argument.arg, NameBinding("parameter", where, scope.name, default))
    for star in (arguments.vararg, arguments.kwarg):
        if star is not None:
            scope.bind(star.arg, NameBinding("other", where))
    return tuple(argument.arg for argument in named)


def _bind_target(scope: PythonScope, target: ast.expr, value: ast.expr, where: Where) -> None:
    """Bind what stands left of `=`; tuples of the same length are taken apart."""
    if isinstance(target, ast.Name):
        scope.bind(target.id, NameBinding("value", where, node=value))
    elif isinstance(target, ast.Attribute):
        owner = scope.owner()
        if owner is not None and isinstance(target.value, ast.Name) and target.value.id in ("self", "cls"):
            owner.bind(f"self.{target.attr}", NameBinding("value", where, node=value))
    elif isinstance(target, (ast.Tuple, ast.List)):
        if isinstance(value, (ast.Tuple, ast.List)) and len(value.elts) == len(target.elts):
            for part, given in zip(target.elts, value.elts, strict=True):
                _bind_target(scope, part, given, where)
        else:
            _bind_all(scope, target, NameBinding("other", where))


def _bind_all(scope: PythonScope, target: ast.expr, binding: NameBinding) -> None:
    """Bind every name in a target to the same thing."""
    for part in ast.walk(target):
        if isinstance(part, ast.Name):
            scope.bind(part.id, binding)


HANDLERS: dict[type[ast.stmt], Callable[[_Outliner, Any, Where], None]] = {
    ast.FunctionDef: _Outliner.function, ast.AsyncFunctionDef: _Outliner.function, ast.ClassDef: _Outliner.class_,
    ast.If: _Outliner.if_, ast.For: _Outliner.for_, ast.AsyncFor: _Outliner.for_, ast.While: _Outliner.while_,
    ast.With: _Outliner.with_, ast.AsyncWith: _Outliner.with_, ast.Try: _Outliner.try_, ast.Match: _Outliner.match,
    ast.Import: _Outliner.import_, ast.ImportFrom: _Outliner.import_from, ast.Assign: _Outliner.assign,
    ast.AnnAssign: _Outliner.annotated, ast.AugAssign: _Outliner.augmented, ast.Global: _Outliner.global_,
    ast.Return: _Outliner.return_,
}  # fmt: skip
if sys.version_info >= (3, 11):
    HANDLERS[ast.TryStar] = _Outliner.try_
