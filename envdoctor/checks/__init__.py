"""The logic that rules name. A check is pure: facts, catalogue and target in, findings out; it does no I/O.

Each module has `check(rule, context) -> Iterator[Finding]`; `rule.parameters` say what exactly is looked for.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol, cast

from envdoctor.catalog import Catalog
from envdoctor.facts import FileFacts, Observation, Setting
from envdoctor.findings import Finding
from envdoctor.records import dataclass, field
from envdoctor.rulebook import Rule
from envdoctor.targets import Target

if TYPE_CHECKING:
    from envdoctor.entries import Programs
    from envdoctor.launchers import Launchers
    from envdoctor.units import Unit

MODULES = {"name": "names", "value": "values", "observation": "observations", "call": "calls"}
"""Kind of check -> module; kinds that are not here yet say nothing."""
UNIT_MODULES = {"relation": "relations", "delivery": "delivery"}
"""Kind of check that looks at launch units -> module."""


@dataclass(slots=True)
class Context:
    """What a check may look at: one file's facts, the target they are judged against, and what is known.

    `private` holds the names that the project's own code reads, `observations` what is known of a node. `memory` is
    for results that several rules of one kind share. `level` is what the configuration asks for, `programs` are the
    Python programs of the project.
    """

    facts: FileFacts
    target: Target
    catalog: Catalog
    private: frozenset[str] = frozenset()
    memory: dict[Any, Any] = field(default_factory=dict)
    observations: Sequence[Observation] = ()
    level: str = "auto"
    programs: Programs | None = None


@dataclass(slots=True)
class UnitContext:
    """What a check of launch units may look at: one unit, all units of the scan, and what is known.

    `level` is what the configuration asks for, `programs` are the Python programs of the project.
    """

    unit: Unit
    units: Sequence[Unit]
    target: Target
    catalog: Catalog
    launchers: Launchers
    level: str = "auto"
    programs: Programs | None = None


class Check(Protocol):
    """What every check module offers."""

    def check(self, rule: Rule, context: Context) -> Iterator[Finding]:
        """Findings of `rule` in `context`."""
        ...


def run(rule: Rule, context: Context) -> Iterator[Finding]:
    """Findings of one rule in one file."""
    if rule.check not in MODULES:
        return iter(())
    module = importlib.import_module(f"envdoctor.checks.{MODULES[rule.check]}")
    return cast("Check", module).check(rule, context)


def of_units(rule: Rule) -> str:
    """The module that judges launch units by a rule; empty where the rule looks at single files or nodes only."""
    if "static" in rule.parameters:
        return UNIT_MODULES["delivery"]
    if rule.parameters.get("of") == "levels":
        return "levels"
    return UNIT_MODULES.get(rule.check, "")


def run_unit(rule: Rule, context: UnitContext) -> Iterator[Finding]:
    """Findings of one rule in one launch unit."""
    module = importlib.import_module(f"envdoctor.checks.{of_units(rule)}")
    found: Iterator[Finding] = module.check(rule, context)
    return found


def judged(settings: list[Setting]) -> Iterator[Setting]:
    """The settings that give or forward a value to some process, each fault once.

    A name that is only exported or forwarded is judged only if the file does not also set it: there it is one fault.
    """
    given = {s.name for s in settings if s.op in ("set", "default", "append") and not s.guarded}
    forwarded: set[str] = set()
    for setting in settings:
        if setting.guarded or setting.op == "unset" or (setting.channel == "argument" and setting.exported == "no"):
            continue
        if setting.op in ("export", "pass"):
            if setting.name in given or setting.name in forwarded:
                continue
            forwarded.add(setting.name)
        yield setting


def finding(rule: Rule, setting: Setting, message: str, **more: Any) -> Finding:
    """A finding of `rule` at a setting, with the rule's severity, confidence and way out unless `more` says else."""
    fields: dict[str, Any] = {"severity": rule.severity, "confidence": rule.confidence, "help": rule.fix}
    fields["place"] = setting.name_place or setting.place
    fields.update(more)
    return Finding(rule=rule.id, name=rule.name, message=message, variable=setting.name, **fields)
