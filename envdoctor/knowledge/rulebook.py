"""Rules: one TOML file each under `rules/<family>/`, loaded and validated.

A rule file carries everything about a rule: what it says, why, the way out, exceptions, evidence, and examples that
are its tests and its documentation. Knowledge of variables is not here but in the catalogue.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, cast

from envdoctor.core.findings import Confidence, Severity
from envdoctor.knowledge.apis import with_tables
from envdoctor.knowledge.files import load_compiled, suggestion
from envdoctor.knowledge.kinds import KINDS, TOPICS, RuleError, kind_codes

LEVELS = ("hygiene", "run-to-run", "placement", "topology")
REQUIRED: dict[str, type | tuple[type, ...]] = {
    "id": str, "name": str, "title": str, "severity": str, "confidence": str, "level": str, "since": str, "why": str,
    "fix": str,
}  # fmt: skip
OPTIONAL: dict[str, type | tuple[type, ...]] = {
    "parameters": dict, "triggers": list, "exceptions": str, "evidence": list, "experiment": str, "example": list,
    "platform": str, "code": (str, list), "check": str,
}  # fmt: skip
EXAMPLE = {"kind", "file", "code", "expect", "target", "note", "files", "level", "node"}


class Example(NamedTuple):
    """Code that a rule must or must not speak about. `files` are further files of the same small project."""

    kind: str
    file: str
    code: str
    expect: tuple[Mapping[str, Any], ...] = ()
    target: str = ""
    note: str = ""
    level: str = ""
    node: str = ""
    files: tuple[Mapping[str, str], ...] = ()


class Rule(NamedTuple):
    """One rule, as its file says. `code` names the functions that look for it: see `checks.registry`."""

    id: str
    name: str
    title: str
    severity: Severity
    confidence: Confidence
    level: str
    code: tuple[str, ...]
    since: str
    why: str
    fix: str
    parameters: Mapping[str, Any] = {}
    triggers: tuple[str, ...] = ()
    exceptions: str = ""
    evidence: tuple[str, ...] = ()
    experiment: str = ""
    platform: str = "both"
    examples: tuple[Example, ...] = ()

    @property
    def check(self) -> str:
        """The kind of check that the rule is one of, as people know it: see `kinds.KINDS`."""
        return TOPICS[self.code[0].partition(".")[0]]


class Rulebook:
    """All rules, in order of their ids."""

    def __init__(self, rules: tuple[Rule, ...]) -> None:
        self.rules = rules

    def __iter__(self) -> Iterator[Rule]:
        return iter(self.rules)

    def find(self, name: str) -> Rule | None:
        """The rule with this id or name, in any case."""
        wanted = name.strip().lower()
        return next((r for r in self.rules if wanted in (r.id.lower(), r.name)), None)

    def named(self, name: str) -> Rule:
        """The rule with this name; it must exist."""
        rule = self.find(name)
        if rule is None:
            raise RuleError(f"no rule is named {name}")
        return rule


def rule_from(data: Mapping[str, Any], where: str, own: bool = False) -> Rule:
    """One rule from the content of its file; `where` names the file in errors. `own`: the file is one of a user."""
    known = {**REQUIRED, **OPTIONAL}
    for key, value in data.items():
        if key not in known:
            raise RuleError(f"{where}: {key}: unknown key{suggestion(key, list(known))}")
        if not isinstance(value, known[key]):
            raise RuleError(f"{where}: {key}: expected {_called(known[key])}, got {type(value).__name__}")
    for key in ("triggers", "evidence"):
        _check_strings(data.get(key, []), f"{where}: {key}")
    _check_strings(data.get("parameters", {}).get("entry_triggers", []), f"{where}: parameters.entry_triggers")
    if missing := [key for key in REQUIRED if key not in data]:
        raise RuleError(f"{where}: {missing[0]}: missing")
    for key, allowed in (("severity", ("error", "warning", "info")), ("confidence", ("high", "medium", "low")),
                         ("level", LEVELS)):  # fmt: skip
        if data[key] not in allowed:
            raise RuleError(f"{where}: {key}: {data[key]!r} is not one of {', '.join(allowed)}")
    code, parameters = _code(data, where, own)
    plain = {k: v for k, v in data.items() if k not in ("example", "triggers", "evidence", "code", "check")}
    return Rule(
        **plain | {"code": code, "parameters": parameters},
        triggers=tuple(data.get("triggers", ())),
        evidence=tuple(data.get("evidence", ())),
        examples=tuple(_example(e, f"{where}: example {i}") for i, e in enumerate(data.get("example", ()), 1)),
    )


def _called(kind: type | tuple[type, ...]) -> str:
    return " or ".join(one.__name__ for one in (kind if isinstance(kind, tuple) else (kind,)))


def _code(data: Mapping[str, Any], where: str, own: bool) -> tuple[tuple[str, ...], Mapping[str, Any]]:
    """What a rule's file says of its code, and its parameters without what chose the code."""
    parameters = _parameters(data.get("parameters", {}), where)
    if own:
        if "code" in data:
            raise RuleError(
                f"{where}: code: only rules of envdoctor name code; write check = one of {', '.join(KINDS)}"
            )
        if "check" not in data:
            raise RuleError(f"{where}: check: missing")
        return kind_codes(data["check"], parameters, where)
    if "code" not in data:
        raise RuleError(f"{where}: code: missing")
    code = [data["code"]] if isinstance(data["code"], str) else data["code"]
    _check_strings(code, f"{where}: code")
    return tuple(code), parameters


