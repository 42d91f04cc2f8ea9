"""Parameters of real rules, changed at random: a rule is refused by its key, or it runs without an error of ours."""

from __future__ import annotations

import copy
import datetime
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from own_lab import OWN, tried, valid

from envdoctor.knowledge.rule_errors import RuleKeyError

VALUES: list[Any] = [
    "", "x", "(", "[z-a]", "(?P<a", "(x)?", "*", ">=2", "torch.*", "numpy.random", "cuda", "info", -1, 0, 7, 10**30, True,
    False, 1.5, [], ["x"], [""], [[]], [{}], ["a", "b"], {}, {"x": 1}, {"x": "y"}, datetime.date(1979, 5, 27),
]  # fmt: skip
KEYS = ["x", "", "names", "position", "unless", "values", "entry_triggers", "unless_private", "probe", "without"]
OTHER = settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def tables_of(value: Any) -> list[Any]:
    """A value and all tables and lists in it."""
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    inside = [found for item in items for found in tables_of(item)]
    return [value, *inside] if isinstance(value, (dict, list)) else []


def changed(parameters: Any, data: st.DataObject) -> None:
    """One change: a key or item goes, gets another value, or comes."""
    table = data.draw(st.sampled_from(tables_of(parameters)))
    value = copy.deepcopy(data.draw(st.sampled_from(VALUES)))
    places = list(table) if isinstance(table, dict) else list(range(len(table)))
    how = data.draw(st.sampled_from(["drop", "change", "add"] if places else ["add"]))
    if how == "add" and isinstance(table, list):
        table.append(value)
    elif how == "add":
        table[data.draw(st.sampled_from(KEYS))] = value
    elif how == "drop":
        del table[data.draw(st.sampled_from(places))]
    else:
        table[data.draw(st.sampled_from(places))] = value


@pytest.mark.parametrize("name", OWN)
def test_as_it_is(name: str) -> None:
    rule = valid(OWN[name])
    with tempfile.TemporaryDirectory() as folder:
        assert tried(rule, rule.examples[0], Path(folder).resolve()) == []


@pytest.mark.parametrize("name", OWN)
@OTHER
@given(st.data())
def test_changed(name: str, data: st.DataObject) -> None:
    content = {**OWN[name], "parameters": copy.deepcopy(OWN[name]["parameters"])}
    for _ in range(data.draw(st.integers(1, 3))):
        changed(content["parameters"], data)
    try:
        rule = valid(content)
    except RuleKeyError as error:
        assert str(error).startswith("mine.toml: parameters")
        return
    example = data.draw(st.sampled_from(rule.examples))
    with tempfile.TemporaryDirectory() as folder:
        assert tried(rule, example, Path(folder).resolve()) == []
