"""Time `envdoctor scan` beside rg and ruff on the same tree in the same run, and print ratios.

    python benchmarks/scan.py TREE [--runs 5]

Ratios, not seconds, are what is compared: both sides of each pair are run in turn on the same machine. The tree should
be a git repository, as a user's is. `rg -l NCCL_` is the floor, `ruff check --no-cache` the fastest linter there is.
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


def commands(small: Path) -> dict[str, list[str]]:
    """Name -> command."""
    scripts = Path(sys.executable).parent
    envdoctor = str(scripts / "envdoctor")
    found = {
        "python -c pass": [sys.executable, "-c", "pass"],
        "envdoctor scan": [envdoctor, "scan", "--format", "concise", "."],
        "envdoctor, one quiet file": [envdoctor, "scan", str(small / "quiet.py")],
        "envdoctor, one file with findings": [envdoctor, "scan", str(small / "loud.sh")],
        "ruff check --no-cache": [str(scripts / "ruff"), "check", "--no-cache", "-q", "--isolated", "."],
    }
    if rg := shutil.which("rg"):
        found["rg -l NCCL_"] = [rg, "-l", "NCCL_"]
    return found


def main() -> int:
    """Run everything in turn, several times, and print medians and ratios."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tree", type=Path)
    parser.add_argument("--runs", type=int, default=5)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        small = Path(folder)
        (small / "quiet.py").write_text("import json\nprint(json.dumps({}))\n")
        (small / "loud.sh").write_text("export NCCL_DETERMINISTIC=1\nexport RCCL_DEBUG=INFO\n")
        environment = {**os.environ, "XDG_CACHE_HOME": folder}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed package has its bytecode
        runs: dict[str, list[Figure]] = {}
        for count in range(arguments.runs + 1):
            for name, command in commands(small).items():
                figure = timed(command, arguments.tree, environment)
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
        ("envdoctor scan", "ruff check --no-cache", "1.5x wall, 1.6x CPU"),
        ("envdoctor scan", "rg -l NCCL_", "none: the floor"),
        ("envdoctor, one quiet file", "python -c pass", "3x"),
        ("envdoctor, one file with findings", "python -c pass", "5x"),
    ):
        if ours in medians and theirs in medians:
            a, b = medians[ours], medians[theirs]
            print(f"{ours} / {theirs}: wall {a.wall / b.wall:.2f}, cpu {a.cpu / b.cpu:.2f} (goal {goal})")


if __name__ == "__main__":
    sys.exit(main())
