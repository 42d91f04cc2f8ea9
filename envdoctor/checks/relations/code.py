"""ED202: the script says one thing and the program that it starts another."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, cast

from envdoctor.analysis.process import environment
from envdoctor.analysis.process.model import Unit
from envdoctor.analysis.process.starts import Start, starts
from envdoctor.analysis.references.paths import folder
from envdoctor.checks.context import UnitContext
from envdoctor.checks.delivery.common import judged
from envdoctor.checks.findings import finding, place_of
from envdoctor.checks.relations.points import value_of
from envdoctor.core.facts import Call, FileFacts, Setting
from envdoctor.core.findings import Finding, Related
from envdoctor.core.versions import at_least
from envdoctor.knowledge.rulebook import Rule
from envdoctor.readers.kinds import PYTHON

if TYPE_CHECKING:
    from envdoctor.knowledge.parameters.relations import CodeMeeting, Meeting

MOST_COMMANDS = 40
PYXIS = ("NVIDIA/pyxis@1075199:README.md",)


def check(rule: Rule, context: UnitContext) -> Iterator[Finding]:
    """Variables that a program overwrites or overrides although the launch has given them a value."""
    yield from _overwritten(rule, context)
    yield from _image(rule, context)
    yield from met_in_code(rule, context)


def _image(rule: Rule, context: UnitContext) -> Iterator[Finding]:
    """A job under pyxis exports what its image sets too: there the image wins, unless --container-env names it."""
    unit = context.unit
    said: set[str] = set()
    for command in unit.commands[:MOST_COMMANDS]:
        words = command.launch.words
        if command.launch.launcher != "srun" or not any(w.startswith("--container-image") for w in words):
            continue
        there = unit.steps[command.at]
        held = environment.at(unit.steps, command.at, there.scope, there.branch)
        named = {s.name for s in command.given}
        for name, known in held.items():
            value = value_of(known)
            image = _in_image(name, context) if value is not None and known.exported == "yes" else None
            if image is None or image.value.text == value or name in named | said or judged(name, context) is None:
                continue
            said.add(name)
            message = f"{name}={value} loses to {image.value.text}, which the image sets: pyxis lets the image win"
            related = (Related(place_of(image), "set in the image", name),)
            yield finding(rule, place_of(known.last), message, name, related=related, confidence="medium",
                          help=f"srun --container-env={name}", evidence=PYXIS)  # fmt: skip


def _in_image(name: str, context: UnitContext) -> Setting | None:
    """What the one Dockerfile around the script that sets a variable gives it; others build other images."""
    found = [
        s for u in context.units if u.facts.kind == "dockerfile" and _around(u.path, context.unit.path)
        for s in u.facts.settings
        if s.name == name and s.channel == "image" and s.op == "set" and s.value.kind == "literal"
    ]  # fmt: skip
    return found[0] if len(found) == 1 else None


def _around(image: str, script: str) -> bool:
    """Whether an image is built in the folder of a script, in one above it or in one below."""
    mine, other = folder(script) + "/", folder(image) + "/"
    return mine.startswith(other.lstrip("/")) or other.startswith(mine.lstrip("/"))


def _overwritten(rule: Rule, context: UnitContext) -> Iterator[Finding]:
    unit = context.unit
    said: set[str] = set()
    for one in _known(unit):
        if one.facts is None or one.facts.kind != "python":
            continue
        held = one.environment()
        given = {s.name: s for s in one.command.given if s.op == "set" and s.value.kind == "literal"}
        for setting in _written(one.facts.path, context):
            known = given.get(setting.name) or (held[setting.name].last if setting.name in held else None)
            if known is None or setting.name in said or judged(setting.name, context) is None:
                continue
            sure = setting.name in given or (held[setting.name].exported == "yes" and value_of(held[setting.name]))
            if not sure or known.value.kind != "literal" or known.value.text.strip() == setting.value.text.strip():
                continue
            said.add(setting.name)
            yield _finding(rule, setting, known)


def met_in_code(rule: Rule, context: UnitContext) -> Iterator[Finding]:
    """Variables that a call or switch of the program meets: which of the two holds is known."""
    for entry, held in _programs(context):
        for meeting in cast("CodeMeeting", rule.parameters)["code"]:
            name = meeting["variable"]
            if name not in held or judged(name, context) is None or not _release(meeting, context):
                continue
            if re.fullmatch(meeting["value"], held[name].value.known or "") is None:
                continue
            call = next((c for c in entry.calls if c.name == meeting["call"] and _gives(c, meeting["given"])), None)
            if call is not None:
                message = f"{name}={held[name].value.known} meets {call.name}: {meeting['says']}"
                related = (Related(call.place, "the other side", None),)
                variable = context.catalog.variable(name)
                yield finding(rule, place_of(held[name]), message, name, related=related,
                              evidence=variable.evidence if variable else ())  # fmt: skip


def _programs(context: UnitContext) -> Iterator[tuple[FileFacts, dict[str, Setting]]]:
    """The programs that a unit starts, with what they are given, and a program with what it writes itself."""
    unit = context.unit
    for one in _known(unit):
        if one.facts is not None and one.facts.kind in PYTHON:
            held = one.environment()
            given = {name: h.last for name, h in held.items() if h.exported == "yes" and value_of(h) is not None}
            yield one.facts, {**given, **{s.name: s for s in one.command.given if s.op == "set"}}
    if unit.facts.kind in PYTHON:
        own = [s for s in unit.facts.settings if s.channel == "python-environ" and s.op == "set" and not s.branch]
        yield unit.facts, {s.name: s for s in own if s.value.kind == "literal" and not s.guarded}


def _known(unit: Unit) -> Iterator[Start]:
    """What a unit starts, as far as the files are in the tree and hold anything that matters."""
    return islice((one for one in starts(unit) if one.facts is not None), MOST_COMMANDS)


def _gives(call: Call, given: object) -> bool:
    return bool(call.arguments) and call.arguments[0].literal is given


def _release(meeting: Meeting, context: UnitContext) -> bool:
    """Whether the target has the platform and the release of torch that the meeting needs."""
    if meeting.get("platform") not in (None, context.target.platform):
        return False
    least = meeting.get("torch")
    return least is None or at_least(context.target.versions.get("torch", ""), least) is True


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
    return finding(rule, place_of(setting), message, setting.name, related=related,
                   help=f"os.environ.setdefault({setting.name!r}, ...), or set it in one place")  # fmt: skip
