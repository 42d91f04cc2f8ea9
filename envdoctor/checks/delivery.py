"""The check of kind `delivery`: does a setting reach the process that needs it, in time and as it was meant?

`parameters.fault` of a rule names the fault; `parameters.static` names the part of a rule about nodes that files show.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from pathlib import PurePosixPath
from typing import Any, cast

from envdoctor.catalog import Variable
from envdoctor.checks import UnitContext
from envdoctor.facts import Place, Setting
from envdoctor.findings import Finding
from envdoctor.rulebook import Rule
from envdoctor.targets import at_least

MODULES = {
    "not-exported": "delivery_export", "not-forwarded": "delivery_lost", "set-too-late": "delivery_late",
    "inconsistent-launch": "delivery_jobs", "command-misread": "delivery_commands",
}  # fmt: skip
"""Fault -> module of this package with the function `faults(rule, context)`."""
FIRST_RCCL_CONF = "5.2.3"
"""The first ROCm release whose RCCL reads rccl.conf and no longer nccl.conf."""
Faults = Callable[[Rule, UnitContext], Iterator[Finding]]


def check(rule: Rule, context: UnitContext) -> Iterator[Finding]:
    """Findings of a rule in one launch unit."""
    if rule.parameters.get("static") == "conf_file":
        return conf_file(rule, context)
    module = importlib.import_module(f"envdoctor.checks.{MODULES[rule.parameters['fault']]}")
    return cast("Faults", module.faults)(rule, context)


def judged(name: str, context: UnitContext) -> Variable | None:
    """The variable, where something reads it here and so its delivery matters; other faults of a name come first."""
    variable = context.catalog.variable(name)
    if variable is None or variable.status not in ("real", "deprecated") or not variable.readings:
        return None
    platform = context.target.platform
    if variable.platform not in ("both", "cuda", "rocm") or variable.retired(context.catalog):
        return None
    return variable if platform is None or variable.platform in ("both", platform) else None


def finding(rule: Rule, variable: str | None, place: Place, message: str, **more: Any) -> Finding:
    """A finding of `rule`, with its severity, confidence and way out unless `more` says else."""
    fields: dict[str, Any] = {"severity": rule.severity, "confidence": rule.confidence, "help": rule.fix, **more}
    return Finding(rule=rule.id, name=rule.name, place=place, message=message, variable=variable, **fields)


def place_of(setting: Setting) -> Place:
    """Where a setting is shown: at its name."""
    return setting.name_place or setting.place


def conf_file(rule: Rule, context: UnitContext) -> Iterator[Finding]:
    """A conf file with the other vendor's name, in the tree or written by a script: never read here."""
    platform = context.target.platform
    old = at_least(context.target.versions.get("rocm", ""), FIRST_RCCL_CONF) is False
    if platform not in ("cuda", "rocm") or old:
        return
    wrong, right = ("nccl.conf", "rccl.conf") if platform == "rocm" else ("rccl.conf", "nccl.conf")
    seen: set[str] = set()
    for step in context.unit.steps:
        fact = step.fact
        if not isinstance(fact, Setting) or fact.channel != "conf-file":
            continue
        written = fact.scope.name if fact.scope.kind == "file" else fact.place.path
        if PurePosixPath(written).name.lstrip(".") != wrong or written in seen:
            continue
        if any(s.name == "NCCL_CONF_FILE" for unit in context.units for s in unit.facts.settings):
            return
        seen.add(written)
        library = "RCCL" if platform == "rocm" else "NCCL"
        message = f"{PurePosixPath(written).name} is never read here: {library} reads {right}"
        yield finding(rule, None, fact.place, message, evidence=rule.evidence)
