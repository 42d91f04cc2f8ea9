"""Typing slips are counted the same with and without the compiled module."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rapidfuzz.distance import OSA

from envdoctor.checks.names.slips import plainly

WORDS = st.text("NCLAGO_", max_size=9)


@given(WORDS, WORDS, st.integers(1, 2))
def test_as_the_compiled_module_counts(one: str, other: str, most: int) -> None:
    assert plainly(one, other, most) == OSA.distance(one, other, score_cutoff=most)


@pytest.mark.parametrize(
    ("one", "other", "slips"),
    [("NCCL_ALGO", "NCCL_ALGO", 0), ("NCCL_ALOG", "NCCL_ALGO", 1), ("", "NC", 2), ("A", "NCCL", 3)],
)
def test_slips(one: str, other: str, slips: int) -> None:
    assert plainly(one, other, 2) == slips


def test_a_node_is_recorded_where_the_module_is_missing(tmp_path: Path) -> None:
    """As on a GPU machine with a mere copy of the source: the environment is judged, and the record is whole."""
    (tmp_path / "rapidfuzz").mkdir()
    (tmp_path / "rapidfuzz/__init__.py").write_text("raise ModuleNotFoundError(\"No module named 'rapidfuzz'\")\n")
    root = Path(__file__).parent.parent
    environment = {
        "PYTHONPATH": f"{tmp_path}:{root}",
        "PATH": "/usr/bin:/bin",
        "NCCL_ALOG": "Ring",
        "HOME": str(tmp_path),
    }

    def live(*words: str) -> dict[str, object]:
        command = [sys.executable, "-m", "envdoctor", "live", "--format", "json", *words]
        result = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, cwd=tmp_path)
        assert "Traceback" not in result.stderr
        told: dict[str, object] = json.loads(result.stdout)
        return told

    whole, again = (
        live("--no-torch", "--record", str(tmp_path / "record")),
        live("--recorded", str(tmp_path / "record")),
    )
    assert "ED102" in json.dumps(whole["findings"])
    assert "ED102" in json.dumps(again["findings"])
