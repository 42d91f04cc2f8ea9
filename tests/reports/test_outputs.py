"""Which formats go where, colours, and names that no encoding holds."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from argparse import ArgumentTypeError
from collections.abc import Callable, Mapping
from pathlib import Path
from xml.etree import ElementTree

import pytest
from report_samples import hostile
from support import ROOT, here

from envdoctor.core.errors import UserError
from envdoctor.reports.findings.formats import FORMATS
from envdoctor.reports.outputs import ReportOutput, output, planned, write

Tree = Callable[[Mapping[str, str]], Path]
GHOST = "export NCCL_DETERMINISTIC=1\n"
TEXT, SARIF = ReportOutput("text"), ReportOutput("sarif", Path("a"))


@pytest.mark.parametrize(
    ("given", "file", "expected"),
    [
        ([], None, [TEXT]),
        ([], "o", [ReportOutput("text", Path("o"))]),
        ([ReportOutput("json")], "o", [ReportOutput("json", Path("o"))]),
        ([SARIF], None, [SARIF]),
        ([SARIF, TEXT], None, [SARIF, TEXT]),
        ([SARIF, TEXT], "o", [SARIF, ReportOutput("text", Path("o"))]),
    ],
)
def test_plan(given: list[ReportOutput], file: str | None, expected: list[ReportOutput]) -> None:
    assert planned(given, Path(file) if file else None) == expected


@pytest.mark.parametrize(
    ("given", "file", "says"),
    [
        ([TEXT, ReportOutput("json")], None, "text and json both go to standard output; use FORMAT:FILE"),
        ([SARIF, ReportOutput("json", Path("a"))], None, "sarif and json both go to a"),
        ([SARIF, TEXT], "a", "sarif and text both go to a"),
        ([SARIF], "o", "--output: each --format has a file of its own already"),
    ],
)
def test_places_that_clash(given: list[ReportOutput], file: str | None, says: str) -> None:
    with pytest.raises(UserError, match=says):
        planned(given, Path(file) if file else None)


def test_words_of_the_command_line() -> None:
    assert output("sarif:a:b.sarif") == ReportOutput("sarif", Path("a:b.sarif"))
    assert output("text") == TEXT
    for wrong in ("xml", "xml:a", "sarif:", ""):
        with pytest.raises(ArgumentTypeError):
            output(wrong)


def test_several_formats_in_one_run(tree: Tree) -> None:
    root = tree({"a.sh": GHOST})
    words = [word for name in ("sarif", "junit", "html") for word in ("--format", f"{name}:o.{name}")]
    run = here("scan", *words, "--format", "concise", cwd=root)
    assert run.returncode == 1
    assert run.stdout.count("\n") == 1
    assert json.loads((root / "o.sarif").read_text())["version"] == "2.1.0"
    assert ElementTree.parse(root / "o.junit").getroot().tag == "testsuites"
    assert (root / "o.html").read_text().startswith("<!doctype html>")


def test_one_format_with_a_file_prints_nothing(tree: Tree) -> None:
    run = here("scan", "--format", "json:o.json", cwd=tree({"a.sh": GHOST}))
    assert (run.returncode, run.stdout, run.stderr) == (1, "", "")


@pytest.mark.parametrize("words", [["--format", "text", "--format", "json"], ["--format", "json:no/such/folder"]])
def test_what_cannot_be_done_is_status_2(tree: Tree, words: list[str]) -> None:
    run = here("scan", *words, cwd=tree({"a.sh": GHOST}))
    assert run.returncode == 2
    assert "Traceback" not in run.stderr


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_a_name_that_is_not_utf8_ends_no_scan(tmp_path: Path, name: str) -> None:
    with (tmp_path / os.fsdecode(b"a\xff.sh")).open("w") as file:
        file.write(GHOST)
    run = here("scan", "--format", name, cwd=tmp_path)
    assert (run.returncode, run.stderr) == (1, "")
    assert run.stdout


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_every_format_can_be_written_to_a_file_whatever_is_in_it(tmp_path: Path, name: str) -> None:
    write([ReportOutput(name, tmp_path / "o")], hostile())
    assert (tmp_path / "o").read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(set(FORMATS) - {"text"}))
def test_formats_for_programs_have_no_colour_on_a_terminal(tree: Tree, name: str) -> None:
    assert b"\x1b[" not in on_a_terminal(tree({"a.sh": GHOST}), name)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("environment", "coloured"),
    [({}, True), ({"NO_COLOR": ""}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)],
)
def test_colour(tree: Tree, environment: dict[str, str], coloured: bool) -> None:
    assert (b"\x1b[" in on_a_terminal(tree({"a.sh": GHOST}), "text", **environment)) == coloured


def on_a_terminal(root: Path, name: str, **environment: str) -> bytes:
    """What a scan writes where standard output is a terminal."""
    ours, theirs = pty.openpty()
    env = {**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm"}
    env.pop("NO_COLOR", None)
    command = [sys.executable, "-m", "envdoctor", "scan", "--format", name]
    with subprocess.Popen(command, cwd=root, env={**env, **environment}, stdout=theirs, stdin=theirs) as run:
        os.close(theirs)
        written = b""
        try:
            while part := os.read(ours, 65536):
                written += part
        except OSError:  # the terminal is gone: the program has ended
            pass
        assert run.wait() == 1
    os.close(ours)
    return written
