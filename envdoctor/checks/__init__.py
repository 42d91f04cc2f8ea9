"""The logic that rules name. A check is pure: facts, catalogue and target in, findings out; it does no I/O.

Each module has `check(rule, context) -> Iterator[Finding]`; `rule.parameters` say what exactly is looked for.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol, cast

from envdoctor.catalog import Catalog
from envdoctor.facts import FileFacts, Setting
from envdoctor.findings import Finding
from envdoctor.rulebook import Rule
from envdoctor.targets import Target

MODULES = {"name": "names", "value": "values"}
"""Kind of check -> module; kinds that are not here yet say nothing."""


@dataclass(slots=True)
class Context:
    """What a check may look at: one file's facts, the target they are judged against, and what is known.

    `private` holds the names that the project's own code reads. `memory` is for results that several rules of one
    kind share.
    """

    facts: FileFacts
    target: Target
    catalog: Catalog
    private: frozenset[str] = frozenset()
    memory: dict[Any, Any] = field(default_factory=dict)


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
