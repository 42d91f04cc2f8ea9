"""The same small trainings with `--fix --unsafe-fixes` in place of a person: afterwards two runs agree."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from support import scan_json
from test_training_real import FAULTS, HAS_NUMPY, RUNNER, SPAWNED, run_all

from envdoctor.cli.main import main

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def fixed(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Path]:
    """Each training as the fixes leave it."""
    pytest.importorskip("libcst")
    root = tmp_path_factory.mktemp("fixed")
    paths = {}
    for number, (name, fault) in enumerate(FAULTS.items()):
        if HAS_NUMPY or not fault.numpy:
            paths[name] = root / str(number) / "train.py"
            paths[name].parent.mkdir()
            paths[name].write_text(fault.wrong, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(root)
        main(["scan", "--fix", "--unsafe-fixes", "--select", "ED401", "--format", "concise"])
    return paths


@pytest.fixture(scope="module")
def printed(fixed: Mapping[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, list[str]]:
    """What two runs of each print."""
    runner = tmp_path_factory.mktemp("runner") / "runner.py"
    runner.write_text(RUNNER, encoding="utf-8")
    together = [str(path) for name, path in fixed.items() if name != SPAWNED]
    outputs = run_all([[str(runner), *together]] * 2 + [[str(fixed[SPAWNED])]] * 2)
    tables = [json.loads(text) for text in outputs[:2]]
    found = {name: [table[str(path)] for table in tables] for name, path in fixed.items() if name != SPAWNED}
    return {**found, SPAWNED: outputs[2:]}


@pytest.mark.parametrize("name", FAULTS)
def test_two_runs_agree(name: str, fixed: Mapping[str, Path], printed: Mapping[str, list[str]]) -> None:
    if name not in fixed:
        pytest.skip("NumPy is not installed")
    assert fixed[name].read_text(encoding="utf-8") != FAULTS[name].wrong
    first, second = printed[name]
    assert first.strip()
    assert first == second
    assert scan_json(fixed[name].parent, "--select", "ED401")["findings"] == []
