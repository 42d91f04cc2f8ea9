"""GPUs of NVIDIA's Tegra (Jetson): a part of the processor, driven by nvgpu, without PCI and the module nvidia."""

from __future__ import annotations

import re

from envdoctor.node.probes.base import NodeView
from envdoctor.node.probes.files import NodeFiles
from envdoctor.node.probes.nvidia.names import arch_of_name
from envdoctor.node.probes.parts import Device

RELEASE = "/etc/nv_tegra_release"
"""The release of Jetson Linux; an image that was made for it has the file too, wherever it runs."""
DRIVER = ("/sys/module/nvgpu", "/dev/nvhost-gpu", "/dev/nvgpu")
COMPATIBLE = "/proc/device-tree/compatible"
MARK = "(nvgpu)"
"""How nvidia-smi marks such a GPU."""


def present(files: NodeFiles) -> bool:
    """Whether this may be a Jetson."""
    return any(files.exists(path) for path in (RELEASE, *DRIVER))


def chip(files: NodeFiles) -> str:
    """`tegra234` of the device tree; "" for any other machine."""
    found = re.search(r"nvidia,(tegra[0-9]{2,4})\b", files.read_text(COMPATIBLE) or "")
    return found[1] if found else ""


def tegra_devices(view: NodeView) -> list[Device]:
    """The GPU of the processor as the kernel's files tell of it: before JetPack 6 there is no nvidia-smi."""
    name = chip(view.files)
    source = COMPATIBLE if name else next((path for path in DRIVER if view.files.exists(path)), "")
    if not source:
        return []
    shown = f"{name or 'Tegra'} {MARK}"
    return [Device(0, "nvidia", arch=arch_of_name(name), name=shown, package=0, integrated=True, source=source)]
