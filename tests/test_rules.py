"""Every example of every rule is a test: bad ones are found on the lines they name, good ones stay silent."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from node_trees import judged_with
from support import known_catalog

from envdoctor import rulebook
from envdoctor.config import load
from envdoctor.discovery import find
from envdoctor.engine import Engine, one_fault_one_finding
from envdoctor.project import Project
from envdoctor.rulebook import Example, Rule, RuleError, load_rulebook, rule_from
from envdoctor.targets import parse_target

BOOK = load_rulebook()
EVERY = [(rule, i, example) for rule in BOOK for i, example in enumerate(rule.examples, 1)]
EXAMPLES = [item for item in EVERY if not item[2].node]
NODE_EXAMPLES = [item for item in EVERY if item[2].node]


def scan_example(root: Path, example: Example) -> list[tuple[int, str, str | None]]:
    """(line, rule name, variable) for the example's own file."""
    catalog = known_catalog()
    triggers = {t.encode() for rule in BOOK for t in rule.triggers} | set(catalog.triggers())
    target = parse_target(example.target) if example.target else None
    project = Project(root, root, (), target, tuple(triggers))
    engine = Engine(project, catalog, BOOK, list(BOOK), level=example.level or load(root).level)
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
    mine = sorted((line, variable) for line, name, variable in scan_example(root, example) if name == rule.name)
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
    "check": "name", "since": "1", "why": "w", "fix": "f",
}  # fmt: skip


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"severty": "error"}, "severty: unknown key (did you mean severity?)"),
        ({"severity": "fatal"}, "severity: 'fatal' is not one of"),
        ({"triggers": "NCCL"}, "triggers: expected list, got str"),
        ({"example": [{"kind": "bad", "file": "a.sh"}]}, "example 1: expect:"),
        ({"example": [{"kind": "maybe"}]}, "example 1: kind:"),
        ({"check": "regex"}, "check: 'regex' is not one of"),
    ],
)
def test_bad_rule_names_file_and_key(change: dict[str, object], says: str) -> None:
    with pytest.raises(RuleError) as error:
        rule_from({**GOOD, **change}, "names/a-rule.toml")
    assert str(error.value).startswith("names/a-rule.toml: ")
    assert says in str(error.value)


def test_missing_key_is_named() -> None:
    with pytest.raises(RuleError, match="why: missing"):
        rule_from({k: v for k, v in GOOD.items() if k != "why"}, "x.toml")


def test_two_rules_cannot_share_a_name() -> None:
    with pytest.raises(RuleError, match="already taken by a"):
        rulebook.rulebook_from({"a": GOOD, "b": {**GOOD, "id": "ED998"}})


def test_rules_are_found_by_id_and_name() -> None:
    assert BOOK.find("ed101") is BOOK.find("ghost-variable")
    assert BOOK.find("nothing") is None


def test_stronger_rule_wins_on_the_same_line() -> None:
    from envdoctor.facts import Place
    from envdoctor.findings import Finding

    place = Place("a.sh", 1, 1, 1, 2)
    ghost = Finding("ED101", "ghost-variable", "error", "high", place, "", variable="X")
    misnamed = Finding("ED102", "misnamed-variable", "error", "high", place, "", variable="X")
    assert one_fault_one_finding([ghost, misnamed]) == [misnamed]
