"""Which messages an experiment reduces: sizes that straddle the limits of protocols and chunks, three types."""

from __future__ import annotations

from envdoctor.node.smoke import values
from envdoctor.node.smoke.model import Case, Dtype, Mode, SmokeRequest, TestedNode
from envdoctor.node.smoke.placement import FEW, seats

KIB, MIB = 1 << 10, 1 << 20
QUICK_SIZES = (KIB, 64 * KIB, MIB, 16 * MIB)
"""NCCL 2.28 with 4 ranks took Tree/LL, Ring/LL, Ring/Simple here; the last is above a chunk (2 MiB a channel)."""
THOROUGH_SIZES = (KIB, 32 * KIB, 256 * KIB, 4 * MIB, 32 * MIB)
LOW_LATENCY_LIMIT = MIB
"""LL over sockets is slow: 16 MiB ran past 60 s."""
CPU_LIMIT = 64 * KIB
"""On the CPU only the harness is exercised."""
SHORT: tuple[Dtype, ...] = ("bf16", "fp16")


def sizes(request: SmokeRequest, node: TestedNode) -> tuple[int, ...]:
    """Message sizes in bytes."""
    chosen = THOROUGH_SIZES if request.thorough else QUICK_SIZES
    if node.platform == "cpu":
        return tuple(size for size in chosen if size <= CPU_LIMIT)
    if len(node.gpus) < FEW and values.only_low_latency(request.settings):
        return tuple(size for size in chosen if size <= LOW_LATENCY_LIMIT)
    return chosen


def repeats_at(request: SmokeRequest, node: TestedNode, size: int, repeats: int) -> int:
    """How often a message is reduced: the quick matrix saves one repeat of the largest, which takes most time."""
    largest = size == sizes(request, node)[-1] and size > MIB
    return max(1, repeats - 1) if largest and not request.thorough else repeats


def wide(request: SmokeRequest, node: TestedNode, repeats: int) -> tuple[Case, ...]:
    """Data that shows the order: every size in fp32, also with one odd element; 16-bit types in the middle."""
    found = [
        Case("wide", "fp32", size // 4 + odd, repeats=repeats_at(request, node, size, repeats))
        for size in sizes(request, node)
        for odd in (0, 1)
    ]
    middle = sizes(request, node)[1 : 4 if request.thorough else 3]
    found += [Case("wide", dtype, size // 2 + 1, repeats=repeats) for dtype in SHORT for size in middle]
    return tuple(found)


def exact(request: SmokeRequest, node: TestedNode, repeats: int) -> tuple[Case, ...]:
    """Whole numbers, whose right sum is known."""
    small, large = sizes(request, node)[1], sizes(request, node)[-1]
    found = [
        Case("integer", "fp32", small // 4, repeats=repeats),
        Case("integer", "fp32", large // 4 + 1, repeats=repeats_at(request, node, large, repeats)),
    ]
    found += [Case("integer", dtype, small // 2 + 1, repeats=repeats) for dtype in SHORT]
    return tuple(found)


def special(request: SmokeRequest, node: TestedNode, repeats: int) -> tuple[Case, ...]:
    """Data of `wide` beside matrix products on another stream, and in two calls instead of one."""
    middle, large = sizes(request, node)[-2:]
    return (
        Case("wide", "fp32", middle // 4, "overlap", repeats),
        Case("wide", "fp32", large // 4, "overlap", repeats if request.thorough else 1),
        Case("wide", "fp32", middle // 4, "halves"),
        Case("wide", "fp32", large // 4, "halves"),
    )


def sharded(node: TestedNode) -> tuple[Case, ...]:
    """Global data in as many parts as there are ranks, by the library's sum and by the one of fixed order."""
    modes: tuple[Mode, ...] = ("plain", "ordered")
    counts = (64 * KIB // 4 + 1, MIB // 4)
    ranks = len(seats(node))
    return tuple(Case("wide", "fp32", count, mode, shards=ranks) for count in counts for mode in modes)


def reordered(node: TestedNode) -> tuple[Case, ...]:
    """Equal and different data, each under several ring orders."""
    orders = ring_orders(len(seats(node)))
    equal = tuple(Case("equal", "fp32", 64 * KIB // 4, order=order) for order in orders)
    return (*equal, *(Case("wide", "fp32", 64 * KIB // 4, order=order) for order in orders))


def ring_orders(ranks: int) -> tuple[tuple[int, ...], ...]:
    """Ways to walk round the same parts."""
    straight = tuple(range(ranks))
    if ranks < FEW:
        return (straight,)
    rest = straight[3:]
    return (straight, (0, 2, 1, *rest), (1, 2, 0, *rest))
