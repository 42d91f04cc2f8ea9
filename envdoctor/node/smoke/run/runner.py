"""Runs experiments: gives each its environment, its folder and its fork server, and collects what is left behind."""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from envdoctor.node.smoke import placement
from envdoctor.node.smoke.model import Ask, Case, Experiment, ExperimentResult, SmokeRequest, TestedNode
from envdoctor.node.smoke.run.driver import Server, ServerError
from envdoctor.node.smoke.run.outcome import result_of

INSTRUMENTS = {"NCCL_DEBUG": "INFO", "NCCL_DEBUG_SUBSYS": "INIT,ENV,TUNING,COLL"}


@dataclass(frozen=True, slots=True)
class Tracing:
    """How to trace a run.

    `environment`: from an empty folder for its files and the environment of the run, the variables that start the
    trace (`LD_PRELOAD` with the user's own in it). `read`: what was asked for, from that folder.
    """

    environment: Callable[[Path, Mapping[str, str]], Mapping[str, str]]
    read: Callable[[Path], Sequence[Ask]]


@dataclass(frozen=True, slots=True)
class SmokeSetup:
    """What the user runs with: interpreter, environment, and what tests put in the way of the data."""

    python: Sequence[str] = (sys.executable,)
    environment: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    cpu: bool = False
    tracing: Tracing | None = None
    hook: str | None = None
    """A file with `all_reduce(tensor, context)` to use in place of the library's; only tests give one."""


class ExperimentRunner:
    """Runs experiments in fork servers, of which each environment at load time has one."""

    def __init__(self, request: SmokeRequest, setup: SmokeSetup, directory: Path) -> None:
        self.request, self.setup, self.directory = request, setup, directory
        self.base = {**setup.environment, **request.settings}
        self.servers: dict[str, Server] = {}
        self.environments: dict[str, dict[str, str]] = {}
        self.folders: dict[str, Path] = {}
        self.left: list[int] = []

    def __enter__(self) -> ExperimentRunner:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End all servers."""
        while self.servers:
            self.left += self.servers.popitem()[1].close()

    def server(self, experiment: Experiment | None = None) -> Server:
        """The server for an experiment: its own if it must start with its environment, else the common one."""
        fresh = experiment is not None and experiment.fresh
        name = experiment.id if fresh and experiment is not None else ""
        if name not in self.servers:
            folder = self.folder(f"server {name}")
            environment = self.environment(experiment) if experiment and fresh else self.base
            self.servers[name] = Server(self.setup.python, environment, folder)
        return self.servers[name]

    def forget(self, experiment: Experiment) -> None:
        """End a server that served one experiment, or that was lost."""
        name = experiment.id if experiment.fresh else ""
        if server := self.servers.pop(name, None):
            self.left += server.close()

    def folder(self, name: str) -> Path:
        """A folder below the session's own for a name of any length, made if need be."""
        if name not in self.folders:
            words = re.sub(r"[^A-Za-z0-9_.=^-]+", "-", name)[:60]
            path = self.directory / f"{len(self.folders):02}-{words}"
            path.mkdir()
            self.folders[name] = path
        return self.folders[name]

    def environment(self, experiment: Experiment) -> dict[str, str]:
        """What the ranks of an experiment start with, besides what depends on the rank."""
        if experiment.id not in self.environments:
            self.environments[experiment.id] = self.made_environment(experiment)
        return self.environments[experiment.id]

    def made_environment(self, experiment: Experiment) -> dict[str, str]:
        """The user's environment with the experiment's changes, the library's log, and the trace if there is one."""
        environment = {**self.base, **INSTRUMENTS}
        environment["NCCL_DEBUG_FILE"] = str(self.folder(experiment.id) / "%h.%p.log")
        for name, value in experiment.changes:
            environment.pop(name, None)
            if value is not None:
                environment[name] = value
        if self.setup.cpu:
            environment.setdefault("GLOO_SOCKET_IFNAME", "lo")
        if experiment.trace and self.setup.tracing is not None:
            folder = self.folder(f"{experiment.id} trace")
            environment.update(self.setup.tracing.environment(folder, environment))
        return environment

    def job(self, experiment: Experiment, node: TestedNode) -> dict[str, Any]:
        """What the server is told about an experiment."""
        seats = placement.seats(node)[: experiment.ranks or None]
        common = self.environment(experiment)
        return {
            "id": experiment.id,
            "directory": str(self.folder(experiment.id)),
            "backend": "gloo" if node.platform == "cpu" else "nccl",
            "world": len(seats),
            "timeout": experiment.timeout,
            "reduction": experiment.reduction,
            "cases": [case_entry(case) for case in experiment.cases],
            "late": dict(experiment.late),
            "sha256": self.request.sha256,
            "hook": self.setup.hook if experiment.reduction == "library" else None,
            "ranks": [
                {
                    "rank": seat.rank,
                    "device": seat.device,
                    "environment": {**seat_defaults(seat), **common, **seat_variables(seat, len(seats))},
                }
                for seat in seats
            ],
        }

    def run(self, experiment: Experiment, node: TestedNode) -> ExperimentResult:
        """Run one experiment. A server that is lost makes a result, and the next experiment gets a new one."""
        begin = time.monotonic()
        try:
            server = self.server(experiment)
            server.wait_ready()
            outcomes = server.launch(self.job(experiment, node))
        except (ServerError, OSError) as error:
            self.forget(experiment)
            reason = f"{error.reason}: {error}" if isinstance(error, ServerError) else str(error)
            return ExperimentResult(experiment, "error", (), reason, round(time.monotonic() - begin, 3))
        folder = self.folder(experiment.id)
        trace = str(self.folder(f"{experiment.id} trace")) if experiment.trace else ""
        result = result_of(experiment, outcomes, folder, round(time.monotonic() - begin, 3), trace)
        if experiment.fresh:
            self.forget(experiment)
        return result


def seat_defaults(seat: placement.Seat) -> dict[str, str]:
    """What the user may set otherwise. Simulated nodes are one machine, which may have no other interface."""
    return {"NCCL_SOCKET_IFNAME": "lo"} if seat.host else {}


def seat_variables(seat: placement.Seat, world: int) -> dict[str, str]:
    """Variables of one rank."""
    found = {"RANK": str(seat.rank), "LOCAL_RANK": str(seat.rank), "WORLD_SIZE": str(world)}
    if seat.host:
        found["NCCL_HOSTID"] = seat.host
    return found


def case_entry(case: Case) -> dict[str, Any]:
    """A case as the ranks read it."""
    return {
        "id": case.id, "data": case.data, "dtype": case.dtype, "count": case.count, "mode": case.mode,
        "repeats": case.repeats, "shards": case.shards, "order": list(case.order),
    }  # fmt: skip
