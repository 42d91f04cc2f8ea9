"""From the raw tables of the catalogue to its objects; the tables were checked when they were built."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from envdoctor.knowledge.catalog.model import (
    CONDITIONS,
    BadValue,
    Catalog,
    Conflict,
    Need,
    NeededSetting,
    Prefix,
    Reading,
    ValueGrammar,
    Variable,
)
from envdoctor.knowledge.catalog.releases import Library

Table = Mapping[str, Any]
TEXTS = ("evidence", "private", "build", "triggers", "releases", "neutral", "functions")


def pack(table: Table) -> str:
    """A table as a text that stands inside JSON without a single escape, which makes it ten times faster to load."""
    return json.dumps(table, separators=(",", ":")).replace("`", "\\u0060").replace('"', "`")


def unpack(text: str) -> dict[str, Any]:
    """The table that `pack` was given."""
    table: dict[str, Any] = json.loads(text.replace("`", '"'))
    return table


def catalog_from(table: Table) -> Catalog:
    """The catalogue in a table that `build.build_catalog` made."""
    parsers = table["parsers"]
    return Catalog(
        table["variables"],
        lambda name, packed: variable_from(name, packed, parsers),
        {name: library_from(name, fields) for name, fields in table["libraries"].items()},
        [prefix_from(fields) for fields in table["prefixes"]],
        table["triggers"],
        table["real"],
    )


def library_from(name: str, table: Table) -> Library:
    """A `[library.x]` table."""
    fields = _tuples(table)
    return Library(name, **fields | {"documented": frozenset(table.get("documented", ()))})


def prefix_from(table: Table) -> Prefix:
    """A `[[prefix]]` table."""
    complete = {library: (span[0], span[1]) for library, span in table.get("complete", {}).items()}
    return Prefix(**_tuples(table) | {"complete": complete})


def variable_from(name: str, packed: str, parsers: Mapping[str, Table]) -> Variable:
    """A packed `[variable.X]` table; what its parser gets wrong comes after its own bad values."""
    table = unpack(packed)
    fields = _tuples(table)
    value = fields.pop("value", None)
    parser = parsers.get(value.get("parser", ""), {}) if value else {}
    if value:
        value = {key: parser[key] for key in ("number", "words", "case") if key in parser} | value
    bad = [*table.get("bad", ()), *parser.get("bad", ())]
    readings = tuple(reading_from(library, reading) for library, reading in fields.pop("read_by", {}).items())
    fields["bad"] = tuple(bad_from(entry) for entry in bad)
    fields["needs"] = tuple(_need(entry) for entry in table.get("needs", ()))
    fields["conflicts"] = tuple(_conflict(entry) for entry in table.get("conflicts", ()))
    return Variable(name, readings=readings, value=grammar_from(value) if value else None, **fields)


def reading_from(library: str, table: Table) -> Reading:
    """A `read_by` table."""
    more = {
        "gaps": frozenset(table.get("gaps", ())),
        "unsure": frozenset(table.get("unsure", ())),
        "default": tuple((release, text) for release, text in table.get("default", ())),
    }
    return Reading(library, **dict(table) | more)


def grammar_from(table: Table) -> ValueGrammar:
    """A `value` table."""
    fields = _tuples(table)
    fields["words"] = _by_library(table.get("words", {}))
    fields["range"] = _by_library(table.get("range", {}))
    return ValueGrammar(**fields)


def bad_from(table: Table) -> BadValue:
    """A `bad` table."""
    fields = dict(table)
    when = dict(fields.pop("when"))
    condition = next(word for word in CONDITIONS if word in when)
    beside, unless = when.get("beside", ""), tuple(when.get("unless", ()))
    return BadValue(condition, when[condition], beside=beside, unless=unless, **fields)


def _need(table: Table) -> Need:
    setting = table.get("setting")
    if setting is None:
        return Need(table["text"], version=table.get("version", {}))
    fields = dict(setting) | {key: tuple(setting.get(key, ())) for key in ("words", "refused")}
    return Need(table["text"], NeededSetting(**fields), table.get("version", {}))


def _conflict(table: Table) -> Conflict:
    fields = dict(table)
    return Conflict(with_name=fields.pop("with", ""), **fields)


def _by_library(entry: Any) -> dict[str, tuple[tuple[str, Any], ...]]:
    """Words or a range: one list for all, one per library, or one per library and release."""
    tables = entry if isinstance(entry, Mapping) else {"": entry}
    return {library: _by_release(steps) for library, steps in tables.items()}


def _by_release(steps: Any) -> tuple[tuple[str, Any], ...]:
    if steps and isinstance(steps[0], list):
        return tuple((release, tuple(content)) for release, content in steps)
    return (("", tuple(steps)),)


def _tuples(table: Table) -> dict[str, Any]:
    """A copy whose lists of texts are tuples."""
    return {key: tuple(content) if key in TEXTS else content for key, content in table.items()}
