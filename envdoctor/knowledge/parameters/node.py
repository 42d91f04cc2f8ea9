"""Parameters of the checks of what was observed of a node."""

from __future__ import annotations

from typing import TypedDict

from envdoctor.knowledge.parameters.forms import Common, Count, Release, Scalar, Severity, Texts


class DriverPair(Common):
    """`node.driver_pair`: a driver and a user space that were not tested together."""

    promised: Count
    """How many releases apart the two may be."""


class Crash(TypedDict):
    """A chip on which an override is known to crash."""

    chip: str
    """The chip that is there."""
    claims: str
    """The chip that the override claims."""
    because: str
    """Where it was seen."""


class GfxOverride(Common):
    """`node.gfx_override`: the runtime is told to report another chip."""

    often_needed: Texts
    """Beginnings of the names of chips for which this is the usual way."""
    crashes: list[Crash]
    """Pairs that are known to crash all the same."""


class PartitionMode(Common):
    """`node.partition_mode`: GPUs that are divided."""

    whole: Texts
    """Modes that divide nothing."""
    two_dies: Texts
    """Beginnings of the names of chips that come two on a package."""
    rccl_since: Release
    """The first release of RCCL that supports partitions."""


class UnequalGpus(Common):
    """`node.unequal_gpus`: GPUs of one node that are not alike."""

    fields: dict[str, Severity]
    """What is compared -> how bad it is where it differs."""
    plural: Texts
    """Those of them that are several things, for the grammar of the message."""
    on_boards: Texts
    """Those that are a warning where all GPUs are joined, as on one board."""


class DeviceDenied(Common):
    """`node.device_denied`: a process that may not or cannot use the GPUs."""

    advice: dict[str, str]
    """Cause, or vendor and cause (`nvidia_group`) -> what helps."""
    proof: dict[str, Texts]
    """Vendor -> where it says so."""


class Status(TypedDict):
    """An exit status of a vendor's tool that tells of a fault."""

    status: Count
    """The status."""
    means: str
    """What the tool's manual says it means."""
    severity: Severity
    """How bad it is."""


class MissingGpu(Common):
    """`node.missing_gpu`: GPUs that belong to a node and cannot be used."""

    statuses: list[Status]
    """What nvidia-smi's exit status tells."""


class GpuHealth(Common):
    """`node.gpu_health`: faults of the hardware."""

    xid_errors: list[Count]
    """Numbers of NVIDIA's Xid messages that tell of a fault after which a GPU cannot be trusted."""
    xid_warnings: list[Count]
    """Numbers that tell of a fault which the hardware has dealt with so far."""


class MissingLink(Common):
    """`node.missing_link`: pairs of GPUs without a link where the rest has one."""

    one_board: Texts
    """Chips that come as one fully joined board."""
    two_dies: Texts
    """Chips that come two on a package."""
    few: Count
    """Links are lost, and not left out, where at most one pair in this many lacks one."""


class Nvls(Common):
    """`node.nvls`: NCCL may reduce in the NVSwitch."""

    sm_since: Count
    """The first architecture whose switch can, as a number (90 is sm_90)."""
    nccl_since: Release
    """The first release of NCCL that does."""


class SmallLimits(Common):
    """`node.small_limits`: limits that ranks run into."""

    shm_bytes: Count
    """Shared memory that is enough."""
    shm_ranks: Count
    """With more GPUs than this, less shared memory is an error."""
    memlock_bytes: Count
    """Locked memory that is enough."""
    server_gpus: Count
    """From how many GPUs on a node is one for several nodes, where locked memory matters."""
    open_files: Count
    """A limit of open files up to this is worth knowing."""


class HostTuning(Common):
    """`node.host_tuning`: settings of the machine that slow GPUs down."""

    iommu: Texts
    """Values of `iommu=` that are in order."""
    exempt_kernels: Texts
    """Parts of a kernel's name for which RCCL itself does not ask for it."""
    exempt_bios: Texts
    """The same for beginnings of a firmware's version."""


class _OverrideOptions(TypedDict, total=False):
    values: Texts
    """The values that do it; without them every value does."""


class Override(_OverrideOptions):
    """A variable that chooses the precision of products before the program does."""

    name: str
    """The variable."""
    severity: Severity
    """How bad it is."""
    effect: str
    """What it does, as the end of a sentence."""


class PrecisionOverride(Common):
    """`node.precision_override`: what takes precision out of the program's hand."""

    override: list[Override]
    """Variables."""
    defaults: dict[str, Scalar]
    """What torch starts with of its own."""
