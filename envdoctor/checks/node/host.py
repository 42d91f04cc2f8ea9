"""Tests of observations about the machine around the GPUs: limits, tuning, and what takes precision out of hand."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, cast

from envdoctor.checks.node.common import Seen, Told
from envdoctor.core.findings import Severity
from envdoctor.core.numbers import counted

if TYPE_CHECKING:
    from envdoctor.knowledge.parameters.node import HostTuning, PrecisionOverride, SmallLimits

GIB = 1 << 30


def size(count: int) -> str:
    """`64 MiB`."""
    for unit, name in ((GIB, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if count >= unit:
            return f"{count / unit:.0f} {name}" if count % unit == 0 else f"{count / unit:.1f} {name}"
    return f"{count} bytes"


def small_limits(seen: Seen) -> Iterator[Told]:
    """Limits that ranks run into; without a GPU there are none."""
    least = cast("SmallLimits", seen.parameters)
    count, physical = seen.number("gpu.count"), seen.number("gpu.physical")
    if not count:
        return
    shm = seen.first("host.shm_bytes") or seen.first("host.shm_mount_bytes")
    if shm and isinstance(shm.value, int) and shm.value < least["shm_bytes"]:
        severity: Severity = "error" if count > least["shm_ranks"] else "warning"
        message = f"/dev/shm has {size(shm.value)}: ranks and data loaders share memory there, {count} GPUs need more"
        instead = "docker run --shm-size=16g or --ipc=host; an emptyDir of medium Memory"
        yield Told(message, shm.place, severity, help=instead)
    locked = seen.first("host.memlock_bytes")
    if locked and isinstance(locked.value, int) and locked.value < least["memlock_bytes"]:
        message = f"at most {size(locked.value)} of memory may be locked: RDMA may fail to register its buffers"
        weight: Severity | None = None if physical >= least["server_gpus"] else "info"
        yield Told(message, locked.place, weight, help="ulimit -l unlimited (docker run --ulimit memlock=-1)")
    files = seen.first("host.open_files")
    if files and isinstance(files.value, int) and files.value <= least["open_files"]:
        yield Told(f"at most {files.value} open files", files.place, "info", help="ulimit -n 65536")


def host_tuning(seen: Seen) -> Iterator[Told]:
    """Settings of the machine that slow GPUs down or let them hang; they change no result."""
    if seen.gpus() < 2:
        return
    known = cast("HostTuning", seen.parameters)
    amd = bool(seen.all("gpu.compute_partition"))  # the files of NVIDIA's driver tell of no such thing
    iommu, balancing, acs = (seen.first(f"host.{key}") for key in ("iommu", "numa_balancing", "acs_redirect"))
    if amd and iommu and iommu.value not in known["iommu"] and not _exempt(seen, known):
        is_now = f"iommu={iommu.value}" if iommu.value else "no iommu=pt"
        message = f"the kernel command line has {is_now}: transfers between GPUs may hang or be slow"
        yield Told(message, iommu.place, help="boot with iommu=pt")
    # 1 is balancing; 2 alone moves pages between kinds of memory. Linux, admin-guide/sysctl/kernel: numa_balancing.
    if balancing and isinstance(balancing.value, int) and balancing.value & 1:
        message = f"automatic NUMA balancing is on ({balancing.value}): pages move while GPUs use them, and times vary"
        yield Told(message, balancing.place, None if amd else "info", help="sysctl kernel.numa_balancing=0")
    if acs and acs.value == "on":
        bridges = len(seen.all("host.acs_bridge"))
        by = counted(bridges, "PCI bridge")
        message = f"requests of peers are redirected (ACS) by {by}: GPUs talk to each other through the CPU"
        yield Told(message, acs.place, help="disable ACS on the bridges, in the BIOS or with setpci")


def _exempt(seen: Seen, known: HostTuning) -> bool:
    """RCCL itself does not ask for iommu=pt on Cray's kernels and in virtual machines of Hyper-V."""
    kernel, bios = seen.text("host.kernel"), seen.text("host.bios")
    return any(word in kernel for word in known["exempt_kernels"]) or bios.startswith(tuple(known["exempt_bios"]))


def precision_override(seen: Seen) -> Iterator[Told]:
    """Variables and defaults that choose the precision of products before the program does."""
    known = cast("PrecisionOverride", seen.parameters)
    for override in known["override"]:
        setting = seen.setting(override["name"])
        value = (setting.value.known or "").strip() if setting else ""
        if setting and value and value in override.get("values", [value]):
            message = f"{setting.name}={value} {override['effect']}"
            yield Told(message, setting.place, override["severity"], variable=setting.name)
    for key, usual in known["defaults"].items():
        found = seen.first(f"torch.{key}")
        if found and found.value != usual:
            message = f"{key} is {found.value} in a fresh process; torch's own default is {usual}"
            yield Told(message, found.place, "info")
