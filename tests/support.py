"""Shared helpers: envdoctor run as a user runs it."""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from envdoctor.cli.main import main
from envdoctor.knowledge.catalog.load import load_catalog
from envdoctor.knowledge.catalog.model import Catalog
from envdoctor.knowledge.rulebook import Rule, load_rulebook

ROOT = Path(__file__).parent.parent


@cache
def known_catalog() -> Catalog:
    """Our catalogue, loaded once for all tests that only ask it: loading it takes longer than many of them."""
    return load_catalog()


@cache
def known_rules() -> tuple[Rule, ...]:
    """All rules that come with envdoctor, loaded once as well."""
    return tuple(load_rulebook())


def envdoctor(*words: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run `python -m envdoctor` in a folder."""
    env = {**os.environ, "PYTHONPATH": str(ROOT), **environment}
    command = [sys.executable, "-m", "envdoctor", *words]
    return subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, timeout=120, check=False)


def here(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """The same in this process, for tests of what is said: starting another takes longer than most scans."""
    out, told, before = text_stream(), text_stream(), Path.cwd()
    os.chdir(cwd)
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(told):
            status = main(words)
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else 1
    finally:
        os.chdir(before)
    said, heard = (stream.buffer.getvalue().decode() for stream in (out, told))
    return subprocess.CompletedProcess(words, status, said, heard)


def text_stream() -> io.TextIOWrapper:
    """A text stream as a process has one, of which the bytes are kept."""
    return io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="\n", write_through=True)


def scan_json(cwd: Path, *words: str) -> dict[str, Any]:
    """The JSON report of a scan."""
    run = here("scan", "--format", "json", *words, cwd=cwd)
    assert run.returncode in (0, 1), run.stderr
    report: dict[str, Any] = json.loads(run.stdout)
    return report


def found(report: Mapping[str, Any]) -> list[tuple[str, int, str, str | None]]:
    """(path, line, rule name, variable) of each finding."""
    return [(f["path"], f["line"], f["name"], f["variable"]) for f in report["findings"]]
