"""docs/own-rules.md: its example works, and every key of every record is explained."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from support import ROOT, envdoctor

from envdoctor.knowledge.kinds import KINDS
from envdoctor.knowledge.parameters.records import RECORDS
from envdoctor.knowledge.parameters.validation import record_of
from envdoctor.knowledge.rule_records import OwnRuleFile

sys.path.insert(0, str(ROOT / "tools"))
import parameter_docs

Tree = Callable[[Mapping[str, str]], Path]
PAGE = (ROOT / "docs" / "own-rules.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
CONFIGURATION, RULE = BLOCKS


def test_the_example_is_valid_and_its_examples_pass(tree: Tree) -> None:
    run = envdoctor("rules", "--test", "our-rule.toml", cwd=tree({"our-rule.toml": RULE}))
    assert run.stdout.splitlines() == [
        "valid    our-rule.toml: rule ED950 inexact-attention, 2 examples",
        "passed   our-rule.toml: example 1 (bad)",
        "passed   our-rule.toml: example 2 (good)",
    ]
    assert (run.returncode, run.stderr) == (0, "")


def test_a_project_that_names_the_example(tree: Tree) -> None:
    code = RULE.partition('code = """\n')[2].partition('"""')[0]
    root = tree({"envdoctor.toml": CONFIGURATION, "envdoctor-rules/attention.toml": RULE, "train.py": code})
    run = envdoctor("scan", "--format", "concise", "--select", "inexact-attention", cwd=root)
    assert run.returncode == 1
    assert "train.py:4:5: ED950" in run.stdout


def test_the_error_that_the_page_shows(tree: Tree) -> None:
    told = re.findall(r"^our-rule.toml:(\d+)(: .*)$", PAGE, re.MULTILINE)
    assert len(told) == 1
    wrong = RULE.replace("needs =", "need =")
    line = wrong.split("\n").index('need = "determinism"') + 1
    run = envdoctor("rules", "--validate", "our-rule.toml", cwd=tree({"our-rule.toml": wrong}))
    assert run.stdout == f"invalid  our-rule.toml:{line}{told[0][1]}\n"
    assert int(told[0][0]) == line


@pytest.mark.parametrize("record", [OwnRuleFile, *dict.fromkeys(RECORDS.values())])
def test_every_key_is_explained(record: type) -> None:
    assert set(parameter_docs.explanations()[record.__name__]) == set(record_of(record).types)


def test_every_kind_and_choice_has_its_place() -> None:
    assert set(parameter_docs.WORDS) == set(KINDS)
    for name, kind in KINDS.items():
        assert f'### `check = "{name}"`' in PAGE
        for word in kind.codes:
            assert not kind.chooser or f'#### `{kind.chooser} = "{word}"`' in PAGE
