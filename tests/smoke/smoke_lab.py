"""What the tests of the smoke test share: one fork server for many experiments, and builders of results."""

from __future__ import annotations

import importlib.util
import os
import sys
import uuid
from pathlib import Path

from envdoctor.node.logs.nccl import read_log
from envdoctor.node.smoke.model import (
    Case,
    Experiment,
    ExperimentResult,
    RankResult,
    SmokeRequest,
    TestedGpu,
    TestedNode,
)
from envdoctor.node.smoke.run.runner import ExperimentRunner, SmokeSetup

FAULTS = Path(__file__).parent / "faults"
CPU = TestedNode("cpu", library="gloo")
ONE_GPU = TestedNode("cuda", (TestedGpu("H200", "sm_90", 140 << 30, 140 << 30),), "nccl", (2, 28, 9))
EIGHT_GPUS = TestedNode("cuda", ONE_GPU.gpus * 8, "nccl", (2, 28, 9))
MI300X = TestedNode(
    "rocm", (TestedGpu("MI300X", "gfx942", 190 << 30, 191 << 30),) * 8, "rccl", (2, 20, 5), (6, 2, 41133)
)
SMALL = (Case("wide", "fp32", 4097, repeats=3), Case("wide", "bf16", 2049, repeats=2),
         Case("integer", "fp32", 4097, repeats=2))  # fmt: skip


def has_torch() -> bool:
    return importlib.util.find_spec("torch") is not None


def marked(mark: str) -> list[int]:
    """Processes whose environment holds a mark that only the test gave it."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                state = (entry / "stat").read_text().rsplit(")", 1)[1].split()[0]
                if mark.encode() in (entry / "environ").read_bytes() and state != "Z":
                    found.append(int(entry.name))
            except OSError:
                continue
    return found


class Lab:
    """One fork server for many tests; each test gets folders and, if it wants one, a fault of its own."""

    def __init__(self, folder: Path) -> None:
        self.mark = f"mark-{uuid.uuid4()}"
        self.setup = SmokeSetup((sys.executable,), {**os.environ, "ENVDOCTOR_TEST": self.mark}, cpu=True)
        self.first = ExperimentRunner(SmokeRequest(), self.setup, folder)
        self.folder = folder

    def run(
        self, cases: tuple[Case, ...] = SMALL, fault: str | Path = "", timeout: float = 60, **more: object
    ) -> ExperimentResult:
        hook = str(FAULTS / f"{fault}.py" if isinstance(fault, str) else fault) if fault else None
        setup = SmokeSetup(self.setup.python, self.setup.environment, True, None, hook)
        folder = self.folder / uuid.uuid4().hex
        folder.mkdir()
        runner = ExperimentRunner(more.pop("request", SmokeRequest()), setup, folder)  # type: ignore[arg-type]
        self.first.server()
        runner.servers = self.first.servers
        fields = {"id": "user", "role": "user", "why": "your settings", "cases": cases, "timeout": timeout, **more}
        return runner.run(Experiment(**fields), CPU)  # type: ignore[arg-type]


def servers(lab: Lab) -> list[int]:
    return [server.process.pid for server in lab.first.servers.values()]


def made(identity: str, hashes: dict[str, object], log: str = "", **fields: object) -> ExperimentResult:
    """A result of 4 ranks. `hashes`: case id -> one hash for all, or a tuple of rows, one a rank."""
    role = fields.pop("role", identity if identity in ("user", "restart", "pinned", "control") else "toggle")
    wrong = fields.pop("wrong", {})
    sha256 = fields.pop("sha256", {})
    status = fields.pop("status", "ok")
    reason = fields.pop("reason", "")
    cases = tuple(case_of(case) for case in hashes)
    experiment = Experiment(identity, role, identity, cases, **fields)  # type: ignore[arg-type]
    ranks = tuple(
        RankResult(rank, hashes={case: row_of(value, rank) for case, value in hashes.items()}, wrong=wrong, done=True,
                   sha256={case: row_of(value, rank) for case, value in sha256.items()})  # type: ignore[attr-defined]
        for rank in range(4)
    )  # fmt: skip
    return ExperimentResult(experiment, status, ranks, reason, log=read_log(log, "log"))  # type: ignore[arg-type]


def row_of(value: object, rank: int) -> tuple[str, ...]:
    row = value if isinstance(value, str) else value[rank]  # type: ignore[index]
    return (row,) if isinstance(row, str) else tuple(row)


def case_of(identity: str) -> Case:
    data, dtype, size, *rest = identity.split("/")
    mode = rest[0] if rest else "plain"
    return Case(data, dtype, int(size) // (4 if dtype == "fp32" else 2), mode)  # type: ignore[arg-type]
