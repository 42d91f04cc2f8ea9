"""Settings that a call gives: `env=` and its kin, `V1EnvVar(...)`, `set_env("A", "1")`, lists of name and value."""

from __future__ import annotations

import ast

from envdoctor.core.facts import Channel, Op, Value
from envdoctor.readers.python.emit import Emitter, GivenValue
from envdoctor.readers.python.environment.mappings import Application, Mappings, channel_of, is_mapping, name_of
from envdoctor.readers.python.names.scopes import Where
from envdoctor.readers.python.names.words import is_capitals, is_pair_class, says_environment, says_report, says_setter

PATCHES = ("patch.dict",)
ON_OBJECTS = {"env", "envs", "with_env", "with_envs", "env_vars", "with_env_vars", "update_envs"}
"""Methods that give an environment to an image, task or job: `image.env({...})`."""
FROM_DICT = ("Secret.from_dict",)
WITH_ENVIRONMENT = {"os.execvpe", "os.execve", "os.spawnvpe", "os.spawnve", "os.posix_spawn", "os.posix_spawnp"}
"""Functions that take the environment of the new program as their last argument."""
DEFAULTS = ("default", "unset", "missing")
"""What the name of a function says that leaves a variable alone that is set already."""


class GivenByCalls:
    """Finds settings that calls of one file give to other processes, or to this one through a helper."""

    __slots__ = ("emit", "mappings", "names", "values")

    def __init__(self, emit: Emitter, mappings: Mappings) -> None:
        self.emit = emit
        self.mappings = mappings
        self.names = emit.names
        self.values = emit.values

    def keywords(self, node: ast.Call, dotted: str, where: Where) -> None:
        """`run(cmd, env=...)`, `options(env_vars=...)`: an environment by the keyword it is passed for."""
        for keyword in node.keywords:
            if keyword.arg and says_environment(keyword.arg) and not says_report(name_of(node.func)):
                if isinstance(keyword.value, (ast.List, ast.Tuple)):
                    self.pairs(keyword.value, where)
                elif is_mapping(keyword.value):
                    how = Application(channel_of(keyword.arg), via=dotted or name_of(node.func))
                    self.mappings.claim(keyword.value, where, how)

    def finish(self) -> None:
        """Calls of the file's own functions that say they set variables, where it was not seen how they do it."""
        for function, calls in self.mappings.calls.items():
            name = function.rsplit(".", 1)[-1]
            if says_setter(name) and function not in self.mappings.setters:
                for call, where in calls:
                    self._setter(call, name, where, "child-environment")

    def is_special(self, dotted: str, name: str) -> bool:
        """Whether `call` does anything for this name."""
        by_name = is_pair_class(name) or name in ON_OBJECTS or says_setter(name)
        return by_name or dotted in WITH_ENVIRONMENT or dotted.endswith((*PATCHES, *FROM_DICT))

    def call(self, node: ast.Call, dotted: str, name: str, where: Where) -> None:
        """Any call that may give settings by what it is called."""
        if dotted.endswith(PATCHES):
            self._patch(node, where)
        elif is_pair_class(name):
            self._pair_class(node, name, dotted, where)
        elif name in ON_OBJECTS and isinstance(node.func, ast.Attribute):
            self._on_object(node, name, where)
        elif node.args and (dotted in WITH_ENVIRONMENT or dotted.endswith(FROM_DICT)):
            channel: Channel = "child-environment" if dotted in WITH_ENVIRONMENT else "runtime-env"
            self.mappings.claim(node.args[-1], where, Application(channel, via=dotted))
        elif says_setter(name) and self.names.function(dotted) is None:
            self._setter(node, name, where)

    def _on_object(self, node: ast.Call, name: str, where: Where) -> None:
        how = Application("runtime-env", via=name)
        for argument in node.args:
            if isinstance(argument, (ast.Dict, ast.Name, ast.Attribute)):
                self.mappings.claim(argument, where, how)

    def _patch(self, node: ast.Call, where: Where) -> None:
        """`mock.patch.dict(os.environ, {...})`: what it sets is undone when the test ends."""
        target = node.args[0] if node.args else None
        if isinstance(target, ast.Constant):
            is_environ = target.value == "os.environ"
        else:
            is_environ = target is not None and self.names.resolve(target, where) == "os.environ"
        if is_environ:
            how = Application("python-environ", where, guarded=True, via="patch.dict")
            for part in (*node.args[1:], *(k for k in node.keywords if k.arg not in ("clear", "values"))):
                self.mappings.claim(part, where, how)
            for keyword in node.keywords:
                if keyword.arg == "values":
                    self.mappings.claim(keyword.value, where, how)

    def _pair_class(self, node: ast.Call, name: str, dotted: str, where: Where) -> None:
        """`V1EnvVar(name="A", value="1")`."""
        given = {k.arg: k.value for k in node.keywords if k.arg}
        key = given.get("name") or (node.args[0] if node.args else None)
        value = given.get("value") or (node.args[1] if len(node.args) > 1 else None)
        channel: Channel = "kubernetes" if name.startswith("V1") or "kubernetes" in dotted else "runtime-env"
        self._state(key, value, node, where, (channel, "set", name))

    def context(self, node: ast.Call, where: Where) -> None:
        """`with environment({"A": "1"}):`, a context that says that it changes the environment."""
        name = name_of(node.func)
        if says_environment(name) and not says_setter(name):
            how = Application("python-environ", where, via=name)
            for part in (*node.args, *(k for k in node.keywords if k.arg and is_capitals(k.arg))):
                if isinstance(part, (ast.Dict, ast.keyword)):
                    self.mappings.claim(part, where, how)

    def pairs(self, node: ast.List | ast.Tuple, where: Where) -> None:
        """`[{"name": "A", "value": "1"}, ...]`, as manifests of containers are written in Python."""
        for element in node.elts:
            if isinstance(element, (ast.Constant, ast.JoinedStr)):
                self._assignment(element, where)
            elif isinstance(element, ast.Dict):
                given = {
                    key.value: value
                    for key, value in zip(element.keys, element.values, strict=True)
                    if isinstance(key, ast.Constant)
                }
                if "value" in given:
                    self._state(given.get("name"), given["value"], element, where, ("kubernetes", "set", ""))

    def _assignment(self, node: ast.Constant | ast.JoinedStr, where: Where) -> None:
        """`"A=1"` in a list of an environment."""
        text = self.values.text(node, where)
        if text is None or "=" not in text:
            return
        name, value = text.split("=", 1)
        if is_capitals(name):
            given = GivenValue("set", name, Value("literal", value), "runtime-env", name_node=node)
            self.emit.setting(given, self.emit.code.span(node), where)

    def _setter(self, node: ast.Call, name: str, where: Where, channel: Channel = "python-environ") -> None:
        """`set_env("A", "1")`, `update_environment_variables({...})`, `task.set_env_variable(name="A", value="1")`."""
        given = {k.arg: k.value for k in node.keywords if k.arg}
        key = given.get("name") or given.get("key") or (node.args[0] if node.args else None)
        value = given.get("value") or (node.args[1] if len(node.args) > 1 else None)
        if isinstance(node.func, ast.Attribute):
            channel = self._channel(node.func.value, channel, where)
        op: Op = "default" if any(word in name.lower() for word in DEFAULTS) else "set"
        if isinstance(key, ast.Dict):
            how = Application(channel, where if channel == "python-environ" else None, op, via=name)
            self.mappings.claim(key, where, how)
        elif key is not None and value is not None:
            self._state(key, value, node, where, (channel, op, name))
        for keyword in node.keywords:
            if keyword.arg and is_capitals(keyword.arg) and "_" in keyword.arg:
                self.mappings.claim(keyword, where, Application(channel, where, op, via=name))

    def _channel(self, receiver: ast.expr, channel: Channel, where: Where) -> Channel:
        """Where a method of an object sets variables: in an environment of the object, unless it is a module."""
        if isinstance(receiver, ast.Name) and receiver.id in ("self", "cls"):
            return "child-environment"
        bindings = self.values.bindings(receiver, where)
        return channel if any(binding.kind == "import" for binding in bindings) else "runtime-env"

    def _state(
        self,
        key: ast.expr | None,
        value: ast.expr | None,
        whole: ast.expr,
        where: Where,
        how: tuple[Channel, Op, str],
    ) -> None:
        """State a setting from two expressions; `how` is channel, operation and what carries it."""
        name = self.values.text(key, where) if key is not None else None
        if key is None or not name or not is_capitals(name):
            return
        found = self.values.value(value, where) if value is not None else Value("unknown")
        named = self.values.constant(key, where) or key
        channel, op, via = how
        given = GivenValue(op, name, found, channel, via, False, named, value)
        self.emit.setting(given, self.emit.code.span(whole), where)


def suggests(target: ast.expr) -> str:
    """The name of what is assigned to, if it is the name of an environment."""
    name = name_of(target)
    return name if name and says_environment(name) else ""
