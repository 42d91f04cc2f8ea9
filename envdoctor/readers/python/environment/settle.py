"""States the settings of the mappings that turned out to be environments."""

from __future__ import annotations

import ast

from envdoctor.core.facts import Value
from envdoctor.readers.python.emit import Emitter, GivenValue
from envdoctor.readers.python.environment.mappings import (
    Application,
    Item,
    Key,
    MappingClaim,
    MappingPair,
    Mappings,
    Setter,
    alternatives,
    channel_of,
    describes,
    items_of,
    name_of,
)
from envdoctor.readers.python.names.scopes import NameBinding, Where
from envdoctor.readers.python.names.words import is_capitals, is_variable, says_environment

COPIERS = {"dict", "copy.copy", "copy.deepcopy"}
WRAPPERS = {"copy", "deepcopy", "dumps", "MappingProxyType", "RuntimeEnv", "freeze"}
"""Last parts of the names of functions that hand on the mapping they are given."""
COLLECTIONS = {"frozenset", "set", "list", "tuple", "range", "re.compile"}
ABSENT = {"not set", "unset", "n/a", "none", "-", "?", "missing", "undefined", "not_set", "default", "unknown"}
NO_VALUE = (ast.Dict, ast.List, ast.Tuple, ast.Set, ast.Lambda, ast.DictComp, ast.ListComp)
MOST_CLAIMS = 20_000


