"""torch on the CPU under torchrun: four ranks, gloo, and a script that sets things too late."""

from __future__ import annotations

import importlib.util
import json
import os
import sys
from pathlib import Path

import pytest
from native import needs_compiler
from support import envdoctor

PYTHON = os.environ.get("ENVDOCTOR_TORCH_PYTHON") or (sys.executable if importlib.util.find_spec("torch") else "")
"""ENVDOCTOR_TORCH_PYTHON: another interpreter, which has torch."""
pytestmark = [pytest.mark.slow, needs_compiler, pytest.mark.skipif(not PYTHON, reason="torch is not installed")]

SCRIPT = """
import os
import torch.distributed as dist
import torch

dist.init_process_group("gloo")
if dist.get_rank() < 2:
    os.environ["GLOO_IN_SOME"] = "1"
total = torch.ones(8) * dist.get_rank()
dist.all_reduce(total)
assert total.tolist() == [6.0] * 8
os.environ["OMP_NUM_THREADS"] = "7"
dist.destroy_process_group()
"""


def test_four_ranks_under_torchrun(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(SCRIPT)
    torchrun = (PYTHON, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=4", "train.py")
    done = envdoctor(
        "trace", "--output", "t.json", "--", *torchrun, cwd=tmp_path, OMP_PROC_BIND="false", MKL_NUM_THREADS="1",
        GLOO_SOCKET_IFNAME="lo", NCCL_DETERMINISTIC="1", TORCH_NCCL_NO_SUCH_SWITCH="1",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    report = json.loads((tmp_path / "t.json").read_text())
    settings = {setting["variable"]: setting for setting in report["settings"]}

    def askers(name: str) -> dict[str, set[int | None]]:
        """File name of each library that asked -> ranks in which it did."""
        found: dict[str, set[int | None]] = {}
        for asked in settings[name]["asked"]:
            found.setdefault(Path(asked["library"]).name.split(".")[0].split("-")[0], set()).add(asked["rank"])
        return found

    assert askers("OMP_PROC_BIND")["libgomp"] == {None, 0, 1, 2, 3}  # None: the launcher imports torch too
    assert askers("MKL_NUM_THREADS")["libtorch_cpu"] >= {0, 1, 2, 3}
    assert {0, 1, 2, 3} in askers("GLOO_SOCKET_IFNAME").values()
    assert settings["GLOO_SOCKET_IFNAME"]["ranks"] == [0, 1, 2, 3]
    assert settings["NCCL_DETERMINISTIC"]["asked"] == []
    assert settings["TORCH_NCCL_NO_SUCH_SWITCH"]["asked"] == []
    assert settings["GLOO_IN_SOME"]["ranks"] == [0, 1]
    threads = settings["OMP_NUM_THREADS"]
    assert threads["late"] is True
    assert threads["value"] == "7"
    assert {given["rank"] for given in threads["set"]} >= {0, 1, 2, 3}
    assert [name for name, setting in settings.items() if setting["late"]] == ["OMP_NUM_THREADS"]
    assert not any("ranks were seen" in limit for limit in report["limits"])
    assert "set only in ranks 0-1 of 4" in done.stderr
