"""What the checks of delivery share: does a setting reach the process that needs it, in time and as it was meant?"""

from __future__ import annotations

from typing import Any

from envdoctor.checks.context import UnitContext
from envdoctor.core.facts import Place, Setting
from envdoctor.core.findings import Finding
from envdoctor.knowledge.catalog.model import Variable
from envdoctor.knowledge.rulebook import Rule


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
