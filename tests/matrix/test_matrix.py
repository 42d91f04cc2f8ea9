"""The launch matrix: the model says of each cell what real ranks had, and what second sources and examples say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import launch_matrix
import pytest
from launch_matrix import AGREES, DIFFERS, REAL, SECOND, UNDECIDED, Half, Open, edge_is_named, halves, known, verdict
from launch_places import PLACES
from launch_ranks import recorded
from matrix_cells import CARRIED, DROPPED, FORMS, GIVEN, VALUES, Cell, Row, cells, derived, rows, tree_of
from matrix_model import UNKNOWN, UNSEEN, Told

from envdoctor.knowledge.launchers import load_launchers

ALL_ROWS = (*rows(), *derived())
LAUNCHERS = sorted({row.launcher for row in ALL_ROWS})
WITHOUT_A_ROW = {
    # What they start does not stand on the command line.
    "az", "gcloud", "gcloud compute ssh", "spark-submit", "sky launch", "ray start", "crontab", "systemctl start", "docker compose up",
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_the_model_contradicts_no_rank_and_no_source_and_names_the_edge_of_a_loss(launcher: str) -> None:
    judged = list(halves(cells([row for row in ALL_ROWS if row.launcher == launcher]), recorded()))
    wrong = [half.label for half in judged if half.verdict == DIFFERS or not edge_is_named(half) if not known(half)]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("entry", launch_matrix.open_differences(), ids=lambda entry: entry.launcher)
def test_what_is_known_to_differ_still_does(entry: Open) -> None:
    mine = [row for row in ALL_ROWS if entry.launcher in ("*", row.launcher) and entry.rows in row.label]
    of = [cell for cell in cells(mine) if not entry.forms or cell.form in entry.forms]
    others = [other for other in launch_matrix.open_differences() if other != entry]
    mine_alone = (h for h in halves(of, recorded()) if entry.covers(h) and not any(other.covers(h) for other in others))
    assert any(half.verdict == DIFFERS or not edge_is_named(half) for half in mine_alone), "take it out of open.toml"


# The matrix itself


def test_each_edge_has_a_row() -> None:
    covered = {*LAUNCHERS, *WITHOUT_A_ROW}
    missing = [sorted(edge.launchers) for edge in load_launchers().edges if not edge.launchers & covered]
    assert not missing
    assert not WITHOUT_A_ROW & set(LAUNCHERS)


def test_rows_are_told_apart() -> None:
    twice = [key for key, count in Counter((row.place, row.label) for row in rows()).items() if count > 1]
    assert not twice
    assert all(row.place in ("", *PLACES) for row in rows())
    assert all(row.place or (row.second and row.says) for row in rows())


def test_the_record_is_of_cells_that_there_are() -> None:
    there = {(cell.row.place, cell.row.label, cell.form) for cell in cells(rows())}
    kept = {(p, label, form) for p, by_row in recorded().items() for label, forms in by_row.items() for form in forms}
    assert kept <= there


@pytest.mark.parametrize("form", FORMS)
def test_a_form_sets_both_variables(form: str) -> None:
    tree = tree_of(Cell(Row("env", "env python3 train.py", "here"), form))
    assert tree is not None
    text = "".join(text for name, text in tree.files.items() if name != "train.py")
    assert all(name in text for name in (CARRIED, DROPPED, *VALUES.values()))
    assert tree.launch in tree.files
    assert tree.root in tree.files


@pytest.mark.parametrize(
    ("model", "truth", "expected"),
    [
        (Told("Ring"), "Ring", AGREES), (Told(""), "", AGREES), (Told(""), "Ring", DIFFERS), (Told("Ring"), "", DIFFERS),
        (Told("Ring"), "Tree", DIFFERS), (Told(UNKNOWN), "Ring", UNDECIDED), (Told(UNKNOWN), "", UNDECIDED),
        (Told(UNSEEN), "Ring", DIFFERS), (Told(UNSEEN), "", DIFFERS),
    ],
)  # fmt: skip
def test_verdicts(model: Told, truth: str, expected: str) -> None:
    assert verdict({CARRIED: model}, {CARRIED: truth}) == expected


def test_the_worse_of_two_names_counts() -> None:
    model = {CARRIED: Told("Ring"), GIVEN: Told(UNKNOWN)}
    assert verdict(model, {CARRIED: "Ring", GIVEN: ""}) == UNDECIDED
    assert verdict(model, {CARRIED: "", GIVEN: ""}) == DIFFERS


def some(tier: str) -> Iterator[Half]:
    """Halves of a tier, of a few rows."""
    few = [row for row in rows() if row.launcher in ("sudo", "apptainer exec", "srun")]
    return (half for half in halves(cells(few), recorded()) if half.tier == tier)


@pytest.mark.parametrize("tier", [REAL, SECOND])
def test_a_model_that_knows_nothing_is_found_out(tier: str, monkeypatch: pytest.MonkeyPatch) -> None:
    nothing = {name: Told("") for name in (CARRIED, DROPPED, GIVEN)}
    monkeypatch.setattr(launch_matrix, "told", lambda cell: nothing)
    assert any(half.verdict == DIFFERS for half in some(tier))


def test_figures_count_each_half_once() -> None:
    judged = list(some(SECOND))
    counts = launch_matrix.counted(judged)
    assert sum(counts[""][SECOND].values()) == len(judged)
    assert sum(counts["apptainer exec"][SECOND].values()) == len(judged)
