"""Rules: one TOML file each under `rules/<family>/`, validated when they are put together, and loaded.

A rule file carries everything about a rule: what it says, why, the way out, exceptions, evidence, and examples that
are its tests and its documentation. Knowledge of variables is not here but in the catalogue.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from envdoctor.core.findings import Confidence, Severity
from envdoctor.knowledge.apis import with_tables
from envdoctor.knowledge.files import load_compiled, loads_toml
from envdoctor.knowledge.kinds import TOPICS
from envdoctor.knowledge.rule_errors import RuleError

if TYPE_CHECKING:
    from envdoctor.knowledge.parameters.forms import Common

LEVELS = ("hygiene", "run-to-run", "placement", "topology")
NOT_PLAIN = ("example", "triggers", "evidence", "code", "check", "parameters")
"""Keys of a rule file that a `Rule` holds in another form."""


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
    parameters: Mapping[str, object] = {}
    """What the checks compare with; each takes them for the record of its code (`parameters.records`)."""
    triggers: tuple[str, ...] = ()
    exceptions: str = ""
    evidence: tuple[str, ...] = ()
    experiment: str = ""
    platform: str = "both"
    examples: tuple[Example, ...] = ()

    @property
    def common(self) -> Common:
        """The parameters that rules of every kind may have."""
        return cast("Common", self.parameters)

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


def rule_from(data: Mapping[str, Any]) -> Rule:
    """One rule of envdoctor from the content of its file, which was validated when the rules were put together."""
    code = data["code"]
    return made(data, (code,) if isinstance(code, str) else tuple(code), with_tables(data.get("parameters", {})))


def made(data: Mapping[str, Any], code: tuple[str, ...], parameters: Mapping[str, object]) -> Rule:
    """A rule from the valid content of a file and what that says of its code."""
    return Rule(
        **{key: value for key, value in data.items() if key not in NOT_PLAIN},
        code=code,
        parameters=parameters,
        triggers=tuple(data.get("triggers", ())),
        evidence=tuple(data.get("evidence", ())),
        examples=tuple(_example(example) for example in data.get("example", ())),
    )


def _example(data: Mapping[str, Any]) -> Example:
    plain = {key: value for key, value in data.items() if key not in ("expect", "files")}
    lists = {"expect": tuple(data.get("expect", ())), "files": tuple(data.get("files", ()))}
    return Example(**{"file": "", "code": "", **plain, **lists})


def build(paths: Sequence[Path]) -> dict[str, Any]:
    """Parse and validate rule files into one table, ready to be kept as JSON: {file: content}."""
    from envdoctor.knowledge.rule_check import check_shipped
    from envdoctor.knowledge.toml_lines import located

    table: dict[str, Any] = {}
    for path in paths:
        where = f"{path.parent.name}/{path.name}"
        try:
            text = path.read_text(encoding="utf-8")
            table[where] = loads_toml(text)
        except ValueError as error:
            raise RuleError(f"{where}: {error}") from error
        with located(text):
            check_shipped(table[where], where)
    return table


def rulebook_from(table: Mapping[str, Any]) -> Rulebook:
    """The rules of a table of valid rule files; ids and names are unique."""
    rules = [rule_from(data) for data in table.values()]
    seen: dict[str, str] = {}
    for where, rule in zip(table, rules, strict=True):
        for key in (rule.id, rule.name):
            if key in seen:
                raise RuleError(f"{where}: {key} is already taken by {seen[key]}")
            seen[key] = where
    return Rulebook(tuple(sorted(rules, key=lambda r: r.id)))


def load_rulebook() -> Rulebook:
    """The rules that come with envdoctor."""
    return rulebook_from(load_compiled("rules", "*", build))
