"""The reference function of docs/ordered-reduction.md, bit for bit on gloo with 1, 2, 4 and 8 ranks."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support import ROOT

HERE = Path(__file__).parent
KINDS = ("fp32", "fp16", "bf16")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        importlib.util.find_spec("torch") is None, reason="torch is not installed: the ranks need its gloo"
    ),
]


@pytest.fixture(scope="module")
def ranks(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What eight ranks found: (what, number of ranks, rank, digest) each, and the digests of the plain loop."""
    store = tmp_path_factory.mktemp("ordered") / "store"
    command = [sys.executable, str(HERE / "ordered_ranks.py"), str(ROOT / "docs" / "ordered-reduction.md"), str(store)]
    env = {**os.environ, "PYTHONPATH": str(ROOT), "GLOO_SOCKET_IFNAME": "lo"}
    run = subprocess.run(command, env=env, capture_output=True, text=True, timeout=180, check=False)
    assert run.returncode == 0, run.stderr
    found: dict[str, Any] = json.loads(run.stdout)
    return found


def digests(ranks: dict[str, Any], what: str) -> dict[int, set[str]]:
    """Number of ranks -> the digests that its ranks found."""
    table: dict[int, set[str]] = {}
    for name, world, _, value in ranks["found"]:
        if name == what:
            table.setdefault(world, set()).add(value)
    return table


@pytest.mark.parametrize("kind", KINDS)
def test_any_number_of_ranks_gives_the_bits_of_the_plain_loop(kind: str, ranks: dict[str, Any]) -> None:
    table = digests(ranks, f"ordered {kind}")
    assert sorted(table) == [1, 2, 4, 8]
    assert set.union(*table.values()) == {ranks["loop"][kind]}


@pytest.mark.parametrize("kind", KINDS)
def test_every_rank_took_part(kind: str, ranks: dict[str, Any]) -> None:
    assert sum(name == f"ordered {kind}" for name, *_ in ranks["found"]) == 1 + 2 + 4 + 8


def test_the_test_can_see_an_order(ranks: dict[str, Any]) -> None:
    """Positive control: the library's own sum differs between numbers of ranks on these data."""
    table = digests(ranks, "library fp32")
    assert len(set.union(*table.values())) > 1


@pytest.mark.parametrize("kind", KINDS)
def test_the_smoke_test_sums_in_the_same_order(kind: str, ranks: dict[str, Any]) -> None:
    assert digests(ranks, f"smoke {kind}") == {8: {"True"}}
