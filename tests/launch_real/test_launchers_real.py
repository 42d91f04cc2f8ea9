"""Real launchers, started anew: their ranks have what `tests/matrix/ranks.json` says of the cells of the launch matrix."""

from __future__ import annotations

import shutil
import zlib

import launch_matrix
import pytest
from launch_places import PLACES
from launch_ranks import place_of, recorded, run_all, seen_in

from envdoctor.knowledge.launchers import load_launchers

QUICK = tuple(place for place, kind in PLACES.items() if kind.quick)
STARTERS = frozenset(load_launchers().by_program)
OTHERS = tuple(place for place, kind in PLACES.items() if not kind.quick)


def chosen(place: str) -> list[launch_matrix.Cell]:
    """Each row plain and in one more form, another one for each row; those whose program is there."""
    found: list[launch_matrix.Cell] = []
    for row in launch_matrix.rows():
        of_row = launch_matrix.cells([row]) if installed(row, place) else []
        mine = [cell for cell in of_row if place_of(cell) == place and seen_in(recorded(), cell) is not None]
        plain = [cell for cell in mine if cell.form == "plain"]
        others = [cell for cell in mine if cell.form != "plain"]
        found += plain
        if others:
            found.append(others[zlib.crc32(row.label.encode()) % len(others)])
    return found


def installed(row: launch_matrix.Row, place: str) -> bool:
    """Whether all programs of a row are on this machine; other places say themselves whether they are possible."""
    words = [word for word in row.words() if "=" not in word and "/" not in word]
    programs = [word for number, word in enumerate(words) if number == 0 or word in STARTERS]
    return place not in QUICK or row.shell or all(shutil.which(program) for program in programs)


def run_again(place: str) -> None:
    if not PLACES[place].needs():
        pytest.skip(f"{place} is not possible here")
    told: list[str] = []
    of = chosen(place)
    assert of
    found = run_all(of, place, told.append)
    record = recorded()
    wrong = [
        f"{c.label}: {seen}, recorded {seen_in(record, c)}" for c, seen in found.items() if seen != seen_in(record, c)
    ]
    assert not wrong, "\n".join([*wrong, *told])


@pytest.mark.slow
@pytest.mark.parametrize("place", QUICK)
def test_ranks_have_what_was_recorded(place: str) -> None:
    run_again(place)


@pytest.mark.nightly
@pytest.mark.parametrize("place", OTHERS)
def test_ranks_behind_daemons_have_what_was_recorded(place: str) -> None:
    run_again(place)
