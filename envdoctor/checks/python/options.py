"""Options that cost reproducibility (ED502), where a program asks for it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, cast

from envdoctor.analysis.python.timeline import Event, Process, Timeline
from envdoctor.checks import context as checks
from envdoctor.checks.context import FileContext
from envdoctor.checks.findings import finding, place_of
from envdoctor.checks.python.common import entry_related, short
from envdoctor.checks.python.intent import LEVELS, Intent, call_intent, timeline_intent
from envdoctor.checks.python.patterns import fits_target, named
from envdoctor.core.facts import Branch, Call, FileFacts, Setting, exclusive
from envdoctor.core.findings import Finding, Related
from envdoctor.core.regexes import regex
from envdoctor.knowledge.intent import asking, command_asks
from envdoctor.knowledge.rulebook import Rule
from envdoctor.readers.kinds import PYTHON

if TYPE_CHECKING:
    from envdoctor.knowledge.parameters.calls import CallOption, EnvironmentOption, OptionParameters

HARMLESS = regex(r"(?i)cuda|is_available|__main__|rank|device|gpu|version|hasattr")
"""Conditions that do not choose between a repeatable and a fast run."""


def check(rule: Rule, context: FileContext) -> Iterator[Finding]:
    """Options that are on in a program, in a function that asks for determinism, or by a variable."""
    assert context.entry_points is not None
    facts = context.facts
    yield from _settings(rule, context)
    if facts.kind not in PYTHON:
        return
    timeline = context.entry_points.timeline(facts)
    if timeline is not None:
        yield from _program(rule, context, timeline)
    yield from _functions(rule, context, facts)


def _parameters(rule: Rule) -> OptionParameters:
    return cast("OptionParameters", rule.parameters)


def _program(rule: Rule, context: FileContext, timeline: Timeline) -> Iterator[Finding]:
    asked = context.shared.intents.asked_for(timeline, context.level)
    intent = context.shared.intents.of(timeline)
    options = context.shared.options(rule)
    for event in timeline.chosen(options.knows):
        for shape, data in options.of(event.call):
            if not shape.holds(context.target) or _covered(data, intent, context):
                continue
            if _chosen(event, data):
                continue
            if _speaks(data["needs"], asked) and not _other_branch(event, intent) and not _taken_back(event, timeline):
                yield _option(rule, context, event.call, data, intent, asked)
    parameters = _parameters(rule)
    precise = (*parameters.get("precision_old", ()), *parameters.get("precision_new", ()))
    yield from _mixed(rule, context, [s.call for s in timeline.chosen(precise.__contains__)])


def _covered(data: CallOption, intent: Intent, context: FileContext) -> bool:
    """The release ties the option to the switch, and the switch is on."""
    bounds = data.get("covered_by_switch")
    return bounds is not None and "torch" in intent.switches and fits_target("", bounds, context.target, False)


def _speaks(needs: str, asked: str) -> bool:
    return needs == "nothing" or asked == "determinism" or (needs == "seeds" and asked == "seeds")


def _option(rule: Rule, context: FileContext, call: Call, data: CallOption, intent: Intent, asked: str) -> Finding:
    related = entry_related(context, call.place)
    place = intent.place
    if place is not None and place.line != call.place.line:
        related += (Related(place, "determinism is asked for here"),)
    confidence = rule.confidence if asked == "determinism" or data["needs"] == "nothing" else "medium"
    return said(rule, context, call, data, related, confidence)


def said(
    rule: Rule, context: FileContext, call: Call, data: CallOption, related: tuple[Related, ...], confidence: str
) -> Finding:
    """The finding that an option is on, as its entry in the rule says it."""
    platform = context.target.platform
    says = data.get("platform_says", {}).get(platform, data["says"]) if platform else data["says"]
    evidence = tuple(data.get("evidence", rule.evidence))
    return finding(
        rule, call.place, f"{_shown(call)} {says}", severity=data.get("severity", rule.severity), help=data["help"],
        related=related, confidence=confidence, evidence=evidence,
    )  # fmt: skip


def _shown(call: Call) -> str:
    """A call or assignment as people write it, cut short."""
    if call.name[0] == ":":
        return f"{call.name.partition('.')[2]}: {call.arguments[0].text}"
    if call.kind == "assign":
        return f"{'.'.join(call.name.split('.')[-2:])} = {call.arguments[0].text}"
    told = next(
        (f"{a.keyword}={a.text}" for a in call.arguments if a.keyword and len(a.text) < 40 and a.is_literal), ""
    )
    return f"{short(call)}({told})"


def choices(conditions: Iterable[Branch]) -> list[Branch]:
    """The conditions that may choose between a repeatable and a fast run."""
    return [
        b for b in conditions if b.arm.startswith(("if", "elif", "else", "case")) and not HARMLESS.search(b.condition)
    ]


def _chosen(event: Event, data: CallOption) -> bool:
    """The option is on where a setting of the program's own asks for just that: `if mode == "warn"`."""
    word = data.get("asked_for_by", "")
    return bool(word) and any(
        word in b.condition and b.arm.startswith(("if", "elif")) for b in choices(event.conditions)
    )


