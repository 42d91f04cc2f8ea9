"""ED301: assigned in a shell, and never exported to the launch that follows."""

from __future__ import annotations

import re
from collections.abc import Iterator

from envdoctor.analysis.process import environment
from envdoctor.analysis.process.model import Command, Step, Unit
from envdoctor.analysis.process.starts import runs, starts
from envdoctor.checks.context import UnitContext
from envdoctor.checks.delivery.common import judged
from envdoctor.checks.findings import finding, place_of
from envdoctor.checks.relations.lines import HARMLESS, commands_in
from envdoctor.core.branches import exclusive
from envdoctor.core.facts import Inclusion, Launch, Setting, Use
from envdoctor.core.findings import Edit, Finding, Fix, Related
from envdoctor.core.regexes import regex
from envdoctor.knowledge.rulebook import Rule

_JOB = regex(r".*(?:/step at line|, line) ")
"""The part of the name of a scope that steps of one job, or lines of one recipe, share."""
SHELLS = ("bash", "sh", "zsh", "ksh", "dash")


def check(rule: Rule, context: UnitContext) -> Iterator[Finding]:
    """Bare assignments, and exports that end with their shell, that no launch sees although one follows."""
    unit = context.unit
    for at, step in enumerate(unit.steps):
        fact = step.fact
        if not isinstance(fact, Setting) or not _of_shell(fact, unit) or judged(fact.name, context) is None:
            continue
        if fact.op == "export" and _is_spaced(unit, fact) and (command := _follows(unit, at, step, context)):
            yield _spaced(rule, fact, command.launch)
        elif fact.op == "set" and fact.exported == "no":
            yield from _bare(rule, at, step, fact, context)
        elif fact.op == "set" and fact.exported == "yes":
            yield from _short_lived(rule, at, step, fact, context)
    yield from _run_not_sourced(rule, context)


def _bare(rule: Rule, at: int, step: Step, fact: Setting, context: UnitContext) -> Iterator[Finding]:
    if _is_lost(context.unit, step, fact):
        command = _follows(context.unit, at, step, context)
        if command is not None and not _exported_by_caller(fact.name, context):
            yield _finding(rule, fact, command.launch)


def _short_lived(rule: Rule, at: int, step: Step, fact: Setting, context: UnitContext) -> Iterator[Finding]:
    unit = context.unit
    if unit.facts.kind == "notebook":
        if step.scope.kind == "subshell" and not _starts_something(unit, fact):
            yield _in_cell(rule, fact)
    elif where := _ends_early(unit, step, fact):
        command = _outside(unit, at, step, context)
        if command is not None:
            yield _gone(rule, fact, command.launch, where)


def _of_shell(fact: Setting, unit: Unit) -> bool:
    """A variable of a shell, or one of make's own, which are no environment either."""
    if unit.facts.kind == "make" and fact.channel == "argument":
        return f"$({fact.name})" not in unit.text and f"${{{fact.name}}}" not in unit.text
    return fact.channel == "shell"


def _starts_something(unit: Unit, fact: Setting) -> bool:
    """Whether the same line of a notebook (`!export A=1; torchrun x.py`) starts something too."""
    return any(launch.order >> 10 == fact.order >> 10 for launch in unit.facts.launches)


def _is_lost(unit: Unit, step: Step, fact: Setting) -> bool:
    """No export, no forwarding and no use of the name anywhere on the way."""
    if step.scope.kind == "command" or fact.via == "local" or fact.name in fact.value.references:
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
        if command.at <= at or exclusive(there.branch, step.branch):
            continue
        if environment.sees(there.scope, step.scope) and _reads(command.launch, context):
            return command
    return None


def _reads(launch: Launch, context: UnitContext) -> bool:
    return context.launchers.starts_ranks(launch.launcher) or launch.launcher in SHELLS


def _is_spaced(unit: Unit, fact: Setting) -> bool:
    """`export A = 1`: three words, of which the shell refuses the second."""
    lines = unit.text.split("\n")[fact.place.line - 1 : fact.place.line]
    return bool(lines) and re.search(rf"\bexport\s+{fact.name}\s+=(?:\s|$)", lines[0]) is not None


