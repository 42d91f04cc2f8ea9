"""What the files of amdgpu's PCI devices tell of each GPU: partitions, performance level, clocks, NUMA, firmware."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from envdoctor.node.probes.amd.ras import ras_probe
from envdoctor.node.probes.base import Absent, NodeView
from envdoctor.node.probes.parts import Device

DRM = "/sys/class/drm"
AMD = "0x1002"
_ADDRESS = re.compile(r"/([0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7])/drm/card[0-9]+$")
"""The PCI address in the path that the link of a card leads to."""
COMPUTE_CLASSES = ("0x1200", "0x0380")
"""PCI classes "processing accelerator" and "display controller", which Instinct GPUs have: no GPU with a screen."""


def text_or_none(word: str) -> str | None:
    """A word of a file; None for an empty or absent one."""
    return word or None


def number_or_none(word: str) -> int | None:
    """A decimal number; None for anything else."""
    return int(word) if re.fullmatch(r"-?[0-9]{1,24}", word) else None


FILES: dict[str, tuple[str, Callable[[str], str | int | None]]] = {
    # "" where the file is absent: such a GPU has no partitions.
    "compute_partition": ("current_compute_partition", str),
    "memory_partition": ("current_memory_partition", str),
    "perf_level": ("power_dpm_force_performance_level", text_or_none),
    "numa_node": ("numa_node", number_or_none),
    "memory_bytes": ("mem_info_vram_total", number_or_none),
    "vbios": ("vbios_version", text_or_none),
    "link_width": ("current_link_width", number_or_none),
    "link_speed": ("current_link_speed", text_or_none),
    "name": ("product_name", text_or_none),
}
"""Field of a device -> file of its card, and how its word is read."""


def cards(view: NodeView) -> dict[str, str]:
    """PCI address -> device folder of amdgpu's cards. Partitions have cards of their own, without these files."""
    found = {}
    for name in view.files.names(DRM, "card[0-9]*"):
        folder = f"{DRM}/{name}/device"
        if name[4:].isdecimal() and view.files.read_word(f"{folder}/vendor") == AMD:
            event = view.files.read_text(f"{folder}/uevent") or ""
            slot = re.search(r"^PCI_SLOT_NAME=(\S+)$", event, re.MULTILINE) or _ADDRESS.search(
                view.files.resolve(f"{DRM}/{name}")
            )
            if slot:
                found[slot[1].lower()] = folder
    return found


def clock_cap(text: str) -> int | None:
    """MHz of the upper line under `OD_SCLK:` in pp_od_clk_voltage; None where there is none."""
    match = re.search(r"OD_SCLK:\s*\n\s*0:\s*[0-9]+\s*MHz\s*\n\s*1:\s*([0-9]+)\s*MHz", text, re.IGNORECASE)
    return int(match[1]) if match else None


def read_card(view: NodeView, folder: str, device: Device) -> None:
    """Fill in what the card's files tell. A file that is absent is no error: older GPUs have no partitions."""
    for field, (name, read) in FILES.items():
        path = f"{folder}/{name}"
        value = read(view.files.read_word(path))
        if value is not None:
            setattr(device, field, value)
            device.sources[field] = path
    path = f"{folder}/pp_od_clk_voltage"
    device.clock_cap_mhz = clock_cap(view.files.read_text(path) or "")
    device.sources["clock_cap_mhz"] = path
    _read_power(view, folder, device)
    ras_probe(view, folder, device)


def _read_power(view: NodeView, folder: str, device: Device) -> None:
    """The cap on power and the driver's own. Kernel documentation of amdgpu, hwmon interfaces: `power1_cap` and
    `power1_cap_default`, in microwatts; of the sensors `hwmon*` there is one, and partitions share it."""
    for sensor in view.files.names(f"{folder}/hwmon", "hwmon*")[:1]:
        for field, name in (("power_limit_w", "power1_cap"), ("default_power_w", "power1_cap_default")):
            path = f"{folder}/hwmon/{sensor}/{name}"
            value = number_or_none(view.files.read_word(path))
            if value is not None and value > 0:
                setattr(device, field, value // 1_000_000)
                device.sources[field] = path


def card_of(device: Device, folders: dict[str, str]) -> str | None:
    """The folder of a GPU's card. Partitions are functions 1 to 7 of a device whose function 0 has the files."""
    return folders.get(device.bus) or folders.get(device.bus[:-1] + "0")


def sysfs_probe(view: NodeView, devices: Sequence[Device]) -> list[Device]:
    """Fill in `devices`, or where KFD shows none, make some of the cards that compute; returns all devices.

    Raises `Absent` where amdgpu has no card.
    """
    folders = cards(view)
    if not folders:
        raise Absent(f"no card of amdgpu in {DRM}")
    known = list(devices) or bare_devices(view, folders)
    for device in known:
        if folder := card_of(device, folders):
            read_card(view, folder, device)
    return known


def bare_devices(view: NodeView, folders: dict[str, str]) -> list[Device]:
    """GPUs of a node whose KFD shows nothing: their architecture and links are not known."""
    devices: list[Device] = []
    for bus, folder in folders.items():
        if view.files.read_word(f"{folder}/class")[:6] in COMPUTE_CLASSES:
            devices.append(Device(len(devices), "amd", bus=bus, package=len(devices), source=folder))
    return devices
