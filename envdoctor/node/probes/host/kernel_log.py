"""What the kernel's log of this boot says of GPUs: Xid messages of NVIDIA, faults and resets of amdgpu.

The log is a ring: what was written long ago may be gone. Most machines show it to root alone.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from envdoctor.node.probes.base import Absent, NodeView, ProbeFailed
from envdoctor.node.probes.runner import MISSING

COMMAND = ("dmesg",)
XID = re.compile(r"NVRM: Xid \(PCI:([0-9a-fA-F:.]+)\): ([0-9]{1,4})\b")
AMD = re.compile(
    r"amdgpu ([0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]): (?:amdgpu: )?"
    r"(?:.*?\b)?(GPU reset(?: begin| succeeded|\([0-9]+\) (?:succeeded|failed))?|uncorrectable hardware errors?"
    r"|GPU is lost|asic is lost|Fatal error during GPU init|device lost from bus)",
    re.IGNORECASE,
)
"""Messages that a GPU was reset, lost or not started, or that a block had errors which it could not correct."""


def kept(text: str) -> str:
    """The lines of a log that a recording keeps: those that a probe reads, without when and what around them."""
    found = (XID.search(line) or AMD.search(line) for line in text.splitlines())
    return "".join(f"{match[0]}\n" for match in found if match)


def address(text: str) -> str:
    """0000:89:00.0 of 0000:89:00, which Xid messages give."""
    return text.lower() if "." in text else f"{text.lower()}.0"


def faults(text: str) -> Iterator[tuple[str, str]]:
    """(PCI address, what) of each message; a Xid is its number."""
    for match in XID.finditer(text):
        yield address(match[1]), match[2]
    for match in AMD.finditer(text):
        yield match[1].lower(), " ".join(match[2].lower().split())


def kernel_log_probe(view: NodeView) -> None:
    """Facts of the log. Raises `Absent` where it may not be read: then nothing is known of it."""
    result = view.run(*COMMAND)
    if result.rc == MISSING:
        raise Absent(f"the kernel's log is not known: {result.failure}")
    if not result.ok and "not permitted" in result.stderr + result.stdout:
        raise Absent("the kernel's log may not be read without root: nothing is known of it")
    if result.timed_out or not (result.ok or result.truncated):
        raise ProbeFailed(result.failure)
    for (where, what), count in Counter(faults(result.stdout)).items():
        key = "gpu.xid" if what.isdecimal() else "gpu.kernel_fault"
        view.facts.observe(key, count, "dmesg", detail=f"{where} {what}")
    view.facts.observe("host.kernel_log", True, "dmesg")
