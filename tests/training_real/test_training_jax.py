"""Trainings with JAX: what ED401 reports makes runs differ or draws agree, and with the way out it is as it should be."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from support import scan_json

pytestmark = pytest.mark.slow

pytest.importorskip("jax", reason="JAX is not installed; .ci/run installs its CPU build")

CLOCK = """
import jax
{more}
key = jax.random.key({seed})
w = jax.random.normal(key, (4,))
grad = jax.grad(lambda w: (w * w).sum())(w)
print((w - grad).tolist())
"""
TWICE = """
import jax

key = jax.random.key(3)
first{split} = {make}
w = jax.random.normal(first, (4,))
noise = jax.random.normal({second}, (4,))
grad = jax.grad(lambda w: (w * noise).sum())(w)
print(bool((w == noise).all()), (w - grad).tolist())
"""


def printed(paths: Sequence[Path]) -> list[str]:
    """What several programs print; they run at the same time."""
    started = [subprocess.Popen([sys.executable, str(p)], stdout=subprocess.PIPE, text=True) for p in paths]
    return [process.communicate(timeout=600)[0] for process in started]


@pytest.mark.parametrize(
    ("more", "seed"),
    [
        ("import time", "time.time_ns() % 2**31"),
        ("import os", "os.getpid()"),
        ("import secrets", "secrets.randbits(31)"),
    ],
)
def test_a_key_that_differs_from_run_to_run(tmp_path: Path, more: str, seed: str) -> None:
    wrong, right = tmp_path / "wrong.py", tmp_path / "right.py"
    wrong.write_text(CLOCK.format(more=more, seed=seed).lstrip(), encoding="utf-8")
    right.write_text(CLOCK.format(more="", seed="4").lstrip(), encoding="utf-8")
    first, second, third, fourth = printed((wrong, wrong, right, right))
    assert first != second
    assert third == fourth
    found = scan_json(tmp_path, "--select", "ED401")["findings"]
    assert [(f["path"], f["line"]) for f in found] == [("wrong.py", 3)]


def test_a_key_used_twice(tmp_path: Path) -> None:
    wrong, right = tmp_path / "wrong.py", tmp_path / "right.py"
    wrong.write_text(
        TWICE.format(split="", make="key", second="key").replace("(first", "(key").lstrip(), encoding="utf-8"
    )
    split = TWICE.format(split=", second", make="jax.random.split(key)", second="second")
    right.write_text(split.lstrip(), encoding="utf-8")
    same, other = printed((wrong, right))
    assert same.startswith("True")
    assert other.startswith("False")
    found = scan_json(tmp_path, "--select", "ED401")["findings"]
    assert [(f["path"], f["line"]) for f in found] == [("wrong.py", 6)]
