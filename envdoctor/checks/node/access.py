"""Tests of whether this process may and can use the GPUs, and of GPUs that are lost to everybody."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, cast

from envdoctor.checks.node.common import Seen, Told, listed
from envdoctor.core.facts import Observation
from envdoctor.core.findings import Related, Severity
from envdoctor.core.numbers import counted

if TYPE_CHECKING:
    from envdoctor.knowledge.parameters.node import DeviceDenied, MissingGpu

MASKS = ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES")


def device_denied(seen: Seen) -> Iterator[Told]:
    """Device nodes that this process may not open, or a torch that sees no GPU although there are some."""
    denied = seen.all("host.device_denied")
    count, usable = seen.number("gpu.count"), seen.value("gpu.usable")
    kfd, blind = seen.first("host.kfd_rw"), seen.first("torch.cuda_available")
    sees_none = blind is not None and blind.value is False and count > 0
    extra = "; torch sees no GPU" if sees_none else ""
    if kfd and kfd.value is False:
        yield _denied(seen, f"this process may not open /dev/kfd{_others(denied)}{_group(seen)}{extra}", kfd)
    elif denied and count:
        severity: Severity | None = None if usable == 0 or sees_none else "warning"
        message = f"this process may not open {listed([str(o.value) for o in denied])}{_group(seen)}{extra}"
        yield _denied(seen, message, denied[0], severity)
    elif count and (status := seen.first("helper.status")) and (instead := _advice(seen, f"status_{status.value}")):
        says = seen.by_item("helper.says").get(status.detail) or "no word"
        message = f"{status.detail} ended with status {status.value}: {says}{extra}"
        yield Told(message, status.place, help=instead, evidence=_evidence(seen))
    elif sees_none and blind is not None:
        why, instead = _why_blind(seen)
        message = f"torch sees none of the {counted(count, 'GPU')} of this node{why}"
        yield Told(message, blind.place, help=instead, evidence=_evidence(seen))
    elif count and (broken := seen.first("torch.import_error")) and not seen.first("job.ranks"):
        yield _cannot_import(seen, broken)
    elif blind is None and count and (other := _built_for_others(seen)):
        built = seen.first("torch.hip") or seen.first("torch.cuda")
        assert built is not None
        message = f"torch is built for {other}, and {_these(count)} of this node {'is' if count == 1 else 'are'} not"
        yield Told(message, built.place, help=_own_build(seen), evidence=_evidence(seen))


def _these(count: int) -> str:
    return "the GPU" if count == 1 else f"the {count} GPUs"


def _denied(seen: Seen, message: str, at: Observation, severity: Severity | None = None) -> Told:
    """Membership in a group helps only where a group has the rights and this process is not in it."""
    member = seen.value("host.in_kfd_group")
    instead = _advice(seen, "closed")
    if seen.first("host.kfd_group") and member is False:
        instead = _advice(seen, "group")
    elif seen.value("container") is True:
        instead = _advice(seen, "container")
    return Told(message, at.place, severity, help=instead, evidence=_evidence(seen))


def _vendor(seen: Seen) -> str:
    archs = {arch[:3] for arch in seen.archs()}
    return seen.text("vendor") or ("nvidia" if archs == {"sm_"} else "amd")


def _advice(seen: Seen, cause: str) -> str:
    advice = cast("DeviceDenied", seen.parameters)["advice"]
    return advice.get(f"{_vendor(seen)}_{cause}") or advice.get(cause, "")


def _evidence(seen: Seen) -> tuple[str, ...]:
    return tuple(cast("DeviceDenied", seen.parameters)["proof"].get(_vendor(seen), ()))


def _others(denied: list[Observation]) -> str:
    others = [o for o in denied if o.value != "/dev/kfd"]
    return f" and {counted(len(others), 'other device node')}" if others else ""


def _group(seen: Seen) -> str:
    group, member = seen.text("host.kfd_group"), seen.value("host.in_kfd_group")
    return f": it is not in the group {group}, which owns it" if group and member is False else ""


def _why_blind(seen: Seen) -> tuple[str, str]:
    """Why torch sees no GPU although the devices may be opened, and what helps: first what is certain."""
    for name in MASKS:
        if seen.known_value(name) in ("", "-1"):
            return f": {name} is set and names none", f"unset {name}, or name the GPUs that are meant"
    if seen.all("torch.version") and not seen.text("torch.hip") and not seen.text("torch.cuda"):
        return ": it is built for the CPU alone", _own_build(seen)
    if other := _built_for_others(seen):
        return f": it is built for {other}", _own_build(seen)
    if _too_old(seen):
        built, newest = seen.text("cuda.torch_cuda"), seen.text("cuda.driver_cuda")
        return f": it is built for CUDA {built}, and the driver supports up to {newest}", _advice(seen, "old_driver")
    if lost := seen.first("torch.driver_library"):
        return f": the driver's library cannot be loaded ({lost.value})", _advice(seen, "library")
    said = seen.text("torch.cuda_error")
    cause = next((name for name, pattern in CAUSES if re.search(pattern, said)), "")
    told = f": {said}" if said else " (in a fresh process)"
    return told, _advice(seen, cause or "unknown")


CAUSES = (
    ("old_driver", r"driver on your system is too old|CUDA driver version is insufficient"),
    ("library", r"[Ff]ound no NVIDIA driver|cannot open shared object file"),
    ("fabric", r"system not yet initialized|error 802"),
)
"""What torch's own message says of the cause."""


