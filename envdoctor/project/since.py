"""Which lines of which files were changed since a commit, as git tells."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from envdoctor.core.errors import UserError
from envdoctor.core.facts import Place
from envdoctor.core.findings import Finding
from envdoctor.core.regexes import regex
from envdoctor.project import git
from envdoctor.project.discovery import relative_path

HUNK = regex(rb"^@@ -\S+ \+(\d+)(?:,(\d+))? @@")
EVERY_LINE = range(1, 1 << 62)
# The plumbing command: `git diff` brings the index up to date, and a scan writes nothing into a repository.
COMPARE = (
    "diff-index", "--no-color", "--no-ext-diff", "--no-textconv", "--ignore-submodules=all", "--find-renames",
    "--src-prefix=a/", "--dst-prefix=b/",
)  # fmt: skip
PATCH = ("--patch", "--unified=0")
COUNTS = ("--numstat", "-z")
UPSTREAMS = r"^(branch\..*\.(remote|merge)|remote\..*\.fetch)$"
LONE_RETURN = regex(rb"\r(?!\n)")
"""Git counts it as part of a line, editors and envdoctor as the end of one: their numbers are not the same then."""
ELSEWHERE = ("main-worktree/", "worktrees/")
"""What begins the names of another work tree's references."""


class Changes(NamedTuple):
    """What changed since a commit: path -> lines, all of them where git knows none; and the files that git tracks."""

    lines: Mapping[str, range | frozenset[int]]
    tracked: frozenset[str]

    def of(self, path: str) -> range | frozenset[int]:
        """The lines of a file; every one of a file that git does not track here: nothing is known of it."""
        return self.lines.get(path) or (frozenset() if path in self.tracked else EVERY_LINE)


def changed(base: Path, revision: str) -> Changes:
    """What is not as it was at `revision`, by paths from `base`. `UserError`: no repository, or no such commit."""
    repository = git.repository_of(str(base))
    if repository is None:
        raise UserError(f"--since: {base}: not a git repository")
    try:
        upstreams = _upstreams(repository) if "@{" in revision else ()
        with git.GitView(repository, upstreams) as view:
            return _changed(view, base, _commit(view, revision))
    except OSError as error:
        raise UserError(f"--since: git cannot be asked: {error}") from error


def _changed(view: git.GitView, base: Path, commit: str) -> Changes:
    top = view.repository.top
    found: dict[str, range | frozenset[int]] = {}
    for name, lines in _hunks(_asked(view, *COMPARE, *PATCH, commit, "--")).items():
        found[name] = EVERY_LINE if LONE_RETURN.search(_data(top, name)) else lines
    every = [*_without_lines(_asked(view, *COMPARE, *COUNTS, commit, "--"))]
    every += _names(_asked(view, "ls-files", "-z", "--others", "--exclude-standard"))
    found |= dict.fromkeys(every, EVERY_LINE)
    tracked = _names(_asked(view, "ls-files", "-z", "--cached"))
    there = {name: relative_path(Path(top, name), base) for name in (*found, *tracked)}
    return Changes({there[name]: lines for name, lines in found.items()}, frozenset(there[name] for name in tracked))


def _asked(view: git.GitView, *words: str) -> bytes:
    answer = view.ask(view.repository.top, *words)
    if answer.status:
        raise UserError(f"--since: {answer.said}{_partial(view.repository)}")
    return answer.out


def _names(listed: bytes) -> list[str]:
    return [os.fsdecode(name) for name in listed.split(b"\0") if name]


def _data(top: str, name: str) -> bytes:
    """The bytes of a file; none where it is gone, or no plain file any more."""
    path = Path(top, name)
    try:
        return path.read_bytes() if path.is_file() else b""
    except OSError:
        return b""


def _without_lines(counts: bytes) -> list[str]:
    """The files that git calls binary, for what they hold or by an attribute: what changed in them is not told."""
    found = []
    fields = iter(counts.split(b"\0"))
    for field in fields:
        added, _, rest = field.partition(b"\t")
        name = rest.partition(b"\t")[2]
        if field and not name:  # renamed: the old and the new name follow
            next(fields)
            name = next(fields)
        if added == b"-":
            found.append(os.fsdecode(name))
    return found


def _commit(view: git.GitView, revision: str) -> str:
    """The hash of the commit that is meant. What begins with a dash is an option to git and never a revision."""
    repository = view.repository
    linked = repository.own != repository.shared
    if linked and (revision.startswith(ELSEWHERE) or Path(repository.shared, "reftable").is_dir()):
        raise UserError(f"--since: {revision!r} cannot be told in a further work tree: give the hash of the commit")
    found = "" if revision.startswith("-") else _hash(view, revision)
    if commit := found and _hash(view, f"{found}^{{commit}}"):
        return commit
    raise UserError(f"--since: {revision!r} is no commit of this repository")


def _hash(view: git.GitView, revision: str) -> str:
    """The hash of what a revision names; empty where it names nothing."""
    asked = view.ask(view.repository.top, "rev-parse", "--verify", "--quiet", revision)
    return asked.out.decode("ascii").strip() if asked.status == 0 else ""


def _upstreams(repository: git.Repository) -> list[tuple[str, str]]:
    """What `@{upstream}` of each branch is, of all that the configuration says."""
    if not repository.configuration():
        return []
    with git.GitView(repository) as view:
        return view.settings(f"{repository.shared}/config", UPSTREAMS, "--no-includes")


def _partial(repository: git.Repository) -> str:
    """What to do about a clone that lacks what it would be compared with; empty where it is none."""
    if b"promisor" not in repository.configuration():
        return ""
    return "; a partial clone lacks what nobody looked at yet, and a scan fetches nothing: run `git diff REV` first"


def touched(finding: Finding, changes: Changes) -> bool:
    """Whether a finding, or a place that has to do with it, stands on a changed line."""
    return any(_on(place, changes) for place in (finding.place, *(r.place for r in finding.related)))


def _on(place: Place, changes: Changes) -> bool:
    mine = changes.of(place.path)
    # Places in a notebook count lines within a cell: any change of the file may be one of the cell.
    return bool(mine) and (place.cell is not None or any(n in mine for n in range(place.line, place.end_line + 1)))


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


def within(findings: Iterable[Finding], changes: Changes) -> list[Finding]:
    """The findings that changed lines have to do with, and those about envdoctor's own configuration."""
    return [f for f in findings if touched(f, changes) or f.name == "bad-configuration"]
