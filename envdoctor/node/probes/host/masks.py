"""Which GPUs the variables of a process leave it: ROCR_, HIP_ and CUDA_VISIBLE_DEVICES.

ROCr looks at ROCR_VISIBLE_DEVICES first; HIP then counts what is left, by HIP_VISIBLE_DEVICES and, where that is not
set, by CUDA_VISIBLE_DEVICES (rocm.docs.amd.com, conceptual/gpu-isolation). A list ends at the first entry that names
no device (CUDA C++ Programming Guide, environment variables; the same in HIP).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from envdoctor.node.probes.parts import Device

_NUMBER = re.compile(r"(?:^|,)\s*[0-9]+\s*(?:,|$)")
NAMES = {"amd": (("ROCR_VISIBLE_DEVICES",), ("HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES")),
         "nvidia": (("CUDA_VISIBLE_DEVICES",),)}  # fmt: skip
"""Vendor -> the masks that are laid over each other; of each the first name that is set counts."""


def chosen(mask: str, devices: Sequence[Device]) -> list[Device] | None:
    """The devices that a mask leaves; None where that cannot be told."""
    left: list[Device] = []
    for word in mask.split(","):
        entry = word.strip()
        if entry.isascii() and entry.isdecimal():
            if int(entry[:6]) >= len(devices):
                break
            left.append(devices[int(entry[:6])])
        elif re.fullmatch(r"-[0-9]+", entry):
            break
        else:
            found = [device for device in devices if named(entry, device)]
            if len(found) != 1:
                return None  # parts of a GPU have its identity in common, and a MIG instance is none of these devices
            left += found
    return left


def named(entry: str, device: Device) -> bool:
    """Whether an entry is the identity of a device, or the beginning of it: GPU-5c0e...; AMD's are hexadecimal."""
    identity = f"GPU-{int(device.key):016x}" if device.vendor == "amd" and device.key.isdecimal() else device.key
    return len(entry) > 4 and identity.lower().startswith(entry.lower())


def left_by(environment: Mapping[str, str], devices: Sequence[Device], vendor: str) -> list[Device] | None:
    """The devices that all masks of a process leave it; None where that cannot be told."""
    left: list[Device] | None = list(devices)
    for names in NAMES.get(vendor, ()):
        mask = next((environment[name] for name in names if environment.get(name, "").strip()), None)
        if mask is not None and left is not None:
            left = chosen(mask, left)
    return left


def ordered(environment: Mapping[str, str], devices: Sequence[Device], vendor: str) -> bool:
    """Whether a mask's entries mean the devices of those numbers here. CUDA counts the fastest GPU first, unless
    CUDA_DEVICE_ORDER=PCI_BUS_ID says otherwise: where they are not of one kind, which one a number means is not known.
    An identity is never in doubt."""
    if not any(_NUMBER.search(environment.get(name, "")) for names in NAMES.get(vendor, ()) for name in names):
        return True
    alike = len({device.name for device in devices}) < 2
    return vendor != "nvidia" or alike or environment.get("CUDA_DEVICE_ORDER") == "PCI_BUS_ID"


def lay(environments: Iterable[Mapping[str, str]], devices: Sequence[Device], vendor: str) -> int | None:
    """Mark the devices that the masks of every process of a job hide; returns how many they leave.

    None where they leave all, or cannot be read. Where it is not known which ones they leave, none is marked.
    """
    visible: set[int] = set()
    certain = True
    for environment in environments:
        left = left_by(environment, devices, vendor)
        if left is None:
            return None
        certain = certain and (len(left) == len(devices) or ordered(environment, devices, vendor))
        visible.update(device.index for device in left)
    if not visible or len(visible) == len(devices):
        return None
    for device in devices if certain else ():
        device.hidden = device.index not in visible
    return len(visible)
