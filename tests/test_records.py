"""Records behave as the data classes of the standard library do, in all that this project uses of them."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from typing import Any

import pytest

from envdoctor.core import record_classes


def classes(module: Any) -> tuple[Any, Any, Any]:
    """The same three classes, made by a module."""

    @module.dataclass(frozen=True, slots=True)
    class Point:
        x: int
        y: int = 2
        name: str = module.field(default="", repr=False)

    @module.dataclass(slots=True)
    class Bag:
        items: list[int] = module.field(default_factory=list)
        size: int = module.field(init=False)
        seen: dict[str, int] = module.field(default_factory=dict, init=False, repr=False)

        def __post_init__(self) -> None:
            self.size = len(self.items)

    @module.dataclass(slots=True)
    class Sub(Bag):
        more: str = "m"

    return Point, Bag, Sub


OURS, THEIRS = classes(record_classes), classes(dataclasses)


@pytest.mark.parametrize(("ours", "theirs"), list(zip(OURS, THEIRS, strict=True)), ids=["Point", "Bag", "Sub"])
@pytest.mark.parametrize("given", [(), (1,), (1, 3), (1, 3, "n"), ([1],), ([1], "x")])
def test_objects_are_made_and_shown_alike(ours: Any, theirs: Any, given: tuple[Any, ...]) -> None:
    try:
        expected = theirs(*given)
    except TypeError:
        with pytest.raises(TypeError):
            ours(*given)
        return
    found = ours(*given)
    assert repr(found) == repr(expected)
    assert [f.name for f in record_classes.fields(found)] == [f.name for f in dataclasses.fields(expected)]
    assert found == ours(*given)
    assert found != expected
    assert copy.copy(found) == found
    assert not hasattr(found, "__dict__")
    assert ours.__match_args__ == theirs.__match_args__


def test_equal_frozen_records_have_one_hash_and_others_none() -> None:
    point, bag, _ = OURS
    assert len({point(1), point(1), point(1, 3)}) == 2
    with pytest.raises(TypeError, match="unhashable"):
        hash(bag())


def test_each_object_has_a_default_of_its_own() -> None:
    first, second = OURS[1](), OURS[1]()
    first.items.append(1)
    assert second.items == []


@pytest.mark.parametrize("made", [OURS, THEIRS], ids=["ours", "theirs"])
def test_a_copy_with_changes(made: tuple[Any, Any, Any]) -> None:
    point, bag, sub = made
    assert record_classes.replace(point(1, 5, "n"), x=4) == point(4, 5, "n")
    assert record_classes.replace(bag([1, 2]), items=[3]).size == 1
    assert record_classes.replace(sub([1]), more="k").more == "k"
    with pytest.raises(TypeError):
        record_classes.replace(point(1), nope=1)


def test_methods_of_the_class_stay() -> None:
    @record_classes.dataclass(frozen=True)
    class Odd:
        x: int

        def __eq__(self, other: object) -> bool:
            return True

        def __hash__(self) -> int:
            return 7

        def __repr__(self) -> str:
            return "odd"

        def double(self) -> int:
            return 2 * self.x

    assert (Odd(1) == Odd(2), hash(Odd(1)), repr(Odd(1)), Odd(4).double()) == (True, 7, "odd", 8)  # type: ignore[call-arg]


def test_records_can_be_pickled() -> None:
    from envdoctor.core.facts import Place

    place = Place("a", 1, 2, 3, 4)
    assert pickle.loads(pickle.dumps(place)) == place


@pytest.mark.parametrize("module", [record_classes, dataclasses])
def test_a_field_keeps_what_is_said_of_it(module: Any) -> None:
    @module.dataclass(frozen=True)
    class Described:
        name: str = module.field(metadata={"text": "a name"})
        size: int = 1

    name, size = module.fields(Described)
    assert (name.metadata["text"], name.default is module.MISSING) == ("a name", True)
    assert (dict(size.metadata), size.default) == ({}, 1)
