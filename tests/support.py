"""Shared helpers: envdoctor run as a user runs it."""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from envdoctor.cli import main

ROOT = Path(__file__).parent.parent


def envdoctor(*words: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run `python -m envdoctor` in a folder."""
    env = {**os.environ, "PYTHONPATH": str(ROOT), **environment}
    command = [sys.executable, "-m", "envdoctor", *words]
    return subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, timeout=120, check=False)


def scan_json(cwd: Path, *words: str) -> dict[str, Any]:
    """The JSON report of a scan in a folder, made in this process: starting another takes longer than the scan."""
    out, told, before = io.StringIO(), io.StringIO(), Path.cwd()
    os.chdir(cwd)
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(told):
            status = main(["scan", "--format", "json", *words])
    finally:
        os.chdir(before)
    assert status in (0, 1), told.getvalue()
    report: dict[str, Any] = json.loads(out.getvalue())
    return report


def found(report: Mapping[str, Any]) -> list[tuple[str, int, str, str | None]]:
    """(path, line, rule name, variable) of each finding."""
    return [(f["path"], f["line"], f["name"], f["variable"]) for f in report["findings"]]
