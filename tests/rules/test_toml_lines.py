"""The line of a key in a TOML file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import ROOT

from envdoctor.knowledge.files import loads_toml
from envdoctor.knowledge.rule_errors import Key, dotted
from envdoctor.knowledge.toml_lines import KeyLines, line_of

TEXT = '''\
id = "a"  # a comment with = and [brackets]
why = """
[parameters]
of = 1 \\""" still within"""
'a b' = 'x # y'

[parameters]
names = [
  "one",  # first
  "two", { deep = [1, [2,
    3]] },
]
when = 1979-05-27 07:32:00
flat = { a = 1, "b.c" = [true, false], d.e = "}" }

[[parameters.stream]]
name = "first"

[[parameters.stream]] # the second
draws.x = """"quoted""""
  [parameters.stream.inner]
  y = '' # empty
[[parameters.stream.without]]
z = 1
[last]
'''


@pytest.mark.parametrize(
    ("key", "line"),
    [
        (("id",), 1),
        (("why",), 2),
        (("a b",), 5),
        (("parameters",), 7),
        (("parameters", "names"), 8),
        (("parameters", "names", 0), 9),
        (("parameters", "names", 1), 10),
        (("parameters", "names", 2, "deep", 1, 1), 11),
        (("parameters", "when"), 13),
        (("parameters", "flat", "b.c", 1), 14),
        (("parameters", "flat", "d", "e"), 14),
        (("parameters", "stream"), 16),
        (("parameters", "stream", 0), 16),
        (("parameters", "stream", 0, "name"), 17),
        (("parameters", "stream", 1), 19),
        (("parameters", "stream", 1, "draws", "x"), 20),
        (("parameters", "stream", 1, "inner", "y"), 22),
        (("parameters", "stream", 1, "without", 0, "z"), 24),
        (("last",), 25),
    ],
)
def test_lines(key: Key, line: int) -> None:
    assert line_of(TEXT, key) == line


def test_a_missing_key_has_the_line_of_what_it_is_missing_from() -> None:
    assert line_of(TEXT, ("parameters", "stream", 1, "call")) == 19
    assert line_of(TEXT, ("parameters", "missing")) == 7
    assert line_of(TEXT, ("missing",)) is None


@pytest.mark.parametrize("text", ["a", "a = ", "[", "[a", "a = {", "= 1", "a = [", "a = [" * 5000, "[[a]", "\x00", '"'])
def test_what_is_no_toml_has_no_lines(text: str) -> None:
    assert line_of(text, ("b",)) is None


def keys_of(value: Any, key: Key = ()) -> set[Key]:
    """Every key and place in a parsed file."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return {key} - {()} | {found for part, item in items for found in keys_of(item, (*key, part))}


@pytest.mark.parametrize("path", sorted((ROOT / "rules").glob("*/*.toml")), ids=lambda path: path.stem)
def test_every_key_of_every_file_of_ours_has_a_line(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    found = KeyLines(text).read()
    assert keys_of(loads_toml(text)) == set(found)
    lines = text.split("\n")
    wrong = [key for key, line in found.items() if isinstance(key[-1], str) and key[-1] not in lines[line - 1]]
    assert wrong == []


@given(st.text(alphabet="ab.=[]{}\"'#\\\n\r \t,1"))
def test_any_text_that_is_toml_has_a_line_for_every_key(text: str) -> None:
    line_of(text, ("a",))
    try:
        parsed = loads_toml(text)
    except (ValueError, RecursionError):
        return
    assert keys_of(parsed) <= set(KeyLines(text).read())


def test_keys_are_written_as_people_count() -> None:
    assert dotted(("parameters", "stream", 1, "draws")) == "parameters.stream[2].draws"