def _too_old(seen: Seen) -> bool:
    built, newest = (re.match(r"[0-9]+", seen.text(key)) for key in ("cuda.torch_cuda", "cuda.driver_cuda"))
    return built is not None and newest is not None and int(built[0]) > int(newest[0])


def _own_build(seen: Seen) -> str:
    return f"install a build of torch for {'CUDA' if _vendor(seen) == 'nvidia' else 'ROCm'}"


def _cannot_import(seen: Seen, broken: Observation) -> Told:
    """A torch whose import fails for a library that is not there: no right or membership helps."""
    message = f"torch cannot be imported: {broken.value}"
    return Told(message, broken.place, help=_advice(seen, "import"), evidence=_evidence(seen))


def _built_for_others(seen: Seen) -> str:
    """What torch is built for, where the GPUs are the other vendor's; "" where it fits or is not known."""
    archs = {str(o.value)[:3] for o in seen.all("gpu.device.arch")}
    if seen.text("torch.cuda") and not seen.text("torch.hip") and archs == {"gfx"}:
        return "CUDA"
    return "ROCm" if seen.text("torch.hip") and archs == {"sm_"} else ""


def missing_gpu(seen: Seen) -> Iterator[Told]:
    """GPUs that belong to this node and cannot be used: lost, not listed by the driver, or fewer than expected."""
    missing, status = seen.all("gpu.missing"), seen.first("helper.status")
    if missing:
        names = listed([f"{o.detail}, {o.value}" for o in missing])
        verb = "is" if len(missing) == 1 else "are"
        log = [o for key in ("gpu.xid", "gpu.kernel_fault") for o in seen.all(key)
               if o.detail.partition(" ")[0] in {gpu.detail for gpu in missing}]  # fmt: skip
        related = tuple(Related(o.place, f"the kernel's log of this boot: {_message(o)}") for o in log[:4])
        yield Told(f"{counted(len(missing), 'GPU')} {verb} missing: {names}", missing[0].place, related=related)
    elif status:
        yield from _status(seen, status)
    expected, count, physical = seen.first("gpu.expected"), seen.first("gpu.count"), seen.number("gpu.physical")
    if expected is None or count is None or expected.value in (count.value, physical):
        return
    fewer = isinstance(count.value, int) and isinstance(expected.value, int) and count.value < expected.value
    message = f"{_number(count)} on this node, and {expected.value} {'is' if expected.value == 1 else 'are'} expected"
    yield Told(message, count.place, "error" if fewer else "warning")


def _message(observation: Observation) -> str:
    where, _, what = observation.detail.partition(" ")
    return f"{'Xid ' if what.isdecimal() else ''}{what} of {where}"


def _number(count: Observation) -> str:
    return counted(count.value, "GPU") if isinstance(count.value, int) else "some GPUs"


def _status(seen: Seen, status: Observation) -> Iterator[Told]:
    """A status with which a vendor's tool tells of a fault, and names no GPU that it could not open."""
    known = {entry["status"]: entry for entry in cast("MissingGpu", seen.parameters)["statuses"]}
    if isinstance(status.value, int) and (entry := known.get(status.value)):
        says = seen.by_item("helper.says").get(status.detail) or ""
        message = f"{status.detail} ended with status {status.value}: {entry['means']}{f' ({says})' if says else ''}"
        yield Told(message, status.place, entry["severity"])