def _other_branch(event: Event, intent: Intent) -> bool:
    """The option is on only under a condition that the intent does not share."""
    mine = {(b.id, b.arm) for b in choices(event.conditions)}
    if not mine:
        return any(exclusive(event.conditions, w.conditions) for w in intent.events)
    if intent.settings and not intent.events:
        return True
    return not any(mine <= {(b.id, b.arm) for b in w.conditions} for w in intent.events)


def _taken_back(event: Event, timeline: Timeline) -> bool:
    """A later assignment gives the attribute another value."""
    if event.call.kind != "assign":
        return False
    return any(
        other.index > event.index
        and other.call.kind == "assign"
        and other.call.name == event.call.name
        and other.call.arguments[0].text != event.call.arguments[0].text
        and not exclusive(other.conditions, event.conditions)
        for other in timeline.events
    )


def _mixed(rule: Rule, context: FileContext, calls: Sequence[Call]) -> Iterator[Finding]:
    """Precision set by the old attributes and by the new ones."""
    parameters = _parameters(rule)
    if not fits_target("", parameters.get("precision_versions"), context.target, True):
        return
    new = [c for c in calls if c.kind == "assign" and named(c.name, parameters.get("precision_new", ()))]
    old = [c for c in calls if named(c.name, parameters.get("precision_old", ())) and not _guarded(c)]
    if not new or not old:
        return
    if not any(not exclusive(o.branch, n.branch) and not _guarded(n) for o in old for n in new):
        return
    message = f"{short(old[0])} is the old way to set what {short(new[0])} sets the new way: the old getter then raises"
    related = (Related(new[0].place, "set the new way"),)
    yield finding(rule, old[0].place, message, help="one way only", related=related, severity="error")


def _guarded(call: Call) -> bool:
    return any(re.search(r"hasattr|version|getattr|try", f"{b.arm} {b.condition}") for b in call.branch)


def _functions(rule: Rule, context: FileContext, facts: FileFacts) -> Iterator[Finding]:
    """A function that asks for determinism and switches an option on, whoever calls it."""
    if context.level == "hygiene":
        return
    options = context.shared.options(rule)
    scopes: dict[str, list[Call]] = {}
    for call in facts.calls:
        scopes.setdefault(call.scope.name, []).append(call)
    for calls in scopes.values():
        asks = [c for c in calls if call_intent(c) is not None]
        if not asks:
            continue
        events = [Event(c, i, Process(), c.branch) for i, c in enumerate(calls)]
        small = Timeline(facts, events)
        intent = timeline_intent(small)
        for event in events:
            for shape, data in options.of(event.call):
                if _covered(data, intent, context) or not shape.holds(context.target):
                    continue
                if _in_earnest(event, small, intent):
                    yield _option(rule, context, event.call, data, intent, "determinism")


def _in_earnest(event: Event, timeline: Timeline, intent: Intent) -> bool:
    return (
        not _other_branch(event, intent)
        and not _taken_back(event, timeline)
        and not _only_event(event, intent, timeline)
    )


def _only_event(event: Event, intent: Intent, timeline: Timeline) -> bool:
    """The intent itself is taken back in the same function: a helper that sets and resets."""
    return all(
        any(o.call.name == w.call.name and o is not w and o.call.arguments != w.call.arguments for o in timeline.events)
        for w in intent.events
    )


def _settings(rule: Rule, context: FileContext) -> Iterator[Finding]:
    """Variables that switch such an option on, where this file or what it launches asks for determinism."""
    settings = [s for s in checks.judged(context.facts.settings) if s.op in ("set", "default")]
    for data in _parameters(rule).get("environment", ()):
        for setting in settings:
            if setting.name != data["name"] or not _has_value(setting.value.known, data):
                continue
            if any(s.name in data.get("unless", {}) and s.value.known == data["unless"][s.name] for s in settings):
                continue
            if _speaks(data["needs"], _asked_around(context, setting)):
                shown = data.get("contains", setting.value.known)
                message = f"{setting.name}={shown} {data['says']}"
                yield finding(rule, place_of(setting), message, setting.name, help=data["help"], evidence=rule.evidence)


def _has_value(value: str | None, data: EnvironmentOption) -> bool:
    """Whether a value is one of those that an entry of the rule is about."""
    if "values" in data:
        return value in data["values"]
    return value is not None and data.get("contains", "") in value and not ("lacks" in data and data["lacks"] in value)


def _asked_around(context: FileContext, setting: Setting) -> str:
    """What the file of a setting, or a program that it launches, asks for."""
    if context.level in LEVELS:
        return "determinism"
    if context.level == "hygiene":
        return ""
    if any(s.name != setting.name for s in asking(context.facts.settings)):
        return "determinism"
    if any(command_asks(launch.words) for launch in context.facts.launches):
        return "determinism"
    answers = [context.shared.intents.asked_for(timeline, context.level) for timeline in _launched(context)]
    return "determinism" if "determinism" in answers else next((a for a in answers if a), "")


def _launched(context: FileContext) -> Iterator[Timeline]:
    assert context.entry_points is not None
    own = context.entry_points.timeline(context.facts)
    if own is not None:
        yield own
    for launch in context.facts.launches:
        yield from context.entry_points.launched(launch.inner or launch.words, context.facts.path)
