"""Snapshots of each report format, of one small project. `ENVDOCTOR_ACCEPT=1 pytest` writes them anew."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from conftest import ROOT, envdoctor

from envdoctor.reports import FORMATS, printable

SNAPSHOTS = Path(__file__).parent / "snapshots"


@pytest.mark.parametrize("name", ["text", "concise", "json"])
def test_snapshot(name: str) -> None:
    run = envdoctor("scan", "--format", name, "--target", "cuda", cwd=ROOT / "tests" / "fixtures" / "report")
    path = SNAPSHOTS / f"{name}.txt"
    if os.environ.get("ENVDOCTOR_ACCEPT"):
        path.write_text(run.stdout, encoding="utf-8")
    assert run.stdout == path.read_text(encoding="utf-8")


def test_every_format_is_tried_here_or_beside() -> None:
    tried = {p.stem for p in SNAPSHOTS.glob("*.txt")}
    assert set(FORMATS) <= tried


def test_json_keys_are_the_contract() -> None:
    run = envdoctor("scan", "--format", "json", cwd=ROOT / "tests" / "fixtures" / "report")
    report = json.loads(run.stdout)
    assert set(report) == {"version", "findings", "hints", "summary"}
    assert report["version"] == 1
    keys = {"rule", "name", "severity", "confidence", "path", "line", "column", "end_line", "end_column", "variable",
            "message", "help", "related", "fix", "confirmation"}  # fmt: skip
    assert all(keys <= set(finding) for finding in report["findings"])


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
