"""The hash matrix: experiments by message, equal hashes with equal letters. Plain data, and a renderer for text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from envdoctor.node.smoke.compare import compare
from envdoctor.node.smoke.model import Case, ExperimentResult

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
COLOURS = (32, 33, 36, 35, 34, 31)
RANKS_DIFFER, REPEATS_DIFFER, MISSING = "!", "~", "-"
LEGEND = "equal letters in a column: equal bits; ! ranks differ; ~ repeats differ; - not run"
SKIPPED_ROLES = ("topology", "blind")
"""Experiments that reduce other numbers under the same name of a case, or other orders on purpose."""


@dataclass(frozen=True, slots=True)
class MatrixRow:
    """One experiment: a letter for each column, and how it ended."""

    experiment: str
    why: str
    cells: tuple[str, ...]
    status: str


@dataclass(frozen=True, slots=True)
class Matrix:
    """`columns` are case ids, `titles` their two lines of heading (type, size)."""

    columns: tuple[str, ...]
    titles: tuple[tuple[str, str], ...]
    rows: tuple[MatrixRow, ...]


def matrix(results: Sequence[ExperimentResult]) -> Matrix:
    """The matrix of a session: columns are the plain cases of data that shows the order."""
    shown = [result for result in results if result.experiment.role not in SKIPPED_ROLES]
    chosen: dict[str, Case] = {}
    for result in shown:
        for case in result.experiment.cases:
            if case.data == "wide" and case.mode == "plain":
                chosen.setdefault(case.id, case)
    letters = {case: column_letters(case, shown) for case in chosen}
    rows = tuple(
        MatrixRow(
            result.id, result.experiment.why, tuple(cell(result, case, letters[case]) for case in chosen), result.status
        )
        for result in shown
    )
    return Matrix(tuple(chosen), tuple((case.dtype, size_title(case)) for case in chosen.values()), rows)


def column_letters(case: str, results: Sequence[ExperimentResult]) -> dict[str, str]:
    """A letter for each hash of a column, in the order of the rows."""
    hashes = dict.fromkeys(hash_ for result in results if (hash_ := result.agreed(case)))
    return {hash_: LETTERS[min(place, len(LETTERS) - 1)] for place, hash_ in enumerate(hashes)}


def cell(result: ExperimentResult, case: str, letters: dict[str, str]) -> str:
    """What one cell shows."""
    if case not in compare.case_ids(result):
        return MISSING
    if not compare.ranks_agree(result, case):
        return RANKS_DIFFER
    hash_ = result.agreed(case)
    return letters[hash_] if hash_ else REPEATS_DIFFER if not compare.repeats_agree(result, case) else MISSING


def size_title(case: Case) -> str:
    """A size in KiB or MiB, with + for an odd element more."""
    whole = case.bytes - case.bytes % 1024
    text = f"{whole >> 20}M" if whole >= 1 << 20 else f"{whole >> 10}K"
    return text + ("+" if case.bytes % 1024 else "")


def render(found: Matrix, colour: bool = False) -> str:
    """The matrix as text, with ANSI colours if asked for."""
    width = max([len(row.experiment) for row in found.rows], default=0)
    columns = [max(len(kind), len(size)) for kind, size in found.titles]
    lines = [
        " ".join([" " * width, *(title[part].rjust(columns[place]) for place, title in enumerate(found.titles))])
        for part in (0, 1)
    ]
    for row in found.rows:
        cells = [painted(letter.rjust(columns[place]), letter, colour) for place, letter in enumerate(row.cells)]
        ending = "" if row.status == "ok" else f"  {row.status}"
        lines.append(" ".join([row.experiment.ljust(width), *cells]) + ending)
    return "\n".join([*lines, LEGEND])


def painted(text: str, letter: str, colour: bool) -> str:
    """A cell with the colour of its letter."""
    if not colour or letter == MISSING:
        return text
    number = COLOURS[LETTERS.index(letter) % len(COLOURS)] if letter in LETTERS else 41
    return f"\x1b[{number}m{text}\x1b[0m"
