"""`github`: read back the way the runner reads it."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from report_samples import HOSTILE, clean, full, hostile

from envdoctor.core.facts import Place
from envdoctor.core.findings import Finding
from envdoctor.reports.base import printable
from envdoctor.reports.findings.formats import report
from envdoctor.reports.findings.github import workflow_command

COMMAND = re.compile(r"::(error|warning|notice) ([^:]*)::(.*)")


def parsed(line: str) -> tuple[str, dict[str, str], str]:
    """Kind, properties and message of a command, as actions/runner's ActionCommand reads them (v2 commands)."""
    match = COMMAND.fullmatch(line)
    assert match is not None, line
    properties = dict(part.split("=", 1) for part in match[2].split(","))
    for a, b in (("%0D", "\r"), ("%0A", "\n"), ("%3A", ":"), ("%2C", ","), ("%25", "%")):
        properties = {key: value.replace(a, b) for key, value in properties.items()}
    message = match[3]
    for a, b in (("%0D", "\r"), ("%0A", "\n"), ("%25", "%")):
        message = message.replace(a, b)
    return match[1], properties, message


def test_every_part_of_a_finding() -> None:
    commands = [parsed(line) for line in report("github").render(full()).splitlines()]
    assert [(kind, p["file"], p["line"]) for kind, p, _ in commands] == [
        ("error", "train.sh", "4"), ("notice", "train.sh", "6"), ("warning", "train.sh", "9"), ("notice", "z.py", "1"),
        ("notice", "b.py", "3"),
    ]  # fmt: skip
    _, properties, message = commands[0]
    assert properties == {"title": "ED101 ghost-variable", "file": "train.sh", "line": "4", "col": "8",
                          "endColumn": "25"}  # fmt: skip
    assert message.splitlines() == [
        "nobody reads it", "see: job.yaml:2: and set here", "instead: name the algorithm",
        "confirmed: no communicator asked for it", "evidence: owner/name@v1:file.cc",
    ]  # fmt: skip
    assert commands[1][1]["endLine"] == "7"
    assert "col" not in commands[1][1]


def test_nothing_found_is_no_output() -> None:
    assert report("github").render(clean()) == ""


def test_text_cannot_break_out() -> None:
    text = report("github").render(hostile())
    lines = text.split("\n")
    assert len(lines) == 4
    assert lines[3] == ""
    assert parsed(lines[2]) == ("error", {"title": "envdoctor"}, printable(HOSTILE))
    assert "\r" not in text
    assert "\x1b" not in text
    _, properties, message = parsed(lines[0])
    assert properties["file"] == printable(f"dir/{HOSTILE}:1,2.sh")
    assert message.splitlines()[0] == printable(HOSTILE)


@given(st.text(), st.text(min_size=1))
def test_any_text_comes_back(message: str, path: str) -> None:
    finding = Finding("ED101", "ghost-variable", "error", "high", Place(path, 1, 1, 1, 2), message)
    line = workflow_command(finding)
    assert "\n" not in line
    kind, properties, said = parsed(line)
    assert (kind, properties["file"], said) == ("error", printable(path), printable(message))


@pytest.mark.parametrize(("end", "shown"), [(1, "8"), (8, "8"), (9, "8"), (26, "25")])
def test_the_end_is_inclusive(end: int, shown: str) -> None:
    place = Place("a.sh", 1, 8, 1, end)
    assert f"endColumn={shown}:" in workflow_command(Finding("ED101", "x", "error", "high", place, "m"))
