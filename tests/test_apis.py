"""Tables of what is known of Python names: joined, explained at the top of their files, and taken over by rules."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from envdoctor.knowledge import own_files
from envdoctor.knowledge.apis import build, load_apis, with_tables
from envdoctor.knowledge.files import loads_toml, rule_paths, rules_dir
from envdoctor.knowledge.rulebook import RuleError, load_rulebook

RULE = """
id = "ED999"
name = "own"
title = "t"
severity = "warning"
confidence = "high"
level = "hygiene"
check = "call"
since = "0.1.0"
why = "w"
fix = "f"
[parameters]
of = "seeds"
"""


def keys_of(content: Any) -> Iterator[str]:
    """The keys of all tables in lists and tables."""
    for value in content.values() if isinstance(content, dict) else content:
        if isinstance(value, dict):
            yield from value
        if isinstance(value, dict | list):
            yield from keys_of(value)


PLAIN = ("names", "torch", "rocm", "cuda", "shuffle", "param_dtype", "PYTORCH_TUNABLEOP_TUNING")
"""Keys that speak for themselves: names, libraries, platforms, arguments of calls, variables."""


@pytest.mark.parametrize("path", rule_paths("apis"), ids=lambda path: path.stem)
def test_every_key_is_explained_at_the_top_of_its_file(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    head = text.partition("\n\n")[0]
    keys = {key for key in keys_of(loads_toml(text)) if key not in PLAIN}
    assert sorted(key for key in keys if not re.search(rf"(?<![\w-]){re.escape(key)}(?![\w-])", head)) == []


def test_rules_see_the_tables_that_they_name() -> None:
    parameters = load_rulebook().named("unseeded-rng").parameters
    assert parameters["stream"] is load_apis()["streams"]
    assert [stream["name"] for stream in parameters["stream"]][:2] == ["random", "numpy.random"]


def test_every_table_of_the_files_is_used() -> None:
    named = {
        value.removeprefix("apis:")
        for path in rule_paths("*")
        for value in loads_toml(path.read_text(encoding="utf-8")).get("parameters", {}).values()
        if isinstance(value, str) and value.startswith("apis:")
    }
    code = "".join(path.read_text(encoding="utf-8") for path in (rules_dir().parent / "envdoctor").rglob("*.py"))
    assert [name for name in load_apis() if name not in named and f'"{name}"' not in code] == []


def test_other_parameters_stay_as_they_are() -> None:
    given = {"stream": "apis:streams", "of": "seeds", "words": ["apis:streams"], "n": 1}
    assert with_tables(given) == {**given, "stream": load_apis()["streams"]}


def test_a_table_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "own.toml"
    path.write_text(f'{RULE}stream = "apis:streems"\n')
    with pytest.raises(RuleError) as error:
        own_files.read(path)
    said = "parameters.stream: no table of rules/apis/ is called streems (did you mean streams?)"
    assert str(error.value) == f"{path}:14: {said}"


def files(folder: Path, *texts: str) -> list[Path]:
    """One file for each text."""
    for number, text in enumerate(texts):
        (folder / f"{number}.toml").write_text(text)
    return sorted(folder.iterdir())


def test_lists_of_one_name_are_joined(tmp_path: Path) -> None:
    made = build(files(tmp_path, 'a = ["x"]\n[t]\nk = 1', 'a = ["y"]'))
    assert made == {"a": ["x", "y"], "t": {"k": 1}}


@pytest.mark.parametrize(
    ("texts", "says"),
    [
        (("a = 1",), "0.toml: a: expected a list or a table"),
        (("[a]\nk = 1", "[a]\nk = 2"), "1.toml: a: is in another file already, and only lists are joined"),
        (('a = ["x"]', "[a]\nk = 2"), "1.toml: a: is in another file already, and only lists are joined"),
        (("[a]\nk = 1", 'a = ["x"]'), "1.toml: a: is in another file already, and only lists are joined"),
    ],
)
def test_tables_that_cannot_be_joined(tmp_path: Path, texts: tuple[str, ...], says: str) -> None:
    with pytest.raises(ValueError, match="toml") as error:
        build(files(tmp_path, *texts))
    assert str(error.value) == says
