"""Tables of rule files held against their records: types, keys that are missing, and keys that nobody knows."""

from __future__ import annotations

import types
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints, is_typeddict

from envdoctor.knowledge.files import suggestion
from envdoctor.knowledge.parameters.forms import Form, NameFrom
from envdoctor.knowledge.parameters.records import RECORDS
from envdoctor.knowledge.rule_errors import Key, RuleKeyError

WORDS = {str: "a string", bool: "true or false", int: "a whole number", float: "a number", dict: "a table",
         list: "a list"}  # fmt: skip
PLAIN = "a string, a number, true or false"
MANY = {"a string": "strings", "a table": "tables", "a list of strings": "lists of strings",
        PLAIN: "strings, numbers, true or false"}  # fmt: skip
"""One -> several."""


class TableRecord(NamedTuple):
    """The keys of a table: what each holds, and which there must be."""

    types: Mapping[str, Any]
    required: frozenset[str]


@cache
def record_of(*kinds: type) -> TableRecord:
    """The keys of one `TypedDict`, or of several that share a table."""
    required = frozenset[str]().union(*(getattr(kind, "__required_keys__") for kind in kinds))  # noqa: B009
    hints = (get_type_hints(kind, include_extras=True) for kind in kinds)
    return TableRecord({key: kind for each in hints for key, kind in each.items()}, required)


def check_parameters(codes: Sequence[str], parameters: Mapping[str, Any], where: str) -> None:
    """Hold the parameters of a rule against the records of its codes. `RuleKeyError`: they are not as these want them.

    The one function for all rules; it wants the parameters as the checks get them: whole, and without what chose the
    code.
    """
    Checker(where, parameters).table(parameters, record_of(*(RECORDS[code] for code in codes)), ("parameters",))


def check_table(table: Mapping[str, Any], kind: type, where: str) -> None:
    """Hold a whole file against its record. `RuleKeyError`: it is not as that wants it."""
    Checker(where, table).table(table, record_of(kind), ())


class Checker:
    """Goes through a table; `whole` is the table in which names that are referred to are looked up."""

    def __init__(self, where: str, whole: Mapping[str, Any]) -> None:
        self.where, self.whole = where, whole

    def fault(self, key: Key, said: str) -> RuleKeyError:
        """The error at a key."""
        return RuleKeyError(self.where, key, said)

    def table(self, table: Mapping[str, Any], record: TableRecord, key: Key) -> None:
        """Check all keys of a table, in the order in which they stand, and then whether one is missing."""
        for name, value in table.items():
            if name not in record.types:
                raise self.fault((*key, name), f"unknown key{suggestion(name, list(record.types))}")
            self.value(value, record.types[name], (*key, name))
        missing = [name for name in record.types if name in record.required and name not in table]
        if missing:
            others = f", and so {'are' if missing[2:] else 'is'} {', '.join(missing[1:])}" if missing[1:] else ""
            raise self.fault((*key, missing[0]), f"missing{others}")

    def value(self, value: object, kind: Any, key: Key) -> None:
        """Check one value."""
        origin, arguments = get_origin(kind), get_args(kind)
        if origin is Annotated:
            self.value(value, arguments[0], key)
            for form in arguments[1:]:
                self._form(value, form, key)
        elif origin is Literal:
            self._word(value, arguments, key)
        elif origin in (Union, types.UnionType):
            fitting = next((one for one in arguments if type(value) is _outer(one)), None)
            if fitting is None:
                raise self.expected(value, kind, key)
            self.value(value, fitting, key)
        elif kind is not Any:
            self._plain(value, kind, key)

    def expected(self, value: object, kind: Any, key: Key) -> RuleKeyError:
        """The error that a value is of another type."""
        return self.fault(key, f"expected {described(kind)}, got {WORDS.get(type(value), 'a date or time')}")

    def _plain(self, value: object, kind: Any, key: Key) -> None:
        """Check a text, a number, a list or a table."""
        if is_typeddict(kind):
            if not isinstance(value, dict):
                raise self.expected(value, kind, key)
            self.table(value, record_of(kind), key)
            return
        inner = get_args(kind)
        if type(value) is not _outer(kind):
            raise self.expected(value, kind, key)
        if isinstance(value, list):
            for index, item in enumerate(value):
                self.value(item, inner[0], (*key, index))
        elif isinstance(value, dict):
            for name, item in value.items():
                self.value(name, inner[0], (*key, name))
                self.value(item, inner[1], (*key, name))

    def _word(self, value: object, words: Sequence[str], key: Key) -> None:
        if not isinstance(value, str):
            raise self.expected(value, Literal[tuple(words)], key)
        self._one_of(value, words, key)

    def _one_of(self, value: str, words: Sequence[str], key: Key) -> None:
        if value not in words:
            raise self.fault(key, f"{value!r} is not one of {', '.join(words)}{suggestion(value, list(words))}")

    def _form(self, value: Any, form: Form | NameFrom, key: Key) -> None:
        if isinstance(form, NameFrom):
            tables = self.whole.get(form.key, ())
            names = [table["name"] for table in tables if isinstance(table, dict) and "name" in table]
            self._one_of(value, list(_texts(names)), key)
        elif not form.fits(value):
            shown = f", got {value!r}" if isinstance(value, str) else ""
            raise self.fault(key, f"expected {form.words}{shown}")


def _texts(values: Iterable[object]) -> Iterable[str]:
    return (value for value in values if isinstance(value, str))


def _outer(kind: Any) -> Any:
    """`list` of a list of texts."""
    origin = get_origin(kind)
    return _outer(get_args(kind)[0]) if origin is Annotated else origin or kind


def described(kind: Any) -> str:
    """A type in words: `a list of strings`."""
    origin, inner = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return described(inner[0])
    if origin is Literal:
        return f"one of {', '.join(inner)}"
    if origin in (Union, types.UnionType):
        if set(inner) == {str, bool, int, float}:
            return PLAIN
        return " or ".join(dict.fromkeys(described(one) for one in inner))
    if origin is list:
        one = described(inner[0]).replace("one of", "words among")
        return f"a list of {MANY.get(one, one)}"
    if origin is dict:
        if inner[1] is Any:
            return "a table"
        one = described(inner[1])
        return f"a table of {MANY.get(one, one)}"
    return "a table" if is_typeddict(kind) else WORDS[kind]