def _parameters(given: Mapping[str, Any], where: str) -> dict[str, Any]:
    """The parameters as the checks see them: with the tables that they name."""
    try:
        return with_tables(given)
    except ValueError as error:
        raise RuleError(f"{where}: parameters.{error}") from error


def _check_strings(value: object, where: str) -> None:
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise RuleError(f"{where}: expected a list of strings")


def _example(data: Mapping[str, Any], where: str) -> Example:
    if not isinstance(data, dict):
        raise RuleError(f"{where}: expected a table")
    for key in data:
        if key not in EXAMPLE:
            raise RuleError(f"{where}: {key}: unknown key{suggestion(key, sorted(EXAMPLE))}")
    if data.get("kind") not in ("bad", "good"):
        raise RuleError(f"{where}: kind: expected bad or good")
    expect = tuple(data.get("expect", ()))
    if (data["kind"] == "bad") != bool(expect):
        raise RuleError(f"{where}: expect: a bad example says what is found, a good one finds nothing")
    plain = {k: v for k, v in data.items() if k not in ("expect", "files")}
    return Example(**{"file": "", "code": "", **plain}, expect=expect, files=tuple(data.get("files", ())))


def build(paths: Sequence[Path]) -> dict[str, Any]:
    """Parse rule files into one table, ready to be kept as JSON: {file: content}."""
    import tomli

    table: dict[str, Any] = {}
    for path in paths:
        where = f"{path.parent.name}/{path.name}"
        try:
            table[where] = tomli.loads(path.read_text(encoding="utf-8"))
        except (tomli.TOMLDecodeError, UnicodeDecodeError) as error:
            raise RuleError(f"{where}: {error}") from error
    return table


def rulebook_from(table: Mapping[str, Any]) -> Rulebook:
    """Validate a table of rule files; ids and names are unique."""
    rules = [rule_from(cast("Mapping[str, Any]", data), where) for where, data in table.items()]
    seen: dict[str, str] = {}
    for where, rule in zip(table, rules, strict=True):
        for key in (rule.id, rule.name):
            if key in seen:
                raise RuleError(f"{where}: {key} is already taken by {seen[key]}")
            seen[key] = where
    return Rulebook(tuple(sorted(rules, key=lambda r: r.id)))


def load_rulebook(extra: Sequence[Path] = ()) -> Rulebook:
    """The rules that come with envdoctor, and those of further files."""
    table = dict(load_compiled("rules", "*", build))
    if extra:
        table.update(build(extra))
    return rulebook_from(table)
