"""One rank: makes the communicator, runs the cases, writes what it saw line by line.

Every line of `rank-N.jsonl` is written before the next step begins, so that a rank that hangs or dies leaves what it
had. The hashes go to the parent through these files: never over the library under test.
"""

from __future__ import annotations

import ctypes
import importlib.util
import json
import os
import re
import threading
import time
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
import torch.distributed as dist

from . import hashing, inputs

if TYPE_CHECKING:
    from collections.abc import Callable

    Context = dict[str, Any]
    Case = dict[str, Any]
    AllReduce = Callable[[torch.Tensor, Context], None]

LIBRARY = re.compile(r"/\S*/lib(?P<name>nccl|rccl)\.so[^/\s]*$")


class Report:
    """The file that one rank writes."""

    def __init__(self, path: Path) -> None:
        self.file = path.open("a", buffering=1)
        self.start = time.monotonic()

    def write(self, **entry: object) -> None:
        """Add one line, with the seconds since the rank began."""
        self.file.write(json.dumps({"at": round(time.monotonic() - self.start, 4), **entry}) + "\n")


def library_all_reduce(tensor: torch.Tensor, context: Context) -> None:
    """AllReduce of the library under test, in place. `context` says which rank, case and repeat this is."""
    dist.all_reduce(tensor)


def gathered(tensor: torch.Tensor) -> list[torch.Tensor]:
    """The tensors of all ranks, in rank order; no arithmetic, so no order to depend on."""
    received = [torch.empty_like(tensor) for _ in range(dist.get_world_size())]
    dist.all_gather(received, tensor)
    return received


def pairwise_all_reduce(tensor: torch.Tensor, context: Context) -> None:
    """A sum by pairs: another order than a ring's, for backends that offer no choice of algorithm."""
    level = gathered(tensor)
    while len(level) > 1:
        pairs = [level[index : index + 2] for index in range(0, len(level), 2)]
        level = [pair[0] + pair[1] if len(pair) == 2 else pair[0] for pair in pairs]
    tensor.copy_(level[0])


