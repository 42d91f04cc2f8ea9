"""Every example of every rule is a test: bad ones are found on the lines they name, good ones stay silent."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from node_trees import judged_with
from support import known_catalog

from envdoctor.analysis.project import open_project
from envdoctor.engine import Engine, one_fault_one_finding, triggers
from envdoctor.knowledge import rulebook
from envdoctor.knowledge.rule_check import check_shipped
from envdoctor.knowledge.rule_errors import RuleError
from envdoctor.knowledge.rulebook import Example, Rule, load_rulebook
from envdoctor.knowledge.targets.given import parse_target
from envdoctor.project.config import load
from envdoctor.project.discovery import find

BOOK = load_rulebook()
EVERY = [(rule, i, example) for rule in BOOK for i, example in enumerate(rule.examples, 1)]
EXAMPLES = [item for item in EVERY if not item[2].node]
NODE_EXAMPLES = [item for item in EVERY if item[2].node]


def scan_example(root: Path, rule: Rule, example: Example) -> list[tuple[int, str, str | None]]:
    """(line, rule name, variable) for the example's own file."""
    catalog = known_catalog()
    wanted = triggers(BOOK, catalog)
    target = parse_target(example.target) if example.target else None
    project = open_project(root, root, wanted, target=target)
    engine = Engine(project, catalog, BOOK, list(BOOK), level=example.level or load(root).level)
    engine.show_hints = rule.severity == "info"
    result = engine.judge(find(["."], root).files, load(root).complaints)
    return [(f.place.line, f.name, f.variable) for f in result.findings if f.place.path == example.file]


@pytest.mark.parametrize(
    ("rule", "example"), [(r, e) for r, _, e in EXAMPLES], ids=[f"{r.name}-{i}-{e.kind}" for r, i, e in EXAMPLES]
)
def test_example(
    rule: Rule, example: Example, tree: Callable[[Mapping[str, str]], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {example.file: example.code, **{f["file"]: f["code"] for f in example.files}}
    root = tree(files)
    monkeypatch.chdir(root)
    mine = sorted((line, variable) for line, name, variable in scan_example(root, rule, example) if name == rule.name)
    assert mine == sorted((e["line"], e.get("variable")) for e in example.expect)


@pytest.mark.parametrize(
    ("rule", "example"),
    [(r, e) for r, _, e in NODE_EXAMPLES],
    ids=[f"{r.name}-{i}-{e.kind}" for r, i, e in NODE_EXAMPLES],
)
def test_node_example(rule: Rule, example: Example) -> None:
    examination = judged_with(example.files, example.node, level=example.level or "auto")
    said = [f.message for f in examination.findings if f.name == rule.name]
    assert len(said) == len(example.expect), said
    assert all(any(expect["says"] in message for message in said) for expect in example.expect), said


@pytest.mark.parametrize("rule", [r for r in BOOK if r.check != "own"], ids=lambda r: r.name)
def test_every_rule_has_bad_and_good_examples(rule: Rule) -> None:
    assert {e.kind for e in rule.examples} == {"bad", "good"}


GOOD = {
    "id": "ED999", "name": "a-rule", "title": "t", "severity": "warning", "confidence": "high", "level": "hygiene",
    "code": "values.grammar", "since": "1", "why": "w", "fix": "f",
}  # fmt: skip


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"severty": "error"}, "severty: unknown key (did you mean severity?)"),
        ({"severity": "fatal"}, "severity: 'fatal' is not one of"),
        ({"triggers": "NCCL"}, "triggers: expected a list of strings, got a string"),
        ({"example": [{"kind": "bad", "file": "a.sh"}]}, "example[1].expect: "),
        ({"example": [{"kind": "maybe"}]}, "example[1].kind: 'maybe' is not one of bad, good"),
        ({"check": "name"}, "check: unknown key"),
        ({"code": "values.gramar"}, "code: 'values.gramar' is not known (did you mean values.grammar?)"),
        (
            {"code": "own.shouting"},
            "code: 'own.shouting' is not known (a new one has a line in checks/registry.py and ",
        ),
        ({"code": []}, "code: expected a list with something in it"),
        ({"code": ["python.seeds", "values.grammar"]}, "parameters.seeds_unseen: missing, and so are seeds_nothing, "),
    ],
)
def test_bad_rule_names_file_and_key(change: dict[str, object], says: str) -> None:
    with pytest.raises(RuleError) as error:
        check_shipped({**GOOD, **change}, "names/a-rule.toml")
    assert str(error.value).startswith("names/a-rule.toml: ")
    assert says in str(error.value)


def test_missing_key_is_named() -> None:
    with pytest.raises(RuleError, match="why: missing"):
        check_shipped({k: v for k, v in GOOD.items() if k != "why"}, "x.toml")


def test_two_rules_cannot_share_a_name() -> None:
    with pytest.raises(RuleError, match="already taken by a"):
        rulebook.rulebook_from({"a": GOOD, "b": {**GOOD, "id": "ED998"}})


def test_rules_are_found_by_id_and_name() -> None:
    assert BOOK.find("ed101") is BOOK.find("ghost-variable")
    assert BOOK.find("nothing") is None


def test_stronger_rule_wins_on_the_same_line() -> None:
    from envdoctor.core.facts import Place
    from envdoctor.core.findings import Finding

    place = Place("a.sh", 1, 1, 1, 2)
    ghost = Finding("ED101", "ghost-variable", "error", "high", place, "", variable="X")
    misnamed = Finding("ED102", "misnamed-variable", "error", "high", place, "", variable="X")
    assert one_fault_one_finding([ghost, misnamed]) == [misnamed]
