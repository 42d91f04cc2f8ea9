"""What the checks of delivery share: does a setting reach the process that needs it, in time and as it was meant?"""

from __future__ import annotations

from envdoctor.checks.context import UnitContext
from envdoctor.knowledge.catalog.model import Variable


def judged(name: str, context: UnitContext) -> Variable | None:
    """The variable, where something reads it here and so its delivery matters; other faults of a name come first."""
    variable = context.catalog.variable(name)
    if variable is None or variable.status not in ("real", "deprecated") or not variable.readings:
        return None
    platform = context.target.platform
    if variable.platform not in ("both", "cuda", "rocm") or variable.retired(context.catalog):
        return None
    return variable if platform is None or variable.platform in ("both", platform) else None
