"""The launch matrix: what the model says of each way of starting a command, against what real ranks had.

    python tools/launch_matrix.py                        print the figures
    python tools/launch_matrix.py --differences          and each cell in which the model and a real rank differ
    python tools/launch_matrix.py --write                write docs/launch-matrix.md
    python tools/launch_matrix.py --record here root     run the cells of some places for real and keep what ranks had

A cell is a row of `tests/matrix/rows.toml` in one of the forms of `tests/matrix/matrix_cells.py`, each twice: a
variable that the form carries to the launcher, and one that it drops before. Exit status 1 where a cell contradicts a
real rank or a second source, and `tests/matrix/open.toml` does not list it.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from envdoctor.knowledge.files import loads_toml

ROOT = Path(__file__).parent.parent
sys.path[:0] = [str(ROOT / "tests" / folder) for folder in ("matrix", "launch_real")]

from launch_places import PLACES  # noqa: E402
from launch_ranks import Record, Seen, keep, place_of, recorded, run_all, seen_in  # noqa: E402
from matrix_cells import (  # noqa: E402  beside the tests that use them
    CARRIED,
    DROPPED,
    FORMS,
    GIVEN,
    HERE,
    IMITATED,
    VALUES,
    Cell,
    Row,
    cells,
    derived,
    rows,
)
from matrix_model import UNKNOWN, Told, told  # noqa: E402

__all__ = ["Cell", "Half", "Open", "Row", "cells", "counted", "halves", "known", "main", "rows", "verdict"]
DOCUMENT = ROOT / "docs" / "launch-matrix.md"
REAL, IMITATION, SECOND, DERIVED = "real rank", "real rank, CI imitated", "second source", "derived"
TIERS = (REAL, IMITATION, SECOND, DERIVED)
HALVES = ("carried", "dropped")
AGREES, UNDECIDED, DIFFERS = "agrees", "undecided", "differs"


class Half(NamedTuple):
    """One half of a cell, judged: the names that it is about, what the model says and what is true of them."""

    cell: Cell
    half: str
    tier: str
    verdict: str
    model: Mapping[str, Told]
    truth: Mapping[str, str]

    @property
    def label(self) -> str:
        """The half as one line."""
        pairs = (
            f"{name}: model {_word(self.model[name].value)}, {self.tier} {_word(v)}" for name, v in self.truth.items()
        )
        return f"{self.cell.row.launcher}: {self.cell.label} ({self.half}): {'; '.join(pairs)}"


def _word(value: str) -> str:
    return {"": "absent", UNKNOWN: "unknown"}.get(value, value)


def halves(of: Sequence[Cell], record: Record) -> Iterator[Half]:
    """The cells, judged by the best that there is for each."""
    for cell in of:
        tier, truth = _truth(cell, record)
        model = told(cell)
        for half, names in zip(HALVES, ((CARRIED, GIVEN), (DROPPED,)), strict=True):
            mine = {name: truth[name] for name in names if name in truth}
            yield Half(cell, half, tier, verdict(model, mine), model, mine)


def _truth(cell: Cell, record: Record) -> tuple[str, Mapping[str, str]]:
    seen: Seen | None = seen_in(record, cell)
    if seen is not None:
        return IMITATION if cell.form in IMITATED else REAL, {
            name: seen.get(name, "") for name in (CARRIED, DROPPED, GIVEN)
        }
    if cell.row.says:
        return SECOND if cell.row.second else DERIVED, {DROPPED: "", **cell.row.says}
    plain = seen_in(record, Cell(cell.row, "plain"))
    return DERIVED, {} if plain is None else {CARRIED: plain.get(CARRIED, ""), DROPPED: "", GIVEN: plain.get(GIVEN, "")}


def verdict(model: Mapping[str, Told], truth: Mapping[str, str]) -> str:
    """Whether what the model says of some names is true; where it does not know, nothing is contradicted."""
    found = [
        AGREES if model[name].value == value else UNDECIDED if _open(model[name]) else DIFFERS
        for name, value in truth.items()
    ]
    return DIFFERS if DIFFERS in found else UNDECIDED if UNDECIDED in found or not found else AGREES


def _open(one: Told) -> bool:
    return one.value == UNKNOWN


def edge_is_named(half: Half) -> bool:
    """Whether the model says where a variable of the caller was lost, unless the row itself names it."""
    lost = half.half == "carried" and half.truth.get(CARRIED) == "" and half.model[CARRIED].value == ""
    if not lost or CARRIED in half.cell.row.line or any(CARRIED in text for text in half.cell.row.files.values()):
        return True
    return any(edge.what and edge.line for edge in half.model[CARRIED].lost)


class Open(NamedTuple):
    """A difference that is known and not settled: rows by a part of their label, the forms it comes up in, and why."""

    launcher: str
    why: str
    rows: str = ""
    forms: Sequence[str] = ()
    half: str = ""

    def covers(self, half: Half) -> bool:
        """Whether a half of a cell is one of these."""
        cell = half.cell
        return (
            self.launcher in ("*", cell.row.launcher) and self.rows in cell.row.label
            and (not self.forms or cell.form in self.forms) and self.half in ("", half.half)
        )  # fmt: skip


@cache
def open_differences() -> tuple[Open, ...]:
    """What `open.toml` holds."""
    return tuple(Open(**table) for table in loads_toml((HERE / "open.toml").read_text()).get("open", ()))


def known(half: Half) -> bool:
    """Whether it is known that the model differs here."""
    return any(entry.covers(half) for entry in open_differences())


# Printing


Counts = dict[str, dict[str, int]]


def counted(judged: Sequence[Half]) -> dict[str, Counts]:
    """Launcher -> tier -> verdict -> how many; `""` is all launchers."""
    found: dict[str, Counts] = {}
    for half in judged:
        for launcher in ("", half.cell.row.launcher):
            verdicts = found.setdefault(launcher, {}).setdefault(half.tier, {})
            verdicts[half.verdict] = verdicts.get(half.verdict, 0) + 1
    return found


def _figures(judged: Sequence[Half]) -> Iterator[str]:
    counts = counted(judged).get("", {})
    texts = {
        REAL: "cells compared with what a real rank had", IMITATION: "of a real rank whose CI runner was imitated",
        SECOND: "cells checked against a second source", DERIVED: "cells derived only",
    }  # fmt: skip
    for tier, text in texts.items():
        found = counts.get(tier, {})
        parts = ", ".join(f"{found.get(v, 0)} {v}" for v in (AGREES, UNDECIDED, DIFFERS))
        rows_of = len({(half.cell.row.place, half.cell.row.label) for half in judged if half.tier == tier})
        yield f"{sum(found.values())} {text} ({rows_of} rows): {parts}"


def _table(judged: Sequence[Half]) -> Iterator[str]:
    """A line a launcher; in each tier how many cells agree of how many there are."""
    yield "| launcher | rows | " + " | ".join(TIERS) + " |"
    yield "| --- | --- " + "| --- " * len(TIERS) + "|"
    for launcher, counts in sorted(counted(judged).items()):
        if launcher:
            number = len(_rows(judged, launcher))
            yield f"| {launcher} | {number} | " + " | ".join(_tier(counts.get(tier, {})) for tier in TIERS) + " |"


def _rows(judged: Sequence[Half], launcher: str) -> set[tuple[str, str]]:
    return {(h.cell.row.place, h.cell.row.label) for h in judged if h.cell.row.launcher == launcher}


def _tier(found: Mapping[str, int]) -> str:
    if not found:
        return ""
    extra = "".join(f", {found[v]} {v}" for v in (UNDECIDED, DIFFERS) if found.get(v))
    return f"{found.get(AGREES, 0)} of {sum(found.values())}{extra}"


def document(judged: Sequence[Half]) -> str:
    """The text of docs/launch-matrix.md."""
    lines = [_HEAD, *(f"- {line}" for line in _figures(judged)), "", "## By launcher", "", *_table(judged), ""]
    sources = {h.cell.row.label: h.cell.row for h in judged if h.tier == SECOND}
    lines += ["## Second sources", "", "| row | what it says | source |", "| --- | --- | --- |"]
    for label, row in sources.items():
        says = ", ".join(f"{name} {_word(value)}" for name, value in row.says.items())
        lines.append(f"| `{_cell(label)}` | {says} | {row.second} |")
    lines += ["", "## Where the model and a real rank or a second source differ", ""]
    lines += _open_lines(judged) or ["Nowhere."]
    return "\n".join(lines) + "\n"


def _open_lines(judged: Sequence[Half]) -> list[str]:
    """The differences, those of one cause together."""
    wrong = [half for half in judged if half.verdict == DIFFERS and half.tier != DERIVED]
    found = [f"- {half.label}" for half in wrong if not known(half)]
    for entry in open_differences():
        count = sum(map(entry.covers, wrong))
        of = "all launchers" if entry.launcher == "*" else entry.launcher
        parts = ", ".join(filter(None, [f"`{entry.rows}`" if entry.rows else "", *entry.forms, entry.half]))
        found.append(f"- {of}{f' ({parts})' if parts else ''}: {entry.why}; {count} half cells")
    return found


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


_HEAD = f"""# The launch matrix

