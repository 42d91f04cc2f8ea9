"""Records whose fields describe the keys of a TOML table: one field says how a key is written, read and explained.

A key has the name of its field, unless `key` gives another one. A field without `key` is no key.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, NamedTuple

from envdoctor.core.records import MISSING, fields
from envdoctor.knowledge.files import suggestion


class TableError(ValueError):
    """A table that cannot be used; the message names the key."""


class ValueKind(NamedTuple):
    """How the value of a key is written (`shape`, for people, and its type in TOML), and what is made of it."""

    shape: str
    written: type
    read: Callable[[Any], Any] = lambda value: value
    words: tuple[str, ...] = ()
    """The only words that are allowed, where there are such."""
    full: bool = False
    """An empty value is refused."""
    record: type | None = None
    """Describes each table of a list of tables; without it a list or table holds texts."""


class RecordKey(NamedTuple):
    """One key of a table: its name, what is written there, what it says, whether it has to be there, its field."""

    name: str
    kind: ValueKind
    text: str
    required: bool
    field: str


def names_in(text: str) -> list[str]:
    """The names in a list with commas; `docker  run` is one name."""
    return [" ".join(name.split()) for name in text.split(",")]


TEXT = ValueKind("text", str)
SOME_TEXT = ValueKind("text, not empty", str, full=True)
FLAG = ValueKind("true or false", bool)
NUMBER = ValueKind("a number", int)
FLAGS = ValueKind("words, blank between them", str, lambda text: frozenset(text.split()))
NAMES = ValueKind("names, comma between them", str, lambda text: frozenset(names_in(text)))
TEXTS = ValueKind("a list of texts", list, tuple)
SOME_TEXTS = ValueKind("a list of texts, not empty", list, tuple, full=True)
REGEX = ValueKind("a regular expression with a group", str)
TABLE_OF_TEXTS = ValueKind("a table of texts", dict)


def choice(words: tuple[str, ...]) -> ValueKind:
    """One of some words."""
    return ValueKind(f"one of {', '.join(words)}", str, words=words)


def tables(record: type, full: bool = False) -> ValueKind:
    """A list of tables that a record describes; `full`: at least one."""

    def read(rows: list[Mapping[str, Any]]) -> tuple[Any, ...]:
        return tuple(record(**values_of(row, record)) for row in rows)

    return ValueKind("tables, at least one" if full else "tables", list, read, full=full, record=record)


def key(kind: ValueKind, text: str, name: str = "") -> dict[str, Any]:
    """The metadata of a field that is a key; `name` where the key is called otherwise."""
    return {"kind": kind, "text": text, "key": name}


@cache
def keys_of(record: Any) -> dict[str, RecordKey]:
    """The keys that the fields of a record describe by their names, in their order."""
    keys = [_key(item) for item in fields(record) if "kind" in item.metadata]
    return {one.name: one for one in keys}


def _key(item: Any) -> RecordKey:
    required = item.default is MISSING and item.default_factory is MISSING
    return RecordKey(
        item.metadata["key"] or item.name, item.metadata["kind"], item.metadata["text"], required, item.name
    )


def check(table: Any, record: type, where: str = "") -> None:
    """Refuse a table that a record does not describe; `where` names it in errors (empty: the whole file)."""
    start = f"{where}: " if where else ""
    if not isinstance(table, Mapping):
        raise TableError(f"{start}expected a table")
    known = keys_of(record)
    for name, value in table.items():
        if name not in known:
            raise TableError(f"{start}{name}: unknown key{suggestion(name, list(known))}")
        _check_value(value, known[name].kind, f"{start}{name}")
    for name, one in known.items():
        if one.required and name not in table:
            raise TableError(f"{start}{name}: missing ({one.kind.shape}: {one.text})")


def _check_value(value: Any, kind: ValueKind, where: str) -> None:
    if not _is_written_so(value, kind):
        raise TableError(f"{where}: unexpected {type(value).__name__}, expected {kind.shape}")
    if kind.words and value not in kind.words:
        raise TableError(f"{where}: {value!r} is not one of {', '.join(kind.words)}{suggestion(value, kind.words)}")
    if kind is REGEX:
        _check_group(value, where)
    if kind.full and not value:
        raise TableError(f"{where}: expected {kind.shape}")
    if kind.record is not None:
        for index, row in enumerate(value, 1):
            check(row, kind.record, f"{where} {index}")
    elif kind.written in (list, dict):
        _check_texts(value.values() if kind.written is dict else value, f"{where}: expected {kind.shape}")


def _check_group(text: str, where: str) -> None:
    """A regular expression that can be used and has one group."""
    try:
        groups = re.compile(text).groups
    except re.error as error:
        raise TableError(f"{where}: {error}") from error
    if text and groups != 1:
        raise TableError(f"{where}: expected {REGEX.shape}, found {groups} groups")


def _is_written_so(value: object, kind: ValueKind) -> bool:
    """Whether a value has the type; `true` is no number."""
    return isinstance(value, kind.written) and isinstance(value, bool) is (kind.written is bool)


def _check_texts(values: Any, message: str) -> None:
    if not all(isinstance(value, str) and value.strip() for value in values):
        raise TableError(message)


def values_of(table: Mapping[str, Any], record: type) -> dict[str, Any]:
    """The values that a table gives to the fields of a record; the table was checked."""
    known = keys_of(record)
    return {known[name].field: known[name].kind.read(value) for name, value in table.items()}
