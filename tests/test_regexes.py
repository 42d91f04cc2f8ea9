"""Expressions that wait until they are used."""

from __future__ import annotations

import re

import pytest

from envdoctor.core.regexes import regex

CASES = [(r"(a+)(?P<b>b)?", 0, "xaab"), (r"^A$", re.IGNORECASE | re.MULTILINE, "b\na"), (rb"\d+", 0, b"a12")]


@pytest.mark.parametrize(("source", "flags", "text"), CASES)
def test_they_are_as_if_compiled(source: str, flags: int, text: str) -> None:
    ours, theirs = regex(source, flags), re.compile(source, flags)
    for name in ("search", "match", "fullmatch"):
        for _ in range(2):
            assert str(getattr(ours, name)(text)) == str(getattr(theirs, name)(text))
    assert ours.findall(text) == theirs.findall(text)
    assert [m.span() for m in ours.finditer(text)] == [m.span() for m in theirs.finditer(text)]
    assert (ours.sub(text[:1], text), ours.split(text)) == (theirs.sub(text[:1], text), theirs.split(text))
    assert (ours.pattern, ours.flags, ours.groups) == (theirs.pattern, theirs.flags, theirs.groups)


def test_a_wrong_one_is_an_error_when_it_is_used() -> None:
    waiting = regex("(")
    with pytest.raises(re.error):
        waiting.search("")
