"""The parts of a node, each filled by the probes of its topic. None or "" or [] is "not known" or "not there"."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

LinkKind = Literal["xgmi", "nvlink", "pcie", "other"]


@dataclass(slots=True)
class Rocm:
    """The ROCm that is used by default, and all installs: folders without links."""

    version: str = ""
    build: str = ""
    root: str = ""
    installs: list[str] = field(default_factory=list)
    versions: dict[str, str] = field(default_factory=dict)
    """Folder of an install -> its version."""


@dataclass(slots=True)
class Cuda:
    """CUDA: the toolkit on the node, and the newest version that the driver supports."""

    toolkit: str | None = None
    driver_cuda: str | None = None


@dataclass(slots=True)
class Driver:
    """The GPU kernel module. `version` is "" for the amdgpu that is part of the kernel."""

    name: str
    version: str
    source: str
    kernel: str | None = None
    open_kernel_module: bool | None = None


@dataclass(slots=True)
class Device:
    """One logical GPU. `key` tells packages apart and may be a serial number: it never leaves the process."""

    index: int
    vendor: str
    arch: str = ""
    name: str = ""
    bus: str = ""
    key: str = field(default="", repr=False)
    package: int | None = None
    compute_units: int | None = None
    xcc: int | None = None
    memory_bytes: int | None = None
    numa_node: int | None = None
    kfd_node: int | None = None
    render_minor: int | None = None
    device_id: int | None = None
    max_clock_mhz: int | None = None
    clock_cap_mhz: int | None = None
    firmware: str | None = None
    vbios: str | None = None
    compute_partition: str | None = None
    memory_partition: str | None = None
    perf_level: str | None = None
    mig: str | None = None
    persistence: bool | None = None
    compute_mode: str | None = None
    link_width: int | None = None
    max_link_width: int | None = None
    link_speed: str | None = None
    clock_mhz: int | None = None
    default_clock_mhz: int | None = None
    power_limit_w: int | None = None
    default_power_w: int | None = None
    ecc: str | None = None
    ecc_errors: int | None = None
    pages_retired: int | None = None
    pages_pending: bool | None = None
    bad_pages: int | None = None
    rows_remapped: int | None = None
    rows_pending: bool | None = None
    rows_failed: bool | None = None
    fabric: str | None = None
    nvlinks: int | None = None
    nvlinks_down: int | None = None
    hidden: bool | None = None
    """Whether a mask (HIP_VISIBLE_DEVICES and its like) hides it from the examined process or job."""
    source: str = ""
    """Where the GPU was found."""
    sources: dict[str, str] = field(default_factory=dict)
    """Field -> file that told it, where that is not `source`."""

    @property
    def label(self) -> str:
        """How facts name the GPU."""
        return f"gpu {self.index}"


@dataclass(frozen=True, slots=True)
class Link:
    """The connection of two GPUs, by their indices, first < second. `name` is what the source calls it (NV18)."""

    first: int
    second: int
    kind: LinkKind
    name: str = ""
    weight: int | None = None


@dataclass(slots=True)
class Gpu:
    """All GPUs of the node together."""

    count: int | None = 0
    """None where there are GPUs and nothing tells how many."""
    physical: int | None = 0
    usable: int | None = None
    arch: str | None = None
    arch_reported_by_hsa: str | None = None
    compute_partition: str | None = None
    memory_partition: str | None = None
    perf_level: str | None = None
    all_xgmi: bool | None = None
    mig: str | None = None
    persistence: bool | None = None
    all_nvlink: bool | None = None
    mig_devices: int | None = None


@dataclass(slots=True)
class Ccl:
    """The collectives library: what is mapped, what torch uses of it, what else is on the node."""

    kind: str = ""
    loaded: list[str] = field(default_factory=list)
    used_by_torch: str | None = None
    loaded_version_code: int | None = None
    torch_header_version: list[int] | None = None
    installed: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Miopen:
    """MIOpen: version, what is mapped, and the user database."""

    version: str = ""
    loaded: list[str] = field(default_factory=list)
    user_db: str | None = None


@dataclass(slots=True)
class Host:
    """The machine around the GPUs."""

    iommu: str | None = None
    numa_balancing: int | None = None
    memlock_bytes: int | None = None
    shm_bytes: int | None = None
    kfd_rw: bool | None = None


@dataclass(slots=True)
class Torch:
    """torch, first from its files and then from a fresh process. `report` is what that process printed."""

    version: str = ""
    hip: str | None = None
    cuda: str | None = None
    folder: str = ""
    """The site-packages folder it lies in."""
    interpreter: str = ""
    report: Mapping[str, Any] = field(default_factory=dict)
