"""A fault planted in the data or in a process, never in a verdict; and what the verdicts say of it."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

import pytest
from smoke_lab import CPU, FAULTS, SMALL, Lab

from envdoctor.node.smoke.compare import verdicts
from envdoctor.node.smoke.model import ExperimentResult, SmokeRequest

pytestmark = pytest.mark.slow


def judged(*results: ExperimentResult, request: SmokeRequest | None = None) -> dict[str, str]:
    """Rule -> message, but for what is always said of the CPU."""
    found = verdicts.verdicts(request or SmokeRequest(), CPU, results)
    return {verdict.rule: verdict.message for verdict in found if verdict.reason not in ("cpu", "control")}


def test_no_fault_no_verdict(lab: Lab) -> None:
    assert judged(lab.run()) == {}


@pytest.mark.parametrize(
    ("fault", "rule", "words"),
    [
        ("flipped_bit", "ranks-differ", "(rank 2)"),
        ("other_order_on_one", "ranks-differ", "(rank 1)"),
        ("order_by_repeat", "repeats-differ", "wide/fp32/16388, wide/bf16/4098"),
        ("wrong_addend", "wrong-sum", "up to 1 elements on rank 0, 1, 2, 3"),
    ],
)
def test_faults_in_the_data(lab: Lab, fault: str, rule: str, words: str) -> None:
    found = judged(lab.run(fault=fault))
    assert words in found.pop(rule)
    assert set(found) <= {"wrong-sum"} if fault == "flipped_bit" else not found


def test_other_order_after_a_restart(lab: Lab, tmp_path: Path) -> None:
    fault = Path(shutil.copy(FAULTS / "order_by_launch.py", tmp_path))
    first = lab.run(fault=fault)
    second = lab.run(fault=fault, id="restart", role="restart", baseline="user")
    found = judged(first, second)
    assert list(found) == ["restart-differs"]
    assert "integer" not in found["restart-differs"]


def test_a_rank_that_hangs(lab: Lab) -> None:
    begin = time.monotonic()
    result = lab.run(fault="hang", timeout=3)
    assert result.status == "hung" and time.monotonic() - begin < 12
    assert "no end within 3 s" in result.reason and "rank 1 in all_reduce, hang.py" in result.reason
    assert result.ranks[0].hashes.keys() == {SMALL[0].id}, "what was done before the hang is kept"
    assert "rank 1 in all_reduce, hang.py" in judged(result)["inconclusive"]


def test_a_rank_that_hangs_in_native_code(lab: Lab) -> None:
    result = lab.run(fault="hang_in_native_code", timeout=3)
    assert result.status == "hung" and "rank 3" in result.reason
    assert not any(rank.unkillable for rank in result.ranks)


def test_a_rank_that_is_killed(lab: Lab) -> None:
    begin = time.monotonic()
    result = lab.run(fault="killed")
    assert result.status == "died" and time.monotonic() - begin < 20
    assert "rank 2 was ended by signal 9 (SIGKILL) in wide/bf16/4098" in judged(result)["inconclusive"]


def test_a_rank_that_leaves(lab: Lab) -> None:
    result = lab.run(fault="exits")
    assert (result.status, result.reason) == ("died", "rank 0 in wide/fp32/16388: exit status 3")


def test_an_error_of_any_kind_ends_the_rank_and_is_named(lab: Lab) -> None:
    result = lab.run(fault="bug")
    assert result.status == "error"
    assert result.reason == "rank 0 in wide/fp32/16388: KeyError: 'nobody thought of this'"


def test_a_refused_value_is_a_verdict(lab: Lab) -> None:
    result = lab.run(fault="refuses", changes=(("NCCL_ALGO", "Rign"),))
    assert result.status == "refused"
    assert "refuses NCCL_ALGO=Rign" in judged(result)["inconclusive"]


def test_a_setting_that_is_not_followed(lab: Lab) -> None:
    result = lab.run(fault="ignores_algorithm", changes=(("NCCL_ALGO", "Ring"),))
    assert "NCCL_ALGO=Ring was not followed" in judged(result)["no-effect"]
    assert "16388 bytes (ran TREE)" in judged(result)["no-effect"]
    followed = lab.run(fault="ignores_algorithm", changes=(("NCCL_ALGO", "^ring"), ("NCCL_PROTO", "Simple")))
    assert judged(followed) == {}


def test_a_blind_control(lab: Lab) -> None:
    pinned = lab.run(fault="pairs", id="pinned", role="pinned")
    control = lab.run(id="control", role="control", reduction="pairs")
    assert "blind" in verdicts.control_problem([pinned, control])
    assert verdicts.control_problem([lab.run(id="pinned", role="pinned"), control]) == ""


def test_the_server_outlives_all_faults(lab: Lab) -> None:
    server = lab.first.server()
    lab.run(fault="killed")
    lab.run(fault="hang", timeout=2)
    assert lab.run().status == "ok"
    assert lab.first.server() is server


def test_a_lost_server_makes_a_result_and_is_replaced(lab: Lab, tmp_path: Path) -> None:
    hook = tmp_path / "hook.py"
    hook.write_text("import os, signal\ndef all_reduce(tensor, context):\n    os.kill(os.getppid(), signal.SIGKILL)\n")
    result = lab.run(fault=hook)
    assert result.status == "error" and result.reason.startswith("server-died")
    assert lab.run().status == "ok"
