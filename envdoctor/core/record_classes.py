"""What stands behind `envdoctor.records`: classes whose methods are built when they are first called.

What differs from the standard library: `frozen=True` is checked by mypy and not at run time (objects are made three
times as fast for that), all classes have slots, and no options but those below are known.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

MISSING: Any = object()
"""No default."""


class Field:
    """One field of a record."""

    __slots__ = ("default", "default_factory", "init", "metadata", "name", "repr")

    def __init__(self, name: str, options: dict[str, Any]) -> None:
        self.name = name
        self.default = options.get("default", MISSING)
        self.default_factory = options.get("default_factory", MISSING)
        self.init: bool = options.get("init", True)
        self.repr: bool = options.get("repr", True)
        self.metadata: Mapping[str, Any] = options.get("metadata", {})


def field(**options: Any) -> Field:
    """A field that is more than its annotation: `default`, `default_factory`, `init`, `repr`, `metadata`."""
    return Field("", options)


def dataclass(*, frozen: bool = False, slots: bool = True) -> Callable[[type], type]:
    """Make a class a record: `__init__`, `__eq__`, `__repr__` from its annotations, and `__hash__` if it is frozen."""

    def record(cls: type) -> type:
        return _record(cls, frozen)

    return record


def _record(cls: type, frozen: bool) -> type:
    """The class again, with slots for its own fields and the methods that it does not write itself."""
    space = {name: value for name, value in cls.__dict__.items() if name not in ("__dict__", "__weakref__")}
    own = [_field(name, space.pop(name, MISSING)) for name in cls.__annotations__]
    fields_of = (*getattr(cls, "__record_fields__", ()), *own)
    late: list[tuple[str, Callable[[Any], Any]]] = [("__init__", _initializer)]
    if "__eq__" not in space:
        late += [("__eq__", _equality), *([("__hash__", _hash)] if frozen else [])]
        space["__hash__"] = None
    space = {"__repr__": _repr, "__getstate__": _state, "__setstate__": _set_state, **space}
    space["__qualname__"] = cls.__qualname__
    space["__slots__"] = tuple(item.name for item in own)
    space["__record_fields__"] = fields_of
    space["__match_args__"] = tuple(item.name for item in fields_of if item.init)
    made = type(cls)(cls.__name__, cls.__bases__, space)
    for name, build in late:
        setattr(made, name, _when_called(made, name, build))
    return made


def _field(name: str, given: Any) -> Field:
    if not isinstance(given, Field):
        return Field(name, {"default": given})
    given.name = name
    return given


def _when_called(cls: type, name: str, build: Callable[[Any], Any]) -> Callable[..., Any]:
    """A method that is built when it is first called, and then takes this one's place."""

    def first(self: Any, *values: Any, **named: Any) -> Any:
        method = build(cls)
        setattr(cls, name, method)
        return method(self, *values, **named)

    return first


def _initializer(cls: Any) -> Any:
    """The `__init__` of a record, as one would write it by hand."""
    known: dict[str, Any] = {"MISSING": MISSING}
    parameters, lines = [], []
    for item in cls.__record_fields__:
        name, value = item.name, item.name
        if item.default_factory is not MISSING:
            known[f"make_{name}"] = item.default_factory
            value = f"make_{name}() if {name} is MISSING else {name}" if item.init else f"make_{name}()"
            default = "=MISSING"
        elif item.default is not MISSING:
            known[f"given_{name}"] = item.default
            value = name if item.init else f"given_{name}"
            default = f"=given_{name}"
        elif item.init:
            default = ""
        else:
            continue
        lines.append(f"self.{name} = {value}")
        parameters += [f"{name}{default}"] if item.init else []
    if hasattr(cls, "__post_init__"):
        lines.append("self.__post_init__()")
    return _compiled("__init__", ", ".join(["self", *parameters]), lines, known)


def _equality(cls: Any) -> Any:
    """The `__eq__` of a record: same class, same values."""
    mine, others = _tuple("self", cls), _tuple("other", cls)
    lines = ["if other.__class__ is not self.__class__: return NotImplemented", f"return {mine} == {others}"]
    return _compiled("__eq__", "self, other", lines, {})


def _hash(cls: Any) -> Any:
    """The `__hash__` of a frozen record."""
    return _compiled("__hash__", "self", [f"return hash({_tuple('self', cls)})"], {})


def _tuple(of: str, cls: Any) -> str:
    return f"({''.join(f'{of}.{item.name},' for item in cls.__record_fields__)})"


def _compiled(name: str, parameters: str, lines: Sequence[str], known: dict[str, Any]) -> Any:
    """A function from its source, as the standard library does it. Names of fields are all that goes in."""
    body = "".join(f"    {line}\n" for line in lines or ["pass"])
    exec(f"def {name}({parameters}):\n{body}", known)  # noqa: S102
    return known[name]


def _repr(self: Any) -> str:
    shown = ", ".join(f"{item.name}={getattr(self, item.name)!r}" for item in self.__record_fields__ if item.repr)
    return f"{type(self).__qualname__}({shown})"


def _state(self: Any) -> list[Any]:
    return [getattr(self, item.name) for item in self.__record_fields__]


def _set_state(self: Any, state: list[Any]) -> None:
    for item, value in zip(self.__record_fields__, state, strict=True):
        setattr(self, item.name, value)


def fields(record: Any) -> Sequence[Any]:
    """The fields of a record, in order; each has a `name`. Records of the standard library are understood too."""
    known: Sequence[Any] | None = getattr(record, "__record_fields__", None)
    if known is None:
        import dataclasses

        return dataclasses.fields(record)
    return known


def replace(record: Any, /, **changes: Any) -> Any:
    """A copy of a record in which some fields have other values."""
    known: Sequence[Field] | None = getattr(record, "__record_fields__", None)
    if known is None:
        import dataclasses

        return dataclasses.replace(record, **changes)
    for item in known:
        if item.init and item.name not in changes:
            changes[item.name] = getattr(record, item.name)
    return type(record)(**changes)
