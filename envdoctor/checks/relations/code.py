"""ED202: the script says one thing, and the program that it starts, or the image that it runs in, another."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, cast

from envdoctor.analysis.process.interpreter.slots import ValueOrigin
from envdoctor.analysis.process.results import RankStart
from envdoctor.analysis.python.programs import holds
from envdoctor.analysis.references.paths import folder
from envdoctor.checks.context import LaunchContext
from envdoctor.checks.delivery.common import judged
from envdoctor.checks.findings import finding, place_of
from envdoctor.core.facts import Call, FileFacts, Place, Setting
from envdoctor.core.findings import Finding, Related
from envdoctor.core.versions import at_least
from envdoctor.knowledge.launch.edges import LaunchEdge
from envdoctor.knowledge.rulebook import Rule
from envdoctor.readers.kinds import PYTHON

if TYPE_CHECKING:
    from envdoctor.knowledge.parameters.relations import CodeMeeting, Meeting

Given = dict[str, tuple[str, Place]]
"""Name -> the value that a launch plainly gives, and where that was written."""


def check(rule: Rule, context: LaunchContext) -> Iterator[Finding]:
    """Variables that a program overwrites or overrides although the launch has given them a value."""
    said: set[tuple[object, ...]] = set()
    for start in context.starts:
        for found in (*_overwritten(rule, start, context), *_image(rule, start, context)):
            key = (found.place.path, found.place.line, found.variable)
            if key not in said:
                said.add(key)
                yield found
    yield from met_in_code(rule, context)


def _image(rule: Rule, start: RankStart, context: LaunchContext) -> Iterator[Finding]:
    """A launcher whose image wins over the job: what both set is what the image says, unless it is named."""
    for starter in start.chain:
        edge = next((e for e in context.launchers.edges_of(starter.name) if _image_wins(e, starter.words)), None)
        if edge is None:
            continue
        named = _named(edge, starter.words)
        for name, (value, place) in start.given().items():
            origin = _origin(start, name)
            if (
                origin is None
                or origin.operation == "flag"
                or name in named
                or judged(name, context, place.path) is None
            ):
                continue
            image = _in_image(name, start.place.path, context)
            if image is not None and image.value.text != value:
                message = f"{name}={value} loses to {image.value.text}, which the image sets: there the image wins"
                related = (Related(place_of(image), "set in the image", name),)
                flag = next(iter(sorted(edge.names_only)), "")
                yield finding(rule, place, message, name, related=related, confidence="medium",
                              help=f"{starter.name} {flag}={name}", evidence=edge.evidence[-1:])  # fmt: skip


def _origin(start: RankStart, name: str) -> ValueOrigin | None:
    alternative = start.alternative(name)
    return alternative.origins[0] if alternative is not None and alternative.origins else None


def _in_image(name: str, path: str, context: LaunchContext) -> Setting | None:
    """What the one Dockerfile around a script that sets a variable gives it; others build other images."""
    found = [
        s for facts in context.files.values() if facts.kind == "dockerfile" and _around(facts.path, path)
        for s in facts.settings
        if s.name == name and s.channel == "image" and s.op == "set" and s.value.kind == "literal"
    ]  # fmt: skip
    return found[0] if len(found) == 1 else None


def _around(image: str, script: str) -> bool:
    """Whether an image is built in the folder of a script, in one above it or in one below."""
    mine, other = folder(script) + "/", folder(image) + "/"
    return mine.startswith(other.lstrip("/")) or other.startswith(mine.lstrip("/"))


def _overwritten(rule: Rule, start: RankStart, context: LaunchContext) -> Iterator[Finding]:
    facts = context.files.get(start.path)
    if facts is None or facts.kind != "python":
        return
    given = start.given()
    for setting in _written(facts, context):
        value, place = given.get(setting.name, (None, None))
        if value is None or place is None or judged(setting.name, context, facts.path) is None:
            continue
        if value.strip() != setting.value.text.strip():
            message = f"{setting.name}={setting.value.text} takes the place of {value}, which the launch gives"
            related = (Related(place, "given here, and overwritten", setting.name),)
            yield finding(rule, place_of(setting), message, setting.name, related=related,
                          help=f"os.environ.setdefault({setting.name!r}, ...), or set it in one place")  # fmt: skip


def met_in_code(rule: Rule, context: LaunchContext) -> Iterator[Finding]:
    """Variables that a call or switch of the program meets: which of the two holds is known."""
    said: set[tuple[object, ...]] = set()
    for entry, held in _programs(context):
        for meeting in cast("CodeMeeting", rule.parameters)["code"]:
            name = meeting["variable"]
            if name not in held or judged(name, context, entry.path) is None or not _release(meeting, entry, context):
                continue
            value, place = held[name]
            call = next((c for c in entry.calls if c.name == meeting["call"] and _gives(c, meeting["given"])), None)
            if re.fullmatch(meeting["value"], value) is None or call is None or (place, name) in said:
                continue
            said.add((place, name))
            message = f"{name}={value} meets {call.name}: {meeting['says']}"
            related = (Related(call.place, "the other side", None),)
            variable = context.catalog.variable(name)
            yield finding(rule, place, message, name, related=related,
                          evidence=variable.evidence if variable else ())  # fmt: skip


def _programs(context: LaunchContext) -> Iterator[tuple[FileFacts, Given]]:
    """The programs that are started, with what they are given, and each program with what it writes itself."""
    for start in context.starts:
        entry = context.files.get(start.path) if start.path else None
        if entry is not None and entry.kind in PYTHON:
            yield entry, start.given()
    for facts in context.facts:
        if facts.kind in PYTHON:
            own = [s for s in facts.settings if s.channel == "python-environ" and s.op == "set" and not s.branch]
            yield (
                facts,
                {s.name: (s.value.text, place_of(s)) for s in own if s.value.kind == "literal" and not s.guarded},
            )


def _gives(call: Call, given: object) -> bool:
    return bool(call.arguments) and call.arguments[0].literal is given


def _release(meeting: Meeting, entry: FileFacts, context: LaunchContext) -> bool:
    """Whether the target has the platform and the release of torch that the meeting needs."""
    target = context.target_of(entry.path)
    if meeting.get("platform") not in (None, target.platform):
        return False
    least = meeting.get("torch")
    return least is None or at_least(target.versions.get("torch", ""), least) is True


def _written(facts: FileFacts, context: LaunchContext) -> Iterator[Setting]:
    """What a program writes into its environment whatever happens, with a value that can be told."""
    steps = context.steps_of(facts)
    for step in steps[0] if steps else ():
        fact = step.fact
        if not isinstance(fact, Setting) or fact.channel != "python-environ" or fact.op != "set" or fact.guarded:
            continue
        if fact.value.kind == "literal" and holds(step.branch, ()):
            yield fact


def _image_wins(edge: LaunchEdge, words: Sequence[str]) -> bool:
    """Whether the variables of the image replace what the caller has, with these flags."""
    flags = {word.partition("=")[0] for word in words}
    return any(step.image == "over" and flags.intersection(step.if_flags or flags) for step in edge.steps)


def _named(edge: LaunchEdge, words: Sequence[str]) -> set[str]:
    """The names for which the caller's value counts although the image has one."""
    found: set[str] = set()
    for at, word in enumerate(words):
        flag, equals, value = word.partition("=")
        if flag in edge.names_only:
            text = value if equals else "".join(words[at + 1 : at + 2])
            found.update(part.split("=", 1)[0].strip() for part in text.split(","))
    return found
