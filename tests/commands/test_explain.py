"""`envdoctor explain`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support import here


def explain(tmp_path: Path, *words: str) -> str:
    run = here("explain", *words, cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    return run.stdout


@pytest.mark.parametrize(
    "name",
    ["NCCL_DETERMINISTIC", "RCCL_DETERMINISTIC", "RCCL_ALGO", "RCCL_PROTO", "RCCL_CHUNK_SIZE", "RCCL_DISABLE_P2P",
     "RCCL_TIMEOUT", "RCCL_DETERMINISTIC_OPS", "RCCL_TOPO_ENABLE", "RCCL_RING_ORDER", "RCCL_FP16_DETERMINISTIC",
     "RCCL_DEBUG", "RCCL_DEBUG_FILE", "NCCL_TIMEOUT"],
)  # fmt: skip
def test_ghosts(tmp_path: Path, name: str) -> None:
    text = explain(tmp_path, name)
    assert "no release" in text or "nothing reads" in text
    assert "Evidence" in text
    assert "Read by: nothing" in text


def test_a_real_name_on_rocm(tmp_path: Path) -> None:
    text = explain(tmp_path, "NCCL_P2P_DISABLE", "--target", "rocm-6.2")
    assert "Read by: NCCL, 2.3.5-5 and later" in text
    assert "Read by: RCCL, ROCm 2.5.0 and later" in text
    assert "no release" not in text


@pytest.mark.parametrize("name", ["ED101", "ghost-variable"])
def test_a_rule(tmp_path: Path, name: str) -> None:
    text = explain(tmp_path, name)
    assert text.startswith("ED101 ghost-variable")
    assert "Reported: train.sh" in text
    assert "Not reported" in text


def test_a_name_of_an_open_prefix_is_not_known(tmp_path: Path) -> None:
    assert "Not known" in explain(tmp_path, "HIP_SOMETHING_ELSE_ALTOGETHER")


def test_a_foreign_family(tmp_path: Path) -> None:
    assert "Ascend" in explain(tmp_path, "HCCL_BUFFSIZE")


def test_json(tmp_path: Path) -> None:
    answer = json.loads(explain(tmp_path, "NCCL_LL_THRESHOLD", "--format", "json"))
    assert answer["verdict"] == "retired"
    assert {r["library"] for r in answer["read_by"]} >= {"nccl"}


def test_what_nothing_is_known_of(tmp_path: Path) -> None:
    run = here("explain", "gost-variable", cwd=tmp_path)
    assert run.returncode == 2
    assert "did you mean ghost-variable?" in run.stderr