class Rank:
    """One rank of one experiment."""

    def __init__(self, job: dict[str, Any], rank: int, device: int | None, report: Report) -> None:
        self.job, self.rank, self.report = job, rank, report
        self.world = int(job["world"])
        self.device = torch.device("cpu") if device is None else torch.device("cuda", device)
        self.all_reduce: AllReduce = pairwise_all_reduce if job["reduction"] == "pairs" else library_all_reduce
        if job.get("hook"):
            self.all_reduce = load_hook(job["hook"])
        self.context: Context = {"rank": rank, "world": self.world, "case": "", "repeat": 0}

    def connect(self) -> None:
        """Join the process group and make the communicator with one small AllReduce."""
        if self.device.type == "cuda":
            torch.cuda.set_device(self.device)
        else:
            torch.set_num_threads(1)
        store = dist.FileStore(str(Path(self.job["directory"]) / "store"), self.world)
        # Longer than the launch's own limit: the parent is the one to say that a rank hangs.
        limit = timedelta(seconds=2 * float(self.job["timeout"]) + 60)
        dist.init_process_group(self.job["backend"], store=store, rank=self.rank, world_size=self.world, timeout=limit)
        self.store = store
        self.report.write(event="group")
        ones = torch.ones(1, dtype=torch.int32, device=self.device)
        dist.all_reduce(ones)
        self.report.write(event="communicator", sum=int(ones.item()), libraries=mapped_libraries())

    def set_late(self) -> None:
        """Write variables after the first communicator, as a script that does so too late."""
        late = self.job.get("late") or {}
        if late:
            os.environ.update(late)
            self.report.write(event="late", names=sorted(late))

    def run(self, case: Case) -> None:
        """One case: its repeats, their hashes, and for whole numbers how many elements are wrong."""
        self.report.write(event="begin", case=case["id"])
        self.context["case"] = case["id"]
        begin = time.monotonic()
        parts = self.addends(case)
        hashes, digests, wrong = [], [], 0
        for repeat in range(int(case["repeats"])):
            self.context["repeat"] = repeat
            result = self.reduced(case["mode"], parts)
            hashes.append(hashing.digest(result))
            if self.job.get("sha256"):
                digests.append(hashing.sha256(result))
            if case["data"] == "integer":
                wrong = max(wrong, self.wrong_elements(case, result))
        seconds = round(time.monotonic() - begin, 4)
        self.report.write(event="case", case=case["id"], hashes=hashes, sha256=digests, wrong=wrong, seconds=seconds)

    def wrong_elements(self, case: Case, result: torch.Tensor) -> int:
        """How many elements differ from the exact sum."""
        addends = int(case["shards"]) or self.world
        expected = inputs.exact_sum(case["dtype"], int(case["count"]), addends, self.device)
        return int((expected != result).sum().item())

    def addends(self, case: Case) -> list[torch.Tensor]:
        """What this rank adds: its block of the shards, or the one part that the case's order gives it."""
        shards = int(case["shards"]) or self.world
        each = shards // self.world
        order = case["order"] or list(range(shards))
        sources = [order[index] for index in range(self.rank * each, (self.rank + 1) * each)]
        return [
            inputs.addend(case["data"], case["dtype"], int(case["count"]), source, shards, self.device)
            for source in sources
        ]

    def reduced(self, mode: str, parts: list[torch.Tensor]) -> torch.Tensor:
        """The sum of all parts of all ranks, made in the way that the mode says."""
        if mode == "ordered":
            return self.ordered(parts)
        total = parts[0].clone()
        for part in parts[1:]:
            total += part
        if mode == "halves":
            middle = total.numel() // 2
            self.all_reduce(total[:middle], self.context)
            self.all_reduce(total[middle:], self.context)
        elif mode == "overlap":
            self.overlapped(total)
        else:
            self.all_reduce(total, self.context)
        return total

    def overlapped(self, total: torch.Tensor) -> None:
        """AllReduce while matrix products run on another stream (on the CPU: in another thread)."""
        matrix = torch.ones(1024, 1024, device=self.device)
        if self.device.type != "cuda":
            matrix = matrix[:256, :256]
            thread = threading.Thread(target=torch.mm, args=(matrix, matrix))
            thread.start()
            self.all_reduce(total, self.context)
            thread.join()
            return
        stream = torch.cuda.Stream(self.device)
        stream.wait_stream(torch.cuda.current_stream(self.device))
        with torch.cuda.stream(stream):
            for _ in range(20):
                matrix = matrix @ matrix * 1e-3
        self.all_reduce(total, self.context)
        torch.cuda.current_stream(self.device).wait_stream(stream)

    def ordered(self, parts: list[torch.Tensor]) -> torch.Tensor:
        """Gather in rank order, elementwise sum in fixed order on rank 0, broadcast."""
        found = [gathered(part) for part in parts]
        everything = [found[index][rank] for rank in range(self.world) for index in range(len(parts))]
        total = everything[0].clone()
        for part in everything[1:]:
            total += part
        dist.broadcast(total, 0)
        return total

    def finish(self) -> None:
        """Wait until all ranks are done: one that leaves early breaks the connections of the others."""
        peak = torch.cuda.max_memory_reserved(self.device) if self.device.type == "cuda" else 0
        self.report.write(event="done", peak=peak)
        self.store.add("finished", 1)
        while self.store.add("finished", 0) < self.world:
            time.sleep(0.01)


def run(job: dict[str, Any], rank: int, device: int | None) -> int:
    """Run one rank; the exit status: 0 done, 1 the library or torch raised an error, which is in the report."""
    report = Report(Path(job["directory"]) / f"rank-{rank}.jsonl")
    report.write(event="start", pid=os.getpid(), device=device)
    status = 0
    try:
        one = Rank(job, rank, device, report)
        one.connect()
        one.set_late()
        for case in job["cases"]:
            one.run(case)
        one.finish()
    except (RuntimeError, ValueError, OSError) as error:
        report.write(event="error", kind=type(error).__name__, text=str(error)[:4000])
        status = 1
    ctypes.CDLL(None).fflush(None)  # the banner of older releases is a printf to a stdout that is a file here
    return status


def load_hook(path: str) -> AllReduce:
    """The function `all_reduce(tensor, context)` of a Python file, to be used in place of the library's."""
    spec = importlib.util.spec_from_file_location("envdoctor_hook", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    hook: AllReduce = module.all_reduce
    return hook


def mapped_libraries() -> list[dict[str, Any]]:
    """The collectives libraries in this process: path, size in bytes, version code of `ncclGetVersion`."""
    found: dict[str, dict[str, Any]] = {}
    for line in Path("/proc/self/maps").read_text(errors="replace").splitlines():
        match = LIBRARY.search(line)
        if match and match[0] not in found:
            found[match[0]] = {"name": match["name"], "path": match[0], **library_version(match[0])}
    return list(found.values())


def library_version(path: str) -> dict[str, Any]:
    """Version code and size of a library that is loaded already; empty where it cannot be asked."""
    number = ctypes.c_int()
    try:
        if ctypes.CDLL(path).ncclGetVersion(ctypes.byref(number)) != 0:
            return {}
        return {"version_code": number.value, "bytes": Path(path).stat().st_size}
    except (OSError, AttributeError):
        return {}
