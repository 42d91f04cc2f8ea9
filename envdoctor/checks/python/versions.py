"""Python names that the target's release does not have (the part of ED104 that is about calls)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from envdoctor.checks.context import FileContext
from envdoctor.checks.findings import finding
from envdoctor.checks.python.common import short
from envdoctor.checks.python.patterns import PatternTable
from envdoctor.core.facts import Call
from envdoctor.core.findings import Finding
from envdoctor.core.regexes import regex
from envdoctor.core.target import Target
from envdoctor.core.versions import at_least
from envdoctor.knowledge.apis import load_apis
from envdoctor.knowledge.rulebook import Rule
from envdoctor.readers.kinds import PYTHON

TESTED = regex(r"(?i)hasattr|version|getattr|parse\(|inspect|is_available|supports?|has_")
"""A condition that asks whether the name is there; what stands under it is not judged."""


@lru_cache(maxsize=1)
def _known() -> PatternTable[Mapping[str, Any]]:
    return PatternTable(load_apis()["api"])


def check(rule: Rule, context: FileContext) -> Iterator[Finding]:
    """Calls and assignments of names that came later than the target's release, or had gone before it."""
    if context.facts.kind not in PYTHON:
        return
    for call in context.facts.calls:
        for _, data in _known().of(call):
            if _absent(data, context.target) and not _tested(call):
                yield _finding(rule, call, data, context.target)
                break


def _absent(data: Mapping[str, Any], target: Target) -> bool:
    have = target.versions.get(data["component"])
    if not have or ("platform" in data and target.platform != data["platform"]):
        return False
    early = "since" in data and at_least(have, data["since"]) is False
    return early or ("until" in data and at_least(have, data["until"]) is True)


def _tested(call: Call) -> bool:
    return any(b.arm in ("try", "except 0") or TESTED.search(b.condition) for b in call.branch)


def _finding(rule: Rule, call: Call, data: Mapping[str, Any], target: Target) -> Finding:
    component = data["component"]
    have = target.versions[component]
    when = f"comes with {component} {data['since']}" if "since" in data else f"went with {component} {data['until']}"
    name = f"{'.'.join(call.name.split('.')[-2:])}" if call.kind == "assign" else short(call)
    argument = f" {data['argument']}=" if "argument" in data else ""
    effect = data.get("effect", "does nothing there" if call.kind == "assign" else "is not there")
    message = f"{name}{argument} {when}; in {component} {have} it {effect}"
    more: dict[str, Any] = {"help": data.get("instead", rule.fix), "evidence": tuple(data["evidence"])}
    return finding(rule, call.place, message, **more)
