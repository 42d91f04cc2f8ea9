"""Where in a launch unit settings meet: at each launch that starts ranks, or at the end of each environment."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from envdoctor.analysis.process import environment
from envdoctor.analysis.process.environment import Binding
from envdoctor.analysis.process.model import Unit
from envdoctor.checks.context import UnitContext
from envdoctor.core.facts import Scope, Setting

MOST_POINTS = 40
WORLDS = ("container", "file", "manifest")
NO_PROCESS = ("argument", "child-environment", "runtime-env")


def points(context: UnitContext) -> Iterator[Mapping[str, Binding]]:
    """The environments of a unit in which settings stand side by side, a bounded number."""
    unit = context.unit
    count = 0
    for command in unit.commands:
        if context.launchers.starts_ranks(command.launch.launcher) and count < MOST_POINTS:
            count += 1
            there = unit.steps[command.at]
            held = environment.at(unit.steps, command.at, there.scope, there.branch)
            yield {**held, **_given(unit, command.at)}
    scopes = dict.fromkeys(s.scope for s in unit.steps if isinstance(s.fact, Setting) and s.scope.kind in WORLDS)
    for scope in list(scopes)[:MOST_POINTS]:
        yield environment.at(unit.steps, len(unit.steps), scope)
    if not unit.commands and unit.facts.kind != "python":
        yield environment.at(unit.steps, len(unit.steps), Scope())
    for steps in unit.programs[:MOST_POINTS]:
        found = {}
        for step in steps:
            fact = step.fact
            if isinstance(fact, Setting) and fact.channel == "python-environ" and fact.op in environment.GIVES:
                found[fact.name] = Binding([step], "yes")
        yield found


def _given(unit: Unit, at: int) -> dict[str, Binding]:
    command = next((c for c in unit.commands if c.at == at), None)
    steps = {id(step.fact): step for step in unit.steps[max(0, at - 200) : at]}
    found = {}
    for setting in command.given if command else ():
        if setting.op in environment.GIVES and id(setting) in steps:
            found[setting.name] = Binding([steps[id(setting)]], "yes")
    return found


def value_of(held: Binding) -> str | None:
    """The value that a variable plainly has at a point, or None; a default is a switch for the caller, and open."""
    last = held.last
    if len(held.steps) != 1 or held.unset or last.op != "set" or last.guarded or last.value.kind != "literal":
        return None
    return last.value.text


def together(one: Binding, other: Binding) -> bool:
    """Whether two settings are there under the same conditions, and in one process."""
    first, second = one.steps[-1], other.steps[-1]
    if one.last.channel in NO_PROCESS or other.last.channel in NO_PROCESS:
        return False
    return environment.holds(first.branch, second.branch) and environment.holds(second.branch, first.branch)
