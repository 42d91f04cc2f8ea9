"""What a name may hold, and what two paths that meet leave of it: nothing ever becomes more certain."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envdoctor.analysis.process.interpreter.slots import (
    MOST_ALTERNATIVES,
    MOST_ATOMS,
    MOST_LOST,
    UNSET,
    Alternative,
    Atom,
    Loss,
    Slot,
    ValueOrigin,
    added,
    compatible,
    excludes,
    merged,
    status,
    under,
)
from envdoctor.core.facts import Place

P, Q, R = (Atom(text, (), True) for text in "pqr")
HERE = Place("run.sh", 1, 1, 1, 2)


def one(text: str, *guard: Atom, exported: str = "yes", line: int = 1) -> Alternative:
    origin = ValueOrigin("A", Place("run.sh", line, 1, line, 2), "export")
    return Alternative("literal", text, exported, (origin,), guard)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("slot", "expected"),
    [
        ((one("1"),), "present"),
        ((one("1"), one("2")), "present"),
        ((UNSET,), "absent"),
        ((one("1", exported="no"),), "absent"),
        ((one("1"), UNSET), "maybe"),
        ((one("1"), one("2", exported="no")), "maybe"),
        ((one("1", exported="maybe"),), "maybe"),
        ((), "absent"),
    ],
)
def test_the_status_follows_from_the_alternatives(slot: Slot, expected: str) -> None:
    assert status(slot) == expected


def test_each_side_of_a_join_has_its_condition() -> None:
    assert merged((one("1"),), (one("2"),), P) == (one("1", P), one("2", P.opposite()))
    assert merged((one("1"),), (UNSET,), P) == (one("1", P), UNSET._replace(guard=(P.opposite(),)))
    assert merged((one("1"),), (one("1"),), P) == (one("1"),)


def test_alternatives_equal_but_for_opposite_conditions_are_one_again() -> None:
    assert merged((one("1", P),), (one("1", P.opposite()),), None) == (one("1"),)
    assert merged((one("1", Q),), (one("1", Q), UNSET), P) == (one("1", Q), UNSET._replace(guard=(P.opposite(),)))
    twice = merged((one("1", Q), one("2", Q.opposite())), (one("1", Q),), P)
    assert twice[0] == one("1", Q)


def test_different_writers_of_one_value_stay_apart() -> None:
    assert len(merged((one("1", line=1),), (one("1", line=2),), P)) == 2


def test_a_seventh_value_makes_it_unknown_and_keeps_that_it_may_be_unset() -> None:
    six = tuple(one(str(n), Atom(str(n), (), True)) for n in range(MOST_ALTERNATIVES))
    (unknown,) = merged(six, (one("x"),), P)
    assert (unknown.kind, unknown.exported, unknown.guard) == ("unknown", "yes", ())
    both = merged(six, (UNSET,), P)
    assert [a.kind for a in both] == ["unknown", "unset"]
    assert status(both) == "maybe"
    mixed = merged(six, (one("x", exported="no"),), P)
    assert [a.exported for a in mixed] == ["maybe"]


def test_a_condition_too_many_drops_the_oldest() -> None:
    atoms = [Atom(str(n), (), True) for n in range(MOST_ATOMS + 1)]
    value = one("1")
    for atom in atoms:
        value = under(value, atom)
    assert value.guard == tuple(atoms[1:])


def test_what_a_path_rules_out_is_not_seen_on_it() -> None:
    slot = (one("1", P), one("2", P.opposite()), one("3", Q))
    assert compatible(slot, (P,)) == (one("1", P), one("3", Q))
    assert compatible(slot, ()) == slot
    assert excludes((P, Q), (Q, P.opposite()))
    assert not excludes((P,), (Q,))
    assert not excludes((P,), (P._replace(stamp=(1,)).opposite(),))  # the variable was written in between


def test_losses_are_told_once_and_only_so_many() -> None:
    loss = Loss("pipe", HERE, "a pipe")
    pairs = [(one(str(n)), loss) for n in range(10)]
    assert added((), [pairs[0], pairs[0], (UNSET, loss)]) == (pairs[0],)
    assert len(added((), pairs)) == MOST_LOST


ATOMS = st.builds(Atom, st.sampled_from("pqr"), st.just(()), st.booleans())
GUARDS = st.lists(ATOMS, max_size=3, unique_by=lambda atom: atom.text).map(tuple)
ORIGINS = st.sampled_from([one("", line=n).origins for n in (1, 2)])
ALTERNATIVES = st.one_of(
    st.builds(
        Alternative, st.sampled_from(["literal", "unknown"]), st.sampled_from("12"),
        st.sampled_from(["yes", "no", "maybe"]), ORIGINS, GUARDS,
    ),
    GUARDS.map(lambda guard: UNSET._replace(guard=guard)),
)  # fmt: skip
SLOTS = st.lists(ALTERNATIVES, min_size=1, max_size=MOST_ALTERNATIVES, unique=True).map(tuple)
SIDES = st.one_of(st.none(), ATOMS)


@given(SLOTS, SLOTS, SIDES)
def test_a_join_is_present_only_if_both_sides_are(first: Slot, second: Slot, atom: Atom | None) -> None:
    both = status(merged(first, second, atom))
    assert both != "present" or status(first) == status(second) == "present"
    assert both != "absent" or status(first) == status(second) == "absent"


@given(SLOTS, SLOTS, SIDES)
def test_no_value_is_lost_in_a_join(first: Slot, second: Slot, atom: Atom | None) -> None:
    found = merged(first, second, atom)
    values = {(a.kind, a.text, a.exported) for a in found}
    for alternative in (*first, *second):
        collapsed = any(a.kind == "unknown" and not a.text for a in found) and alternative.kind != "unset"
        assert collapsed or alternative[:3] in values


@given(SLOTS, SLOTS, ATOMS)
def test_a_join_is_the_same_from_both_sides(first: Slot, second: Slot, atom: Atom) -> None:
    one_way, other_way = merged(first, second, atom), merged(second, first, atom.opposite())
    assert {a[:3] for a in one_way} == {a[:3] for a in other_way}
    assert status(one_way) == status(other_way)


@given(SLOTS, SLOTS, ATOMS)
def test_on_a_side_of_a_join_all_is_there_that_was_there_before(first: Slot, second: Slot, atom: Atom) -> None:
    found = merged(first, second, atom)
    for side, slot in ((atom, first), (atom.opposite(), second)):
        left = compatible(found, (side,))
        collapsed = any(a.kind == "unknown" and not a.text for a in left)
        possible = [a for a in slot if not excludes(a.guard, (side,))]
        assert collapsed or {a[:3] for a in possible} <= {a[:3] for a in left}


@given(SLOTS, GUARDS)
def test_a_path_leaves_something(slot: Slot, guard: tuple[Atom, ...]) -> None:
    left = compatible(slot, guard)
    assert left
    assert set(left) <= set(slot)
