"""Time `envdoctor scan` beside rg and ruff on the same tree in the same run, and print ratios.

    python benchmarks/scan.py TREE [--runs 5] [--files]
    python benchmarks/scan.py --wheels [FOLDER] [--runs 5]

Ratios, not seconds, are what is compared: all commands are run in turn on the same machine. The tree should be a git
repository, as a user's is; it is copied, since one of the scans follows an edit. `rg -l NCCL_` is the floor,
`ruff check --no-cache` the fastest linter there is. `--files` leaves the tree out and times only what one file takes.

Cold: nothing is kept of an earlier scan (`--no-cache`). Edited: one script changed since the last scan. Warm: nothing
changed. Figures that were taken stand in `scan.md`.

`--wheels` makes a tree of seven large training libraries: pip downloads them, or FOLDER holds them unpacked, each in a
folder of its own name. There cold is a scan whose cache folder is empty, so that what it keeps for the next one is part
of its time; edited follows it, after a change of one line in a function of transformers that trainers call.

envdoctor and ruff are those installed beside the Python that runs this. Needs `os.wait4`; peaks are in Linux's unit.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable
from dataclasses import astuple, dataclass
from pathlib import Path

SCRIPTS = Path(sys.executable).parent
WHEELS = {
    "transformers": "5.24.0", "diffusers": "0.42.1", "accelerate": "1.15.0", "lightning": "2.6.6",
    "nemo_toolkit": "3.0.0", "peft": "0.21.2", "trl": "1.16.0",
}  # fmt: skip
"""Name, as wheels spell it, and version."""
EDITED_FILE = "transformers/transformers/trainer_utils.py"
EDITED_LINE = "        torch.manual_seed(seed)\n"
"""In `set_seed`, which trainers call; a round seeds with another number than the one before it."""


@dataclass(frozen=True)
class Figure:
    """One run of a command, or medians of several: seconds of wall clock and of CPU, MiB of its largest process."""

    wall: float
    cpu: float
    peak: float


def timed(command: list[str], tree: Path, environment: dict[str, str]) -> Figure:
    """One run of a command as a whole process, with its children."""
    start = time.perf_counter()
    process = subprocess.Popen(command, cwd=tree, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)  # of this child alone: a peak of all children would be ruff's
    wall = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (0, 1):  # 1 where something was found
        sys.exit(f"exit status {process.returncode}: {' '.join(command)}")
    return Figure(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


COLD, EDITED, WARM = "scan, cold", "scan, edited", "scan, warm"
EMPTY = "scan, cold, empty cache"
QUIET, LOUD, LOUD_WARM = "one quiet file, cold", "one file with findings, cold", "one file with findings, warm"
PASS, RUFF, RG = "python -c pass", "ruff check --no-cache", "rg -l NCCL_"
PEAKS = (RUFF, COLD, EMPTY)
"""Large enough to be told: a child never shows less than this program held when it started it."""
SCAN = [str(SCRIPTS / "envdoctor"), "scan"]
CONCISE = [*SCAN, "--format", "concise"]
RUFF_COMMAND = [str(SCRIPTS / "ruff"), "check", "--no-cache", "-q", "--isolated", "."]


def commands(small: Path, tree: bool) -> dict[str, list[str]]:
    """Name -> command."""
    found = {
        PASS: [sys.executable, "-c", "pass"],
        QUIET: [*SCAN, str(small / "quiet.py")],
        LOUD: [*SCAN, "--no-cache", str(small / "loud.sh")],
        LOUD_WARM: [*SCAN, str(small / "loud.sh")],
    }
    if not tree:
        return found
    found[RUFF] = RUFF_COMMAND
    if rg := shutil.which("rg"):
        found[RG] = [rg, "-l", "NCCL_"]
    return {**found, COLD: [*CONCISE, "--no-cache", "."], EDITED: [*CONCISE, "."], WARM: [*CONCISE, "."]}


def environment_with(cache: Path) -> dict[str, str]:
    """Ours, with a cache folder of its own."""
    environment = {**os.environ, "XDG_CACHE_HOME": str(cache)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed package has its bytecode
    return environment


def round_of_tree(named: dict[str, list[str]], tree: Path, cache: Path, count: int) -> dict[str, Figure]:
    """Every command, in the copy of a user's tree."""
    figures = {}
    for name, command in named.items():
        if name == EDITED:
            (tree / "edited.sh").write_text(f"export NCCL_DEBUG=INFO  # {count}\n")
        figures[name] = timed(command, tree, environment_with(cache))
    return figures


def write_small(small: Path) -> None:
    """A file without findings and one with."""
    small.mkdir()
    (small / "quiet.py").write_text("import json\nprint(json.dumps({}))\n")
    (small / "loud.sh").write_text("export NCCL_DETERMINISTIC=1\nexport RCCL_DEBUG=INFO\n")


def download(folder: Path) -> None:
    """The wheels, for any Python: nothing of them is run."""
    pins = [f"{name}=={version}" for name, version in WHEELS.items()]
    pip = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary", ":all:"]
    subprocess.run([*pip, "--ignore-requires-python", "-d", str(folder), *pins], check=True)


def unpack(wheels: Path, tree: Path) -> None:
    """Each wheel into a folder of its name."""
    for name, version in WHEELS.items():
        with zipfile.ZipFile(next(wheels.glob(f"{name}-{version}-*.whl"))) as wheel:
            wheel.extractall(tree / name)


