"""Options that cost reproducibility (ED502), where a program asks for it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

from envdoctor import checks
from envdoctor.apis import load_apis
from envdoctor.checks import Context
from envdoctor.checks.call_patterns import Table, fits_target, named, steps_named, within
from envdoctor.checks.call_wishes import Wishes, launch_settings, trains, wish_of, wishes
from envdoctor.checks.calls import entry_related, finding, short
from envdoctor.entries import Process, Program, Step, exclusive
from envdoctor.facts import Branch, Call, FileFacts, Launch, Place, Setting
from envdoctor.findings import Finding, Related
from envdoctor.regexes import regex
from envdoctor.rulebook import Rule

HARMLESS = regex(r"(?i)cuda|is_available|__main__|rank|device|gpu|version|hasattr")
"""Conditions that do not choose between a repeatable and a fast run."""
RELEASE = regex(r"core_(?:v|r)(\d+\.\d+(?:\.\d+)?)")
LEVELS = ("run-to-run", "placement", "topology")


def check(rule: Rule, context: Context) -> Iterator[Finding]:
    """Options that are on in a program, in a function that asks for determinism, in a launch, or in a build."""
    assert context.programs is not None
    facts = context.facts
    yield from _arguments(rule, facts.launches)
    yield from _settings(rule, context)
    if facts.kind not in ("python", "notebook"):
        return
    program = context.programs.of(facts)
    if program is not None:
        yield from _program(rule, context, program)
    yield from _functions(rule, context, facts)
    yield from _builds(rule, context, facts)


def _options(rule: Rule) -> Table:
    """The options of a rule, made once."""
    known = _KEPT.get(rule.id)
    if known is None or known[0] is not rule.parameters:
        known = _KEPT[rule.id] = (rule.parameters, Table(rule.parameters["option"]))
    return known[1]


_KEPT: dict[str, tuple[Mapping[str, Any], Table]] = {}


def _asked(program: Program, level: str) -> str:
    """What a program asks for: `determinism`, `seeds`, or nothing."""
    if level in LEVELS:
        return "determinism" if trains(program) else ""
    if level == "hygiene":
        return ""
    found = wishes(program)
    if found.full:
        return "determinism"
    return "seeds" if trains(program) and seeded(program) else ""


def seeded(program: Program) -> bool:
    """Whether a program seeds torch whatever its arguments are."""
    names = load_apis()["seeding"]
    return any(
        not any(b.arm.startswith(("if", "elif", "else")) for b in s.conditions) for s in steps_named(program, names)
    )


def _program(rule: Rule, context: Context, program: Program) -> Iterator[Finding]:
    asked = _asked(program, context.level)
    wish = wishes(program)
    options = _options(rule)
    for step in program.chosen(options.knows):
        for shape, data in options.of(step.call):
            if not shape.holds(context.target) or _covered(data, wish, context):
                continue
            if _speaks(data["needs"], asked) and not _other_branch(step, wish) and not _taken_back(step, program):
                yield _option(rule, context, step.call, data, wish, asked)
    precise = (*rule.parameters["precision_old"], *rule.parameters["precision_new"])
    yield from _mixed(rule, context, [s.call for s in program.chosen(precise.__contains__)])


def _covered(data: Mapping[str, Any], wish: Wishes, context: Context) -> bool:
    """The release ties the option to the switch, and the switch is on."""
    bounds = data.get("covered_by_switch")
    return bounds is not None and "torch" in wish.switches and fits_target("", bounds, context.target, False)


def _speaks(needs: str, asked: str) -> bool:
    return needs == "nothing" or asked == "determinism" or (needs == "seeds" and asked == "seeds")


def _option(rule: Rule, context: Context, call: Call, data: Mapping[str, Any], wish: Wishes, asked: str) -> Finding:
    says = data.get("platform_says", {}).get(context.target.platform, data["says"])
    related = entry_related(context, call.place)
    place = wish.place
    if place is not None and place.line != call.place.line:
        related += (Related(place, "determinism is asked for here"),)
    confidence = rule.confidence if asked == "determinism" or data["needs"] == "nothing" else "medium"
    more = {"help": data["help"], "related": related, "confidence": confidence}
    return finding(rule, call.place, f"{_shown(call)} {says}", **more)


def _shown(call: Call) -> str:
    """A call or assignment as people write it, cut short."""
    if call.kind == "assign":
        return f"{'.'.join(call.name.split('.')[-2:])} = {call.arguments[0].text}"
    told = next(
        (f"{a.keyword}={a.text}" for a in call.arguments if a.keyword and len(a.text) < 40 and a.is_literal), ""
    )
    return f"{short(call)}({told})"


def _choices(conditions: Iterable[Branch]) -> list[Branch]:
    """The conditions that may choose between a repeatable and a fast run."""
    return [
        b for b in conditions if b.arm.startswith(("if", "elif", "else", "case")) and not HARMLESS.search(b.condition)
    ]


def _other_branch(step: Step, wish: Wishes) -> bool:
    """The option is on only under a condition that the wish does not share."""
    mine = {(b.id, b.arm) for b in _choices(step.conditions)}
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
    parameters = rule.parameters
    if not fits_target("", parameters["precision_versions"], context.target, True):
        return
    new = [c for c in calls if c.kind == "assign" and named(c.name, parameters["precision_new"])]
    old = [c for c in calls if named(c.name, parameters["precision_old"]) and not _guarded(c)]
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
            for shape, data in _options(rule).of(step.call):
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
    for data in rule.parameters["environment"]:
        for setting in settings:
            if setting.name != data["name"] or not _has_value(setting.value.known, data):
                continue
            if any(s.name in data.get("unless", {}) and s.value.known == data["unless"][s.name] for s in settings):
                continue
            if _speaks(data["needs"], _asked_around(context, setting)):
                shown = setting.value.known if "values" in data else data["contains"]
                message = f"{setting.name}={shown} {data['says']}"
                yield checks.finding(rule, setting, message, help=data["help"], evidence=rule.evidence)


def _has_value(value: str | None, data: Mapping[str, Any]) -> bool:
    """Whether a value is one of those that an entry of the rule is about."""
    if "values" in data:
        return value in data["values"]
    return value is not None and data["contains"] in value and data["lacks"] not in value


def _asked_around(context: Context, setting: Setting) -> str:
    """What the file of a setting, or a program that it launches, asks for."""
    if context.level in LEVELS:
        return "determinism"
    if context.level == "hygiene":
        return ""
    if any(s.name != setting.name for s in launch_settings(context.facts.settings)):
        return "determinism"
    answers = [_asked(program, context.level) for program in _launched(context)]
    return "determinism" if "determinism" in answers else next((a for a in answers if a), "")


def _launched(context: Context) -> Iterator[Program]:
    assert context.programs is not None
    own = context.programs.of(context.facts)
    if own is not None:
        yield own
    for launch in context.facts.launches:
        yield from context.programs.launched(launch.inner or launch.words, context.facts.path)


def _arguments(rule: Rule, launches: Sequence[Launch]) -> Iterator[Finding]:
    """Arguments on a command line that the mode asked for beside them does not allow."""
    for launch in launches:
        words = launch.words
        for data in rule.parameters["arguments"]:
            if data["asks"] not in words or not any(
                fnmatchcase(w.rpartition("/")[2], p) for w in words for p in data["programs"]
            ):
                continue
            release = _release(launches)
            for refused in data["refused"]:
                bounds = refused.get("release")
                if refused["word"] in words and (bounds is None or (release and within(release, bounds))):
                    message = f"{refused['word']} beside {data['asks']}: {refused['says']}"
                    yield finding(rule, launch.place, message, help=f"without {refused['word']}")
                    break


def _release(launches: Sequence[Launch]) -> str:
    """The release of Megatron-LM that a script fetches."""
    found = (RELEASE.search(word) for launch in launches for word in launch.words)
    return next((m[1] for m in found if m), "")


def _builds(rule: Rule, context: Context, facts: FileFacts) -> Iterator[Finding]:
    """Extensions built with fast math, where a program that asks for determinism imports them."""
    for call in facts.calls:
        if not named(call.name, rule.parameters["builders"]):
            continue
        for given in call.arguments:
            flag = next((f for f in rule.parameters["fast_math"] if f in given.text), None)
            if flag is None or given.place is None or not _wanted_by_importer(context, facts, call):
                continue
            line = given.place.line + given.text[: given.text.index(flag)].count("\n")
            place = Place(given.place.path, line, 1, line, 1) if line != given.place.line else given.place
            message = f"{flag} trades exactness for speed: results change with compiler and device"
            yield finding(rule, place, message, help=f"build without {flag}")


def _wanted_by_importer(context: Context, facts: FileFacts, call: Call) -> bool:
    """Whether the module that is built is used by a program that asks for determinism."""
    assert context.programs is not None
    own = context.programs.of(facts)
    if own is not None and trains(own) and _asked(own, context.level) == "determinism":
        return True
    name = next((a.literal for a in call.arguments if a.keyword in (None, "name") and isinstance(a.literal, str)), None)
    if not name:
        return False
    imports = re.compile(rf"^\s*(?:import|from)\s+{re.escape(name.split('.')[0])}\b", re.MULTILINE)
    for path in sorted(context.programs.modules.paths):
        if imports.search(context.programs.text(path)):
            other = context.programs.modules.read(path)
            program = context.programs.of(other) if other is not None else None
            if program is not None and _asked(program, context.level) == "determinism":
                return True
    return False