def _ends_early(unit: Unit, step: Step, fact: Setting) -> str:
    """What ends before anything is started: a subshell, a step of a CI job, a function to which the name is local."""
    scope = step.scope
    if scope.kind == "subshell":
        if scope.name.startswith(("subshell", "pipeline", "background")):
            return "a subshell"
        if unit.facts.kind == "make" and ", line " in scope.name and ".ONESHELL" not in unit.text:
            return "a line of a recipe, which has a shell of its own"
        return "a step of its own" if "/step at line" in scope.name else ""
    if scope.kind == "function" and fact.via in ("declare -x", "typeset -x"):
        line = unit.text.split("\n")[fact.place.line - 1 : fact.place.line]
        return "" if line and re.search(r"\s-\w*g", line[0]) else f"the function {scope.name}, to which it is local"
    return ""


def _outside(unit: Unit, at: int, step: Step, context: UnitContext) -> Command | None:
    """For an export whose shell ends without starting anything: the launch behind it that misses it."""
    fact = step.fact
    assert isinstance(fact, Setting)
    if any(s.scope == step.scope and isinstance(s.fact, (Launch, Use, Inclusion)) for s in unit.steps):
        return None
    if any(isinstance(s.fact, Setting) and s.fact.name == fact.name and s.fact is not fact for s in unit.steps):
        return None
    job = _JOB.match(step.scope.name) if step.scope.kind == "subshell" else None
    for command in unit.commands:
        there = unit.steps[command.at].scope
        beside = there.kind in ("process", "function") or (job is not None and there.name.startswith(job[0]))
        if command.at > at and beside and there != step.scope and _reads(command.launch, context):
            return command
    return None


def _run_not_sourced(rule: Rule, context: UnitContext) -> Iterator[Finding]:
    """`bash env.sh` where `source env.sh` was meant: a file that does nothing but export, and then a launch."""
    unit = context.unit
    for one in starts(unit):
        command, entry = one.command, one.facts
        if (
            entry is None
            or entry.kind != "shell"
            or command.launch.launcher not in SHELLS
            or entry.launches
            or command.around
        ):
            continue
        text = next((u.text for u in context.units if u.path == entry.path), None)
        if text is None or any(word not in HARMLESS for word in commands_in(text.split("\n"))):
            continue
        sourced = any(i.kind == "source" and i.target.endswith(entry.path.rsplit("/", 1)[-1])
                      for u in context.units for i in u.facts.inclusions)  # fmt: skip
        later = next((c for c in unit.commands if c.at > command.at and _reads_here(c.launch, context)), None)
        if sourced or later is None:
            continue
        given = {s.name for s in unit.settings()}
        for fact in entry.settings:
            if fact.exported == "yes" and fact.op == "set" and fact.name not in given and judged(fact.name, context):
                yield _not_sourced(rule, fact, command.launch)


def _reads_here(launch: Launch, context: UnitContext) -> bool:
    return context.launchers.starts_ranks(launch.launcher)


def _exported_by_caller(name: str, context: UnitContext) -> bool:
    """Another script of the project exports the name and runs this one."""
    for unit in context.units:
        if runs(unit, context.unit.path) and any(s.name == name and s.exported == "yes" for s in unit.settings()):
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
    return finding(rule, place, message, fact.name, related=related, fix=fix, help=f"export {fact.name}=...")


def _gone(rule: Rule, fact: Setting, launch: Launch, where: str) -> Finding:
    message = f"{fact.name} is exported in {where}, and gone when {launch.launcher} starts"
    related = (Related(launch.place, "started without it", fact.name),)
    return finding(rule, place_of(fact), message, fact.name, related=related,
                   help="export it where the launch is, or in front of it")  # fmt: skip


def _in_cell(rule: Rule, fact: Setting) -> Finding:
    message = f"{fact.name} is exported in a shell that ends with the line: the kernel does not get it"
    return finding(rule, place_of(fact), message, fact.name, help=f"%env {fact.name}=...")


def _spaced(rule: Rule, fact: Setting, launch: Launch) -> Finding:
    message = f"export {fact.name} = ... is three words: the shell refuses the second, and {fact.name} gets no value"
    related = (Related(launch.place, "started without it", fact.name),)
    return finding(rule, place_of(fact), message, fact.name, related=related, help=f"export {fact.name}=...")


def _not_sourced(rule: Rule, fact: Setting, launch: Launch) -> Finding:
    message = f"{fact.name} is exported in a script that is run, not sourced: the caller does not get it"
    related = (Related(launch.place, "run here, in a shell of its own", fact.name),)
    return finding(rule, place_of(fact), message, fact.name, related=related, confidence="medium",
                   help=f"source {fact.place.path.rsplit('/', 1)[-1]}")  # fmt: skip