class Settler:
    """Settles what was gathered from one file."""

    __slots__ = ("_done", "_done_keys", "emit", "mappings")

    def __init__(self, emit: Emitter, mappings: Mappings) -> None:
        self.emit = emit
        self.mappings = mappings
        self._done: set[int] = set()
        self._done_keys: set[Key] = set()

    def settle(self) -> None:
        """State the settings of all mappings that are environments: sure ones first, then those that a name says."""
        for name, setter in self.mappings.setters.items():
            for call, where in self.mappings.calls.get(name, ()):
                self._setter(name, setter, call, where)
        self._run(self.mappings.claims)
        self._parameters()
        for key, label in self.mappings.labels.items():
            where = self.mappings.changes[key][0].where
            name = name_of(label)
            if name and says_environment(name):
                self._run([MappingClaim(label, where, Application(channel_of(name), sure=False))])
            elif self._is_copy(label, where):
                self._run([MappingClaim(label, where, Application("child-environment"))])
        self._run(self.mappings.suggestions)

    def _parameters(self) -> None:
        """Changes of a parameter that a call in this file passes `os.environ` for."""
        for key, label in self.mappings.labels.items():
            binding = self.emit.values.binding(label, self.mappings.changes[key][0].where)
            if binding is None or binding.kind != "parameter":
                continue
            for call, where in self.mappings.calls.get("." + binding.target, ()):
                argument = self._argument("." + binding.target, key[1], call)
                if argument is not None and self.emit.names.resolve(argument, where) == "os.environ":
                    how = Application("python-environ", where, via=binding.target)
                    self._run([MappingClaim(label, self.mappings.changes[key][0].where, how)])

    def _run(self, claims: list[MappingClaim]) -> None:
        pending = list(reversed(claims))
        count = 0
        while pending and count < MOST_CLAIMS:
            count += 1
            pending += reversed(self._expand(pending.pop()))

    def _expand(self, claim: MappingClaim) -> list[MappingClaim]:
        """State what a mapping says itself; returns the mappings it is made of."""
        node, where, how = claim
        if isinstance(node, Item):
            return self._changed(node, how)
        if isinstance(node, MappingPair):
            self._pair(node, where, how)
            return []
        if isinstance(node, ast.Dict):
            return self._display(node, where, how)
        if isinstance(node, (ast.Name, ast.Attribute, ast.Subscript)):
            return self._variable(node, where, how)
        if isinstance(node, ast.Call):
            return self._call(node, where, how)
        if isinstance(node, ast.keyword):
            return self._keyword(node, where, how)
        if isinstance(node, (ast.List, ast.Tuple, ast.Set)):
            self._sequence(node, where, how)
        elif isinstance(node, ast.DictComp):
            return self._comprehension(node, where, how)
        return [MappingClaim(part, where, how) for part in alternatives(node)]

    def _display(self, node: ast.Dict, where: Where, how: Application) -> list[MappingClaim]:
        if id(node) in self._done or (not how.sure and describes(node)):
            return []
        self._done.add(id(node))
        inner = []
        for key, value in zip(node.keys, node.values, strict=True):
            if key is None:
                inner.append(MappingClaim(value, where, how))
            else:
                span = self.emit.code.span(key)[0], self.emit.code.span(value)[1]
                inner.append(MappingClaim(MappingPair(key, value, span), where, how))
        return inner

    def _keyword(self, node: ast.keyword, where: Where, how: Application) -> list[MappingClaim]:
        if node.arg is None:
            return [MappingClaim(node.value, where, how)]
        if is_capitals(node.arg):
            self._entry(node.arg, node, node.value, self.emit.code.span(node), where, how)
        return []

    def _pair(self, pair: MappingPair, where: Where, how: Application) -> None:
        """A name and its value, as two expressions."""
        key, value, span = pair
        name = self.emit.values.text(key, where)
        if name and (is_capitals(name) or (how.channel == "python-environ" and is_variable(name))):
            named = self.emit.values.constant(key, where) or key
            self._entry(name, named, how.value or value, span, where, how)

    def _entry(
        self, name: str, key: ast.AST, value: ast.expr, span: tuple[int, int], where: Where, how: Application
    ) -> None:
        """State one name and value of a mapping."""
        if isinstance(value, NO_VALUE) or (isinstance(value, ast.Constant) and value.value is None):
            return
        if isinstance(value, ast.Call) and self.emit.names.resolve(value.func, where) in COLLECTIONS:
            return
        within = how.where if how.where and value is how.value else where
        op, source, found = how.op, value, self.emit.values.value(value, within)
        read = self.emit.values.read_under(name, value, where)
        if op == "unset":
            found = Value("literal")
        elif read is not None:
            if not how.sure and (read.default is None or self._tells_absence(read.default, where)):
                return
            if how.channel == "python-environ" and read.default is None:
                return
            if how.channel == "python-environ" and read.default is not None:
                op, source, found = "default", read.default, self.emit.values.value(read.default, where)
            else:
                op = "pass"
        given = GivenValue(op, name, found, how.channel, how.via, how.guarded, key, source)
        self.emit.setting(given, span, where, how.where)

    def _tells_absence(self, default: ast.expr, where: Where) -> bool:
        """A default that only says that the variable is not set, as reports have it."""
        text = self.emit.values.text(default, where)
        return text is None or not text or text.strip("<>()[] ").lower() in ABSENT

    def _variable(self, node: ast.expr, where: Where, how: Application) -> list[MappingClaim]:
        key = self.mappings.key(node, where)
        if not how.sure and key in self.mappings.checked:
            return []
        if key in self._done_keys or self.emit.names.resolve(node, where) == "os.environ":
            return []
        self._done_keys.add(key)
        found: list[MappingClaim] = []
        for binding in self.emit.values.bindings(node, where):
            found += self._bound(binding, key[1], how)
        return found + [MappingClaim(item, item.where, how) for item in self.mappings.changes.get(key, ())]

    def _bound(self, binding: NameBinding, name: str, how: Application) -> list[MappingClaim]:
        """What a name is bound to; for a parameter, what the calls of the function pass."""
        if binding.kind == "value" and binding.node is not None:
            return [MappingClaim(binding.node, binding.where, how)]
        if binding.kind != "parameter" or not how.sure:
            return []
        function = "." + binding.target
        passed = [(self._argument(function, name, call), w) for call, w in self.mappings.calls.get(function, ())]
        new = how._replace(where=None, via=how.via or binding.target)
        return [MappingClaim(argument, w, new) for argument, w in passed if argument is not None]

    def _changed(self, item: Item, how: Application) -> list[MappingClaim]:
        """One change of a mapping that is an environment."""
        op = item.op if how.op == "set" else how.op
        how = how._replace(op=op)
        if item.key is None:
            return [MappingClaim(item.value, item.where, how)] if item.value is not None else []
        value = item.value if isinstance(item.value, ast.expr) else item.key
        if self.emit.values.text(item.key, item.where) is None:
            return self.mappings.looped(item.key, value, item.where, how)
        self._pair(MappingPair(item.key, value, self.emit.code.span(item.whole)), item.where, how)
        return []

    def _call(self, node: ast.Call, where: Where, how: Application) -> list[MappingClaim]:
        """`dict(...)`, a copy, a call of one of the file's own functions, a dataclass field."""
        dotted = self.emit.names.resolve(node.func, where) or ""
        function = self.emit.names.function(dotted)
        if function is not None:
            return [MappingClaim(value, place, how) for value, place in function.returns]
        if dotted == "dict":
            return [MappingClaim(argument, where, how) for argument in (*node.args, *node.keywords)]
        if isinstance(node.func, ast.Attribute) and node.func.attr == "copy" and not node.args:
            return [MappingClaim(node.func.value, where, how)]
        last = dotted.rsplit(".", 1)[-1]
        if last in WRAPPERS or (how.sure and says_environment(last)):
            return [MappingClaim(argument, where, how) for argument in node.args]
        return [MappingClaim(k.value, where, how) for k in node.keywords if k.arg == "default_factory"]

    def _sequence(self, node: ast.List | ast.Tuple | ast.Set, where: Where, how: Application) -> None:
        """`[("A", "1"), ...]`, or plain names where the loop gives all of them one value or forwards them."""
        for element in node.elts:
            span = self.emit.code.span(element)
            if isinstance(element, (ast.Tuple, ast.List)) and len(element.elts) == 2:
                self._pair(MappingPair(element.elts[0], element.elts[1], span), where, how)
            elif how.value is not None and self._forwards(how.value, how.where or where):
                self._forwarded(element, span, where, how)
            elif how.value is not None:
                self._pair(MappingPair(element, how.value, span), where, how)

    def _forwarded(self, element: ast.expr, span: tuple[int, int], where: Where, how: Application) -> None:
        name = self.emit.values.text(element, where)
        if name and is_capitals(name) and how.channel != "python-environ":
            given = GivenValue("pass", name, Value("unknown"), how.channel, how.via, how.guarded, element)
            self.emit.setting(given, span, where, how.where)

    def _forwards(self, value: ast.expr, where: Where) -> bool:
        """`os.environ[name]` or `os.environ.get(name, ...)` for a name that a loop goes through."""
        if isinstance(value, ast.Subscript):
            return self.emit.names.resolve(value.value, where) == "os.environ"
        if isinstance(value, ast.Call):
            return self.emit.names.resolve(value.func, where) in ("os.environ.get", "os.getenv")
        return False

    def _comprehension(self, node: ast.DictComp, where: Where, how: Application) -> list[MappingClaim]:
        """`{k: os.environ[k] for k in NAMES}` and `{k: str(v) for k, v in mapping.items()}`."""
        over = node.generators[0].iter
        mapping = items_of(over)
        if mapping is not None:
            return [MappingClaim(mapping, where, how)]
        return [MappingClaim(over, where, how._replace(value=node.value, where=how.where or where))]

    def _setter(self, name: str, setter: Setter, call: ast.Call, where: Where) -> None:
        """A call of a function that sets the variable it is given the name of."""
        key = self._argument(name, setter.parameter, call)
        text = self.emit.values.text(key, where) if key is not None else None
        if key is None or not text or not is_variable(text):
            return
        value = setter.value
        inner = value.args[0] if isinstance(value, ast.Call) and len(value.args) == 1 else value
        if isinstance(inner, ast.Name):
            value = self._argument(name, inner.id, call) or value
        how = setter.application._replace(where=None, via=name.lstrip("."))
        self._entry(text, self.emit.values.constant(key, where) or key, value, self.emit.code.span(call), where, how)

    def _argument(self, function: str, parameter: str, call: ast.Call) -> ast.expr | None:
        """What a call passes for a parameter, or the parameter's default."""
        given = next((k.value for k in call.keywords if k.arg == parameter), None)
        scope = self.emit.names.function(function)
        if given is not None or scope is None or parameter not in scope.parameters:
            return given
        index = scope.parameters.index(parameter)
        if isinstance(call.func, ast.Attribute) and scope.parameters[0] in ("self", "cls"):
            index -= 1
        if 0 <= index < len(call.args):
            return None if isinstance(call.args[index], ast.Starred) else call.args[index]
        default = scope.table[parameter][0].node
        return default if isinstance(default, ast.expr) else None

    def _is_copy(self, node: ast.expr, where: Where) -> bool:
        """A name that is bound to a copy of `os.environ`, perhaps with changes."""
        return any(
            binding.kind == "value" and binding.node is not None and self._copies(binding.node, binding.where)
            for binding in self.emit.values.bindings(node, where)
        )

    def _copies(self, node: ast.AST, where: Where) -> bool:
        resolve = self.emit.names.resolve
        for part in ast.walk(node):
            inner: list[ast.expr] = []
            if isinstance(part, ast.Dict):
                inner = [value for key, value in zip(part.keys, part.values, strict=True) if key is None]
            elif isinstance(part, ast.Call):
                dotted = resolve(part.func, where)
                if dotted == "os.environ.copy":
                    return True
                inner = part.args if dotted in COPIERS else []
            if any(resolve(value, where) == "os.environ" for value in inner):
                return True
        return False
