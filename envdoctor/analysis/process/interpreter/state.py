"""The state of one shell while it is walked through: what is visible, what was lost on the way, functions, words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple, TypeVar

from envdoctor.analysis.process.interpreter.slots import (
    UNSET,
    Alternative,
    Atom,
    Exported,
    Guard,
    Loss,
    Lost,
    Slot,
    added,
    compatible,
    excludes,
    merged,
    under,
)
from envdoctor.analysis.process.interpreter.text import Text
from envdoctor.analysis.process.job_values import JobValue
from envdoctor.core.facts import Place
from envdoctor.core.operations import Body

T = TypeVar("T")
MOST_GUARD = 16
"""Conditions of a path that are remembered, the latest."""


class Function(NamedTuple):
    """A function of a shell: its body, and the file it stands in."""

    body: Body
    path: str
    line: int


class ShellProcess(NamedTuple):
    """What runs: a script, a shell in a container, a rank. `chain` are the starters on the way, outermost first."""

    kind: str
    place: Place
    layer: int
    chain: tuple[Starter, ...] = ()
    callers: tuple[Place, ...] = ()
    """Where each script on the way was started or sourced from, outermost first."""
    job: tuple[JobValue, ...] = ()
    """What the directives in the head of the script say of the job."""


class Starter(NamedTuple):
    """One command that starts another program: as facts name it, where it stands, its own words, those it runs."""

    name: str
    place: Place
    words: tuple[str, ...]
    inner: tuple[str, ...] = ()
    ranks: bool = False
    job: tuple[JobValue, ...] = ()
    """What its words tell of the job."""
    replaced: Mapping[str, Slot] = {}
    """Variables that choose devices, as they were before a flag of this command took their place."""


class Shell:
    """One shell. Copied where paths part; `guard` are the conditions of the path."""

    __slots__ = (
        "allexport", "arguments", "arrays", "commands", "copied", "defaulting", "files", "frames", "functions", "guard",
        "in_function", "lost", "maps", "nested", "open", "path", "process", "remembered", "script", "stdin", "visible",
        "writes",
    )  # fmt: skip

    def __init__(self, process: ShellProcess, path: str) -> None:
        self.process = process
        self.path = path
        self.script = path
        self.visible: dict[str, Slot] = {}
        self.lost: dict[str, Lost] = {}
        self.arrays: dict[str, tuple[Text, ...] | None] = {}
        self.maps: dict[str, dict[str, Text] | None] = {}
        self.functions: dict[str, Function] = {}
        self.arguments: tuple[Text, ...] | None = None
        self.allexport: Exported = "no"
        self.guard: Guard = ()
        self.writes: dict[str, int] = {}
        self.defaulting: frozenset[str] = frozenset()
        self.frames: dict[str, Slot | None] = {}
        self.in_function = False
        self.files: dict[str, tuple[Text, ...] | None] = {}
        self.stdin: Text | None = None
        self.open = False
        self.commands = 0
        self.copied: Mapping[str, str] = {}
        self.nested = 0
        self.remembered: dict[str, str] = {}

    def copy(self) -> Shell:
        """The same shell on another path."""
        other = Shell.__new__(Shell)
        for name in Shell.__slots__:
            setattr(other, name, getattr(self, name))
        other.visible = self.visible.copy()
        other.lost = self.lost.copy()
        other.arrays = self.arrays.copy()
        other.maps = self.maps.copy()
        other.functions = self.functions.copy()
        other.writes = self.writes.copy()
        other.files = self.files.copy()
        other.frames = self.frames.copy()
        other.remembered = self.remembered.copy()
        return other

    def held(self, name: str) -> Slot | None:
        """What a name may hold on this path; None: nothing bound it."""
        slot = self.visible.get(name)
        return compatible(slot, self.guard) if slot is not None else None

    def told(self) -> dict[str, Slot]:
        """What all names may hold on this path."""
        return {name: slot for name in self.visible if (slot := self.held(name))}

    def moment(self) -> tuple[int, Guard, int]:
        """What tells whether anything happened between two points of one path."""
        return self.commands, self.guard, self.nested

    def bind(self, name: str, slot: Slot) -> None:
        """Give a name new alternatives; tests of the old value say nothing about the new one."""
        self.visible[name] = slot
        self.writes[name] = self.writes.get(name, 0) + 1

    def stamp(self, names: Iterable[str]) -> tuple[int, ...]:
        """The versions of some variables."""
        return tuple(self.writes.get(name, 0) for name in names)

    def lose(self, name: str, alternatives: Iterable[Alternative], loss: Loss) -> None:
        """Note that something of a name went no further."""
        gone = [(a, loss) for a in alternatives if a.kind != "unset" and a.origins]
        if gone:
            self.lost[name] = added(self.lost.get(name, ()), gone)

    def on(self, atom: Atom | None) -> Shell:
        """A copy of the shell where a condition holds."""
        other = self.copy()
        if atom is not None and atom not in other.guard:
            other.guard = (*other.guard, atom)[-MOST_GUARD:]
        return other

    def can(self, atom: Atom) -> bool:
        """Whether a condition is open on this path."""
        return atom.opposite() not in self.guard


def met(one: Shell | None, other: Shell | None, atom: Atom | None, guard: Guard) -> Shell | None:
    """The shell after two paths meet again; a path that ended is None. `guard` held before they parted."""
    if one is None or other is None:
        # Where the other path ended the script, what comes now happens on this one only.
        return one if other is None else other
    result = one
    _meet_names(result, other, atom)
    result.lost = _meet_lost(one.lost, other.lost, atom)
    result.arrays = _meet_maps(one.arrays, other.arrays)
    result.maps = _meet_maps(one.maps, other.maps)
    result.files = _meet_maps(one.files, other.files)
    result.functions = {**other.functions, **one.functions}
    result.frames = {**other.frames, **one.frames}
    result.allexport = one.allexport if one.allexport == other.allexport else "maybe"
    result.arguments = one.arguments if one.arguments == other.arguments else None
    result.open = one.open or other.open
    result.commands = max(one.commands, other.commands)
    result.remembered = {k: v for k, v in one.remembered.items() if other.remembered.get(k) == v}
    result.guard = guard
    return result


def _meet_names(result: Shell, other: Shell, atom: Atom | None) -> None:
    mine, others = result.visible, other.visible
    for name in mine.keys() | others.keys():
        first, second = mine.get(name), others.get(name)
        if first is second:
            continue
        mine[name] = merged(first or _unbound(second), second or _unbound(first), atom)
    for name, version in other.writes.items():
        if result.writes.get(name, 0) != version:
            result.writes[name] = max(result.writes.get(name, 0), version) + 1


def _unbound(other: Slot | None) -> Slot:
    """A name that one path alone has bound: one that the catalogue does not know may have come from outside."""
    known = other is not None and any(a.origins for a in other)
    return (UNSET if known else UNSET._replace(likely=True),)


def _meet_lost(one: Mapping[str, Lost], other: Mapping[str, Lost], atom: Atom | None) -> dict[str, Lost]:
    """Losses of both paths; what one of them alone has lost is under its condition."""
    found: dict[str, Lost] = {}
    for name in one.keys() | other.keys():
        mine, others = one.get(name, ()), other.get(name, ())
        if mine == others or atom is None:
            found[name] = mine if mine == others else added(mine, others)
            continue
        both = tuple(pair for pair in mine if pair in others)
        first = [(under(a, atom), loss) for a, loss in mine if (a, loss) not in both]
        second = [(under(a, atom.opposite()), loss) for a, loss in others if (a, loss) not in both]
        found[name] = added(both, [*first, *second])
    return found


def _meet_maps(one: Mapping[str, T | None], other: Mapping[str, T | None]) -> dict[str, T | None]:
    """What both paths hold alike; None for the rest."""
    if one == other:
        return dict(one)
    return {name: one.get(name) if one.get(name) == other.get(name) else None for name in one.keys() | other.keys()}


def drop_excluded(lost: Lost, guard: Guard) -> Lost:
    """Losses that can have happened on a path."""
    return tuple(pair for pair in lost if not excludes(pair[0].guard, guard)) if guard else lost
