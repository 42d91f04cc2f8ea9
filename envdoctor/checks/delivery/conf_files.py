"""A conf file of a collectives library with the name that the other vendor's library reads."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath

from envdoctor.checks.context import UnitContext
from envdoctor.checks.findings import finding
from envdoctor.core.facts import Setting
from envdoctor.core.findings import Finding
from envdoctor.core.versions import at_least
from envdoctor.knowledge.rulebook import Rule

FIRST_RCCL_CONF = "5.2.3"
"""The first ROCm release whose RCCL reads rccl.conf and no longer nccl.conf."""


def check(rule: Rule, context: UnitContext) -> Iterator[Finding]:
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
        yield finding(rule, fact.place, message, evidence=rule.evidence)
