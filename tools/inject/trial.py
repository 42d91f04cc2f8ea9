"""One planting tried: the files of a copy changed, scanned without and with the fault, and put back."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from inject.edits import Planting

SECONDS = 300
"""What one scan may take."""
_COUNTED = ("warning", "error")

Finding = dict[str, Any]


class Outcome(NamedTuple):
    """What came of a planting: `found`, `missed`, or `already` where it was told without the fault too.

    `said` are the new findings that name the variable, in short; `others` the rules of all further new ones.
    """

    planting: Planting
    verdict: str
    said: tuple[str, ...]
    others: tuple[str, ...]


class Copy:
    """A copy of a checkout made of hard links; a file of it is changed by putting another in its place."""

    def __init__(self, checkout: Path, folder: Path, command: Sequence[str]) -> None:
        self.checkout = checkout
        self.folder = folder / checkout.name
        self.command = command
        self.environment = os.environ | {"XDG_CACHE_HOME": str(folder / ".cache")}
        shutil.copytree(checkout, self.folder, symlinks=True, copy_function=_linked)

    def scan(self, files: Mapping[str, str]) -> list[Finding]:
        """What is found in some files with another content."""
        made = self._write(files)
        try:
            return self._scanned(sorted(files))
        finally:
            self._restore(files, made)

    def _scanned(self, paths: Sequence[str]) -> list[Finding]:
        command = [*self.command, "scan", "--hints", "--format", "json", "--", *paths]
        run = subprocess.run(
            command,
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=SECONDS,
        )
        if not run.stdout.startswith("{"):
            raise RuntimeError(
                f"{self.checkout.name}: {' '.join(command)}: status {run.returncode}: {run.stderr[-500:]}"
            )
        found: list[Finding] = json.loads(run.stdout)["findings"]
        return found

    def _write(self, files: Mapping[str, str]) -> list[Path]:
        """Put files into the copy; the folders that were made for them."""
        made = []
        for path, text in files.items():
            target = self.folder / path
            made += [folder for folder in target.parents if not folder.exists()]
            target.parent.mkdir(parents=True, exist_ok=True)
            target.unlink(missing_ok=True)
            target.write_text(text, encoding="utf-8", newline="")
        return made

    def _restore(self, files: Mapping[str, str], made: Sequence[Path]) -> None:
        for path in files:
            (self.folder / path).unlink()
            if (self.checkout / path).exists():
                _linked(str(self.checkout / path), str(self.folder / path))
        for folder in made:
            folder.rmdir()


def _linked(source: str, target: str) -> None:
    """A hard link, or a copy where there can be none."""
    try:
        os.link(source, target, follow_symlinks=False)
    except OSError:
        shutil.copy2(source, target, follow_symlinks=False)


def tried(copy: Copy, planting: Planting) -> Outcome:
    """What the scan newly says of a planting."""
    before = copy.scan(planting.base)
    after = copy.scan(planting.fault)
    return judged(planting, before, after)


def judged(planting: Planting, before: Sequence[Finding], after: Sequence[Finding]) -> Outcome:
    """Compare what is found without the fault and with it."""
    known = {_key(finding) for finding in before}
    new = [finding for finding in after if _key(finding) not in known]
    named = [finding for finding in new if _named(planting, finding)]
    others = tuple(sorted(finding["rule"] for finding in new if not _named(planting, finding)))
    said = tuple(_short(finding) for finding in named)
    if any(_expected(planting, finding) for finding in before):
        return Outcome(planting, "already", said, others)
    found = any(_expected(planting, finding) and _near(planting, finding) for finding in named)
    return Outcome(planting, "found" if found else "missed", said, others)


def _expected(planting: Planting, finding: Finding) -> bool:
    right = finding["rule"] in planting.rules and _named(planting, finding)
    return right and finding["severity"] in _COUNTED


def _named(planting: Planting, finding: Finding) -> bool:
    """Whether a finding is about the variable; where the fault is about none, whether it is of an expected rule."""
    return bool(finding["variable"] == planting.name if planting.name else finding["rule"] in planting.rules)


def _near(planting: Planting, finding: Finding) -> bool:
    """Whether a finding stands at the setting or at the start, or says that it is about them."""
    shown = [(finding["path"], finding["line"]), *((row["path"], row["line"]) for row in finding.get("related", ()))]
    return any(
        path == place and first <= line <= last for path, line in shown for place, first, last in planting.places
    )


def _key(finding: Finding) -> tuple[str, str, str, str]:
    """What a finding is, whatever lines stand before it."""
    return finding["rule"], finding["severity"], finding["path"], finding["variable"] or finding["message"]


def _short(finding: Finding) -> str:
    return f"{finding['path']}:{finding['line']}: {finding['rule']} {finding['severity']}: {finding['message']}"
