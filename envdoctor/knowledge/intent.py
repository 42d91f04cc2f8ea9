"""Which settings ask for determinism, by their values: one table, `rules/intent/*.toml`, for scan and live alike.

`rules/intent/settings.toml` explains the keys. A value asks if whoever reads it would be deterministic by it; of names
that nobody reads, if it says so in plain words. A name alone asks for nothing, and what the table does not hold neither
asks nor refuses. A value that is computed, or that its reader does not know, is unknown: neither on nor off.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from envdoctor.core.facts import Setting
from envdoctor.core.records import dataclass
from envdoctor.knowledge.catalog.values import NUMBER, number_in
from envdoctor.knowledge.files import load_compiled, parse_toml, suggestion

Answer = Literal["on", "off", "unknown"]
ANSWERS: tuple[Answer, ...] = ("on", "unknown", "off")
"""The answers; of several about one thing the first counts."""
READING_KEYS = {"text": str, "on": list, "off": list, "others": str, "case": str, "first": bool, "number": str}
VARIABLE_KEYS = {"names": list, "asks": str, "flags": list, "evidence": list}
ARGUMENT_KEYS = {"names": list, "asks": str, "switch": bool, "evidence": list}
GIVES = ("set", "default")
"""What a setting has to do to the environment in order to ask for something."""


class IntentError(Exception):
    """A file of `rules/intent/` that cannot be used; the message names the table and the key."""


@dataclass(frozen=True, slots=True)
class IntentReading:
    """How a reader tells on from off. `others` is its answer for what is in neither list."""

    text: str
    on: tuple[str, ...]
    off: tuple[str, ...] = ()
    others: Answer = "unknown"
    case: str = "sensitive"
    first: bool = False
    number: str = ""

    def of(self, value: str) -> Answer:
        """What a value that is known says."""
        read = self._read(value)
        if read is None:
            return "unknown"
        if read in map(self._read, self.on):
            return "on"
        return "off" if read in map(self._read, self.off) else self.others

    def _read(self, value: str) -> str | int | None:
        """A value as its reader takes it, so that equal ones are alike; None where it wants a number and gets none."""
        if self.number:
            return number_in(value, self.number)[0]
        taken = value[:1] if self.first else value
        return taken.lower() if self.case == "insensitive" else taken


@dataclass(frozen=True, slots=True)
class IntentRow:
    """Variables or arguments of the table, which ask alike. `flags`: the value of the variable is a line of these."""

    names: tuple[str, ...]
    asks: IntentReading
    evidence: tuple[str, ...]
    flags: tuple[str, ...] = ()
    switch: bool = False

    def of_value(self, value: str) -> Answer:
        """What a value of the variable says."""
        return self._of_words(self.flags, value.split()) if self.flags else self.asks.of(value)

    def of_command(self, words: Sequence[str]) -> Answer:
        """What a command line says by the arguments."""
        return self._of_words(self.names, words)

    def _of_words(self, flags: Sequence[str], words: Sequence[str]) -> Answer:
        """What flags among words say: of each the last counts, and one that is on is enough."""
        last: dict[str, Answer] = {}
        for index, word in enumerate(words):
            flag, equals, value = word.partition("=")
            if flag in flags:
                last[flag] = self.asks.of(value) if equals else self._of_next(words[index + 1 : index + 2])
        return next((answer for answer in ANSWERS if answer in last.values()), "unknown")

    def _of_next(self, following: Sequence[str]) -> Answer:
        """What a flag says by the next word; where that is no value of it, it is on."""
        said = self.asks.of(following[0]) if following else "on"
        computed = bool(following) and following[0].startswith("$") and not self.switch
        return "on" if said == "unknown" and not computed else said


@dataclass(frozen=True, slots=True)
class IntentTable:
    """All of `rules/intent/`: the rows of variables by name, and those of arguments."""

    variables: Mapping[str, IntentRow]
    arguments: tuple[IntentRow, ...]


def intent_of(name: str, value: str | None) -> Answer:
    """What a variable of this value says about determinism; None is a value that is not known."""
    row = load_intent().variables.get(name)
    return "unknown" if row is None or value is None else row.of_value(value)


def asking(settings: Iterable[Setting]) -> Iterator[Setting]:
    """The settings of an environment that ask for determinism: in a file or in a process, the answer is the same."""
    for setting in settings:
        if setting.op in GIVES and not setting.guarded and intent_of(setting.name, setting.value.known) == "on":
            yield setting


def command_asks(words: Sequence[str]) -> bool:
    """Whether the words of a command tell the program that it starts to be deterministic."""
    return any(row.of_command(words) == "on" for row in load_intent().arguments)


@lru_cache(maxsize=1)
def load_intent() -> IntentTable:
    """The table that comes with envdoctor."""
    return intent_from(load_compiled("intent", "intent", build))


def build(paths: Sequence[Path]) -> dict[str, Any]:
    """The files as one table that JSON can hold; raises IntentError."""
    table: dict[str, Any] = {"reading": {}, "variable": [], "argument": []}
    for path in paths:
        try:
            data = parse_toml(path)
        except ValueError as error:
            raise IntentError(f"{path.name}: {error}") from error
        for key, content in data.items():
            if key not in table:
                raise IntentError(f"{path.name}: {key}: unknown key{suggestion(key, sorted(table))}")
            if not isinstance(content, type(table[key])):
                raise IntentError(f"{path.name}: {key}: expected {type(table[key]).__name__}")
        table["reading"] |= data.get("reading", {})
        table["variable"] += data.get("variable", [])
        table["argument"] += data.get("argument", [])
    intent_from(table)
    return table


def intent_from(table: Mapping[str, Any]) -> IntentTable:
    """Validate a table of intent; each name stands in one row."""
    readings = {name: _reading(f"reading.{name}", data) for name, data in table["reading"].items()}
    variables = [_row(data, VARIABLE_KEYS, readings) for data in table["variable"]]
    arguments = [_row(data, ARGUMENT_KEYS, readings) for data in table["argument"]]
    by_name: dict[str, IntentRow] = {}
    for row in (*variables, *arguments):
        for name in row.names:
            if name in by_name:
                raise IntentError(f"{name}: stands in two rows")
            by_name[name] = row
    return IntentTable({name: row for row in variables for name in row.names}, tuple(arguments))


def _reading(where: str, data: Mapping[str, Any]) -> IntentReading:
    fields = _checked(where, data, READING_KEYS, ("text", "on"))
    allowed = {"others": ("on", "off"), "case": ("insensitive",), "number": tuple(NUMBER)}
    for key, words in allowed.items():
        if key in fields and fields[key] not in words:
            raise IntentError(f"{where}: {key}: {fields[key]!r} is not one of {', '.join(words)}")
    if both := sorted(set(fields["on"]) & set(fields.get("off", ()))):
        raise IntentError(f"{where}: {both[0]!r} is on and off")
    return IntentReading(**fields)


def _row(data: Mapping[str, Any], keys: Mapping[str, type], readings: Mapping[str, IntentReading]) -> IntentRow:
    where = str(next(iter(data.get("names") or ()), "a table without names"))
    fields = _checked(where, data, keys, ("names", "asks", "evidence"))
    for key in ("names", "evidence"):
        if not fields[key]:
            raise IntentError(f"{where}: {key}: empty")
    if data["asks"] not in readings:
        raise IntentError(f"{where}: asks: there is no reading {data['asks']!r}{suggestion(data['asks'], [*readings])}")
    return IntentRow(**{**fields, "asks": readings[data["asks"]]})


def _checked(where: str, data: Mapping[str, Any], keys: Mapping[str, type], required: Sequence[str]) -> dict[str, Any]:
    """The values of a table, lists as tuples; raises IntentError."""
    for key, value in data.items():
        if key not in keys:
            raise IntentError(f"{where}: {key}: unknown key{suggestion(key, list(keys))}")
        if not isinstance(value, keys[key]) or (isinstance(value, list) and not all(type(v) is str for v in value)):
            raise IntentError(f"{where}: {key}: expected {keys[key].__name__}, got {value!r}")
    if missing := [key for key in required if key not in data]:
        raise IntentError(f"{where}: {missing[0]}: missing")
    return {key: tuple(value) if isinstance(value, list) else value for key, value in data.items()}
