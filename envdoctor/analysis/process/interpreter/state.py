"""The state of one shell while it is walked through: what is visible, what was lost on the way, functions, words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple, TypeVar

from envdoctor.analysis.process.interpreter.slots import (
    MOST_ORIGINS,
    UNSET,
    Alternative,
    Atom,
    Exported,
    Guard,
    Loss,
    Lost,
    Slot,
    ValueOrigin,
    added,
    compatible,
    excludes,
    merged,
    under,
)
from envdoctor.analysis.process.interpreter.text import Text
from envdoctor.analysis.process.job_values import JobValue
from envdoctor.core.facts import Place
from envdoctor.core.operations import Body, Operation

T = TypeVar("T")
MOST_GUARD = 16
"""Conditions of a path that are remembered, the latest."""


_POSITIONAL = frozenset("0123456789@*#")


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

    def __init__(self, process: ShellProcess, path: str) -> None:
        self.process = process
        self.path = path
        self.script = path
        self.visible: dict[str, Slot] = {}
        self.lost: dict[str, Lost] = {}
        self.arrays: dict[str, tuple[Text, ...] | None] = {}
        self.maps: dict[str, dict[str, Text] | None] = {}
        self.functions: dict[str, Function] = {}
        self._arguments: tuple[Text, ...] | None = None
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
        self.above: frozenset[str] = frozenset()
        """Names that callers of this function have for their own: to unset one shows what it hides."""
        self.revealed: frozenset[str] = frozenset()
        """Those of them whose hidden values something has changed."""
        self.fixed: frozenset[str] = frozenset()
        """Names that are read-only."""
        self.typed: frozenset[str] = frozenset()
        """Names whose values the shell changes when it assigns them (`declare -i`), or something else may assign."""
        self.options: frozenset[str] = frozenset()
        """Options that change what commands mean, once they may be set."""

    @property
    def arguments(self) -> tuple[Text, ...] | None:
        """The positional parameters; None: nobody knows them."""
        return self._arguments

    @arguments.setter
    def arguments(self, words: tuple[Text, ...] | None) -> None:
        self._arguments = words
        self.writes["@"] = self.writes.get("@", 0) + 1

    def copy(self) -> Shell:
        """The same shell on another path."""
        other = Shell.__new__(Shell)
        other.__dict__.update(self.__dict__)
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

    def blur(self, name: str) -> None:
        """From here on nobody knows what a name holds, nor whether it is there."""
        origins = tuple(dict.fromkeys(o for a in self.visible.get(name, ()) for o in a.origins))[:MOST_ORIGINS]
        self.bind(name, _anything(name, origins))
        self.lost.pop(name, None)
        self.remembered.pop(name, None)

    def forget(self) -> None:
        """Something ran that nobody knows, and that may have changed anything."""
        for name in list(self.visible):
            self.blur(name)
        self.arrays = dict.fromkeys(self.arrays)
        self.maps = dict.fromkeys(self.maps)
        self.files = dict.fromkeys(self.files)
        self.arguments, self.lost, self.open = None, {}, True

    def may_lack(self, names: Iterable[str]) -> None:
        """Something may have taken names away from children."""
        for name in names:
            slot = self.visible.get(name, ())
            self.visible[name] = tuple(a._replace(exported="maybe") if a.exported == "yes" else a for a in slot)

    def stamp(self, names: Iterable[str]) -> tuple[int, ...]:
        """The versions of some variables."""
        return tuple(self.writes.get("@" if name[:1] in _POSITIONAL else name, 0) for name in names)

    def lose(self, name: str, alternatives: Iterable[Alternative], loss: Loss) -> None:
        """Note that something of a name went no further."""
        gone = [(a, loss) for a in alternatives if a.kind != "unset" and a.origins]
        if gone:
            self.lost[name] = added(self.lost.get(name, ()), gone)

    def on(self, atom: Atom | None) -> Shell:
        """A copy of the shell where a condition holds."""
        return self.copy().narrowed(atom)

    def narrowed(self, atom: Atom | None) -> Shell:
        """This very shell, where a condition holds from here on."""
        if atom is not None and atom not in self.guard:
            self.guard = (*self.guard, atom)[-MOST_GUARD:]
        return self

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
    _meet_lost(one.lost, other.lost, atom)
    result.arrays = _meet_maps(one.arrays, other.arrays)
    result.maps = _meet_maps(one.maps, other.maps)
    result.files = _meet_maps(one.files, other.files)
    result.functions = _meet_functions(one.functions, other.functions)
    result.frames = _meet_frames(one.frames, other.frames)
    result.typed = one.typed | other.typed | (one.fixed ^ other.fixed)
    result.fixed = one.fixed & other.fixed
    result.options = one.options | other.options
    result.above = one.above | other.above
    result.revealed = one.revealed | other.revealed
    result.allexport = one.allexport if one.allexport == other.allexport else "maybe"
    if one.arguments != other.arguments:
        result.arguments = None
    result.open = one.open or other.open
    result.commands = max(one.commands, other.commands)
    result.remembered = {k: v for k, v in one.remembered.items() if other.remembered.get(k) == v}
    result.guard = guard
    return result


def _unlike(one: Mapping[str, object], other: Mapping[str, object]) -> list[str]:
    """The keys at which two maps hold something else."""
    get = other.get
    return [*[key for key, value in one.items() if get(key) is not value], *[key for key in other if key not in one]]


def _meet_names(result: Shell, other: Shell, atom: Atom | None) -> None:
    mine, others = result.visible, other.visible
    for name in _unlike(mine, others):
        first, second = mine.get(name), others.get(name)
        if first is second:
            continue
        mine[name] = merged(first or _unbound(second), second or _unbound(first), atom)
    for name in _unlike(result.writes, other.writes):
        version = other.writes.get(name, 0)
        if version and result.writes.get(name, 0) != version:
            result.writes[name] = max(result.writes.get(name, 0), version) + 1


def _meet_functions(one: dict[str, Function], other: dict[str, Function]) -> dict[str, Function]:
    """Functions of both paths; one that they define otherwise, or one of them does not, is either at a call."""
    if one == other:
        return one
    found: dict[str, Function] = {}
    for name in one.keys() | other.keys():
        first, second = one.get(name), other.get(name)
        found[name] = _either(name, first, second) if first != second else first or second  # type: ignore[assignment]
    return found


_CHOICE = "definition"


def _levels(function: Function | None) -> int:
    """How many choices a function is made of."""
    first = function.body[0] if function is not None and function.body else ("",)
    if first[0] != "if" or not first[3] or not first[3][0][0] or first[3][0][0][0][0] != "test":
        return 0
    words = str(first[3][0][0][0][3]).split()
    return int(words[1]) if words[:1] == [_CHOICE] and len(words) > 1 and words[1].isdecimal() else 0


def _either(name: str, one: Function | None, other: Function | None) -> Function:
    """A function that is one of two, or one that may not be there."""
    shown = one or other
    assert shown is not None
    level = max(_levels(one), _levels(other)) + 1  # each choice is one of its own
    test: Operation = ("test", shown.line, 1, f"{_CHOICE} {level} of {name}", (), "")
    arms = (((test,), one.body if one is not None else ()),)
    return shown._replace(body=(("if", shown.line, 1, arms, other.body if other is not None else ()),))


def _meet_frames(one: dict[str, Slot | None], other: dict[str, Slot | None]) -> dict[str, Slot | None]:
    """What names hide that are local on both paths; where on one only, nobody knows what is there at the end."""
    return {
        name: one[name] if one.get(name, ()) == other.get(name, ()) else _anything(name)
        for name in one.keys() | other.keys()
    }


def _anything(name: str, origins: tuple[ValueOrigin, ...] = ()) -> Slot:
    return Alternative("unknown", f"${name}", "maybe", origins), UNSET


def _unbound(other: Slot | None) -> Slot:
    """A name that one path alone has bound: one that the catalogue does not know may have come from outside."""
    known = other is not None and any(a.origins for a in other)
    return (UNSET if known else UNSET._replace(likely=True),)


def _meet_lost(one: dict[str, Lost], other: dict[str, Lost], atom: Atom | None) -> None:
    """Losses of both paths, in the first; what one of them alone has lost is under its condition."""
    for name in _unlike(one, other):
        mine, others = one.get(name, ()), other.get(name, ())
        if mine == others:
            continue
        if atom is None:
            one[name] = added(mine, others)
            continue
        both = tuple(pair for pair in mine if pair in others)
        first = [(under(a, atom), loss) for a, loss in mine if (a, loss) not in both]
        second = [(under(a, atom.opposite()), loss) for a, loss in others if (a, loss) not in both]
        one[name] = added(both, [*first, *second])


def _meet_maps(one: Mapping[str, T | None], other: Mapping[str, T | None]) -> dict[str, T | None]:
    """What both paths hold alike; None for the rest."""
    if one == other:
        return dict(one)
    return {name: one.get(name) if one.get(name) == other.get(name) else None for name in one.keys() | other.keys()}


def drop_excluded(lost: Lost, guard: Guard) -> Lost:
    """Losses that can have happened on a path."""
    return tuple(pair for pair in lost if not excludes(pair[0].guard, guard)) if guard else lost
