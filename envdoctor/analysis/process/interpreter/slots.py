"""What a name may hold: alternatives with their origins and conditions, and how two paths are joined.

Nothing widens towards certainty: a seventh alternative makes the value unknown, an atom that is dropped makes "present"
into "perhaps".
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Literal, NamedTuple

from envdoctor.core.facts import Place

MOST_ALTERNATIVES = 6
"""Values of one name that are told apart; with more, the value is unknown."""
MOST_ORIGINS = 4
"""Writers of one alternative that are remembered, the last first."""
MOST_ATOMS = 6
"""Conditions of one alternative that are remembered."""
MOST_LOST = 6
"""Losses of one name that are remembered."""

Known = Literal["literal", "unset", "unknown"]
Exported = Literal["yes", "no", "maybe"]
Status = Literal["present", "absent", "maybe"]


class Atom(NamedTuple):
    """One side of a test. `text` is its positive form, `stamp` the versions of its variables."""

    text: str
    stamp: tuple[int, ...]
    holds: bool

    def opposite(self) -> Atom:
        """The other side."""
        return Atom(self.text, self.stamp, not self.holds)


Guard = tuple[Atom, ...]


class ValueOrigin(NamedTuple):
    """One operation that gave a name its value. Two with one `key` are the same piece of text.

    `operation` is assign, export, declare, prefix, flag, file, manifest or outside; `layer` is the depth of the process
    in which it binds. `default`: only where nothing is there. `likely`: the value is a default of another variable,
    which somebody outside may have set.
    """

    name: str
    place: Place
    operation: str
    layer: int = 0
    default: bool = False
    likely: bool = False
    guarded: bool = False
    """Under a condition, whatever holds by now."""

    @property
    def key(self) -> tuple[str, str, int, int, str]:
        """What a finding about it is known by."""
        return self.name, self.place.path, self.place.line, self.place.column, self.operation


class Alternative(NamedTuple):
    """One value that a name may have. Unknown: `text` is how it is written.

    `likely`: it is what `${X:-text}` gives unless somebody outside has set X, so that no test of it is decided.
    """

    kind: Known
    text: str = ""
    exported: Exported = "no"
    origins: tuple[ValueOrigin, ...] = ()
    guard: Guard = ()
    likely: bool = False

    @property
    def arrives(self) -> bool:
        """Whether children see it, or may."""
        return self.kind != "unset" and self.exported != "no"


Slot = tuple[Alternative, ...]
UNSET = Alternative("unset")


class Loss(NamedTuple):
    """Why a value did not go on: at `place`, by an edge of some `kind`.

    kind: not-exported (a fork), not-forwarded (a launcher), subshell, pipe, function, script (it ended), step, layer,
    pane (started before), unread (what was to export it stopped before). `said` and `remedy` are the launcher's words.
    """

    kind: str
    place: Place
    what: str
    said: str = ""
    remedy: str = ""
    sure: str = "high"
    evidence: tuple[str, ...] = ()


Lost = tuple[tuple[Alternative, Loss], ...]


def status(slot: Slot) -> Status:
    """Derived, never stored."""
    absent = [not alternative.arrives for alternative in slot]
    if all(absent):
        return "absent"
    return "maybe" if any(absent) or any(a.exported == "maybe" for a in slot) else "present"


def is_there(slot: Slot | None) -> bool:
    """Whether a name has, or may have, a value that children see."""
    return slot is not None and any(a.arrives for a in slot)


def perhaps(slot: Slot) -> Slot:
    """The same where nobody can tell what of it arrives."""
    return tuple(a._replace(exported="maybe") if a.exported == "yes" else a for a in slot)


def excludes(guard: Guard, other: Guard) -> bool:
    """Whether two paths can never both be taken."""
    return bool(guard and other) and not against(other).isdisjoint(guard)


@lru_cache(maxsize=4096)
def against(guard: Guard) -> frozenset[Atom]:
    """The conditions that a path rules out."""
    return frozenset(atom.opposite() for atom in guard)


def compatible(slot: Slot, guard: Guard) -> Slot:
    """The alternatives that a path leaves."""
    if not guard or not any(a.guard for a in slot):
        return slot
    excluded = against(guard)
    return tuple([a for a in slot if excluded.isdisjoint(a.guard)]) or slot


def under(alternative: Alternative, atom: Atom) -> Alternative:
    """The same where one more condition holds; with too many the oldest is dropped."""
    if atom in alternative.guard:
        return alternative
    guard = (*alternative.guard, atom)
    if len(guard) > MOST_ATOMS:
        guard = guard[-MOST_ATOMS:]
    return alternative._replace(guard=guard)


def merged(one: Slot, other: Slot, atom: Atom | None) -> Slot:
    """A name after two paths meet; `atom` holds on the first, its opposite on the second."""
    if one == other:
        return one
    found: list[Alternative] = []
    for slot, side in ((one, atom), (other, atom.opposite() if atom is not None else None)):
        for alternative in slot:
            _add(found, under(alternative, side) if side is not None else alternative)
    return tuple(found) if len(found) <= MOST_ALTERNATIVES else _collapsed(found)


def _add(found: list[Alternative], new: Alternative) -> None:
    """Add an alternative; one that differs by complementary conditions only is merged with it."""
    for at, old in enumerate(found):
        if old[:4] != new[:4]:
            continue
        guard = _without_complement(old.guard, new.guard)
        if guard is not None:
            found[at] = old._replace(guard=guard, likely=old.likely or new.likely)
            return
    found.append(new)


def _without_complement(one: Guard, other: Guard) -> Guard | None:
    """What is left of two guards that are equal, or equal but for one atom and its opposite; None: they are not."""
    if one == other:
        return one
    first, second = set(one), set(other)
    extra, lacking = first - second, second - first
    if len(extra) == len(lacking) == 1:
        (atom,), (opposite,) = extra, lacking
        if atom.opposite() == opposite:
            return tuple(a for a in one if a != atom)
    if not extra or not lacking:
        return one if not extra else other
    return None


def _collapsed(found: list[Alternative]) -> Slot:
    """Too many: those that differ by conditions alone are one; if that is not enough, nobody knows the value, and
    "unset" stays where that was among them."""
    values: dict[object, Alternative] = {}
    for new in found:
        old = values.setdefault(new[:4], new)
        guard = tuple(atom for atom in old.guard if atom in new.guard)
        values[new[:4]] = old._replace(guard=guard, likely=old.likely or new.likely)
    if len(values) <= MOST_ALTERNATIVES:
        return tuple(values.values())
    there = [a for a in found if a.kind != "unset"]
    origins = tuple(dict.fromkeys(o for a in there for o in a.origins))[:MOST_ORIGINS]
    exported = {a.exported for a in there}
    one: Exported = exported.pop() if len(exported) == 1 else "maybe"
    result: list[Alternative] = [Alternative("unknown", "", one, origins)]
    if len(there) < len(found):
        result.append(UNSET)
    return tuple(result)


def added(lost: Lost, more: Iterable[tuple[Alternative, Loss]]) -> Lost:
    """Losses of a name, each once."""
    found = dict.fromkeys(lost)
    for pair in more:
        if pair[0].kind != "unset":
            found.setdefault(pair)
    return tuple(found)[:MOST_LOST]
