"""Tests of faults of the hardware, and of who else computes on the GPUs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, cast

from envdoctor.checks.node.common import Seen, Told, listed
from envdoctor.core.facts import Observation
from envdoctor.core.findings import Related, Severity
from envdoctor.core.numbers import counted

if TYPE_CHECKING:
    from envdoctor.knowledge.parameters.node import GpuHealth

COUNTS: tuple[tuple[str, Severity, str], ...] = (
    ("ecc_errors", "warning", "memory errors that could not be corrected, since the driver was loaded"),
    ("rows_remapped", "info", "memory rows replaced for errors that could not be corrected"),
    ("pages_retired", "info", "memory pages given up for double bit errors"),
    ("bad_pages", "info", "memory pages that the driver has given up"),
)
FLAGS: tuple[tuple[str, Severity, str], ...] = (
    ("rows_failed", "error", "a memory row could not be replaced"),
    ("rows_pending", "warning", "memory rows wait for a reset to be replaced"),
    ("pages_pending", "warning", "memory pages wait for a reset to be given up"),
)
"""Field of a GPU, how bad it is, and what it says."""


def gpu_health(seen: Seen) -> Iterator[Told]:
    """Faults of the hardware that the driver tells of."""
    for field, severity, words in COUNTS:
        found = [o for o in seen.visible(f"gpu.device.{field}") if isinstance(o.value, int) and o.value > 0]
        if found:
            yield _told(f"{words}: {listed([f'{o.value} on {o.detail}' for o in found])}", found, severity)
    for field, severity, words in FLAGS:
        found = [o for o in seen.visible(f"gpu.device.{field}") if o.value is True]
        if found:
            yield _told(f"{words}: {listed([o.detail for o in found])}", found, severity)
    yield from _links(seen)
    yield from _fabric(seen)
    yield from _xids(seen)
    messages = [o for o in seen.all("gpu.kernel_fault") if not _gone(seen, o)]
    if messages:
        names = listed([f"{o.detail}{f' ({o.value} times)' if o.value != 1 else ''}" for o in messages])
        yield _told(f"the kernel's log of this boot tells of faults of amdgpu: {names}", messages, "warning")


def _told(message: str, found: list[Observation], severity: Severity) -> Told:
    related = tuple(Related(o.place, f"{o.detail}: {o.value}") for o in found[1:4])
    return Told(message, found[0].place, severity, related=related)


def _gone(seen: Seen, message: Observation) -> bool:
    """Whether a message is about a GPU that ED721 says is missing: one fault, one finding."""
    return message.detail.partition(" ")[0] in {o.detail for o in seen.all("gpu.missing")}


def _links(seen: Seen) -> Iterator[Told]:
    """GPUs with fewer active NVLinks than their neighbours. On some boards a part of the links leads nowhere."""
    active = seen.visible("gpu.device.nvlinks")
    most = max((o.value for o in active if isinstance(o.value, int)), default=0)
    down = seen.by_item("gpu.device.nvlinks_down")
    fewer = [o for o in active if isinstance(o.value, int) and o.value < most and down.get(o.detail)]
    if fewer:
        names = listed([f"{o.detail} with {o.value} of {most}" for o in fewer])
        yield _told(f"NVLinks are inactive: {names}", fewer, "warning")


def _fabric(seen: Seen) -> Iterator[Told]:
    """GPUs that the fabric manager has not taken in: CUDA does not start on them, or without the switch."""
    found = [o for o in seen.visible("gpu.device.fabric") if not str(o.value).startswith("Completed, Success")]
    unready = [o for o in found if str(o.value).partition(",")[0] != "Not Supported"]
    if unready and seen.value("gpu.nvlink_disabled") is not True:
        names = listed([f"{o.detail} ({o.value})" for o in unready])
        message = f"not registered with the NVLink fabric: {names}; is the fabric manager running?"
        yield _told(message, unready, "info" if seen.value("torch.cuda_available") is True else "warning")


def _xids(seen: Seen) -> Iterator[Told]:
    """Xid messages: those that tell of the hardware, and the others, which programs mostly cause themselves."""
    known, told = cast("GpuHealth", seen.parameters), [o for o in seen.all("gpu.xid") if not _gone(seen, o)]
    by_weight: dict[Severity, list[Observation]] = {"error": [], "warning": [], "info": []}
    for o in told:
        code = int(o.detail.rpartition(" ")[2])
        weight: Severity = "error" if code in known["xid_errors"] else "info"
        by_weight["warning" if code in known["xid_warnings"] else weight].append(o)
    for severity, found in by_weight.items():
        if found:
            names = listed([f"Xid {o.detail.rpartition(' ')[2]} of {o.detail.partition(' ')[0]}" for o in found])
            total = sum(o.value for o in found if isinstance(o.value, int))
            yield _told(f"{counted(total, 'Xid message')} in the kernel's log of this boot: {names}", found, severity)


def busy_gpu(seen: Seen) -> Iterator[Told]:
    """Processes that compute on the GPUs and are none of the job that is examined."""
    others = seen.all("gpu.process")
    if others and not seen.first("job.ranks"):
        verb = "computes" if len(others) == 1 else "compute"
        names = listed([f"process {o.detail}{f' on {o.value}' if o.value else ''}" for o in others])
        message = f"{counted(len(others), 'process')} {verb} on the GPUs of this node: {names}"
        yield Told(message.replace("processs", "processes"), others[0].place)
