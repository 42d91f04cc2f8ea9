"""ED301: assigned in a shell, and never exported to the launch that follows; or exported in a shell that has ended."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from envdoctor.analysis.process.interpreter.slots import Loss
from envdoctor.analysis.process.journeys import Journey
from envdoctor.analysis.process.results import RankStart
from envdoctor.checks.context import LaunchContext
from envdoctor.checks.delivery.common import is_plain, is_used, judged, setting_of
from envdoctor.checks.findings import finding, place_of
from envdoctor.core.facts import FileFacts, Place, Setting
from envdoctor.core.findings import Edit, Finding, Fix, Related
from envdoctor.knowledge.rulebook import Rule

ENDED = ("subshell", "pipe", "function", "script", "step", "recipe", "cell")
"""Edges at which the shell that had a value came to its end."""


def check(rule: Rule, context: LaunchContext) -> Iterator[Finding]:
    """Values that no launch sees although one follows, and that no launcher is to blame for."""
    for journey in context.journeys:
        if journey.reached or not is_plain(journey, context):
            continue
        lost = [(start, loss) for start, loss in journey.lost if loss.kind in ("not-exported", "unread", *ENDED)]
        if lost and not is_used(journey.name, [start for start, _ in lost], journey.origin, context):
            yield _finding(rule, journey, lost, context)
    yield from _spaced(rule, context)
    yield from _cells(rule, context)


def _finding(rule: Rule, journey: Journey, lost: Sequence[tuple[RankStart, Loss]], context: LaunchContext) -> Finding:
    start, loss = lost[0]
    setting = setting_of(journey.origin, context)
    related = tuple(Related(one.place, "started without it", journey.name) for one, _ in _places(lost))
    message, help_ = _words(journey, start, loss)
    weak = {"severity": "info", "confidence": "low"} if all(one.hint for one, _ in lost) else {}
    if loss.kind == "script":
        related = (Related(loss.place, "run here, in a shell of its own", journey.name),)
        weak = weak or {"confidence": "medium"}
    return finding(
        rule, journey.origin.place, message, journey.name, related=related, help=help_,
        fix=_fix(setting) if loss.kind == "not-exported" else None, **weak,
    )  # fmt: skip


def _places(lost: Sequence[tuple[RankStart, Loss]]) -> list[tuple[RankStart, Loss]]:
    """The first launches, each place once."""
    seen: dict[Place, tuple[RankStart, Loss]] = {}
    for start, loss in lost:
        seen.setdefault(start.place, (start, loss))
    return list(seen.values())[:5]


def _words(journey: Journey, start: RankStart, loss: Loss) -> tuple[str, str]:
    """What is said and advised, by the way in which the value was lost."""
    name = journey.name
    launcher = start.launchers[0] if start.launchers else start.program
    if loss.kind == "not-exported":
        if loss.what.startswith("a variable of"):
            return f"{name} is {loss.what}: {launcher} and what it starts do not get it", f"export {name}"
        return f"{name} is assigned but not exported: {launcher} and what it starts do not get it", f"export {name}=..."
    if loss.kind == "unread":
        file = journey.origin.place.path.rsplit("/", 1)[-1]
        return f"{name} is never exported: {loss.what}", f"set -a; source ./{file}; set +a"
    if loss.kind == "script":
        file = journey.origin.place.path.rsplit("/", 1)[-1]
        return f"{name} is exported in a script that is run, not sourced: the caller does not get it", f"source {file}"
    return (
        f"{name} is exported in {loss.what}, and gone when {launcher} starts",
        "export it where the launch is, or in front of it",
    )


def _fix(setting: Setting | None) -> Fix | None:
    """`export ` in front of the name."""
    if setting is None or setting.name_place is None or setting.via or setting.channel != "shell":
        return None
    where = setting.name_place
    if setting.place.line != where.line:
        return None
    start = Place(where.path, where.line, where.column, where.line, where.column, where.node, where.cell)
    return Fix(f"export {setting.name}", (Edit(start, "export "),), safe=False)


def _spaced(rule: Rule, context: LaunchContext) -> Iterator[Finding]:
    """`export A = 1`: three words, of which the shell refuses the second."""
    for facts in context.facts:
        path = facts.path
        lines: list[str] | None = None
        for setting in facts.settings if facts.kind in ("shell", "notebook") else ():
            if setting.op != "export" or judged(setting.name, context, path) is None:
                continue
            lines = context.text(path).split("\n") if lines is None else lines
            line = lines[setting.place.line - 1 : setting.place.line]
            if not line or re.search(rf"\bexport\s+{setting.name}\s+=(?:\s|$)", line[0]) is None:
                continue
            start = _after(setting.place, context)
            if start is not None:
                name = setting.name
                message = f"export {name} = ... is three words: the shell refuses the second, and {name} gets no value"
                related = (Related(start.place, "started without it", name),)
                yield finding(rule, place_of(setting), message, name, related=related, help=f"export {name}=...")


def _after(place: Place, context: LaunchContext) -> RankStart | None:
    """The first rank start of a file that stands behind a place."""
    behind = [s for s in context.starts if s.place.path == place.path and s.place.line >= place.line]
    return min(behind, key=lambda start: start.place.line, default=None)


def _cells(rule: Rule, context: LaunchContext) -> Iterator[Finding]:
    """`!export A=1` in a notebook: exported in a shell that ends with the line."""
    for facts in context.facts:
        path = facts.path
        for setting in facts.settings if facts.kind == "notebook" else ():
            if setting.op != "set" or setting.exported != "yes" or setting.channel != "shell":
                continue
            if setting.scope.kind != "subshell" or _starts_something(facts, setting):
                continue
            if judged(setting.name, context, path) is not None:
                message = f"{setting.name} is exported in a shell that ends with the line: the kernel does not get it"
                yield finding(rule, place_of(setting), message, setting.name, help=f"%env {setting.name}=...")


def _starts_something(facts: FileFacts, setting: Setting) -> bool:
    """Whether the same line (`!export A=1; torchrun x.py`) starts something too."""
    return any(launch.order >> 10 == setting.order >> 10 for launch in facts.launches)
