"""GPUs on the PCI bus, held against the driver's own list: what is on one and not on the other is lost or not bound."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from envdoctor.node.probes.base import Absent, NodeView

DEVICES = "/sys/bus/pci/devices"
CLASSES = {"0x10de": ("0x0300", "0x0302"), "0x1002": ("0x1200", "0x0380")}
"""Vendor -> PCI classes of GPUs that compute. Of NVIDIA: display and 3D controllers (its switches are bridges). Of AMD:
accelerators and controllers without a screen, which Instinct GPUs are; a Radeon with a screen need not compute."""
GPU_CLASSES = {kind for kinds in CLASSES.values() for kind in kinds}
VENDORS = {"0x10de": "nvidia", "0x1002": "amd"}
ELSEWHERE = {"vfio-pci", "pci-stub", "xen-pciback", "gim", "nvgrace_gpu_vfio_pci"}
"""Drivers that hand a device to a virtual machine: it is not meant for this one."""
JOB = re.compile(r"/job_?[0-9]+|/slurm(?:stepd)?[^/\n]*/.*step|/pbs[^/\n]*/[0-9]+")
"""A control group in which a scheduler limits devices (Slurm: job_4711/step_0; PBS: pbspro.service/...)."""


@dataclass(frozen=True, slots=True)
class BusGpu:
    """A GPU on the bus. `driver` is "" where none is bound or the record does not say; `model` its PCI device id."""

    address: str
    vendor: str
    model: str
    driver: str


def read_bus(view: NodeView) -> list[BusGpu]:
    """GPUs on the PCI bus that are for this machine: no virtual functions, none that was given to a virtual machine."""
    found = []
    for folder in view.files.paths(DEVICES):
        kind = view.files.read_word(f"{folder}/class")[:6]
        vendor = view.files.read_word(f"{folder}/vendor") if kind in GPU_CLASSES else ""
        if kind not in CLASSES.get(vendor, ()):
            continue
        driver = (view.files.readlink(view.files.resolve(folder) + "/driver") or "").rpartition("/")[2]
        if driver not in ELSEWHERE and not view.files.exists(f"{folder}/physfn"):
            address = folder.rpartition("/")[2].lower()
            found.append(BusGpu(address, VENDORS[vendor], view.files.read_word(f"{folder}/device"), driver))
    return found


def limited(view: NodeView, container: bool) -> bool:
    """Whether this process is shown a part of the devices in good order: in a container, or in a scheduler's job."""
    return container or JOB.search(view.files.read_text(f"{view.proc}/cgroup") or "") is not None


def lost(found: Sequence[BusGpu], listed: Iterable[str]) -> list[BusGpu]:
    """GPUs on the bus that the driver does not list although it lists others of the same model.

    One of another model may be too old or too new for the driver, or only drive a screen.
    """
    known = set(listed)
    models = {gpu.model for gpu in found if gpu.address in known}
    return [gpu for gpu in found if gpu.address not in known and gpu.model in models]


def bus_probe(view: NodeView, vendor: str, listed: Sequence[str], partial: bool) -> None:
    """Facts of the bus; `listed` are the addresses that the driver shows, `partial` says that they need not be all.

    Raises `Absent` where no GPU is on the bus that can be seen here.
    """
    found = read_bus(view)
    for name in dict.fromkeys(gpu.vendor for gpu in found):
        own = [gpu for gpu in found if gpu.vendor == name]
        view.facts.observe("gpu.on_bus", len(own), DEVICES, detail=name)
        for driver in sorted({gpu.driver for gpu in own if gpu.driver}):
            view.facts.observe("gpu.bound_to", driver, DEVICES, detail=f"{name} {driver}")
    mine = [gpu for gpu in found if gpu.vendor == vendor]
    for gpu in lost(mine, listed) if not partial else ():
        bound = f"bound to {gpu.driver}" if gpu.driver else "no driver is bound to it"
        why = f"it is on the PCI bus and the driver does not list it ({bound})"
        view.facts.observe("gpu.missing", why, f"{DEVICES}/{gpu.address}", detail=gpu.address)
    if not found:
        raise Absent("no GPU on the PCI bus")
