"""Options that cost reproducibility (ED502), where a program asks for it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, cast

from envdoctor.analysis.python.entries import Process, Program, Step, exclusive
from envdoctor.checks import context as checks
from envdoctor.checks.context import Context
from envdoctor.checks.python.common import entry_related, finding, short
from envdoctor.checks.python.intent import LEVELS, Wishes, asked_for, launch_settings, wish_of, wishes
from envdoctor.checks.python.patterns import Table, fits_target, named
from envdoctor.core.facts import Branch, Call, FileFacts, Setting
from envdoctor.core.findings import Finding, Related
from envdoctor.core.regexes import regex
from envdoctor.knowledge.apis import load_apis
from envdoctor.knowledge.rulebook import Rule
from envdoctor.readers.kinds import PYTHON

if TYPE_CHECKING:
    from envdoctor.knowledge.parameters.calls import EnvironmentOption, Option, Options

HARMLESS = regex(r"(?i)cuda|is_available|__main__|rank|device|gpu|version|hasattr")
"""Conditions that do not choose between a repeatable and a fast run."""


def check(rule: Rule, context: Context) -> Iterator[Finding]:
    """Options that are on in a program, in a function that asks for determinism, or by a variable."""
    assert context.programs is not None
    facts = context.facts
    yield from _settings(rule, context)
    if facts.kind not in PYTHON:
        return
    program = context.programs.of(facts)
    if program is not None:
        yield from _program(rule, context, program)
    yield from _functions(rule, context, facts)


def options_of(rule: Rule) -> Table[Option]:
    """The options of a rule, made once."""
    known = _KEPT.get(rule.id)
    if known is None or known[0] is not rule.parameters:
        known = _KEPT[rule.id] = (rule.parameters, Table(_parameters(rule).get("option", ())))
    return known[1]


_KEPT: dict[str, tuple[Mapping[str, object], Table[Option]]] = {}


def _parameters(rule: Rule) -> Options:
    return cast("Options", rule.parameters)


def _program(rule: Rule, context: Context, program: Program) -> Iterator[Finding]:
    asked = asked_for(program, context.level)
    wish = wishes(program)
    options = options_of(rule)
    for step in program.chosen(options.knows):
        for shape, data in options.of(step.call):
            if not shape.holds(context.target) or _covered(data, wish, context):
                continue
            if _chosen(step, data):
                continue
            if _speaks(data["needs"], asked) and not _other_branch(step, wish) and not _taken_back(step, program):
                yield _option(rule, context, step.call, data, wish, asked)
    parameters = _parameters(rule)
    precise = (*parameters.get("precision_old", ()), *parameters.get("precision_new", ()))
    yield from _mixed(rule, context, [s.call for s in program.chosen(precise.__contains__)])


def _covered(data: Option, wish: Wishes, context: Context) -> bool:
    """The release ties the option to the switch, and the switch is on."""
    bounds = data.get("covered_by_switch")
    return bounds is not None and "torch" in wish.switches and fits_target("", bounds, context.target, False)


def _speaks(needs: str, asked: str) -> bool:
    return needs == "nothing" or asked == "determinism" or (needs == "seeds" and asked == "seeds")


def _option(rule: Rule, context: Context, call: Call, data: Option, wish: Wishes, asked: str) -> Finding:
    related = entry_related(context, call.place)
    place = wish.place
    if place is not None and place.line != call.place.line:
        related += (Related(place, "determinism is asked for here"),)
    confidence = rule.confidence if asked == "determinism" or data["needs"] == "nothing" else "medium"
    return said(rule, context, call, data, related, confidence)


def said(
    rule: Rule, context: Context, call: Call, data: Option, related: tuple[Related, ...], confidence: str
) -> Finding:
    """The finding that an option is on, as its entry in the rule says it."""
    platform = context.target.platform
    says = data.get("platform_says", {}).get(platform, data["says"]) if platform else data["says"]
    evidence = tuple(data.get("evidence", rule.evidence))
    more = {"help": data["help"], "related": related, "confidence": confidence, "evidence": evidence}
    severity = data.get("severity", rule.severity)
    return finding(rule, call.place, f"{_shown(call)} {says}", severity=severity, **more)


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


def _chosen(step: Step, data: Option) -> bool:
    """The option is on where a setting of the program's own asks for just that: `if mode == "warn"`."""
    word = data.get("asked_for_by", "")
    return bool(word) and any(word in b.condition for b in choices(step.conditions) if b.arm.startswith(("if", "elif")))


