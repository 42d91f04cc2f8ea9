"""All GPUs of a node together, from what is known of each."""

from __future__ import annotations

from collections.abc import Sequence

from envdoctor.node.probes.base import NodeView, same
from envdoctor.node.probes.parts import Device, Gpu

PER_DEVICE = (
    "name", "arch", "package", "bus", "compute_units", "xcc", "memory_bytes", "numa_node", "compute_partition",
    "memory_partition", "perf_level", "clock_cap_mhz", "max_clock_mhz", "firmware", "vbios", "mig", "compute_mode",
    "link_width", "max_link_width", "link_speed", "clock_mhz", "default_clock_mhz", "power_limit_w", "default_power_w",
    "ecc", "ecc_errors", "pages_retired", "pages_pending", "bad_pages", "rows_remapped", "rows_pending", "rows_failed",
    "fabric", "nvlinks", "nvlinks_down", "persistence", "hidden",
)  # fmt: skip
"""Fields of a device that are stated as `gpu.device.<field>`, where they are known."""
TOGETHER = ("arch", "compute_partition", "memory_partition", "perf_level", "mig")
"""Fields that have one value for the node, or are "mixed"."""
SUMMARY = ("count", "physical", "usable", "all_xgmi", "all_nvlink", "mig_devices", "persistence", *TOGETHER)


def summarise(gpu: Gpu, devices: Sequence[Device]) -> None:
    """Fill in what all GPUs have in common."""
    gpu.count = len(devices)
    gpu.physical = len({d.package for d in devices})
    for field in TOGETHER:
        values = [getattr(device, field) for device in devices]
        setattr(gpu, field, same([v for v in values if v is not None and (v or field != "arch")]))
    modes = [d.persistence for d in devices if d.persistence is not None]
    gpu.persistence = all(modes) if modes else None


def state(view: NodeView, gpu: Gpu, devices: Sequence[Device], source: str) -> None:
    """Facts of the GPUs together, then of each."""
    for field in SUMMARY:
        view.facts.observe_known(f"gpu.{field}", getattr(gpu, field), source)
    for device in devices:
        for field in PER_DEVICE:
            value = getattr(device, field)
            if value not in (None, ""):
                path = device.sources.get(field, device.source)
                view.facts.observe(f"gpu.device.{field}", value, path, detail=device.label)
        view.facts.component("gpu", device.arch, device.bus, device.name)
