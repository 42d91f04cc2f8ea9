"""What the walk tells: rank starts with what they see, values that took another's place, launches not followed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from envdoctor.analysis.process.beginnings.root import Root
from envdoctor.analysis.process.interpreter.slots import Alternative, Guard, Lost, Slot, ValueOrigin, compatible
from envdoctor.analysis.process.interpreter.state import Starter
from envdoctor.analysis.process.job_values import JobValue
from envdoctor.core.facts import FileFacts, Place


class RankStart(NamedTuple):
    """A process that becomes a rank, or starts them, as its launch leaves it: the innermost command of the chain.

    `path` is the file of the tree that runs, empty where it is not there; `program` how it is written. `visible` and
    `lost` hold the names of the catalogue, and others that a launch binds. `opaque`: a script that is not in the tree,
    so that it may start ranks or not. `hint`: in a function that nobody calls.
    """

    root: Root
    place: Place
    chain: tuple[Starter, ...]
    program: str
    path: str
    arguments: tuple[str, ...]
    visible: Mapping[str, Slot]
    lost: Mapping[str, Lost]
    guard: Guard
    layer: int
    callers: tuple[Place, ...] = ()
    opaque: bool = False
    hint: bool = False
    sure: bool = True
    """False: it is started by something nobody knows, which is taken to hand on what it has."""
    number: int = 0
    open: bool = False
    """Something unknown ran before: a name that is not in `visible` may be there all the same."""
    job: tuple[JobValue, ...] = ()
    """What the directives in the head of the job's script say of it, or the manifest of a container."""
    unsure: frozenset[int] = frozenset()
    """The arguments, by their number from 0, that somebody outside decides."""

    def slot(self, name: str) -> Slot:
        """What a name may hold here; nothing where nothing bound it."""
        slot = self.visible.get(name, ())
        return compatible(slot, self.guard) if slot else slot

    def value(self, name: str) -> str | None:
        """The value that ranks plainly have, or None."""
        slot = self.slot(name)
        if len(slot) != 1 or slot[0].kind != "literal" or slot[0].exported != "yes":
            return None
        return slot[0].text

    def plain(self, name: str) -> tuple[str, Place] | None:
        """What a launch plainly gives for any name, and where; of names that the catalogue lacks, at the launch."""
        one = self.alternative(name)
        if one is None or one.kind != "literal" or one.exported != "yes" or one.likely:
            return None
        return self.given().get(name) if one.origins else (one.text, self.place)

    def alternative(self, name: str) -> Alternative | None:
        """The one alternative of a name, if it has but one."""
        slot = self.slot(name)
        return slot[0] if len(slot) == 1 else None

    def given(self) -> dict[str, tuple[str, Place]]:
        """What a launch plainly gives, and where that was written: one value, exported, and no default."""
        found: dict[str, tuple[str, Place]] = {}
        for name in self.visible:
            one = self.alternative(name)
            if one is None or one.kind != "literal" or one.exported != "yes" or not one.origins:
                continue
            if not (one.origins[0].default or one.origins[0].likely):
                found[name] = (one.text, one.origins[0].place)
        return found

    def reaching(self) -> Mapping[str, Slot]:
        """The names that ranks see, or may see."""
        return {name: self.slot(name) for name, slot in self.visible.items() if any(a.arrives for a in slot)}

    @property
    def launchers(self) -> tuple[str, ...]:
        """The names of the starters, outermost first."""
        return tuple(one.name for one in self.chain)


def in_order(slot: Slot) -> Slot:
    """Alternatives by the place at which they were written."""
    return tuple(sorted(slot, key=_written))


def _written(alternative: Alternative) -> tuple[str, int, int]:
    place = alternative.origins[0].place if alternative.origins else None
    return (place.path, place.line, place.column) if place is not None else ("", 0, 0)


class Replaced(NamedTuple):
    """A value that another one took the place of. how: twice (in one layer, with nothing between that could use the
    first), nearer (the first was written nearer to the launch, or as the more specific one, and loses)."""

    how: str
    first: ValueOrigin
    before: str
    second: ValueOrigin
    after: str
    by: str = ""


class Mistaken(NamedTuple):
    """A flag that looks as if it passed a variable.

    how: no-variable (it does something else), several (it takes one, `name` is the last of several), value (it takes
    names alone, so that the value goes nowhere). `place` is the command, `word` the argument.
    """

    launcher: str
    how: str
    flag: str
    name: str
    value: str
    says: str
    place: Place
    word: Place
    evidence: tuple[str, ...] = ()


class Unfollowed(NamedTuple):
    """A launch that could not be followed to its ranks, and why."""

    place: Place
    chain: tuple[str, ...]
    why: str
    what: str = ""


class LateValue(NamedTuple):
    """A value that a script exports when the last of its ranks has been started, and nothing else that could see it
    starts any more. `after` is where the last ranks were started."""

    origin: ValueOrigin
    value: Alternative
    after: Place


class EndedRoot(NamedTuple):
    """The environment at the end of a root that started no ranks."""

    root: Root
    visible: Mapping[str, Slot]


class Walked(NamedTuple):
    """All that the walk over a project tells."""

    starts: tuple[RankStart, ...]
    replaced: tuple[Replaced, ...]
    mistaken: tuple[Mistaken, ...]
    unfollowed: tuple[Unfollowed, ...]
    ended: tuple[EndedRoot, ...]
    gaps: tuple[tuple[str, int, str], ...]
    operations: int = 0
    bounded: tuple[str, ...] = ()
    """What was left out because of a bound."""
    sourced: Mapping[str, tuple[str, ...]] = {}
    """File -> the files that it sources, in order."""
    missing: Mapping[str, tuple[tuple[str, int], ...]] = {}
    """File -> words for files that it pulls in and that are not there, with their lines."""
    late: tuple[LateValue, ...] = ()
    files: tuple[FileFacts, ...] = ()
    """The facts of all files that were looked at."""