def _other_branch(step: Step, wish: Wishes) -> bool:
    """The option is on only under a condition that the wish does not share."""
    mine = {(b.id, b.arm) for b in choices(step.conditions)}
    if not mine:
        return any(exclusive(step.conditions, w.conditions) for w in wish.steps)
    if wish.settings and not wish.steps:
        return True
    return not any(mine <= {(b.id, b.arm) for b in w.conditions} for w in wish.steps)


def _taken_back(step: Step, program: Program) -> bool:
    """A later assignment gives the attribute another value."""
    if step.call.kind != "assign":
        return False
    return any(
        other.index > step.index
        and other.call.kind == "assign"
        and other.call.name == step.call.name
        and other.call.arguments[0].text != step.call.arguments[0].text
        and not exclusive(other.conditions, step.conditions)
        for other in program.steps
    )


def _mixed(rule: Rule, context: Context, calls: Sequence[Call]) -> Iterator[Finding]:
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


def _functions(rule: Rule, context: Context, facts: FileFacts) -> Iterator[Finding]:
    """A function that asks for determinism and switches an option on, whoever calls it."""
    if context.level == "hygiene":
        return
    scopes: dict[str, list[Call]] = {}
    for call in facts.calls:
        scopes.setdefault(call.scope.name, []).append(call)
    for calls in scopes.values():
        asks = [c for c in calls if wish_of(c) is not None]
        if not asks:
            continue
        steps = [Step(c, i, Process(), c.branch) for i, c in enumerate(calls)]
        small = Program(facts.path, facts, steps, {})
        wish = wishes(small)
        for step in steps:
            for shape, data in options_of(rule).of(step.call):
                if _covered(data, wish, context) or not shape.holds(context.target):
                    continue
                if _in_earnest(step, small, wish):
                    yield _option(rule, context, step.call, data, wish, "determinism")


def _in_earnest(step: Step, program: Program, wish: Wishes) -> bool:
    return not _other_branch(step, wish) and not _taken_back(step, program) and not _only_step(step, wish, program)


def _only_step(step: Step, wish: Wishes, program: Program) -> bool:
    """The wish itself is taken back in the same function: a helper that sets and resets."""
    return all(
        any(o.call.name == w.call.name and o is not w and o.call.arguments != w.call.arguments for o in program.steps)
        for w in wish.steps
    )


def _settings(rule: Rule, context: Context) -> Iterator[Finding]:
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
                yield checks.finding(rule, setting, message, help=data["help"], evidence=rule.evidence)


def _has_value(value: str | None, data: EnvironmentOption) -> bool:
    """Whether a value is one of those that an entry of the rule is about."""
    if "values" in data:
        return value in data["values"]
    return value is not None and data.get("contains", "") in value and not ("lacks" in data and data["lacks"] in value)


def _asked_around(context: Context, setting: Setting) -> str:
    """What the file of a setting, or a program that it launches, asks for."""
    if context.level in LEVELS:
        return "determinism"
    if context.level == "hygiene":
        return ""
    if any(s.name != setting.name for s in launch_settings(context.facts.settings)):
        return "determinism"
    if any(word in launch.words for launch in context.facts.launches for word in load_apis()["wish_words"]):
        return "determinism"
    answers = [asked_for(program, context.level) for program in _launched(context)]
    return "determinism" if "determinism" in answers else next((a for a in answers if a), "")


def _launched(context: Context) -> Iterator[Program]:
    assert context.programs is not None
    own = context.programs.of(context.facts)
    if own is not None:
        yield own
    for launch in context.facts.launches:
        yield from context.programs.launched(launch.inner or launch.words, context.facts.path)