Written by `python tools/launch_matrix.py --write`; do not edit.

Each row of `tests/matrix/rows.toml` is a way of starting a command with the flags that change what arrives. It is
written in each form that scripts have (plain, in a variable, through `eval`, in an array, through a function, a
function around the launcher, a called script, `subprocess` three times, a CI step, a container), and each form has two
halves: `{CARRIED}={VALUES[CARRIED]}`, which the form carries to the launcher (together with what the launcher's own
words give), and `{DROPPED}={VALUES[DROPPED]}`, which the form itself drops before. Of each half the model is asked
whether the variable arrives at the rank with which value, and by which edge it is lost.

- **real rank**: the same files were run, and the rank wrote down its environment (`tests/matrix/ranks.json`).
- **real rank, CI imitated**: the same, where steps of a workflow were run as GitHub's manual says, by us.
- **second source**: the row was checked by hand against a source that the launcher's file does not name.
- **derived**: an example of the launcher's file itself; that every form gives the same answer is all that it shows.

*Undecided*: the model says that it does not know. That contradicts nothing and is not counted as right.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Print, write or record."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--differences", action="store_true", help="print the cells that contradict the model")
    parser.add_argument(
        "--undecided", action="store_true", help="print those of real ranks of which the model says nothing"
    )
    parser.add_argument("--write", action="store_true", help=f"write {DOCUMENT.name}")
    parser.add_argument("--record", nargs="+", choices=sorted(PLACES), default=[], help="run the cells of these places")
    parser.add_argument(
        "--forms", nargs="+", choices=FORMS, default=list(FORMS), help="with --record: these forms alone"
    )
    parser.add_argument("--missing", action="store_true", help="with --record: only cells that are not in the record")
    wanted = parser.parse_args(arguments)
    mine = cells(rows())
    for place in wanted.record:
        _record([cell for cell in mine if cell.form in wanted.forms], mine, place, wanted.missing)
    judged = list(halves([*mine, *cells(derived())], recorded()))
    for line in (*_figures(judged), "", *_table(judged)):
        print(line)
    shown = {DIFFERS} if wanted.differences else set()
    shown |= {UNDECIDED} if wanted.undecided else set()
    for half in judged:
        if half.verdict in shown and half.tier != DERIVED:
            print(f"{half.verdict}: {half.label}")
        if wanted.differences and not edge_is_named(half):
            print(f"no edge: {half.label}")
    if wanted.write:
        DOCUMENT.write_text(document(judged))
    return int(any(half.verdict == DIFFERS and half.tier != DERIVED and not known(half) for half in judged))


def _record(of: Sequence[Cell], mine: Sequence[Cell], place: str, missing: bool) -> None:
    if not PLACES[place].needs():
        print(f"{place}: not possible here", file=sys.stderr)
        return
    record = recorded()
    chosen = [c for c in of if place_of(c) == place and not (missing and seen_in(record, c) is not None)]
    keep(run_all(chosen, place, lambda text: print(text, file=sys.stderr)), mine)
    print(f"{place}: {len(chosen)} cells were run", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
