"""What the values of NCCL_ALGO and NCCL_PROTO allow, as the libraries read them.

A comma list, in any case, `^` in front inverts it; from NCCL 2.24.3 also `list;function:list`, of which the part for
AllReduce or the one without a function counts. Unknown words allow nothing.
"""

from __future__ import annotations

from collections.abc import Mapping

from envdoctor.node.logs.nccl import ALGORITHMS, PROTOCOLS

KNOWN = {"NCCL_ALGO": (*ALGORITHMS, "COLLNET"), "NCCL_PROTO": PROTOCOLS}


def allowed(name: str, value: str) -> frozenset[str]:
    """The known algorithms or protocols that a value allows for AllReduce, in upper case; `name` says which."""
    known = frozenset(KNOWN[name])
    part = part_for_all_reduce(value.upper())
    words = frozenset(part.removeprefix("^").split(","))
    return known - words if part.startswith("^") else known & words


def unknown(name: str, value: str) -> tuple[str, ...]:
    """Words of a value that no release takes for an algorithm or protocol."""
    part = part_for_all_reduce(value.upper()).removeprefix("^")
    return tuple(word for word in part.split(",") if word and word not in KNOWN[name])


def part_for_all_reduce(value: str) -> str:
    """The part of a value that counts for AllReduce."""
    general = ""
    for part in value.split(";"):
        function, colon, words = part.partition(":")
        if colon and function.strip() == "ALLREDUCE":
            return words.strip()
        if not colon:
            general = function.strip()
    return general


def only_low_latency(settings: Mapping[str, str]) -> bool:
    """True if NCCL_PROTO leaves LL alone: over sockets it takes more than a minute for 16 MiB."""
    value = settings.get("NCCL_PROTO", "")
    return bool(value) and allowed("NCCL_PROTO", value) == {"LL"}
