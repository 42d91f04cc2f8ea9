"""The command: draw places, plant, scan, count."""

from __future__ import annotations

import argparse
import json
import random
import shlex
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from inject.draw import Drawn, places_of, spread
from inject.edits import Planting
from inject.kinds import CHAINS, Place, asked, kinds
from inject.modules import PYTHON, Module, modules
from inject.report import COUNTED, misses, others, planting_of, record, table
from inject.trial import Copy, Outcome, tried

NUMBER = 80


class Copies:
    """One copy of each checkout, made when it is first needed."""

    def __init__(self, folder: Path, work: Path, command: Sequence[str]) -> None:
        self.folder, self.work, self.command = folder, work, command
        self.made: dict[str, Copy] = {}

    def of(self, repository: str) -> Copy:
        """The copy of a checkout."""
        if repository not in self.made:
            self.made[repository] = Copy(self.folder / repository, self.work, self.command)
        return self.made[repository]


def planted(
    faults: Callable[[Drawn, random.Random], Planting | None],
    places: Iterable[Drawn],
    copies: Copies,
    seed: str,
    number: int,
) -> list[Outcome]:
    """Up to `number` faults of one kind, each tried; those that are told without the fault do not count."""
    outcomes: list[Outcome] = []
    left = number
    for count, place in enumerate(places):
        if not left:
            break
        planting = faults(place, random.Random(f"{seed} {count}"))
        if planting is not None:
            outcomes.append(tried(copies.of(place.repository), planting))
            left -= outcomes[-1].verdict in COUNTED
    return outcomes


def checkouts(folder: Path) -> list[Path]:
    """The checkouts of a folder: its folders named `owner+name`, else the folder itself."""
    found = sorted(path for path in folder.iterdir() if path.is_dir() and "+" in path.name)
    return found or [folder]


class Places:
    """Where faults can be planted in some checkouts."""

    def __init__(self, found: Sequence[Path], wanted: Iterable[str]) -> None:
        self.single: list[Place] = []
        self.called: list[Place] = []
        self.modules: list[Module] = []
        in_python = set(wanted) & set(PYTHON)
        for checkout in found:
            if set(wanted) - set(PYTHON):
                launching, chained = places_of(checkout)
                self.single += launching
                self.called += chained
            self.modules += modules(checkout) if in_python else ()


def run(arguments: argparse.Namespace) -> list[Outcome]:
    """Every kind that is asked for, or all plantings of an earlier run once more."""
    found = checkouts(arguments.folder)
    with tempfile.TemporaryDirectory(dir=arguments.work) as work:
        copies = Copies(found[0].parent, Path(work), shlex.split(arguments.envdoctor))
        if arguments.again:
            rows = json.loads(arguments.again.read_text(encoding="utf-8"))
            return [tried(copies.of(row["repository"]), planting_of(row)) for row in rows]
        return list(drawn(found, asked(arguments.kinds, arguments.number), copies, arguments.seed))


def drawn(found: Sequence[Path], wanted: Mapping[str, int], copies: Copies, seed: int) -> Iterator[Outcome]:
    """So many faults of each kind, at places drawn by seed."""
    places = Places(found, wanted)
    for kind, number in wanted.items():
        own = f"{seed} {kind}"
        if kind in PYTHON:
            outcomes = planted(PYTHON[kind], spread(places.modules, own), copies, own, number)
        else:
            single = spread(places.called if kind in CHAINS else places.single, own)
            outcomes = planted(kinds()[kind], single, copies, own, number)
        print(f"{kind}: {len(outcomes)} tried", file=sys.stderr, flush=True)
        yield from outcomes


def main(given: Sequence[str] | None = None) -> int:
    """Plant faults, and print how many of them the scan tells."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="a folder of checkouts named owner+name, or one project")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--kinds", default="", help=f"NAME[:NUMBER],NAME*,... (default: all): {', '.join([*kinds(), *PYTHON])}"
    )
    parser.add_argument("--number", type=int, default=NUMBER, help=f"most faults of a kind (default: {NUMBER})")
    parser.add_argument("--envdoctor", default=f"{sys.executable} -m envdoctor", help="the command to try")
    parser.add_argument("--work", type=Path, help="where copies are made; best on the file system of the checkouts")
    parser.add_argument("--json", type=Path, help="write every outcome to this file")
    parser.add_argument("--again", type=Path, metavar="FILE", help="try the plantings of such a file again")
    arguments = parser.parse_args(given)
    outcomes = run(arguments)
    if arguments.json:
        arguments.json.write_text(json.dumps([record(outcome) for outcome in outcomes], indent=1), encoding="utf-8")
    print(
        "\n".join([*table(outcomes), "", "Newly said of others:", *others(outcomes), "", "Missed:", *misses(outcomes)])
    )
    return 0
