"""YAML: places hold whatever the style and the line ends, no text raises, and no file takes long."""

from __future__ import annotations

import time

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from envdoctor.core.facts import FileFacts, Place
from envdoctor.core.source import Source
from envdoctor.readers.registry import read
from envdoctor.readers.yaml import compose as yaml_compose

NAMES = st.from_regex(r"[A-Z][A-Z0-9]{0,3}_[A-Z0-9_]{1,6}", fullmatch=True)
TEXTS = st.text(st.sampled_from("ab1/:=,.'\"\\#%{}[]\u00e9\U0001f600 \t"), max_size=8)


def facts_of(text: str) -> FileFacts:
    return read(Source("x.yaml", text), "yaml")


def excerpt(text: str, place: Place | None) -> str:
    assert place is not None
    assert place.line == place.end_line
    return text.split("\n")[place.line - 1][place.column - 1 : place.end_column - 1]


def double(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\t", "\\t") + '"'


def single(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


SHAPES = {
    "map": ("env:", "  {name}: {value}"),
    "pairs": ("env:", "  - name: {name}\n    value: {value}"),
    "flow": ("env:", "  - {{name: {name}, value: {value}}}"),
    "anchored": ("env: &a", "  {name}: &b{number} {value}"),
    "deep": ("a:\n - b:\n    c: {environment:\n", "      {name}: {value},"),
}


@given(st.sampled_from(["map", "pairs", "flow", "anchored"]), st.sampled_from([double, single]),
       st.lists(st.tuples(NAMES, TEXTS), min_size=1, max_size=5, unique_by=lambda pair: pair[0]),
       st.sampled_from(["\n", "\r\n"]),
       st.sampled_from(["", "\ufeff", "# \u2028 \x85 c\n", "---\na: 1\n---\n"]))  # fmt: skip
def test_places_and_values_hold(shape, quote, pairs, line_end, before) -> None:
    head, item = SHAPES[shape]
    lines = [item.format(name=name, value=quote(text), number=n) for n, (name, text) in enumerate(pairs)]
    text = before + "\n".join([head, *lines, ""])
    text = text.replace("\n", line_end)
    facts = facts_of(text)
    wanted = [(name, value) for name, value in pairs if "{{" not in value and "{%" not in value]
    if len(wanted) < len(pairs):
        return
    assert not facts.problems
    assert [(setting.name, setting.value.text) for setting in facts.settings] == pairs
    plain = text.removeprefix("\ufeff")
    shift = len(text) - len(plain)
    for setting, (name, value) in zip(facts.settings, pairs, strict=True):
        place = setting.name_place
        assert place is not None
        if place.line > 1:
            shift = 0
        line = text.split("\n")[place.line - 1]
        assert line[place.column - 1 : place.end_column - 1] == name
        assert quote(value)[1:-1] == excerpt(text, setting.value_place)
    assert shift in (0, 1)


@given(st.text(st.sampled_from("env:NCL_A{}[]%&*!|>-'\"#\n\t\r \\$\u00e9\x00\x85\u2028\ud800?,1"), max_size=150))
def test_any_text_is_read(text: str) -> None:
    facts = facts_of(text)
    for setting in facts.settings:
        assert (setting.place.line, setting.place.column) <= (setting.place.end_line, setting.place.end_column)


LINES = [
    "env:", "  A_B: 1", "  - name: A_B", "    value: 2", "{{ if x }}", "{{- end }}", "  {{ x }}: {{ y }}", "- A_B=1",
    "\tx: 1", "run: |", "  export A_B=1", "a: &a [*a]", "<<: *a", "---", "  <<: [*a, *a]", "'", "services:",
    "apiVersion: v1", "kind: Pod", "jobs:", "spec: {containers: [{env: [{name: A_B}]}]}", "{% for x in y %}", "data:",
    "  A_B: |", "patch: |", "  x: {{ a", "%TAG ! x", "? a", ": b",
]  # fmt: skip


@given(st.lists(st.sampled_from(LINES), max_size=12).map("\n".join))
def test_any_lines_are_read(text: str) -> None:
    facts = facts_of(text)
    for setting in facts.settings:
        assert setting.name == "A_B" or setting.name.isupper()


@given(st.lists(st.tuples(NAMES, TEXTS), min_size=1, max_size=4))
def test_both_loaders_agree(pairs) -> None:
    text = "env:\n" + "".join(f"  {name}: {double(value)}\n" for name, value in pairs)
    fast = facts_of(text)
    loader = yaml_compose.LOADER
    yaml_compose.LOADER = yaml.BaseLoader
    try:
        assert facts_of(text).settings == fast.settings
    finally:
        yaml_compose.LOADER = loader


def laughs() -> str:
    lines = ["a0: &a0 {env: {NCCL_ALGO: Ring}}"]
    lines += [f"a{n}: &a{n} {{x: [{', '.join([f'*a{n - 1}'] * 9)}], <<: [*a{n - 1}, *a{n - 1}]}}" for n in range(1, 40)]
    return "\n".join(lines)


BIG = {
    "laughs": laughs,
    "recursion": lambda: "env: &a\n  x: *a\n  <<: *a\n  NCCL_ALGO: Ring\n",
    "recursion of environments": lambda: "env: &a\n  env1: *a\n  env2: *a\n  x: {env: *a}\n",
    "flow": lambda: "env: " + "[" * 100_000,
    "dashes": lambda: "- " * 100_000,
    "wide": lambda: "env:\n" + "".join(f"  NCCL_A{n}: 1\n" for n in range(60_000)),
    "templates": lambda: "env:\n" + "{{ if x }}\n  NCCL_ALGO: Ring\n{{ end }}\n" * 10_000,
    "unclosed templates": lambda: "env: {{" * 100_000,
    "unclosed references": lambda: "env:\n  NCCL_ALGO: " + "${${" * 100_000,
    "comments": lambda: "env:\n" + "# c\n" * 300_000 + "  NCCL_ALGO: Ring\n",
    "documents": lambda: "---\nenv: {NCCL_ALGO: Ring}\n" * 20_000,
    "broken": lambda: "\tx\n" + "env:\n  - name: NCCL_ALGO\n    value: 1\n" * 20_000,
    "five megabytes": lambda: "env:\n" + "  - name: NCCL_ALGO\n    value: Ring\n" * 135_000,
    "twenty megabytes": lambda: "# x\n" * 5_000_000,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", BIG)
def test_time_is_bounded(name: str) -> None:
    text = BIG[name]()
    start = time.process_time()
    facts = facts_of(text)
    assert time.process_time() - start < 15
    assert len(facts.settings) <= 10_000
    if len(text) > 2_000_000:
        assert facts.problems


def test_exploding_aliases_are_cut_and_said_to_be() -> None:
    facts = facts_of(laughs())
    assert facts.settings
    assert any("aliases" in problem.message for problem in facts.problems)


@pytest.mark.slow
def test_a_large_file_is_read_by_lines() -> None:
    facts = facts_of("# x\n" * 600_000 + "env:\n  NCCL_ALGO: Ring\n")
    assert [setting.name for setting in facts.settings] == ["NCCL_ALGO"]
