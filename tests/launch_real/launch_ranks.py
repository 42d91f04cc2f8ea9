"""Runs the cells of the launch matrix for real: what a rank wrote down of its environment, kept in `ranks.json`."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import yaml
from launch_places import PLACES, Runner, plain_environment, until
from matrix_cells import HERE, NAMES, Cell, Tree, tree_of
from matrix_model import write_tree

RECORD = HERE / "ranks.json"
LONGEST = 150
DIFFER = "differs from rank to rank"
Seen = Mapping[str, str]
"""Name -> value; a name that is not there did not arrive."""
Record = dict[str, dict[str, dict[str, Seen | None]]]
WORKERS = 3


class NoRankError(RuntimeError):
    """The command ran and no rank wrote down anything."""


def run(cell: Cell, runner: Runner) -> Seen:
    """Run a cell and give what its ranks had."""
    tree = tree_of(cell)
    assert tree is not None
    with tempfile.TemporaryDirectory(prefix="cell-") as name:
        folder = Path(name)
        folder.chmod(0o777)
        write_tree(tree, folder, folder)
        (folder / "seen.jsonl").touch()
        (folder / "seen.jsonl").chmod(0o666)
        said = _start(tree, folder, runner)
        lines = _written(folder / "seen.jsonl", cell)
        if cell.row.place == "terminal":
            for words in (["tmux", "kill-server"], ["screen", "-X", "quit"]):
                subprocess.run(words, env=_environment(folder, runner), capture_output=True, check=False)
    if len(lines) < cell.row.ranks:
        raise NoRankError(f"{cell.label}: {len(lines)} of {cell.row.ranks} ranks wrote something\n{said}")
    return _joined([line["seen"] for line in lines])


def _joined(ranks: Sequence[Seen]) -> Seen:
    return {
        name: values.pop() if len(values) == 1 else DIFFER
        for name in NAMES
        if (values := {seen.get(name, "") for seen in ranks}) != {""}
    }


def _environment(folder: Path, runner: Runner) -> dict[str, str]:
    terminal = {"TMUX_TMPDIR": str(folder), "SCREENDIR": str(folder / "screens")}
    return {**plain_environment(), **terminal, **runner.environment}


def _start(tree: Tree, folder: Path, runner: Runner) -> str:
    """Start what the cell starts, from the folder of its tree."""
    said = ""
    for words, more in _commands(tree, folder):
        environment = {**_environment(folder, runner), **more}
        started = subprocess.Popen(
            [*runner.words, *_at(folder, runner), *words], cwd=folder, env=environment, text=True, start_new_session=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        try:
            said += started.communicate(timeout=LONGEST)[0]
        except subprocess.TimeoutExpired:
            os.killpg(started.pid, signal.SIGKILL)
            said += started.communicate()[0] + "\ntook too long"
    return said


def _at(folder: Path, runner: Runner) -> Sequence[str]:
    """`nsenter` into another mount namespace forgets the folder."""
    return ("env", "-C", str(folder)) if runner.words else ()


def _commands(tree: Tree, folder: Path) -> Iterator[tuple[Sequence[str], Mapping[str, str]]]:
    """The processes to start, one after another, with what each is given."""
    if tree.start[0] != "workflow":
        yield tree.start, {}
        return
    # What docs.github.com says of `run` on Linux without `shell`: the lines in a file, `bash -e FILE`, a process each.
    steps = yaml.safe_load((folder / tree.start[1]).read_text())["jobs"]["train"]["steps"]
    for number, step in enumerate(steps):
        (folder / f"step-{number}.sh").write_text(step["run"])
        yield ["bash", "-e", f"step-{number}.sh"], step.get("env", {})


def _written(path: Path, cell: Cell) -> list[dict[str, Any]]:
    """What the ranks wrote; where the command did not wait for them, this does."""
    if cell.row.waits:
        until(lambda: len(path.read_text().splitlines()) >= cell.row.ranks, 20)
    return [json.loads(line) for line in path.read_text().splitlines()]


# The record


def place_of(cell: Cell) -> str:
    """Where a cell can be run for real: a container only where there are containers; an empty text: nowhere here."""
    if cell.form != "container":
        return cell.row.place
    return "containers" if cell.row.place == "here" else ""


def recorded() -> Record:
    """Place of the row -> row -> form -> what the ranks had where the record was made; None: no rank came about."""
    found: Record = json.loads(RECORD.read_text()) if RECORD.exists() else {}
    return found


def seen_in(record: Record, cell: Cell) -> Seen | None:
    """What the record says of a cell."""
    return record.get(cell.row.place, {}).get(cell.row.label, {}).get(cell.form)


def run_all(of: Sequence[Cell], place: str, tell: Callable[[str], None] = lambda _: None) -> dict[Cell, Seen | None]:
    """Run some cells in a place, a few at a time."""
    with PLACES[place].make() as runner, ThreadPoolExecutor(WORKERS) as pool:
        return dict(zip(of, pool.map(lambda cell: _run_or_tell(cell, runner, tell), of), strict=True))


def _run_or_tell(cell: Cell, runner: Runner, tell: Callable[[str], None]) -> Seen | None:
    try:
        return run(cell, runner)
    except NoRankError as error:
        tell(str(error))
        return None


def keep(found: Mapping[Cell, Seen | None], wanted: Sequence[Cell]) -> None:
    """Add to the record what was found, and leave out what is no cell any more."""
    record = recorded()
    kept: Record = {}
    for cell in wanted:
        of_row = record.get(cell.row.place, {}).get(cell.row.label, {})
        if cell in found or cell.form in of_row:
            seen = found[cell] if cell in found else of_row[cell.form]
            kept.setdefault(cell.row.place, {}).setdefault(cell.row.label, {})[cell.form] = seen
    places = [f"{json.dumps(place)}: {{\n{_rows(by_row)}\n}}" for place, by_row in sorted(kept.items())]
    RECORD.write_text("{\n" + ",\n".join(places) + "\n}\n")


def _rows(by_row: Mapping[str, Mapping[str, Seen | None]]) -> str:
    """A row a line."""
    lines = (f"{json.dumps(label)}: {json.dumps(forms, sort_keys=True)}" for label, forms in sorted(by_row.items()))
    return ",\n".join(lines)
