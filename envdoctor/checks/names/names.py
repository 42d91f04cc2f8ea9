"""Is this name read by anything here?"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, cast

from envdoctor.checks import context as checks
from envdoctor.checks.context import FileContext
from envdoctor.checks.findings import finding, place_of
from envdoctor.checks.names.verdicts import Verdict
from envdoctor.core.facts import Setting
from envdoctor.core.findings import Edit, Finding, Fix
from envdoctor.core.regexes import regex
from envdoctor.knowledge.catalog.model import Catalog
from envdoctor.knowledge.rulebook import Rule

if TYPE_CHECKING:
    from envdoctor.knowledge.parameters.names import NameParameters

PLATFORM_TEST = regex(r"rocm|hip|amd|mi\d{3}|gfx|cuda|nvidia|vendor|platform|gpu_type|npu|ascend", re.IGNORECASE)
"""A condition that asks where it runs; what stands under it is not judged by platform."""


def check(rule: Rule, context: FileContext) -> Iterator[Finding]:
    """Findings for the settings whose name has one of the rule's verdicts."""
    wanted = cast("NameParameters", rule.parameters)["verdicts"]
    for setting in checks.judged(context.facts.settings):
        verdict = context.shared.verdicts.of(setting.name, context.target)
        if verdict is not None and verdict.kind in wanted and not _excused(verdict, setting, context.catalog):
            yield _finding(rule, setting, verdict)


def _excused(verdict: Verdict, setting: Setting, catalog: Catalog) -> bool:
    """The script tests for the platform or the release and knows what it does, or asks for what is the case anyway."""
    if verdict.kind not in ("other-platform", "other-release"):
        return False
    variable = catalog.variable(setting.name)
    if variable is not None and setting.value.known in variable.neutral:
        return True
    return any(PLATFORM_TEST.search(branch.condition) for branch in setting.branch)


def _finding(rule: Rule, setting: Setting, verdict: Verdict) -> Finding:
    more: dict[str, object] = {"evidence": verdict.evidence, "help": verdict.help or rule.fix}
    if verdict.kind == "not-known":
        more |= {"severity": "info", "confidence": "low"}
    if verdict.real is not None and setting.name_place is not None and verdict.kind in ("misnamed", "deprecated"):
        edit = Edit(setting.name_place, verdict.real)
        more["fix"] = Fix(f"rename {setting.name} to {verdict.real}", (edit,), safe=False)
    return finding(rule, place_of(setting), verdict.message, setting.name, **more)
