"""Where settings meet: in what ranks see, at the end of a script that starts none, in a part of a file of settings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from envdoctor.analysis.process.interpreter.slots import Slot
from envdoctor.analysis.process.results import RankStart
from envdoctor.checks.context import LaunchContext
from envdoctor.core.facts import FileFacts, Place, Scope, Setting
from envdoctor.readers.kinds import PYTHON

MOST_POINTS = 40
"""Environments of one file that are looked at."""
WORLDS = ("container", "file", "manifest")
NO_PROCESS = ("argument", "child-environment", "runtime-env")
GIVES = ("set", "default", "append")


class Held(NamedTuple):
    """What one name has at a point. `text` is its value where that is plain, `given` also where it is a likely one.

    `conditions` are those under which it has it: two with other conditions may never meet.
    """

    name: str
    text: str | None
    given: str | None
    place: Place
    exported: bool
    conditions: tuple[object, ...] = ()
    order: tuple[int, int] = (0, 0)


class Point(NamedTuple):
    """One environment: the path it is judged for, and what its names have. `start` is the launch, if there is one."""

    path: str
    held: Mapping[str, Held]
    start: RankStart | None = None


def points(context: LaunchContext) -> Iterator[Point]:
    """The environments of a project in which settings stand side by side."""
    seen: dict[tuple[object, ...], None] = {}
    for start in context.starts:
        held = _of_slots({name: start.slot(name) for name in start.visible})
        key = (start.place.path, tuple(held.values()))
        if held and key not in seen:
            seen[key] = None
            yield Point(start.place.path, held, start)
    for ended in context.ended:
        yield Point(ended.root.path, _of_slots(ended.visible))
    for facts in context.facts:
        yield from _of_file(facts, context)


def _of_slots(visible: Mapping[str, Slot]) -> dict[str, Held]:
    found: dict[str, Held] = {}
    for name, slot in visible.items():
        there = [a for a in slot if a.kind != "unset" and a.origins]
        if not there:
            continue
        last = there[0]
        origin = last.origins[0]
        single = len(slot) == 1 and last.kind == "literal"
        plain = single and not origin.default and not origin.likely and len(last.origins) == 1
        found[name] = Held(
            name, last.text if plain else None, last.text if single else None, origin.place, last.exported != "no",
            last.guard, (origin.place.line, origin.place.column),
        )  # fmt: skip
    return found


def _of_file(facts: FileFacts, context: LaunchContext) -> Iterator[Point]:
    """Parts of files of settings, whole files that start nothing, and what programs write."""
    settings = [s for s in facts.settings if s.channel not in NO_PROCESS and not s.guarded]
    scopes = dict.fromkeys(s.scope for s in settings if s.scope.kind in WORLDS)
    for scope in list(scopes)[:MOST_POINTS]:
        yield Point(facts.path, _of_settings(s for s in settings if sees(scope, s.scope)))
    if facts.kind in PYTHON:
        for steps in context.steps_of(facts)[:MOST_POINTS]:
            written = [step.fact for step in steps if isinstance(step.fact, Setting)]
            yield Point(facts.path, _of_settings(s for s in written if s.channel == "python-environ"))
    elif facts.kind != "shell" and not facts.launches:
        yield Point(facts.path, _of_settings(s for s in settings if sees(Scope(), s.scope)))


def _of_settings(settings: Iterable[Setting]) -> dict[str, Held]:
    """What is given last; several that may hold have no plain value."""
    found: dict[str, Held] = {}
    for setting in settings:
        before = found.get(setting.name)
        if setting.op == "unset" and not setting.branch:
            found.pop(setting.name, None)
        if setting.op not in GIVES or setting.guarded:
            continue
        value = setting.value.text if setting.value.kind == "literal" else None
        text = value if setting.op == "set" and (before is None or not setting.branch) else None
        found[setting.name] = Held(
            setting.name, text, setting.value.known, setting.name_place or setting.place, setting.exported != "no",
            tuple((b.id, b.arm) for b in setting.branch), (setting.order, 0),
        )  # fmt: skip
    return found


def sees(scope: Scope, other: Scope) -> bool:
    """Whether what a file sets in scope `other` can be seen in `scope`."""
    if scope == other:
        return True
    if other.kind in ("process", "function"):
        return scope.kind in ("process", "function", "subshell", "command") or (
            other.kind == "process" and scope.kind == "manifest"
        )
    if other.kind == "container" and scope.kind in ("subshell", "container"):
        return bool(other.name) and scope.name.startswith(other.name + "/")
    return False


def together(one: Held, other: Held) -> bool:
    """Whether two settings are there under the same conditions."""
    return set(one.conditions) == set(other.conditions)
