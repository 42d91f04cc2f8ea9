"""Version numbers: taken out of their wrapping, and compared."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envdoctor.core.versions import (
    agreed,
    at_least,
    bare,
    compare,
    from_cu,
    from_digits,
    is_pre_release,
    release,
    series,
)

NUMBERS = st.lists(st.integers(0, 60), min_size=1, max_size=4).map(lambda parts: ".".join(map(str, parts)))


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("2.4.1", (2, 4, 1)),
        ("v25.10", (25, 10)),
        ("2.7.0a0+git12", (2, 7, 0)),
        ("12.6", (12, 6)),
        ("latest", ()),
        ("", ()),
    ],
)
def test_release(text: str, numbers: tuple[int, ...]) -> None:
    assert release(text) == numbers


@pytest.mark.parametrize(
    ("have", "wanted", "answer"),
    [
        ("2.4.1", "2.4", True), ("2.4.1", "2.4.1", True), ("2.4.1", "2.5", False), ("2.10.0", "2.9", True),
        ("10.0", "7.0", True), ("7.14", "7.2", True), ("6.2", "6.2.4", None), ("6.2", "6.2.0", True),
        ("6.3", "6.2.4", True), ("6.1", "6.2.4", False), ("2.4.0a0", "2.4", None), ("2.4.0a0", "2.3", True),
        ("2.4.0a0", "2.5", False), ("2.10.0.dev20251112", "2.10", None), ("unknown", "2.4", None), ("2.4", "", None),
    ],
)  # fmt: skip
def test_at_least(have: str, wanted: str, answer: bool | None) -> None:
    assert at_least(have, wanted) is answer


@pytest.mark.parametrize(
    ("text", "early"),
    [("2.5.0a0", True), ("2.10.0.dev20251112", True), ("2.6.0rc1", True), ("2.6.0", False), ("2.7.0+git1a0", False)],
)
def test_pre_releases(text: str, early: bool) -> None:
    assert is_pre_release(text) is early


def test_forms() -> None:
    assert [from_cu(digits) for digits in ("92", "102", "118", "130")] == ["9.2", "10.2", "11.8", "13.0"]
    assert [from_digits(text) for text in ("611", "7.2.1.", "6.1", "10.0.0")] == ["6.1.1", "7.2.1", "6.1", "10.0.0"]
    assert (bare("v2.4.1+cu121"), series("6.2.4"), series("7")) == ("2.4.1", "6.2", "7")


@pytest.mark.parametrize(
    ("first", "second", "shared"),
    [
        ("6.2", "6.2.4", "6.2"),
        ("6.2.4", "6.2.4", "6.2.4"),
        ("6.2.1", "6.2.4", "6.2"),
        ("6.2", "6.3", None),
        ("6.2", "x", None),
    ],
)
def test_agreed(first: str, second: str, shared: str | None) -> None:
    assert agreed(first, second) == agreed(second, first) == shared


@pytest.mark.parametrize(
    ("left", "right", "order"),
    [
        ("2.4.0a0", "2.4.0", -1),
        ("2.10", "2.9", 1),
        ("2.4.0", "2.4", 0),
        ("2.4.1+cu121", "2.4.1+rocm6.1", 0),
        ("r2.4", "r2.4", 0),
    ],
)
def test_compare(left: str, right: str, order: int) -> None:
    assert compare(left, right) == order


@given(NUMBERS, NUMBERS)
def test_comparisons_agree_with_each_other(left: str, right: str) -> None:
    assert compare(left, right) == -compare(right, left)
    answer = at_least(left, right)
    if answer is not None:
        assert answer is (compare(left, right) >= 0)
    assert at_least(left, left) is True
