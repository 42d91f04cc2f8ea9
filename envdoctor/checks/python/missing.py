"""Switches that repeatable runs need and a program lacks (ED501)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, cast

from envdoctor.analysis.python.entries import Process, Program, Step
from envdoctor.analysis.python.programs import Programs
from envdoctor.checks.context import Context
from envdoctor.checks.python.common import entry_related, finding, short
from envdoctor.checks.python.intent import LEVELS, Wishes, launch_settings, trains, wish_of, wishes
from envdoctor.checks.python.patterns import argument, fits_target, hidden_arguments, named, steps_named
from envdoctor.checks.python.streams import runs_again
from envdoctor.core.facts import Place
from envdoctor.core.findings import Finding, Related
from envdoctor.knowledge.apis import load_apis
from envdoctor.knowledge.rulebook import Rule
from envdoctor.readers.kinds import PYTHON

if TYPE_CHECKING:
    from envdoctor.knowledge.parameters.calls import Switches


def check(rule: Rule, context: Context) -> Iterator[Finding]:
    """What the program of a file lacks, or the program that a file launches with a wish for determinism."""
    assert context.programs is not None
    if context.level == "hygiene":
        return
    facts = context.facts
    if facts.kind not in PYTHON:
        yield from _launched(rule, context)
        return
    program = context.programs.of(facts)
    if program is None or not trains(program):
        return
    wish = wishes(program)
    if not wish.full and context.level not in LEVELS:
        return
    yield from _switch(rule, context, program, wish)
    yield from _keywords(rule, context, program)
    yield from _spawned(rule, context, program, wish)
    yield from _variables(rule, context, program, wish)


def _parameters(rule: Rule) -> Switches:
    return cast("Switches", rule.parameters)


def _switch(rule: Rule, context: Context, program: Program, wish: Wishes) -> Iterator[Finding]:
    """Determinism is asked for, and torch is never told."""
    assert context.programs is not None
    if not lacks_switch(rule, context.programs, program, wish):
        return
    place = wish.place or _first_training(program)
    if wish.steps:
        message = (
            f"{short(wish.steps[0].call)} covers a part only, and torch.use_deterministic_algorithms is never called"
        )
    else:
        message = "repeatable runs are asked for, and torch.use_deterministic_algorithms is never called"
    yield finding(rule, place, message, related=entry_related(context, place))


def lacks_switch(rule: Rule, programs: Programs, program: Program, wish: Wishes) -> bool:
    """Whether a torch program never switches deterministic algorithms on, as far as that can be told."""
    if wish.switches or not any(n.split(".")[0] == "torch" for n in program.imports()):
        return False
    unseen = re.compile(_parameters(rule)["unseen"])
    return not any(_may_switch(step, unseen) for step in program.steps) and not _switched_aside(programs, program)


SWITCHES = ("torch.use_deterministic_algorithms", "torch.set_deterministic_debug_mode")


def _switched_aside(programs: Programs, program: Program) -> bool:
    """A function with the switch is called somewhere, and the way there was not followed to its end."""
    called = {call.name.rsplit(".", 1)[-1] for facts in program.files.values() for call in facts.calls}
    for path, facts in program.files.items():
        holders = {
            c.scope.name.rsplit(".", 1)[-1] for c in facts.calls if c.name in SWITCHES and c.scope.kind == "function"
        }
        if holders & called or any(programs.mentioned(holder, path) for holder in sorted(holders)):
            return True
    return False


def _may_switch(step: Step, unseen: re.Pattern[str]) -> bool:
    """A call that may switch determinism on: outside of the project, or with a value that cannot be told."""
    call = step.call
    if call.name in SWITCHES:
        return True
    if any(a.keyword in ("deterministic", "full_determinism") and not a.is_literal for a in call.arguments):
        return True
    return not step.local and not call.name.startswith("torch.") and unseen.search(call.name) is not None


def _first_training(program: Program) -> Place:
    apis = load_apis()
    steps = [s for s in program.steps if named(s.call.name, apis["training"])]
    return (steps or program.steps)[0].call.place


def _keywords(rule: Rule, context: Context, program: Program) -> Iterator[Finding]:
    """Functions that have a switch of their own."""
    for data in _parameters(rule)["keyword"]:
        for step in steps_named(program, data["names"]):
            if hidden_arguments(step.call):
                continue
            given = argument(step.call, data["keyword"], None)
            if given is not None and not (given.is_literal and given.literal in (False, None)):
                continue
            if fits_target("", data["versions"], context.target, True):
                place = step.call.place
                message = f"{short(step.call)} without {data['keyword']}=True {data['says']}"
                more: dict[str, Any] = {"help": data["help"], "evidence": tuple(data["evidence"])}
                yield finding(rule, place, message, related=entry_related(context, place), **more)


def _spawned(rule: Rule, context: Context, program: Program, wish: Wishes) -> Iterator[Finding]:
    """The switch is set in the process that spawns the ranks, and not in the ranks."""
    training = load_apis()["training"]
    switched = {s.process for s in wish.steps if _is_switch(s)}
    inherits = any(runs_again(s) for s in wish.steps if _is_switch(s))
    if Process() not in switched:
        return
    for process in {s.process for s in program.steps if s.process.kind in ("spawn", "remote")} - switched:
        if inherits and process.kind == "spawn":
            continue
        trained = [s for s in program.steps if s.process == process and named(s.call.name, training)]
        if trained:
            step = next(s for s in wish.steps if _is_switch(s) and s.process == Process())
            message = f"{short(step.call)} acts in this process only: the spawned ranks start without it"
            related = (Related(trained[0].call.place, "trains in a spawned process"),)
            yield finding(rule, step.call.place, message, help="call it in the spawned function", related=related)


def _is_switch(step: Step) -> bool:
    data = wish_of(step.call)
    return data is not None and "switch" in data


def _variables(rule: Rule, context: Context, program: Program, wish: Wishes) -> Iterator[Finding]:
    """Variables that the release needs besides the switch."""
    assert context.programs is not None
    steps = [s for s in wish.steps if _is_switch(s)]
    if not steps or "torch" not in wish.switches:
        return
    place = steps[0].call.place
    for data in _parameters(rule)["variable"]:
        if not fits_target(data["platform"], data["versions"], context.target, False):
            continue
        if data.get("given_by_workspace") and wish.workspace:
            continue
        if data.get("strict") and any(a.keyword == "warn_only" for a in steps[0].call.arguments):
            continue
        if data.get("convolutions") and not _convolves(program):
            continue
        if not context.programs.mentions(data["name"]):
            yield finding(rule, place, data["says"], help=data["help"], evidence=tuple(data["evidence"]))


def _convolves(program: Program) -> bool:
    names = load_apis()["convolutions"]
    return any(named(s.call.name, names) for s in program.steps)


def _launched(rule: Rule, context: Context) -> Iterator[Finding]:
    """A launch asks for determinism by a variable, and the program never tells torch."""
    assert context.programs is not None
    asked = list(launch_settings(context.facts.settings))
    if not asked:
        return
    for launch in context.facts.launches:
        for program in context.programs.launched(launch.inner or launch.words, context.facts.path):
            wish = wishes(program)
            if trains(program) and not wish.full and lacks_switch(rule, context.programs, program, wish):
                message = f"{asked[0].name} asks for repeatable runs; {program.path} never tells torch"
                related = (Related(Place(program.path, 1, 1, 1, 1), "the program that is launched"),)
                yield finding(rule, asked[0].place, message, related=related, confidence="medium")
                return
