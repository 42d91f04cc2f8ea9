"""Switches that repeatable runs need and a program lacks (ED501)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, cast

from envdoctor.analysis.python.timeline import EntryPoints, Event, Process, Timeline
from envdoctor.checks.context import FileContext
from envdoctor.checks.findings import finding
from envdoctor.checks.python.common import entry_related, short
from envdoctor.checks.python.intent import LEVELS, Intent, call_intent
from envdoctor.checks.python.patterns import any_named, argument, events_named, fits_target, hidden_arguments
from envdoctor.checks.python.streams import runs_again
from envdoctor.core.facts import Place
from envdoctor.core.findings import Finding, Related
from envdoctor.knowledge.apis import load_apis
from envdoctor.knowledge.intent import asking
from envdoctor.knowledge.rulebook import Rule
from envdoctor.readers.kinds import PYTHON

if TYPE_CHECKING:
    from envdoctor.knowledge.parameters.calls import Switches


def check(rule: Rule, context: FileContext) -> Iterator[Finding]:
    """What the program of a file lacks, or the program that a file launches with an intent for determinism."""
    assert context.entry_points is not None
    if context.level == "hygiene":
        return
    facts = context.facts
    if facts.kind not in PYTHON:
        yield from _launched(rule, context)
        return
    intents = context.shared.intents
    timeline = context.entry_points.timeline(facts)
    if timeline is None or not intents.trains(timeline):
        return
    intent = intents.of(timeline)
    if not intent.full and context.level not in LEVELS:
        return
    yield from _switch(rule, context, timeline, intent)
    yield from _keywords(rule, context, timeline)
    yield from _spawned(rule, context, timeline, intent)
    yield from _variables(rule, context, timeline, intent)


def _parameters(rule: Rule) -> Switches:
    return cast("Switches", rule.parameters)


def _switch(rule: Rule, context: FileContext, timeline: Timeline, intent: Intent) -> Iterator[Finding]:
    """Determinism is asked for, and torch is never told."""
    assert context.entry_points is not None
    if not lacks_switch(rule, context.entry_points, timeline, intent):
        return
    place = intent.place or _first_training(timeline)
    if intent.events:
        message = (
            f"{short(intent.events[0].call)} covers a part only, and torch.use_deterministic_algorithms is never called"
        )
    else:
        message = "repeatable runs are asked for, and torch.use_deterministic_algorithms is never called"
    yield finding(rule, place, message, related=entry_related(context, place))


def lacks_switch(rule: Rule, entry_points: EntryPoints, timeline: Timeline, intent: Intent) -> bool:
    """Whether a torch program never switches deterministic algorithms on, as far as that can be told."""
    if intent.switches or not any(n.split(".")[0] == "torch" for n in timeline.imports):
        return False
    unseen = re.compile(_parameters(rule)["unseen"])
    if any(_may_switch(event, unseen) for event in timeline.events):
        return False
    return not _switched_aside(entry_points, timeline)


SWITCHES = ("torch.use_deterministic_algorithms", "torch.set_deterministic_debug_mode")


def _switched_aside(entry_points: EntryPoints, timeline: Timeline) -> bool:
    """A function with the switch is called somewhere, and the way there was not followed to its end."""
    called = {call.name.rsplit(".", 1)[-1] for facts in timeline.files.values() for call in facts.calls}
    for path, facts in timeline.files.items():
        holders = {
            c.scope.name.rsplit(".", 1)[-1] for c in facts.calls if c.name in SWITCHES and c.scope.kind == "function"
        }
        if holders & called or any(entry_points.mentioned(holder, path) for holder in sorted(holders)):
            return True
    return False


def _may_switch(event: Event, unseen: re.Pattern[str]) -> bool:
    """A call that may switch determinism on: outside of the project, or with a value that cannot be told."""
    call = event.call
    if call.name in SWITCHES:
        return True
    if any(a.keyword in ("deterministic", "full_determinism") and not a.is_literal for a in call.arguments):
        return True
    return not event.local and not call.name.startswith("torch.") and unseen.search(call.name) is not None


def _first_training(timeline: Timeline) -> Place:
    events = events_named(timeline, load_apis()["training"])
    return (events or timeline.events)[0].call.place


def _keywords(rule: Rule, context: FileContext, timeline: Timeline) -> Iterator[Finding]:
    """Functions that have a switch of their own."""
    for data in _parameters(rule)["keyword"]:
        for event in events_named(timeline, data["names"]):
            if hidden_arguments(event.call):
                continue
            given = argument(event.call, data["keyword"], None)
            if given is not None and not (given.is_literal and given.literal in (False, None)):
                continue
            if fits_target("", data["versions"], context.target, True):
                place = event.call.place
                message = f"{short(event.call)} without {data['keyword']}=True {data['says']}"
                more: dict[str, Any] = {"help": data["help"], "evidence": tuple(data["evidence"])}
                yield finding(rule, place, message, related=entry_related(context, place), **more)


def _spawned(rule: Rule, context: FileContext, timeline: Timeline, intent: Intent) -> Iterator[Finding]:
    """The switch is set in the process that spawns the ranks, and not in the ranks."""
    training = events_named(timeline, load_apis()["training"])
    switched = {s.process for s in intent.events if _is_switch(s)}
    inherits = any(runs_again(s) for s in intent.events if _is_switch(s))
    if Process() not in switched:
        return
    for process in {s.process for s in timeline.events if s.process.kind in ("spawn", "remote")} - switched:
        if inherits and process.kind == "spawn":
            continue
        trained = [s for s in training if s.process == process]
        if trained:
            event = next(s for s in intent.events if _is_switch(s) and s.process == Process())
            message = f"{short(event.call)} acts in this process only: the spawned ranks start without it"
            related = (Related(trained[0].call.place, "trains in a spawned process"),)
            yield finding(rule, event.call.place, message, help="call it in the spawned function", related=related)


def _is_switch(event: Event) -> bool:
    data = call_intent(event.call)
    return data is not None and "switch" in data


def _variables(rule: Rule, context: FileContext, timeline: Timeline, intent: Intent) -> Iterator[Finding]:
    """Variables that the release needs besides the switch."""
    assert context.entry_points is not None
    events = [s for s in intent.events if _is_switch(s)]
    if not events or "torch" not in intent.switches:
        return
    place = events[0].call.place
    for data in _parameters(rule)["variable"]:
        if not fits_target(data["platform"], data["versions"], context.target, False):
            continue
        if data.get("given_by_workspace") and intent.workspace:
            continue
        if data.get("strict") and any(a.keyword == "warn_only" for a in events[0].call.arguments):
            continue
        if data.get("convolutions") and not _convolves(timeline):
            continue
        if not context.entry_points.mentions(data["name"]):
            yield finding(rule, place, data["says"], help=data["help"], evidence=tuple(data["evidence"]))


def _convolves(timeline: Timeline) -> bool:
    return any_named(timeline.by_name, load_apis()["convolutions"])


def _launched(rule: Rule, context: FileContext) -> Iterator[Finding]:
    """A launch asks for determinism by a variable, and the program never tells torch."""
    assert context.entry_points is not None
    asked = list(asking(context.facts.settings))
    if not asked:
        return
    intents = context.shared.intents
    for launch in context.facts.launches:
        for timeline in context.entry_points.launched(launch.inner or launch.words, context.facts.path):
            intent = intents.of(timeline)
            if (
                intents.trains(timeline)
                and not intent.full
                and lacks_switch(rule, context.entry_points, timeline, intent)
            ):
                message = f"{asked[0].name} asks for repeatable runs; {timeline.path} never tells torch"
                related = (Related(Place(timeline.path, 1, 1, 1, 1), "the program that is launched"),)
                yield finding(rule, asked[0].place, message, related=related, confidence="medium")
                return