def copy_unpacked(given: Path, tree: Path) -> None:
    """The libraries out of a folder that holds them; another version would be another tree."""
    for name, version in WHEELS.items():
        if not (given / name / f"{name}-{version}.dist-info").is_dir():
            sys.exit(f"{given / name} does not hold {name} {version} unpacked")
        shutil.copytree(given / name, tree / name, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))


def make_wheel_tree(given: Path | None, folder: Path) -> Path:
    """The tree of training libraries, in a git repository as a user's would be."""
    tree = folder / "tree"
    if given:
        copy_unpacked(given, tree)
    else:
        download(folder / "wheels")
        unpack(folder / "wheels", tree)
    if (tree / EDITED_FILE).read_text(encoding="utf-8").count(EDITED_LINE) != 1:
        sys.exit(f"{EDITED_FILE} no longer has the line that is edited")
    subprocess.run(["git", "init", "-q"], cwd=tree, check=True)
    subprocess.run(["git", "add", "--all", "--force"], cwd=tree, check=True, stderr=subprocess.DEVNULL)
    return tree


def round_of_wheels(tree: Path, original: str, cache: Path, count: int) -> dict[str, Figure]:
    """ruff, then a scan that finds its cache empty, one after an edit and one after nothing."""
    environment = environment_with(cache)
    scan = [*CONCISE, "."]
    figures = {RUFF: timed(RUFF_COMMAND, tree, environment), EMPTY: timed(scan, tree, environment)}
    line = EDITED_LINE.replace("(seed)", f"(seed + {count})")
    (tree / EDITED_FILE).write_text(original.replace(EDITED_LINE, line), encoding="utf-8")
    return {**figures, EDITED: timed(scan, tree, environment), WARM: timed(scan, tree, environment)}


def measure(one_round: Callable[[int], dict[str, Figure]], rounds: int) -> dict[str, list[Figure]]:
    """Everything in turn, several times."""
    time.sleep(3)  # answers about a folder that changed this moment are not kept
    runs: dict[str, list[Figure]] = {}
    for count in range(rounds + 1):
        for name, figure in one_round(count).items():
            if count:  # the first round warms disks and caches
                runs.setdefault(name, []).append(figure)
    return runs


def measure_tree(given: Path, only_files: bool, folder: Path, rounds: int) -> dict[str, list[Figure]]:
    """A user's tree and single files, or only these."""
    small, tree = folder / "small", folder / "tree"
    write_small(small)
    shutil.copytree(given, tree, symlinks=True)
    named = commands(small, not only_files)
    return measure(lambda count: round_of_tree(named, tree, folder / "cache", count), rounds)


def measure_wheels(given: Path | None, folder: Path, rounds: int) -> dict[str, list[Figure]]:
    """The training libraries; each round has a new cache."""
    tree = make_wheel_tree(given, folder)
    original = (tree / EDITED_FILE).read_text(encoding="utf-8")
    return measure(lambda count: round_of_wheels(tree, original, folder / f"cache-{count}", count), rounds)


def check_installed() -> None:
    """A program that cannot start is fast, and Python's exit status for it is the one of findings."""
    for name in ("envdoctor", "ruff"):
        if subprocess.run([str(SCRIPTS / name), "--version"], capture_output=True, check=False).returncode:
            sys.exit(f"{SCRIPTS / name} does not start: install envdoctor and ruff beside the Python that runs this")


def main() -> int:
    """Measure what was asked for, and print medians and ratios."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tree", type=Path, nargs="?")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--files", action="store_true", help="only what one file takes")
    parser.add_argument(
        "--wheels", nargs="?", const="", metavar="FOLDER",
        help="seven training libraries in place of a tree: downloaded, or unpacked in FOLDER",
    )  # fmt: skip
    arguments = parser.parse_args()
    if (arguments.tree is None) == (arguments.wheels is None):
        parser.error("either TREE or --wheels")
    check_installed()
    with tempfile.TemporaryDirectory() as folder:
        if arguments.tree:
            runs = measure_tree(arguments.tree, arguments.files, Path(folder), arguments.runs)
        else:
            given = Path(arguments.wheels) if arguments.wheels else None
            runs = measure_wheels(given, Path(folder), arguments.runs)
    report(runs)
    return 0


def report(runs: dict[str, list[Figure]]) -> None:
    """Medians, then each ratio that the goals are stated in."""
    medians = {
        name: Figure(*(statistics.median(column) for column in zip(*map(astuple, figures), strict=True)))
        for name, figures in runs.items()
    }
    for name, figure in medians.items():
        peak = f"   peak {figure.peak:6.0f} MiB" if name in PEAKS else ""
        print(f"{name:<36} wall {figure.wall:8.3f} s   cpu {figure.cpu:8.3f} s{peak}")
    print()
    for ours, theirs, goal in (
        (COLD, RUFF, "1.5x wall, 1.6x CPU"), (EMPTY, RUFF, "none"), (EDITED, RUFF, "none"), (WARM, RUFF, "none"),
        (WARM, RG, "4x wall"), (WARM, PASS, "none: the floor of a Python program"), (QUIET, PASS, "3x"),
        (LOUD, PASS, "5x"), (LOUD_WARM, PASS, "5x"),
    ):  # fmt: skip
        if ours in medians and theirs in medians:
            a, b = medians[ours], medians[theirs]
            print(f"{ours} / {theirs}: wall {a.wall / b.wall:.2f}, cpu {a.cpu / b.cpu:.2f} (goal {goal})")


if __name__ == "__main__":
    sys.exit(main())
