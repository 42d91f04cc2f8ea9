"""ED202: the same variable given two values one after the other, with nothing in between that could use the first."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from envdoctor.analysis.process.model import Step, Unit
from envdoctor.checks.context import UnitContext
from envdoctor.checks.delivery.common import judged
from envdoctor.checks.findings import finding, place_of
from envdoctor.checks.relations.lines import HARMLESS, commands_in
from envdoctor.core.facts import Launch, Setting, Use
from envdoctor.core.findings import Finding, Related
from envdoctor.core.regexes import regex
from envdoctor.knowledge.rulebook import Rule

_QUIET = {
    "python": regex(r"\s*(?:$|#|(?:os\.)?environ\b|import\s|from\s+\S+\s+import\b|[\"'])"),
}  # fmt: skip
"""Lines that start nothing and use nothing, by kind of file. Other kinds hold settings only, or, as Dockerfiles, show
each program that asks for settings of the accelerator as a launch."""
_MEANT = regex(r"overrid|overwrit|re-?set|restore|instead|default", re.IGNORECASE)


def check(rule: Rule, context: UnitContext) -> Iterator[Finding]:
    """Pairs of settings of one name on one path of which the first is lost."""
    unit = context.unit
    last: dict[str, tuple[int, Step]] = {}
    for at, step in enumerate(unit.steps):
        fact = step.fact
        if not isinstance(fact, Setting):
            continue
        before = last.get(fact.name)
        if fact.op in ("set", "default", "append", "unset", "export", "pass"):
            last[fact.name] = (at, step)
        if before is not None and fact.op == "set" and judged(fact.name, context) is not None:
            first = before[1].fact
            assert isinstance(first, Setting)
            if _cancels(unit, before[0], before[1], at, step):
                yield _finding(rule, first, fact)


def _cancels(unit: Unit, start: int, before: Step, end: int, step: Step) -> bool:
    """Whether the first of two settings is lost to the second for no reason that shows."""
    first, second = before.fact, step.fact
    assert isinstance(first, Setting) and isinstance(second, Setting)
    if first.op != "set" or first.guarded or second.guarded or first.channel != second.channel:
        return False
    if first.value.kind != "literal" or second.value.kind != "literal" or _equal(first.value.text, second.value.text):
        return False
    if before.path != step.path or before.scope != step.scope or step.scope.kind == "command":
        return False
    if "local" in (first.via, second.via) or before.branch != step.branch:
        return False
    if _MEANT.search(second.comment) or any(b.arm == "loop" for b in step.branch):
        return False
    return not _between(unit.steps[start + 1 : end], second.name) and _quiet(unit, first, second)


def _equal(one: str, other: str) -> bool:
    return one.strip().lower() == other.strip().lower()


def _between(steps: Sequence[Step], name: str) -> bool:
    """A launch or a use of the variable in between: both values have their turn."""
    for step in steps:
        fact = step.fact
        if isinstance(fact, Launch) or (isinstance(fact, Use) and fact.name == name):
            return True
        if isinstance(fact, Setting) and fact.name != name and name in fact.value.references:
            return True
    return False


def _quiet(unit: Unit, first: Setting, second: Setting) -> bool:
    """Whether the lines between two settings start nothing."""
    lines = unit.text.split("\n")[first.place.end_line : second.place.line - 1]
    if unit.facts.kind == "shell":
        return all(word in HARMLESS for word in commands_in(lines))
    pattern = _QUIET.get(unit.facts.kind)
    return pattern is None or all(pattern.match(line) for line in lines)


def _finding(rule: Rule, first: Setting, second: Setting) -> Finding:
    message = f"{second.name}={_short(second)} takes the place of {_short(first)}, set in line {first.place.line}"
    related = (Related(place_of(first), "set here, and lost", first.name),)
    return finding(rule, place_of(second), message, second.name, related=related, help="keep the one that is meant")


def _short(setting: Setting) -> str:
    text = setting.value.text
    return text if len(text) <= 40 else text[:37] + "..."
