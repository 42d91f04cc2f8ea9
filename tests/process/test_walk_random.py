"""Random scripts run by real bash under every outside: each launch is one that the walk leaves room for."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import random_scripts
from bash_runs import BashRuns, arguments_of, contradictions, is_recent
from walked import tree, write

BESIDE = {"env.sh": "export B=5\nC=6\n", "train.py": ""}
QUICK = range(100)
NIGHTLY = range(10_000, 13_000)
pytestmark = pytest.mark.skipif(not is_recent(), reason="needs bash 5.1 or later")


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BashRuns]:
    yield BashRuns(tmp_path_factory.mktemp("bash"))


@pytest.mark.parametrize("seeds", [QUICK[n::5] for n in range(5)], ids=str)
def test_random_scripts(tmp_path: Path, runs: BashRuns, seeds: range) -> None:
    found = [line for seed in seeds for line in contradicted(tmp_path / str(seed), runs, seed)]
    assert found == []


@pytest.mark.nightly
@pytest.mark.parametrize("seeds", [NIGHTLY[n::30] for n in range(30)], ids=str)
def test_many_random_scripts(tmp_path: Path, runs: BashRuns, seeds: range) -> None:
    found = [line for seed in seeds for line in contradicted(tmp_path / str(seed), runs, seed)]
    assert found == []


def contradicted(folder: Path, runs: BashRuns, seed: int) -> list[str]:
    """What bash does that the walk rules out: an environment, or a launch at all."""
    files = {"run.sh": random_scripts.script(seed), **BESIDE}
    result = tree(folder, files)
    mine = tuple(start for start in result.starts if start.root.path == "run.sh")
    met = {arguments_of(start) for start in mine}
    found: list[str] = []
    for outside in random_scripts.outsides(seed):
        write(folder, files)
        happened = runs.run(folder, outside)
        found += contradictions(happened, result._replace(starts=mine))
        found += [f"{ran.arguments}: not met by the walk" for ran in happened if ran.arguments not in met]
    return [f"script {seed}: {line}" for line in found]
