"""ED301: assigned in a shell, and never exported to the launch that follows."""

from __future__ import annotations

from collections.abc import Iterator

from envdoctor import environment
from envdoctor.checks import UnitContext
from envdoctor.checks.delivery import finding, judged, place_of
from envdoctor.facts import Inclusion, Launch, Setting, Use
from envdoctor.findings import Edit, Finding, Fix, Related
from envdoctor.rulebook import Rule
from envdoctor.units.model import Command, Step, Unit

SHELLS = ("bash", "sh", "zsh", "ksh", "dash")


def faults(rule: Rule, context: UnitContext) -> Iterator[Finding]:
    """Bare assignments, and exports in a subshell, that no launch sees although one follows."""
    unit = context.unit
    for at, step in enumerate(unit.steps):
        fact = step.fact
        if not isinstance(fact, Setting) or fact.op != "set" or fact.channel != "shell":
            continue
        if judged(fact.name, context) is None:
            continue
        if fact.exported == "no" and _is_lost(unit, step, fact):
            command = _follows(unit, at, step, context)
            if command is not None and not _exported_by_caller(fact.name, context):
                yield _finding(rule, fact, command.launch)
        elif fact.exported == "yes" and step.scope.kind == "subshell":
            command = _outside(unit, at, step, context)
            if command is not None:
                yield _subshell(rule, fact, command.launch)


def _is_lost(unit: Unit, step: Step, fact: Setting) -> bool:
    """No export, no forwarding and no use of the name anywhere on the way."""
    if step.scope.kind == "command" or fact.via in ("local", "readonly") or fact.name in fact.value.references:
        return False
    return not _known_elsewhere(unit, fact)


def _known_elsewhere(unit: Unit, fact: Setting) -> bool:
    for step in unit.steps:
        other = step.fact
        if isinstance(other, Use) and other.name == fact.name:
            return True
        if isinstance(other, Setting):
            if other.name == fact.name and (other.exported != "no" or other.op in ("export", "pass")):
                return True
            if other.name != fact.name and fact.name in other.value.references:
                return True
        if isinstance(other, Launch) and any(_mentions(word, fact.name) for word in other.words):
            return True
    return False


def _mentions(word: str, name: str) -> bool:
    return f"${name}" in word or f"${{{name}" in word


def _follows(unit: Unit, at: int, step: Step, context: UnitContext) -> Command | None:
    """The first launch behind a step that would hand the variable to a program that reads it."""
    for command in unit.commands:
        there = unit.steps[command.at]
        if command.at <= at or environment.exclusive(there.branch, step.branch):
            continue
        if environment.sees(there.scope, step.scope) and _reads(command.launch, context):
            return command
    return None


def _reads(launch: Launch, context: UnitContext) -> bool:
    return context.launchers.starts_ranks(launch.launcher) or launch.launcher in SHELLS


def _outside(unit: Unit, at: int, step: Step, context: UnitContext) -> Command | None:
    """For an export in a subshell that ends without starting anything: the launch behind it that misses it."""
    if not step.scope.name.startswith(("subshell", "pipeline", "background")) or step.branch:
        return None
    fact = step.fact
    assert isinstance(fact, Setting)
    if any(s.scope == step.scope and isinstance(s.fact, (Launch, Use, Inclusion)) for s in unit.steps):
        return None
    if any(isinstance(s.fact, Setting) and s.fact.name == fact.name and s.fact is not fact for s in unit.steps):
        return None
    for command in unit.commands:
        there = unit.steps[command.at]
        if command.at > at and there.scope.kind in ("process", "function") and _reads(command.launch, context):
            return command
    return None


def _exported_by_caller(name: str, context: UnitContext) -> bool:
    """Another script of the project exports the name and runs this one."""
    for unit in context.units:
        runs = any(entry.path == context.unit.path for entry in unit.entries.values())
        if runs and any(s.name == name and s.exported == "yes" for s in unit.settings()):
            return True
    return False


def _finding(rule: Rule, fact: Setting, launch: Launch) -> Finding:
    message = f"{fact.name} is assigned but not exported: {launch.launcher} and what it starts do not get it"
    place = place_of(fact)
    fix = None
    if fact.name_place is not None and fact.place.line == fact.name_place.line and not fact.via:
        where = fact.name_place
        start = type(where)(
            where.path, where.line, where.column, where.line, where.column, where.node, where.cell
        )  # fmt: skip
        fix = Fix(f"export {fact.name}", (Edit(start, "export "),), safe=False)
    related = (Related(launch.place, "started without it", fact.name),)
    return finding(rule, fact.name, place, message, related=related, fix=fix, help=f"export {fact.name}=...")


def _subshell(rule: Rule, fact: Setting, launch: Launch) -> Finding:
    message = f"{fact.name} is exported in a subshell that ends before {launch.launcher} starts: it is gone by then"
    related = (Related(launch.place, "started without it", fact.name),)
    return finding(rule, fact.name, place_of(fact), message, related=related, help="export it outside of the subshell")
