"""Mappings that may become the environment of a process, and what says that they do.

A dict is a setting only where something says that it is an environment. What says so for sure (applied to
`os.environ`, passed as `env=`, standing under `env_vars`) is a claim; a name that says so is a suggestion. They are
gathered here while a file is walked, and settled by `settle` when every use of a name has been seen.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from envdoctor.core.facts import Channel, Op
from envdoctor.readers.python.emit import Emitter
from envdoctor.readers.python.names.names import latest
from envdoctor.readers.python.names.scopes import NameBinding, PythonScope, Where
from envdoctor.readers.python.names.words import is_capitals, says_runtime, says_saved

SENTENCE_WORDS = 4
"""Words in a value from which on it is taken for a description."""
Key = tuple[PythonScope, str]


class Application(NamedTuple):
    """How a mapping reaches an environment.

    `where` is the statement that does it, where that decides the order. `value` is what every name is given, where
    that is not the value in the mapping. `sure` is False where only a name says that it is an environment.
    """

    channel: Channel
    where: Where | None = None
    op: Op = "set"
    guarded: bool = False
    via: str = ""
    sure: bool = True
    value: ast.expr | None = None


class Item(NamedTuple):
    """One change of a mapping: `env[key] = value`, `env.setdefault(key, value)`, `env.pop(key)`.

    Without a key it is `env.update(value)`, or one keyword of it.
    """

    op: Op
    key: ast.expr | None
    value: ast.expr | ast.keyword | None
    whole: ast.expr | ast.stmt
    where: Where


class MappingPair(NamedTuple):
    """A name and a value of a dict display, and where the two are written."""

    key: ast.expr
    value: ast.expr
    span: tuple[int, int]


class MappingClaim(NamedTuple):
    """A mapping or a part of one, the statement it stands in, and how it reaches an environment."""

    node: ast.AST | MappingPair | Item
    where: Where
    application: Application


class Setter(NamedTuple):
    """A function of the file that sets the variable it is given the name of."""

    parameter: str
    value: ast.expr
    application: Application


class Mappings:
    """What was gathered from one file.

    `calls` holds the calls of the file's own functions by dotted name; `checked` the mappings whose names a loop only
    looks up in the environment, to check or to report them.
    """

    __slots__ = ("calls", "changes", "checked", "claims", "emit", "labels", "setters", "suggestions")

    def __init__(self, emit: Emitter) -> None:
        self.emit = emit
        self.claims: list[MappingClaim] = []
        self.suggestions: list[MappingClaim] = []
        self.changes: dict[Key, list[Item]] = {}
        self.labels: dict[Key, ast.expr] = {}
        self.calls: dict[str, list[tuple[ast.Call, Where]]] = {}
        self.setters: dict[str, Setter] = {}
        self.checked: set[Key] = set()

    def claim(self, node: ast.AST, where: Where, application: Application) -> None:
        """Note a mapping that is an environment for sure."""
        self.claims.append(MappingClaim(node, where, application))

    def suggest(self, node: ast.AST, where: Where, label: str, via: str = "") -> None:
        """Note a mapping that goes by the name of an environment."""
        self.suggestions.append(MappingClaim(node, where, Application(channel_of(label), via=via, sure=False)))

    def applied(self, call: ast.Call, where: Where, application: Application) -> None:
        """Note a call whose arguments, positional and by keyword, become an environment."""
        for argument in (*call.args, *call.keywords):
            self.claim(argument, where, application)

    def change(self, target: ast.expr, item: Item) -> None:
        """Note a change of some mapping, which may turn out to be an environment."""
        key = self.key(target, item.where)
        self.changes.setdefault(key, []).append(item)
        self.labels.setdefault(key, target)

    def key(self, target: ast.expr, where: Where) -> Key:
        """What tells one mapping from another: the scope its name belongs to, and the name."""
        scope = where.block.scope
        if isinstance(target, ast.Name):
            found = scope.find(target.id)
            return (found[0] if found else scope.module()), target.id
        owner = scope.owner()
        if owner and isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name):
            return owner, f"{target.value.id}.{target.attr}"
        return scope.module(), self.emit.code.segment(target)

    def looked_up(self, key: ast.expr, where: Where) -> None:
        """Note `os.environ.get(k)` for a name that a loop goes through."""
        found = where.block.scope.find(key.id) if isinstance(key, ast.Name) else None
        if found is None:
            return
        loop = latest(found[0], found[1], where).node
        if isinstance(loop, (ast.For, ast.AsyncFor)):
            self.checked.add(self.key(items_of(loop.iter) or loop.iter, where))

    def looped(self, key: ast.expr, value: ast.expr, where: Where, how: Application) -> list[MappingClaim]:
        """What `mapping[key] = value` does for a key that a loop goes through; a parameter as key is noted."""
        found = where.block.scope.find(key.id) if isinstance(key, ast.Name) else None
        if found is None or not isinstance(key, ast.Name):
            return []
        binding = latest(found[0], found[1], where)
        if binding.kind == "parameter":
            self.setters.setdefault("." + binding.target, Setter(key.id, value, how))
        elif binding.kind == "loop" and isinstance(binding.node, (ast.For, ast.AsyncFor)):
            return self._loop(binding, key.id, value, where, how)
        return []

    def _loop(
        self, binding: NameBinding, key: str, value: ast.expr, where: Where, how: Application
    ) -> list[MappingClaim]:
        loop = binding.node
        assert isinstance(loop, (ast.For, ast.AsyncFor))
        target, over = loop.target, loop.iter
        if says_saved(name_of(items_of(over) or over)):
            return []
        if how.where is not None and how.where.block.condition == [over] and how.where.block.parent:
            how = how._replace(where=Where(how.where.block.parent, how.where.position))
        pair = target.elts if isinstance(target, (ast.Tuple, ast.List)) and len(target.elts) == 2 else None
        if pair and isinstance(pair[0], ast.Name) and pair[0].id == key and isinstance(pair[1], ast.Name):
            own = mentions(value, pair[1].id)
            how = how if own else how._replace(value=value)
            return [MappingClaim(items_of(over) or over, binding.where, how)]
        if not isinstance(target, ast.Name):
            return []
        if isinstance(value, ast.Subscript) and mentions(value.slice, key):
            of_environ = self.emit.names.resolve(value.value, where) == "os.environ"
            if not of_environ:
                return [MappingClaim(value.value, where, how)]
        return [MappingClaim(over, binding.where, how._replace(value=value, where=how.where or where))]


def channel_of(label: str) -> Channel:
    """The channel that a name says: an environment for workers of a framework, or for a child process."""
    return "runtime-env" if says_runtime(label) else "child-environment"


def name_of(node: ast.AST) -> str:
    """The last part of what names a mapping: `env`, `self.worker_env`, `cfg["env_vars"]`, `get_env()`."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return node.attr
    if isinstance(node, ast.Call):
        return name_of(node.func)
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        return node.slice.value if isinstance(node.slice.value, str) else ""
    return ""


