"""Snapshots of each report format, of one small project. `ENVDOCTOR_ACCEPT=1 pytest` writes them anew."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from report_samples import clean, full, hostile, undone
from support import ROOT, here

from envdoctor import __version__
from envdoctor.engine import ScanResult
from envdoctor.reports.base import printable
from envdoctor.reports.findings.formats import FORMATS, report

SNAPSHOTS = Path(__file__).parent / "snapshots"


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_snapshot(name: str) -> None:
    run = here("scan", "--format", name, "--target", "cuda", cwd=ROOT / "tests" / "fixtures" / "report")
    path = SNAPSHOTS / f"{name}.txt"
    shown = run.stdout.replace(__version__, "VERSION")
    if os.environ.get("ENVDOCTOR_ACCEPT"):
        path.write_text(shown, encoding="utf-8")
    again = "`ENVDOCTOR_ACCEPT=1 pytest tests/reports/test_formats.py` writes the snapshots anew"
    assert shown == path.read_text(encoding="utf-8"), again


@pytest.mark.parametrize("name", sorted(FORMATS))
@pytest.mark.parametrize("make", [full, hostile, clean])
def test_no_format_is_upset_by_anything(name: str, make: Callable[[], ScanResult]) -> None:
    for colour in (True, False):
        text = report(name, colour).render(make())
        assert text == "" or text.endswith("\n")
        if name not in ("json", "sarif"):  # text of fixes comes as it is there, in the escapes of JSON
            assert "\x1b[31m" not in text
            text.encode()
    if name not in ("concise", "text", "json") and make is full:
        assert all(word in text for word in ("confirmed", "refuted", "not testable here", "and set here"))


@pytest.mark.parametrize("name", sorted({*FORMATS, "statistics", "statistics-json"} - {"gitlab", "concise"}))
def test_what_could_not_be_done_shows_in_every_format_that_is_kept(name: str) -> None:
    """`No findings` is no answer where a file was not judged. (GitLab takes issues and nothing else.)"""
    text = report(name).render(undone())
    said = "not everything could be done" if name in ("text", "statistics") else "KeyError"
    assert said in text
    assert said not in report(name).render(clean())


def test_json_keys_are_the_contract() -> None:
    run = here("scan", "--format", "json", cwd=ROOT / "tests" / "fixtures" / "report")
    report = json.loads(run.stdout)
    assert set(report) == {"version", "findings", "hints", "summary"}
    assert report["version"] == 1
    keys = {"rule", "name", "severity", "confidence", "path", "line", "column", "end_line", "end_column", "variable",
            "message", "help", "related", "fix", "confirmation"}  # fmt: skip
    assert all(keys <= set(finding) for finding in report["findings"])


@pytest.mark.slow
def test_colours_only_on_a_terminal(tree: Callable[[Mapping[str, str]], Path]) -> None:
    root = tree({"a.sh": "export NCCL_DETERMINISTIC=1\n"})
    script = "import pty, sys; sys.exit(pty.spawn([sys.executable, '-m', 'envdoctor', 'scan']) >> 8)"
    import subprocess
    import sys

    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    env.pop("NO_COLOR", None)
    shown = subprocess.run([sys.executable, "-c", script], cwd=root, env=env, capture_output=True, check=False)
    assert b"\x1b[1;31merror" in shown.stdout
    env["NO_COLOR"] = "1"
    plain = subprocess.run([sys.executable, "-c", script], cwd=root, env=env, capture_output=True, check=False)
    assert b"\x1b[" not in plain.stdout


def test_printable_shows_what_it_must_not_send() -> None:
    assert printable("a\x1b[0m\u202eb\tc\n") == "a\\x1b[0m\\u202eb\tc\n"
