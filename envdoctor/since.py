"""Which lines of which files were changed since a commit, as git tells."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from envdoctor import git
from envdoctor.discovery import relative_path
from envdoctor.errors import UserError
from envdoctor.facts import Place
from envdoctor.findings import Finding
from envdoctor.regexes import regex

HUNK = regex(rb"^@@ -\S+ \+(\d+)(?:,(\d+))? @@")
Lines = Mapping[str, range | frozenset[int]]
EVERY_LINE = range(1, 1 << 62)
# The plumbing command: `git diff` brings the index up to date, and a scan writes nothing into a repository.
COMPARE = (
    "diff-index", "--patch", "--unified=0", "--no-color", "--no-ext-diff", "--no-textconv", "--ignore-submodules=all",
    "--find-renames", "--src-prefix=a/", "--dst-prefix=b/",
)  # fmt: skip
UPSTREAMS = r"^(branch\..*\.(remote|merge)|remote\..*\.fetch)$"


def changed(base: Path, revision: str) -> dict[str, range | frozenset[int]]:
    """Path from `base` -> the lines that are not as they were at `revision`; all lines of files that git does not know.

    `UserError`: no repository, or no such commit.
    """
    repository = git.repository_of(str(base))
    if repository is None:
        raise UserError(f"--since: {base}: not a git repository")
    try:
        upstreams = _upstreams(repository) if "@{" in revision else ()
        with git.View(repository, upstreams) as view:
            return _changed(view, base, revision)
    except OSError as error:
        raise UserError(f"--since: git cannot be asked: {error}") from error


def _changed(view: git.View, base: Path, revision: str) -> dict[str, range | frozenset[int]]:
    top = view.repository.top
    diff = view.ask(top, *COMPARE, _commit(view, revision), "--")
    if diff.status:
        raise UserError(f"--since: {diff.said}{_partial(view.repository)}")
    found: dict[str, range | frozenset[int]] = {
        relative_path(Path(top, name), base): lines for name, lines in _hunks(diff.out).items()
    }
    others = view.ask(top, "ls-files", "-z", "--others", "--exclude-standard")
    for name in others.out.split(b"\0"):
        if name:
            found[relative_path(Path(top, os.fsdecode(name)), base)] = EVERY_LINE
    return found


def _commit(view: git.View, revision: str) -> str:
    """The hash of the commit that is meant. What begins with a dash is an option to git and never a revision."""
    if not revision.startswith("-"):
        asked = view.ask(view.repository.top, "rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}")
        if asked.status == 0:
            return asked.out.decode("ascii").strip()
    raise UserError(f"--since: {revision!r} is no commit of this repository")


def _upstreams(repository: git.Repository) -> list[tuple[str, str]]:
    """What `@{upstream}` of each branch is, of all that the configuration says."""
    if not repository.configuration():
        return []
    with git.View(repository) as view:
        path = f"{repository.shared}/config"
        asked = view.ask(repository.top, "config", "--file", path, "--no-includes", "-z", "--get-regexp", UPSTREAMS)
    pairs = (entry.partition("\n") for entry in os.fsdecode(asked.out).split("\0") if entry)
    return [(key, value) for key, _, value in pairs]


def _partial(repository: git.Repository) -> str:
    """What to do about a clone that lacks what it would be compared with; empty where it is none."""
    if b"promisor" not in repository.configuration():
        return ""
    return "; a partial clone lacks what nobody looked at yet, and a scan fetches nothing: run `git diff REV` first"


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


def within(findings: Iterable[Finding], lines: Lines) -> list[Finding]:
    """The findings that changed lines have to do with, and those about envdoctor's own configuration."""
    return [f for f in findings if touched(f, lines) or f.name == "bad-configuration"]
