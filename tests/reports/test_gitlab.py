"""`gitlab`: the shape that GitLab's documentation of code quality asks for, and fingerprints that stay."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import jsonschema
from report_samples import HOSTILE, clean, full, hostile
from support import here

from envdoctor.reports.base import printable
from envdoctor.reports.findings.formats import report

LINES = {
    "type": "object", "required": ["begin"], "additionalProperties": False,
    "properties": {"begin": {"type": "integer", "minimum": 1}, "end": {"type": "integer", "minimum": 1}},
}  # fmt: skip
LOCATION = {
    "type": "object", "required": ["path", "lines"], "additionalProperties": False,
    "properties": {"path": {"type": "string", "pattern": r"^(?!\./)"}, "lines": LINES},
}  # fmt: skip
SCHEMA = {
    "type": "array",
    "items": {
        "type": "object",
        "required": ["description", "check_name", "fingerprint", "severity", "location"],
        "additionalProperties": False,
        "properties": {
            "type": {"const": "issue"}, "check_name": {"type": "string", "minLength": 1},
            "description": {"type": "string", "minLength": 1}, "fingerprint": {"pattern": "^[0-9a-f]{64}$"},
            "severity": {"enum": ["info", "minor", "major", "critical", "blocker"]}, "location": LOCATION,
            "content": {"type": "object", "properties": {"body": {"type": "string"}}},
            "categories": {"type": "array", "items": {"const": "Bug Risk"}},
            "other_locations": {"type": "array", "items": LOCATION},
        },
    },
}  # fmt: skip
"""Fields of GitLab's table of code quality reports and of the Code Climate issue they stem from; GitLab publishes no
schema."""
Tree = Callable[[Mapping[str, str]], Path]


def issues(text: str) -> list[dict[str, Any]]:
    """The issues of a report that keeps to the schema, each with a fingerprint of its own."""
    found: list[dict[str, Any]] = json.loads(text)
    jsonschema.validate(found, SCHEMA)
    assert len({issue["fingerprint"] for issue in found}) == len(found)
    return found


def test_every_part_of_a_finding() -> None:
    first, second, third, hint = issues(report("gitlab").render(full()))
    assert first["location"] == {"path": "train.sh", "lines": {"begin": 4, "end": 4}}
    assert first["other_locations"] == [{"path": "job.yaml", "lines": {"begin": 2, "end": 2}}]
    assert "[confirmed: no communicator asked for it]" in first["description"]
    assert "instead: name the algorithm" in first["content"]["body"]
    assert [i["severity"] for i in (first, second, third, hint)] == ["major", "info", "minor", "info"]
    assert second["location"]["lines"] == {"begin": 6, "end": 6}  # ends in column 1 of line 7


def test_nothing_found_and_hostile_text() -> None:
    assert issues(report("gitlab").render(clean())) == []
    (issue,) = issues(report("gitlab").render(hostile()))
    assert printable(HOSTILE) in issue["description"]
    assert report("gitlab").render(hostile()).encode()


def marks(root: Path) -> dict[tuple[str, str], str]:
    run = here("scan", "--format", "gitlab", "--target", "cuda", cwd=root)
    return {(i["check_name"], str(i["location"]["lines"]["begin"])): i["fingerprint"] for i in issues(run.stdout)}


def test_fingerprints_survive_moved_lines_and_new_neighbours(tree: Tree) -> None:
    lines = "export NCCL_DETERMINISTIC=1\nexport NCCL_P2P_DISABLE=true\n"
    before = marks(tree({"a.sh": lines}))
    after = marks(tree({"a.sh": f"# a comment\n\nexport NCCL_BUFFSIZE=4M\n  {lines}"}))
    assert before[("ghost-variable", "1")] == after[("ghost-variable", "4")]
    assert before[("bad-value", "2")] == after[("bad-value", "5")]


def test_equal_lines_have_fingerprints_of_their_own_and_another_value_is_another(tree: Tree) -> None:
    twice = marks(tree({"a.sh": "export NCCL_DETERMINISTIC=1\nfoo\nexport NCCL_DETERMINISTIC=1\n"}))
    once = marks(tree({"a.sh": "foo\nexport NCCL_DETERMINISTIC=1\n"}))
    other = marks(tree({"a.sh": "export NCCL_DETERMINISTIC=2\n"}))
    assert twice[("ghost-variable", "1")] == once[("ghost-variable", "2")]
    assert len({*twice.values(), *other.values()}) == len(twice) + len(other)
