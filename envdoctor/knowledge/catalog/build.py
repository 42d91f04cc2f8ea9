"""From catalogue files to the one table that is kept as JSON: parse, check, merge, check what refers to what."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from envdoctor.knowledge.catalog.model import CatalogError
from envdoctor.knowledge.catalog.read import pack, unpack
from envdoctor.knowledge.catalog.schema import check_file, fail
from envdoctor.knowledge.files import parse_toml, suggestion

Raw = dict[str, Any]
REAL = ("real", "deprecated")
UNREAD = ("ghost", "documented-only")
NUMERIC = ("int", "float", "size", "bool-int")
"""Types of values that are numbers; how they are read is said by a parser."""
OF_NUMBERS = ("not_integer", "trailing_text", "outside", "above", "below", "not_multiple_of")
"""Conditions that are never met where nobody says how a number is read."""
NOT_JUDGED = ("incidental", "debug-build", "build-time")


def build_catalog(paths: Sequence[Path]) -> Raw:
    """The table of the catalogue: libraries, prefixes, parsers, variables (packed), triggers.

    `CatalogError` names file and key of the first thing wrong.
    """
    return _table(_merged([(f"rules/catalog/{path.name}", path) for path in paths], _nothing()))


def laid_over(table: Mapping[str, Any], extra: Sequence[Path]) -> Raw:
    """`table` with further files over it; what they name again is theirs."""
    ours = {
        "library": dict(table["libraries"]),
        "prefix": {prefix["name"]: prefix for prefix in table["prefixes"]},
        "parser": dict(table["parsers"]),
        "variable": {name: unpack(text) for name, text in table["variables"].items()},
    }
    return _table(_merged([(str(path), path) for path in extra], ours))


def _nothing() -> Raw:
    return {"library": {}, "prefix": {}, "parser": {}, "variable": {}}


def _merged(files: Sequence[tuple[str, Path]], into: Raw) -> Raw:
    """All files over `into`; a name that two of the files give is an error."""
    seen: dict[tuple[str, str], str] = {}
    for where, path in files:
        content = _parsed(where, path)
        content["prefix"] = {prefix["name"]: prefix for prefix in content.get("prefix", ())}
        for section, entries in content.items():
            for name, entry in entries.items():
                other = seen.setdefault((section, name), where)
                if other != where:
                    fail(f"{where}: {section}.{name}", f"already in {other}")
                into[section][name] = entry | ({"file": where.rsplit("/", 1)[-1]} if section == "variable" else {})
    for section, check in REFERENCES.items():
        for name, entry in into[section].items():
            check(f"{seen.get((section, name), 'rules/catalog')}: {section}.{name}", name, entry, into)
    return into


def _parsed(where: str, path: Path) -> Raw:
    try:
        content = parse_toml(path)
    except (OSError, ValueError) as error:
        raise CatalogError(f"{where}: {error}") from error
    check_file(content, where)
    return content


def _check_library(where: str, name: str, entry: Raw, merged: Raw) -> None:
    del name, merged
    releases = entry.get("releases", [])
    if len(set(releases)) != len(releases):
        fail(f"{where}.releases", "a label stands there twice")
    for label in entry.get("documented", ()):
        _label(f"{where}.documented", label, releases)
    if "current" in entry:
        _label(f"{where}.current", entry["current"], releases)


def _check_parser(where: str, name: str, entry: Raw, merged: Raw) -> None:
    del name
    for place, bad in enumerate(entry.get("bad", ())):
        _check_bad(f"{where}.bad[{place}]", bad, merged)
        if "number" not in entry and any(condition in bad["when"] for condition in OF_NUMBERS):
            fail(f"{where}.number", f"missing: bad[{place}] asks for a number")


def _check_prefix(where: str, name: str, entry: Raw, merged: Raw) -> None:
    del name
    for library, span in entry.get("complete", {}).items():
        for label in span:
            _label(f"{where}.complete.{library}", label, _releases(f"{where}.complete", library, merged))


def _check_variable(where: str, name: str, entry: Raw, merged: Raw) -> None:
    for library, reading in entry.get("read_by", {}).items():
        _check_reading(f"{where}.read_by.{library}", reading, _releases(f"{where}.read_by", library, merged))
    for key in ("replaced_by", "meant"):
        if key in entry and _status(entry[key], merged) not in REAL:
            fail(f"{where}.{key}", f"{entry[key]} is not the name of a real variable")
    unread = entry.get("status") in UNREAD
    if unread == bool(entry.get("read_by")):
        fail(f"{where}.read_by", f"a {entry['status']} name has no readers" if unread else "missing")
    if "meant" in entry and not unread:
        fail(f"{where}.meant", "only for names that nothing reads")
    _check_value(f"{where}.value", entry.get("value", {}), merged)
    _check_relations(where, name, entry, merged)
    for place, bad in enumerate(entry.get("bad", ())):
        _check_bad(f"{where}.bad[{place}]", bad, merged)
    _check_number(where, entry, merged)


def _check_number(where: str, entry: Raw, merged: Raw) -> None:
    """Refuse what looks as if numbers were judged and never would be: nothing says how they are read."""
    value = entry.get("value", {})
    parsers = [name for name, parser in merged["parser"].items() if "number" in parser]
    if value.get("type") in NUMERIC and "parser" not in value and "bad" not in entry:
        fail(f"{where}.value.parser", f"missing: {value['type']} is judged only where it is known how it is read; name "
             f"a parser ({', '.join(parsers)}), say what goes wrong under bad, or leave value out")  # fmt: skip
    if value.get("parser") not in parsers:
        for place, bad in enumerate(entry.get("bad", ())):
            _check_condition(f"{where}.bad[{place}].when", bad["when"], parsers)


def _check_condition(where: str, when: Raw, parsers: Sequence[str]) -> None:
    if condition := next((key for key in OF_NUMBERS if key in when), ""):
        fail(f"{where}.{condition}", f"never met: value.parser has to say how a number is read ({', '.join(parsers)})")


def _check_reading(where: str, reading: Raw, releases: list[str]) -> None:
    labels = [reading[key] for key in ("since", "until") if key in reading]
    for key in ("gaps", "unsure"):
        labels += reading.get(key, [])
    labels += [release for release, _ in reading.get("default", ()) if release]
    for label in labels:
        _label(where, label, releases)
    span = [releases.index(reading[key]) for key in ("since", "until") if key in reading]
    if span != sorted(span):
        fail(where, "since comes after until")


def _check_value(where: str, value: Raw, merged: Raw) -> None:
    parser = value.get("parser")
    if parser is not None and parser not in merged["parser"]:
        fail(f"{where}.parser", f"unknown parser{suggestion(parser, list(merged['parser']))}")
    for key in ("words", "range"):
        if isinstance(value.get(key), dict):
            for library, steps in value[key].items():
                releases = _releases(f"{where}.{key}", library, merged)
                for label in [step[0] for step in steps if isinstance(step, list)]:
                    _label(f"{where}.{key}.{library}", label, releases)
    for library, label in value.get("functions_since", {}).items():
        _label(f"{where}.functions_since", label, _releases(f"{where}.functions_since", library, merged))


def _check_relations(where: str, name: str, entry: Raw, merged: Raw) -> None:
    for place, need in enumerate(entry.get("needs", ())):
        if "setting" in need:
            _known(f"{where}.needs[{place}].setting.name", need["setting"]["name"], merged)
    for place, conflict in enumerate(entry.get("conflicts", ())):
        if ("with" in conflict) == ("against" in conflict):
            fail(f"{where}.conflicts[{place}]", "expected either with or against")
        if "with" in conflict:
            _known(f"{where}.conflicts[{place}].with", conflict["with"], merged)
        if conflict.get("with") == name:
            fail(f"{where}.conflicts[{place}].with", "a variable does not conflict with itself")


def _check_bad(where: str, bad: Raw, merged: Raw) -> None:
    library = bad.get("library")
    if library is None:
        if "since" in bad or "until" in bad:
            fail(where, "since and until need library")
        return
    for key in ("since", "until"):
        if key in bad:
            _label(f"{where}.{key}", bad[key], _releases(where, library, merged))
    _releases(where, library, merged)


def _status(name: str, merged: Raw) -> str:
    entry = merged["variable"].get(name)
    return "" if entry is None else str(entry.get("status", "real"))


def _known(where: str, name: str, merged: Raw) -> None:
    if name not in merged["variable"]:
        fail(where, f"{name} is not in the catalogue{suggestion(name, list(merged['variable']))}")


def _releases(where: str, library: str, merged: Raw) -> list[str]:
    if library not in merged["library"]:
        fail(f"{where}.{library}", f"unknown library{suggestion(library, list(merged['library']))}")
    releases: list[str] = merged["library"][library].get("releases", [])
    return releases


def _label(where: str, label: str, releases: Sequence[str]) -> None:
    if label not in releases:
        fail(where, f"{label} is not a release of this library{suggestion(label, releases)}")


REFERENCES = {
    "library": _check_library, "prefix": _check_prefix, "parser": _check_parser, "variable": _check_variable,
}  # fmt: skip


def _table(merged: Raw) -> Raw:
    variables = {name: merged["variable"][name] for name in sorted(merged["variable"])}
    prefixes = [merged["prefix"][name] for name in sorted(merged["prefix"])]
    return {
        "libraries": merged["library"],
        "prefixes": prefixes,
        "parsers": merged["parser"],
        "variables": {name: pack(entry) for name, entry in variables.items()},
        "real": [name for name in variables if _status(name, merged) in REAL],
        "triggers": triggers(variables, prefixes),
    }  # fmt: skip


def triggers(variables: Mapping[str, Raw], prefixes: Sequence[Raw]) -> list[str]:
    """The tokens of the families, and the full names of what has none; none that another token covers."""
    tokens: set[str] = set()
    for prefix in prefixes:
        tokens.update(prefix.get("triggers", [] if prefix.get("foreign") else [prefix["name"]]))
    for name, entry in variables.items():
        if entry.get("status") not in NOT_JUDGED and not any(token in name for token in tokens):
            tokens.add(name)
    return sorted(token for token in tokens if not any(other != token and other in token for other in tokens))
