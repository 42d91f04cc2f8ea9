"""A baseline: how many findings of each rule a file had when it was written, so that only further ones count.

Counts go by path and rule, never by line, so that they hold while lines move. Paths are relative to the folder of the
baseline file. A file that is not in the baseline, but whose content is that of one in it that is gone, was renamed and
keeps its counts; content that changed on the way is new. Hints and refuted findings are not in it: they never count.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from envdoctor.core.errors import UserError
from envdoctor.core.findings import Finding
from envdoctor.core.records import dataclass, field
from envdoctor.project.discovery import path_from

VERSION = 1
Counts = dict[str, int]
"""Name of a rule -> number of findings."""


class BaselineEntry(NamedTuple):
    """What a baseline holds of one file: the SHA-256 of its content when it was written, and its counts."""

    content: str
    counts: Counts


@dataclass(frozen=True, slots=True)
class Baseline:
    """Entries by path; `folder` is where the baseline file is, which the paths are relative to."""

    folder: Path
    entries: Mapping[str, BaselineEntry] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class BaselineScope:
    """What a run looked at: the folder its paths are relative to, the files, and the names of the rules."""

    base: Path
    files: Collection[str]
    rules: Collection[str]


def counts(finding: Finding) -> bool:
    """Whether a finding can make a run fail at all."""
    return finding.severity != "info" and (finding.confirmation is None or finding.confirmation.state != "refuted")


def load(path: Path) -> Baseline:
    """A baseline file; `UserError` names what is wrong with it."""
    try:
        table = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror} (--write-baseline makes one)") from error
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path}: not a baseline: {error}") from error
    if not isinstance(table, dict) or table.get("version") != VERSION or not isinstance(table.get("files"), dict):
        raise UserError(f"{path}: not a baseline of version {VERSION}")
    return Baseline(path.resolve().parent, {name: _entry(f"{path}: {name}", e) for name, e in table["files"].items()})


def _entry(where: str, entry: Any) -> BaselineEntry:
    """One file of a baseline, checked."""
    found = entry.get("findings") if isinstance(entry, dict) else None
    if not isinstance(found, dict) or not isinstance(entry.get("content", ""), str):
        raise UserError(f"{where}: expected content and findings")
    for rule, count in found.items():
        if not isinstance(count, int) or isinstance(count, bool) or count < 1:
            raise UserError(f"{where}: {rule}: expected a number from 1")
    return BaselineEntry(entry.get("content", ""), found)


def write(path: Path, findings: Sequence[Finding], scope: BaselineScope) -> Baseline:
    """Write the baseline of a run. What it did not look at, files and rules, stays as an older file has it."""
    folder = Path(os.path.realpath(path)).parent
    made: dict[str, BaselineEntry] = {}
    if _is_file(path):
        made = {
            name: kept for name, entry in load(path).entries.items() if (kept := _unseen(name, entry, folder, scope))
        }
    for name, found in _by_path(findings, folder, scope.base).items():
        older = made[name].counts if name in made else {}
        made[name] = BaselineEntry(content_hash(folder / name), {**older, **found})
    table = {name: {"content": made[name].content, "findings": dict(sorted(made[name].counts.items()))}
             for name in sorted(made)}  # fmt: skip
    try:
        path.write_text(json.dumps({"version": VERSION, "files": table}, indent=2) + "\n", encoding="utf-8")
    except OSError as error:
        raise UserError(f"{path}: cannot be written: {error.strerror}") from error
    return Baseline(folder, made)


def _unseen(name: str, entry: BaselineEntry, folder: Path, scope: BaselineScope) -> BaselineEntry | None:
    """What a run says nothing about: all of a file that it did not scan, else the rules that it did not run."""
    if not (folder / name).is_file():
        return None
    if name not in {path_from(path, folder, scope.base) for path in scope.files}:
        return entry
    others = {rule: count for rule, count in entry.counts.items() if rule not in scope.rules}
    return BaselineEntry(entry.content, others) if others else None


def apply(baseline: Baseline, findings: Sequence[Finding], scope: BaselineScope) -> tuple[list[Finding], list[str]]:
    """The findings that the baseline does not hold, and what to tell the user about the baseline itself.

    Where a file has more findings of a rule than the baseline says, all of them are kept: counts cannot tell which
    one is new.
    """
    entries = _renamed(baseline, findings, scope)
    found = _by_path(findings, baseline.folder, scope.base)
    beyond = {(path, rule) for path, counted in found.items() for rule, count in counted.items()
              if count > _allowed(entries, path, rule)}  # fmt: skip
    kept = []
    for finding in findings:
        path = path_from(finding.place.path, baseline.folder, scope.base)
        if not counts(finding) or (path, finding.name) in beyond:
            kept.append(finding)
    notices = [f"{path}: {rule}: {found[path][rule]} found, {allowed} in the baseline: all are shown"
               for path, rule in sorted(beyond) if (allowed := _allowed(entries, path, rule))]  # fmt: skip
    return kept, notices + list(_stale(baseline, entries, found, scope))


def _allowed(entries: Mapping[str, BaselineEntry], path: str, rule: str) -> int:
    return entries[path].counts.get(rule, 0) if path in entries else 0


def _renamed(baseline: Baseline, findings: Sequence[Finding], scope: BaselineScope) -> dict[str, BaselineEntry]:
    """The entries, with those of renamed files under their new paths; each stands for one file."""
    entries = dict(baseline.entries)
    gone = {e.content: path for path, e in entries.items() if e.content and not _is_file(baseline.folder / path)}
    for path in _by_path(findings, baseline.folder, scope.base) if gone else ():
        old = None if path in entries else gone.pop(content_hash(baseline.folder / path), None)
        if old is not None:
            entries[path] = entries.pop(old)
    return entries


def _stale(
    baseline: Baseline, entries: Mapping[str, BaselineEntry], found: Mapping[str, Counts], scope: BaselineScope
) -> Iterator[str]:
    """What the baseline holds and the run did not find, as far as the run looked."""
    scanned = {path_from(path, baseline.folder, scope.base) for path in scope.files}
    for path, entry in sorted(entries.items()):
        if not _is_file(baseline.folder / path):
            yield f"{path}: in the baseline, and no longer there (--write-baseline removes it)"
            continue
        for rule, count in sorted(entry.counts.items()) if path in scanned else ():
            now = found.get(path, {}).get(rule, 0)
            if rule in scope.rules and now < count:
                yield f"{path}: {rule}: {now} found, {count} in the baseline (--write-baseline lowers it)"


def _is_file(path: Path) -> bool:
    """Whether there is a file; no error where that cannot be told, or the name cannot be one."""
    return os.path.isfile(path)  # noqa: PTH113


def _by_path(findings: Sequence[Finding], folder: Path, base: Path) -> dict[str, Counts]:
    """How many findings that count each file has of each rule."""
    found: dict[str, Counts] = {}
    for finding in findings:
        if counts(finding):
            counted = found.setdefault(path_from(finding.place.path, folder, base), {})
            counted[finding.name] = counted.get(finding.name, 0) + 1
    return found


def content_hash(path: Path) -> str:
    """SHA-256 of a file; empty where it cannot be read, which is equal to no file's."""
    try:
        return sha256(path.read_bytes()).hexdigest()
    except OSError:
        return ""
