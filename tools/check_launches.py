"""Print launch units of public repositories and compare with those that were judged by reading the scripts.

    python tools/check_launches.py FOLDER                  compare with tests/field/launches.toml
    python tools/check_launches.py FOLDER --sample 12      print every n-th unit, about 12 of each repository

FOLDER holds one checkout per repository, named `owner+name`, at the commit that the file names. A unit is a line of
`envdoctor scan --show-launches`: file, line, the launchers from the outside in, the program. Exit status 1 where a unit
judged right is printed no more, or one judged wrong still is.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from envdoctor.knowledge.files import loads_toml

JUDGED = Path(__file__).parent.parent / "tests" / "field" / "launches.toml"
_UNIT = re.compile(r"  (?P<line>\d+): (?P<chain>.+?)(?: -> (?P<program>.*))?$")
_NAME = re.compile(r"\w+")
_REMARK = re.compile(r" \((?:not found in the tree|its place is not known|written by this script|\S+ in the image)\)$")
SHELLS = ("bash", "sh")
_BRACES = re.compile(r"\$\{(\w+)\}")
_BACKQUOTES = re.compile(r"`([^`]*)`")


class Shown(NamedTuple):
    """One printed unit; `settings` are the lines below it."""

    path: str
    line: int
    chain: str
    program: str
    settings: tuple[str, ...] = ()

    def key(self) -> tuple[str, int, str, str]:
        """What makes a unit the same one."""
        return self.path, self.line, self.chain, self.program

    def names(self) -> set[str]:
        """The variables that the unit has."""
        return {match[0] for line in self.settings if (match := _NAME.match(line))}


def judged() -> list[dict[str, Any]]:
    """The units that were compared with the scripts."""
    rows: list[dict[str, Any]] = loads_toml(JUDGED.read_text(encoding="utf-8"))["unit"]
    return rows


def printed(checkout: Path) -> list[Shown]:
    """The units of one checkout as they are printed."""
    command = [sys.executable, "-m", "envdoctor", "scan", "--show-launches", "."]
    run = subprocess.run(command, cwd=checkout, capture_output=True, text=True, check=True)
    return list(units_in(run.stdout))


def plain(program: str) -> str:
    """A program whose variables and substitutions are written in one way."""
    return _BACKQUOTES.sub(r"$(\1)", _BRACES.sub(r"$\1", program))


def without_shells(chain: str) -> str:
    """A chain without the shells that run a script on the way."""
    return " > ".join(part for part in chain.split(" > ") if part not in SHELLS) or chain


def units_in(text: str) -> Iterator[Shown]:
    """The units in what `--show-launches` printed."""
    path = ""
    pending: Shown | None = None
    for line in text.splitlines():
        match = _UNIT.match(line)
        if line.startswith("      ") and pending is not None:
            pending = pending._replace(settings=(*pending.settings, line.strip()))
            continue
        if pending is not None:
            yield pending
            pending = None
        if match:
            program = plain(_REMARK.sub("", match["program"] or ""))
            pending = Shown(path, int(match["line"]), without_shells(match["chain"]), program)
        elif line and not line.startswith(" "):
            path = line
    if pending is not None:
        yield pending


def sample(units: Sequence[Shown], size: int) -> list[Shown]:
    """Every n-th unit from the middle of the first n on: about `size` of them, none by choice."""
    step = max(1, len(units) // size)
    return list(units[step // 2 :: step][:size])


def compare(folder: Path) -> int:
    """Say which judged units are printed; the exit status."""
    counts: Counter[str] = Counter()
    by_repository: dict[str, list[dict[str, Any]]] = {}
    for row in judged():
        by_repository.setdefault(row["repository"], []).append(row)
    for repository, rows in by_repository.items():
        checkout = folder / repository.replace("/", "+")
        if not checkout.is_dir():
            counts["not there"] += len(rows)
            continue
        found = {unit.key(): unit for unit in printed(checkout)}
        for row in rows:
            key = (row["path"], row["line"], without_shells(row["chain"]), plain(row["program"]))
            unit = found.get(key)
            there = unit is not None and unit.names() >= set(row.get("settings", ()))
            counts["right" if row["right"] == there else "to look at again"] += 1
            if row["right"] != there:
                what = "MISSING" if row["right"] else "STILL WRONG"
                print(f"{what} {repository}:{row['path']}:{row['line']} {row['chain']} -> {row['program']}")
    print(", ".join(f"{number} {what}" for what, number in sorted(counts.items())))
    return int(bool(counts["to look at again"]))


def main() -> int:
    """Compare, or print a sample to judge."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--sample", type=int, metavar="N", help="print about N units of each repository instead")
    arguments = parser.parse_args()
    if not arguments.sample:
        return compare(arguments.folder)
    for repository in sorted({row["repository"] for row in judged()}):
        for unit in sample(printed(arguments.folder / repository.replace("/", "+")), arguments.sample):
            print(f"{repository}:{unit.path}:{unit.line} {unit.chain} -> {unit.program}")
            for line in unit.settings:
                print(f"    {line}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
