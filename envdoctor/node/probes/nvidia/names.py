"""The architecture of a GPU of NVIDIA by its name, for drivers that do not tell it."""

from __future__ import annotations

from collections.abc import Iterable

from envdoctor.node.probes.parts import Device

BY_NAME = "name of the GPU, by developer.nvidia.com/cuda-gpus"
"""The place of such a fact."""


def arch_of_name(name: str) -> str:
    """sm_70 of `Tesla V100-PCIE-32GB`; "" for a name that NVIDIA's table does not have."""
    from envdoctor.knowledge.targets.table import table

    return (table().gpu_named(name) or "") if name else ""


def name_architectures(devices: Iterable[Device]) -> None:
    """Fill in the architectures that nothing else told."""
    for device in devices:
        if device.vendor == "nvidia" and not device.arch and (arch := arch_of_name(device.name)):
            device.arch, device.sources["arch"] = arch, BY_NAME
