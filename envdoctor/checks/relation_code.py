"""ED202: the script says one thing and the program that it starts another."""

from __future__ import annotations

from collections.abc import Iterator

from envdoctor import environment
from envdoctor.checks import UnitContext
from envdoctor.checks.delivery import finding, judged, place_of
from envdoctor.checks.relation_points import value_of
from envdoctor.facts import Setting
from envdoctor.findings import Finding, Related
from envdoctor.rulebook import Rule

MOST_COMMANDS = 40


def faults(rule: Rule, context: UnitContext) -> Iterator[Finding]:
    """Variables that a program overwrites although the launch has given them another value."""
    unit = context.unit
    said: set[str] = set()
    for index, entry in list(unit.entries.items())[:MOST_COMMANDS]:
        if entry.kind != "python":
            continue
        command = unit.commands[index]
        there = unit.steps[command.at]
        held = environment.at(unit.steps, command.at, there.scope, there.branch)
        given = {s.name: s for s in command.given if s.op == "set" and s.value.kind == "literal"}
        for setting in _written(entry.path, context):
            known = given.get(setting.name) or (held[setting.name].last if setting.name in held else None)
            if known is None or setting.name in said or judged(setting.name, context) is None:
                continue
            sure = setting.name in given or (held[setting.name].exported == "yes" and value_of(held[setting.name]))
            if not sure or known.value.kind != "literal" or known.value.text.strip() == setting.value.text.strip():
                continue
            said.add(setting.name)
            yield _finding(rule, setting, known)


def _written(path: str, context: UnitContext) -> Iterator[Setting]:
    """What a program writes into its environment whatever happens, with a value that can be told."""
    unit = next((u for u in context.units if u.path == path), None)
    for step in unit.programs[0] if unit and unit.programs else ():
        fact = step.fact
        if not isinstance(fact, Setting) or fact.channel != "python-environ" or fact.op != "set" or fact.guarded:
            continue
        if fact.value.kind == "literal" and environment.holds(step.branch, ()):
            yield fact


def _finding(rule: Rule, setting: Setting, given: Setting) -> Finding:
    message = f"{setting.name}={setting.value.text} takes the place of {given.value.text}, which the launch gives"
    related = (Related(place_of(given), "given here, and overwritten", given.name),)
    return finding(rule, setting.name, place_of(setting), message, related=related,
                   help=f"os.environ.setdefault({setting.name!r}, ...), or set it in one place")  # fmt: skip