def alternatives(node: ast.AST) -> Iterator[ast.expr]:
    """The mappings that an expression joins or chooses from."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        yield from (node.left, node.right)
    elif isinstance(node, ast.BoolOp):
        yield from node.values
    elif isinstance(node, ast.IfExp):
        yield from (node.body, node.orelse)
    elif isinstance(node, ast.NamedExpr):
        yield node.value
    elif isinstance(node, ast.Lambda):
        yield node.body


def items_of(node: ast.AST) -> ast.expr | None:
    """The mapping in `mapping.items()`."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "items":
        return node.func.value
    return None


def mentions(node: ast.AST, name: str) -> bool:
    """Whether an expression uses a name."""
    return any(isinstance(part, ast.Name) and part.id == name for part in ast.walk(node))


def is_mapping(node: ast.AST | None) -> bool:
    """An expression that may be a mapping of names to values, as it is written."""
    if isinstance(node, ast.BinOp):
        return isinstance(node.op, ast.BitOr)
    return isinstance(node, (ast.Dict, ast.DictComp, ast.Name, ast.Attribute, ast.Call, ast.BoolOp, ast.IfExp))


def describes(node: ast.Dict) -> bool:
    """A dict that tells about variables instead of setting them: most values are sentences or names of variables."""
    texts = [v.value for v in node.values if isinstance(v, ast.Constant) and isinstance(v.value, str)]
    sentences = sum(len(text.split()) >= SENTENCE_WORDS and not text.lstrip().startswith("-") for text in texts)
    names = sum(is_capitals(text) and "_" in text for text in texts)
    return 2 * max(sentences, names) > len(node.values)
