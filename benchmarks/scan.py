"""Time `envdoctor scan` beside rg and ruff on the same tree in the same run, and print ratios.

    python benchmarks/scan.py TREE [--runs 5] [--files]

Ratios, not seconds, are what is compared: all commands are run in turn on the same machine. The tree should be a git
repository, as a user's is; it is copied, since one of the scans follows an edit. `rg -l NCCL_` is the floor,
`ruff check --no-cache` the fastest linter there is. `--files` leaves the tree out and times only what one file takes.

Cold: nothing is kept of an earlier scan (`--no-cache`). Edited: one script changed since the last scan. Warm: nothing
changed. Figures that were taken stand in `scan.md`.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Figure:
    """Medians of one command: seconds of wall clock and of CPU."""

    wall: float
    cpu: float


def timed(command: list[str], tree: Path, environment: dict[str, str]) -> Figure:
    """One run of a command as a whole process, with its children."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.perf_counter()
    subprocess.run(
        command, cwd=tree, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False
    )
    wall = time.perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return Figure(wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


COLD, EDITED, WARM = "scan, cold", "scan, edited", "scan, warm"
QUIET, LOUD, LOUD_WARM = "one quiet file, cold", "one file with findings, cold", "one file with findings, warm"
PASS, RUFF, RG = "python -c pass", "ruff check --no-cache", "rg -l NCCL_"


def commands(small: Path, tree: bool) -> dict[str, list[str]]:
    """Name -> command."""
    scripts = Path(sys.executable).parent
    envdoctor = [str(scripts / "envdoctor"), "scan"]
    concise = [*envdoctor, "--format", "concise"]
    found = {
        PASS: [sys.executable, "-c", "pass"],
        QUIET: [*envdoctor, str(small / "quiet.py")],
        LOUD: [*envdoctor, "--no-cache", str(small / "loud.sh")],
        LOUD_WARM: [*envdoctor, str(small / "loud.sh")],
    }
    if not tree:
        return found
    found[RUFF] = [str(scripts / "ruff"), "check", "--no-cache", "-q", "--isolated", "."]
    if rg := shutil.which("rg"):
        found[RG] = [rg, "-l", "NCCL_"]
    return {**found, COLD: [*concise, "--no-cache", "."], EDITED: [*concise, "."], WARM: [*concise, "."]}


def main() -> int:
    """Run everything in turn, several times, and print medians and ratios."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tree", type=Path)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--files", action="store_true", help="only what one file takes")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        small, tree = Path(folder) / "small", Path(folder) / "tree"
        small.mkdir()
        (small / "quiet.py").write_text("import json\nprint(json.dumps({}))\n")
        (small / "loud.sh").write_text("export NCCL_DETERMINISTIC=1\nexport RCCL_DEBUG=INFO\n")
        shutil.copytree(arguments.tree, tree, symlinks=True)
        environment = {**os.environ, "XDG_CACHE_HOME": f"{folder}/cache"}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed package has its bytecode
        time.sleep(3)  # answers about a folder that changed this moment are not kept
        runs: dict[str, list[Figure]] = {}
        for count in range(arguments.runs + 1):
            for name, command in commands(small, not arguments.files).items():
                if name == EDITED:
                    (tree / "edited.sh").write_text(f"export NCCL_DEBUG=INFO  # {count}\n")
                figure = timed(command, tree, environment)
                if count:  # the first round warms disks and caches
                    runs.setdefault(name, []).append(figure)
    report(runs)
    return 0


def report(runs: dict[str, list[Figure]]) -> None:
    """Medians, then each ratio that the goals are stated in."""
    medians = {
        name: Figure(statistics.median(f.wall for f in figures), statistics.median(f.cpu for f in figures))
        for name, figures in runs.items()
    }
    for name, figure in medians.items():
        print(f"{name:<36} wall {figure.wall:8.3f} s   cpu {figure.cpu:8.3f} s")
    print()
    for ours, theirs, goal in (
        (COLD, RUFF, "1.5x wall, 1.6x CPU"), (EDITED, RUFF, "none"), (WARM, RUFF, "none"), (WARM, RG, "4x wall"),
        (WARM, PASS, "none: the floor of a Python program"), (QUIET, PASS, "3x"), (LOUD, PASS, "5x"),
        (LOUD_WARM, PASS, "5x"),
    ):  # fmt: skip
        if ours in medians and theirs in medians:
            a, b = medians[ours], medians[theirs]
            print(f"{ours} / {theirs}: wall {a.wall / b.wall:.2f}, cpu {a.cpu / b.cpu:.2f} (goal {goal})")


if __name__ == "__main__":
    sys.exit(main())
