"""Which rank runs on which GPU, and what a small node leaves untested.

The duplicate check of NCCL and RCCL compares a hash of the host and the GPU; `NCCL_HOSTID` replaces the host's name
in it, so several ranks may share a GPU if each stands for a node of its own. Such ranks talk over the network path.
"""

from __future__ import annotations

from dataclasses import dataclass

from envdoctor.node.smoke.model import TestedNode

WANTED = 4
"""With 2 ranks a + b = b + a hides every order; 4 let Ring and Tree differ at every size that was measured."""
FEW = 3
LOOPBACK = "the network path (over the loopback interface unless NCCL_SOCKET_IFNAME is set)"
PER_RANK = 1 << 30
"""Memory of one rank: context, kernels, the library's buffers, and our own below 300 MiB."""
SHARED = 2 << 30
"""More than this in use before the test starts: someone else works on the GPU."""


@dataclass(frozen=True, slots=True)
class Seat:
    """Where one rank runs: device index (None: CPU) and the name of its simulated node (empty: the real one)."""

    rank: int
    device: int | None
    host: str = ""


def seats(node: TestedNode) -> tuple[Seat, ...]:
    """The ranks of a full launch."""
    count = len(node.gpus)
    if node.platform == "cpu":
        return tuple(Seat(rank, None) for rank in range(WANTED))
    if count >= FEW:
        return tuple(Seat(rank, rank) for rank in range(count))
    return tuple(Seat(rank, rank % count, f"simulated{rank // count}") for rank in range(WANTED)) if count else ()


def label(node: TestedNode) -> str:
    """What the placement is, and what it does not exercise."""
    if node.platform == "cpu":
        return "4 ranks on the CPU over gloo: the harness is exercised, no GPU and no NCCL or RCCL"
    if len(node.gpus) >= FEW:
        return f"{len(node.gpus)} ranks, one a GPU, one node: the network path is not exercised"
    paths = "NVLS" if node.platform == "cuda" else "MSCCL"
    if len(node.gpus) == 1:
        return f"4 simulated nodes on 1 GPU: {LOOPBACK} only; P2P, shared memory and {paths} are not exercised"
    return f"2 simulated nodes of 2 ranks on 2 GPUs: P2P and {LOOPBACK}; {paths} is not exercised"


def memory_problem(node: TestedNode) -> str:
    """Why the test does not fit beside what runs on the GPUs already; empty where it does."""
    used = [seat.device for seat in seats(node)]
    for index, gpu in enumerate(node.gpus):
        need = used.count(index) * PER_RANK
        if gpu.free < need:
            return f"GPU {index} has {mib(gpu.free)} MiB free of {mib(gpu.total)}; its ranks need {mib(need)} MiB"
    return ""


def sharing(node: TestedNode) -> tuple[str, ...]:
    """GPUs on which something else runs: bits can still be compared, times cannot."""
    return tuple(
        f"GPU {index} is shared: {mib(gpu.total - gpu.free)} MiB were in use before the test began"
        for index, gpu in enumerate(node.gpus)
        if gpu.total - gpu.free > SHARED
    )


def mib(size: int) -> int:
    """Whole MiB."""
    return size >> 20
