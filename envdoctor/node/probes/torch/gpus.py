"""What torch says of the GPUs, where no file of the kernel and no tool tells it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from envdoctor.node.probes.parts import Device
from envdoctor.node.probes.torch.probe import arch_of, text_of

MOST = 1024


def take_architecture(devices: Sequence[Device], report: Mapping[str, Any]) -> None:
    """The architecture that torch tells of its first device, for GPUs of one name of which none is known.

    Drivers up to 470 refuse to tell nvidia-smi, and their files do not hold it.
    """
    arch = arch_of(report)
    if arch and not any(device.arch for device in devices) and len({device.name for device in devices}) == 1:
        for device in devices:
            device.arch, device.sources["arch"] = arch, "torch (fresh process)"


def devices_of(report: Mapping[str, Any]) -> list[Device]:
    """GPUs that torch alone tells of, as on WSL2; none where it sees none."""
    each, count = report.get("devices"), report.get("torch.cuda.device_count")
    if isinstance(each, list) and each:
        rows = [row for row in each[:MOST] if isinstance(row, dict)]
    else:
        alone = {"name": text_of(report, "device_name") or "", "arch": arch_of(report) or ""}
        rows = [alone] * min(count, MOST) if type(count) is int and count > 0 and alone["name"] else []
    vendor = "amd" if report.get("torch.version.hip") else "nvidia"
    return [device_of(index, vendor, row) for index, row in enumerate(rows)]


def device_of(index: int, vendor: str, row: Mapping[str, Any]) -> Device:
    """One GPU."""
    memory, units = row.get("memory_bytes"), row.get("units")
    return Device(
        index, vendor, package=index, source="torch (fresh process)",
        name=text_of(row, "name") or "",
        arch=(text_of(row, "arch") or "").partition(":")[0],
        memory_bytes=memory if type(memory) is int else None,
        compute_units=units if type(units) is int and vendor == "amd" else None,
    )  # fmt: skip
