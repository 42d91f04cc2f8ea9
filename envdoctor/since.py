"""Which lines of which files were changed since a commit, as git tells."""

from __future__ import annotations

import ast
import os
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path

from envdoctor.discovery import relative_path
from envdoctor.errors import UserError
from envdoctor.facts import Place
from envdoctor.findings import Finding
from envdoctor.regexes import regex

HUNK = regex(rb"^@@ -\S+ \+(\d+)(?:,(\d+))? @@")
Lines = Mapping[str, range | frozenset[int]]
EVERY_LINE = range(1, 1 << 62)


def changed(base: Path, revision: str) -> dict[str, range | frozenset[int]]:
    """Path from `base` -> the lines that are not as they were at `revision`; all lines of files that git does not know.

    `UserError`: no repository, or no such commit.
    """
    top = Path(os.fsdecode(_git(base, "rev-parse", "--show-toplevel").rstrip(b"\n")))
    commit = _git(base, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}", of=revision)
    options = ("--unified=0", "--no-color", "--no-ext-diff", "--no-textconv", "--find-renames", "--src-prefix=a/")
    diff = _git(top, "-c", "core.quotePath=false", "diff", *options, "--dst-prefix=b/", commit.decode().strip(), "--")
    found: dict[str, range | frozenset[int]] = {
        relative_path(top / p, base): lines for p, lines in _hunks(diff).items()
    }
    for name in _git(top, "ls-files", "-z", "--others", "--exclude-standard").split(b"\0"):
        if name:
            found[relative_path(top / os.fsdecode(name), base)] = EVERY_LINE
    return found


def touched(finding: Finding, lines: Lines) -> bool:
    """Whether a finding, or a place that has to do with it, stands on a changed line."""
    return any(_on(place, lines) for place in (finding.place, *(r.place for r in finding.related)))


def _on(place: Place, lines: Lines) -> bool:
    mine = lines.get(place.path)
    if mine is None:
        return False
    # Places in a notebook count lines within a cell: any change of the file may be one of the cell.
    return place.cell is not None or any(line in mine for line in range(place.line, place.end_line + 1))


def _hunks(diff: bytes) -> dict[str, frozenset[int]]:
    """The lines that a diff without context adds or writes anew, by path from the top of the repository."""
    found: dict[str, set[int]] = {}
    mine: set[int] = set()
    left = 0
    for line in diff.split(b"\n"):
        if left and line[:1] in (b"+", b"-", b"\\"):
            left -= line[:1] == b"+"
            continue
        if line.startswith(b"+++ "):
            mine = found.setdefault(_name(line[4:]), set())
        elif match := HUNK.match(line):
            first, count = int(match[1]), int(match[2] or 1)
            mine.update(range(first, first + count))
            left = count
    return {path: frozenset(lines) for path, lines in found.items() if path}


def _name(written: bytes) -> str:
    """The path in a `+++` line; empty for a file that is gone. Odd names stand in quotes, with escapes."""
    written = written.rstrip(b"\t")
    if written.startswith(b'"'):
        written = ast.literal_eval("b" + written.decode("latin-1"))
    return os.fsdecode(written[2:]) if written.startswith(b"b/") else ""


def _git(folder: Path, *words: str, of: str = "") -> bytes:
    """The output of git. `of` is the revision that is asked about, for the message."""
    try:
        run = subprocess.run(["git", "-C", str(folder), *words], capture_output=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UserError(f"--since: git cannot be asked: {error}") from error
    if run.returncode:
        said = next(iter(run.stderr.decode("utf-8", "replace").splitlines()), "")
        raise UserError(f"--since: {said or f'{of!r} is no commit of this repository'}")
    return run.stdout


def within(findings: Iterable[Finding], lines: Lines) -> list[Finding]:
    """The findings that changed lines have to do with, and those about envdoctor's own configuration."""
    return [f for f in findings if touched(f, lines) or f.name == "bad-configuration"]
