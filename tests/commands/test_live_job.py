"""`--pid`: the ranks of a running job, from made-up process trees and from processes that really run."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from native import collectives_library, needs_compiler
from support import envdoctor

from envdoctor.core.errors import UserError
from envdoctor.knowledge.rulebook import Rule
from envdoctor.node.live import job as jobs
from envdoctor.node.live.judge import disagreeing
from envdoctor.node.live.run import LiveRequest, examine_node
from envdoctor.node.probes.base import Facts
from envdoctor.node.probes.files import NodeFiles
from envdoctor.node.probes.report import Node

LIBRARY = "/opt/venv/lib/python3.10/site-packages/torch/lib/librccl.so"
Tree = Mapping[int, tuple[int, Mapping[str, str], bool]]
"""Process -> (its parent, its environment, whether it has the collectives library mapped)."""


def files_of(root: Path, tree: Tree) -> NodeFiles:
    for pid, (parent, environment, loaded) in tree.items():
        folder = root / "proc" / str(pid)
        folder.mkdir(parents=True)
        (folder / "stat").write_text(f"{pid} (python (3) x) S {parent} 1 1\n")
        (folder / "environ").write_text("".join(f"{name}={value}\0" for name, value in environment.items()))
        (folder / "maps").write_text(f"7f00-7f01 r--p 00000000 00:31 1 {LIBRARY}\n" if loaded else "")
    return NodeFiles(root)


def rank(number: int, port: str = "29500", **more: str) -> dict[str, str]:
    return {"RANK": str(number), "LOCAL_RANK": str(number), "MASTER_ADDR": "n1", "MASTER_PORT": port, **more}


TORCHRUN: Tree = {
    10: (1, {"SLURM_PROCID": "0", "SLURM_JOB_ID": "7"}, False),  # the batch shell
    20: (10, {"SLURM_PROCID": "0", "SLURM_JOB_ID": "7"}, True),  # torchrun
    30: (20, rank(0), True),
    31: (20, rank(1), True),
    40: (30, rank(0), True),  # a worker of the data loader of rank 0
    50: (1, rank(0, port="29999"), True),  # another job
}
WRAPPED: Tree = {
    20: (1, {}, False),  # mpirun
    30: (20, {"OMPI_COMM_WORLD_RANK": "0"}, False),  # bash -c
    31: (20, {"OMPI_COMM_WORLD_RANK": "1"}, False),
    40: (30, {"OMPI_COMM_WORLD_RANK": "0"}, True),
    41: (31, {"OMPI_COMM_WORLD_RANK": "1"}, True),
}


@pytest.mark.parametrize(
    ("tree", "asked", "examined", "ranks"),
    [
        (TORCHRUN, 30, 30, {0: 30, 1: 31}),
        (TORCHRUN, 31, 31, {0: 30, 1: 31}),
        (TORCHRUN, 40, 30, {0: 30, 1: 31}),
        (TORCHRUN, 20, 30, {0: 30, 1: 31}),
        (TORCHRUN, 10, 30, {0: 30, 1: 31}),
        (TORCHRUN, 50, 50, {0: 50}),
        (WRAPPED, 20, 40, {0: 40, 1: 41}),
        (WRAPPED, 30, 40, {0: 40, 1: 41}),
        (WRAPPED, 41, 41, {0: 40, 1: 41}),
        ({5: (1, {"HOME": "/"}, False)}, 5, 5, {}),
        ({5: (1, {"RANK": "first"}, False)}, 5, 5, {}),
        ({5: (5, rank(0), False)}, 5, 5, {0: 5}),  # its own parent, as no kernel says it
    ],
)
def test_which_processes_are_the_ranks(
    tmp_path: Path, tree: Tree, asked: int, examined: int, ranks: dict[int, int]
) -> None:
    job = jobs.find_job(files_of(tmp_path, tree), asked, lambda name: True)
    assert {r.number: r.pid for r in job.ranks} == ranks
    assert (job.asked, job.examined) == (asked, examined)


def test_facts_of_a_job(tmp_path: Path) -> None:
    tree: Tree = {
        30: (20, rank(0, NCCL_ALGO="Ring", HIP_VISIBLE_DEVICES="3", API_TOKEN="x" * 20), True),
        31: (20, rank(1, NCCL_ALGO="Tree", HIP_VISIBLE_DEVICES="3"), True),
        32: (20, rank(2, NCCL_ALGO="Ring", HIP_VISIBLE_DEVICES="4"), False),
    }
    job = jobs.find_job(files_of(tmp_path, tree), 30, lambda name: True)
    facts = Facts()
    jobs.state(facts, job)
    told = {(o.key, o.detail): o.value for o in facts.observations}
    assert told["job.ranks", ""] == 3
    assert told["job.differs", "NCCL_ALGO"] == "Ring on rank 0, 2; Tree on rank 1"
    assert told["job.gpu_ranks", "HIP_VISIBLE_DEVICES=3"] == "0-1"
    assert told["job.rank_library", "rank 0"] == LIBRARY
    assert ("job.rank_library", "rank 2") not in told
    assert ("job.differs", "RANK") not in told
    assert job.ranks[0].settings["API_TOKEN"] == "(masked)"


def test_ranks_that_disagree_on_what_decides_bits() -> None:
    rule = Rule("ED602", "inconsistent-launch", "", "warning", "high", "hygiene", "relation", "", "", "")
    facts = Facts()
    for name in ("NCCL_ALGO", "NCCL_DEBUG", "NO_SUCH_NAME"):
        facts.observe("job.differs", "a on rank 0; b on rank 1", "/proc/1/environ", detail=name)
    from envdoctor.knowledge.catalog.load import load_catalog

    found = list(disagreeing(Node(facts=facts), [rule], load_catalog()))
    assert [f.variable for f in found] == ["NCCL_ALGO"]
    assert list(disagreeing(Node(facts=facts), [], load_catalog())) == []


@pytest.mark.parametrize(("numbers", "text"), [([0], "0"), ([0, 1, 2], "0-2"), ([3, 0, 1, 6], "0-1, 3, 6"), ([], "")])
def test_spans(numbers: list[int], text: str) -> None:
    assert jobs.spans(numbers) == text


RUN = "import ctypes, sys, time; ctypes.CDLL(sys.argv[1]); print('up', flush=True); time.sleep(60)"


@contextlib.contextmanager
def running_job(library: Path, settings: list[dict[str, str]]) -> Iterator[list[subprocess.Popen[str]]]:
    """Ranks that have a collectives library mapped, until the test is over."""
    ranks = []
    for number, more in enumerate(settings):
        env = {"PATH": os.environ["PATH"], **rank(number, port=str(os.getpid())), **more}
        words = [sys.executable, "-c", RUN, str(library)]
        ranks.append(subprocess.Popen(words, env=env, stdout=subprocess.PIPE, text=True))
    try:
        for process in ranks:
            assert process.stdout is not None
            assert process.stdout.readline() == "up\n"
        yield ranks
    finally:
        for process in ranks:
            process.send_signal(signal.SIGKILL)
            process.communicate()


@pytest.mark.slow
@needs_compiler
def test_a_job_that_runs(tmp_path: Path) -> None:
    library = tmp_path / "libnccl.so.2"
    shutil.copy(collectives_library(), library)
    settings = [{"NCCL_ALGO": "Ring", "NCCL_DETERMINISTIC": "1"}, {"NCCL_ALGO": "Tree", "NCCL_DETERMINISTIC": "1"}]
    with running_job(library, settings) as ranks:
        run = envdoctor("live", "--no-torch", "--pid", str(ranks[1].pid), "--format", "json", cwd=tmp_path)
        text = envdoctor("live", "--no-torch", "--pid", str(ranks[1].pid), cwd=tmp_path).stdout
    report = json.loads(run.stdout)
    assert [r["rank"] for r in report["job"]["ranks"]] == [0, 1]
    assert {r["library"] for r in report["job"]["ranks"]} == {str(library)}
    assert report["job"]["differs"]["NCCL_ALGO"] == {"Ring": [0], "Tree": [1]}
    assert report["node"]["ccl"]["loaded"] == [str(library)]
    ghost = next(f for f in report["findings"] if f["variable"] == "NCCL_DETERMINISTIC")
    assert ghost["name"] == "ghost-variable"
    assert ghost["path"] == f"/proc/{ranks[1].pid}/environ"
    assert f"the loaded library {library}" in ghost["evidence"][0]
    assert f"the environment is that of process {ranks[1].pid} at its exec" in text
    assert "ranks 0-1 on this node" in text


@needs_compiler
def test_a_process_without_ranks(tmp_path: Path) -> None:
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"], env={"NCCL_ALOG": "Ring"})
    try:
        time.sleep(0.2)
        run = envdoctor("live", "--no-torch", "--pid", str(process.pid), "--format", "json", cwd=tmp_path)
    finally:
        process.kill()
        process.wait()
    report = json.loads(run.stdout)
    assert report["job"]["ranks"] == []
    assert "misnamed-variable" in {f["name"] for f in report["findings"]}
    assert any("numbers ranks" in note for note in report["notes"])


def test_an_environment_that_may_not_be_read(tmp_path: Path) -> None:
    (tmp_path / "proc/5/environ").mkdir(parents=True)  # reading a folder fails, for root too
    (tmp_path / "proc/5/stat").write_text("5 (x) S 1 1\n")
    with pytest.raises(UserError, match="may not be read"):
        examine_node(LiveRequest(root=tmp_path, pid=5, depth="files"))
