"""The one table of observation keys: what each means, its type and its unit.

A key of the node as a whole stands as it does in the short JSON form (`gpu.count`). A key with `each` is stated once
per item, and the observation's `detail` says which one: "gpu 3", "gpu 0 - gpu 5", a path, a release. Where a thing is
not known there is no observation; a value of None says that there is no limit.
"""

from __future__ import annotations

from dataclasses import dataclass

Scalar = str | int | float | bool | None


@dataclass(frozen=True, slots=True)
class FactKey:
    """One kind of observation."""

    name: str
    type: type
    meaning: str
    unit: str = ""
    each: str = ""
    """What the observation is repeated for; "" where it is stated once."""
    unlimited: bool = False
    """Whether None is a value of it, and says "no limit"."""


_TABLE = (
    # The node
    FactKey("vendor", str, "vendor of the GPUs: amd, nvidia, or empty"),
    FactKey("container", bool, "the process lives in a container"),
    FactKey("container.runtime", str, "what the container says it is run by"),
    FactKey("host.wsl", bool, "this is WSL2: the GPUs are those of Windows, behind /dev/dxg"),
    FactKey("host.cloud", str, "the cloud that this virtual machine is of"),
    FactKey("host.kernel_log", bool, "the kernel's log could be read"),
    FactKey("host.imex_channels", int, "IMEX channels, for NVLink between nodes"),
    FactKey("host.bios", str, "version of the firmware"),
    FactKey("host.kernel", str, "release of the running kernel"),
    FactKey("host.os", str, "distribution and its version"),
    FactKey("host.iommu", str, "value of iommu= on the kernel command line, empty where there is none"),
    FactKey("host.numa_balancing", int, "automatic NUMA balancing: 0 is off"),
    FactKey("host.numa_nodes", int, "NUMA nodes with memory or processors"),
    FactKey("host.cpus_allowed", str, "processors this process may run on"),
    FactKey("host.memlock_bytes", int, "limit of locked memory", "bytes", unlimited=True),
    FactKey("host.open_files", int, "limit of open files", "files", unlimited=True),
    FactKey("host.shm_bytes", int, "size of /dev/shm as the file system says", "bytes"),
    FactKey("host.shm_mount_bytes", int, "size= in the mount options of /dev/shm", "bytes"),
    FactKey("host.memory_limit_bytes", int, "memory limit of the control group", "bytes", unlimited=True),
    FactKey("host.cpu_limit", float, "processor limit of the control group", "processors", unlimited=True),
    FactKey("host.pids_limit", int, "process limit of the control group", "processes", unlimited=True),
    FactKey("host.acs_redirect", str, "on, off, or unknown: peer requests sent up to the root complex (ACS ReqRedir)"),
    FactKey("host.acs_bridge", str, "a PCI bridge with ACS ReqRedir on", each="bridge"),
    FactKey("host.kfd_rw", bool, "/dev/kfd can be opened for reading and writing"),
    FactKey("host.kfd_group", str, "group that owns /dev/kfd; a number where it has no name here"),
    FactKey("host.in_kfd_group", bool, "this process is in the group that owns /dev/kfd"),
    FactKey("host.device_denied", str, "a device node that this process may not read and write", each="device node"),
    # GPUs as a whole
    FactKey("gpu.count", int, "logical GPUs"),
    FactKey("gpu.physical", int, "GPU packages"),
    FactKey("gpu.visible", int, "logical GPUs that no variable hides from the examined process or job"),
    FactKey("gpu.usable", int, "logical GPUs that this process may open"),
    FactKey("gpu.unreadable", int, "KFD nodes of GPUs that may not be read, as in a container with some of the GPUs"),
    FactKey("gpu.expected", int, "GPUs that this node should have, as the user says"),
    FactKey("gpu.on_bus", int, "GPUs on the PCI bus that are not given to a virtual machine", each="vendor"),
    FactKey("gpu.bound_to", str, "kernel driver that GPUs on the PCI bus are bound to", each="vendor and driver"),
    FactKey("gpu.missing", str, "why a GPU that belongs to this node cannot be used", each="PCI address"),
    FactKey("gpu.arch", str, "gfx942, sm_90, ...; `mixed` where they differ"),
    FactKey("gpu.arch_reported_by_hsa", str, "architecture that the HSA runtime reports"),
    FactKey("gpu.compute_partition", str, "SPX, CPX, ...; empty where there is no such thing; `mixed`"),
    FactKey("gpu.memory_partition", str, "NPS1, NPS4, ...; empty where there is no such thing; `mixed`"),
    FactKey("gpu.perf_level", str, "auto, perf_determinism, ...; `mixed`"),
    FactKey("gpu.all_xgmi", bool, "every pair of GPUs that is known has an xGMI link"),
    FactKey("gpu.all_nvlink", bool, "every pair of GPUs has NVLink"),
    FactKey("gpu.missing_link", str, "kind of the link that is there instead of xGMI or NVLink", each="pair of GPUs"),
    FactKey("gpu.links_incomplete", int, "GPUs that declare more links than could be read"),
    FactKey("gpu.mig", str, "MIG mode: Enabled, Disabled, `mixed`"),
    FactKey("gpu.mig_devices", int, "MIG instances"),
    FactKey("gpu.persistence", bool, "persistence mode is on for all GPUs"),
    FactKey("gpu.nvlink_disabled", bool, "the driver was loaded with NvLinkDisable"),
    FactKey("gpu.process", str, "PCI address of a GPU that another process computes on, where it is told",
        each="process"),
    FactKey("gpu.xid", int, "Xid messages of NVIDIA's driver since boot", "messages", each="PCI address and number"),
    FactKey("gpu.kernel_fault", int, "messages of amdgpu about a fault since boot", "messages",
        each="PCI address and fault"),
    FactKey("network.port", bool, "a port of an HCA is active", each="HCA and port"),
    FactKey("network.named_hca", str, "active, down or absent: what NCCL_IB_HCA names", each="entry"),
    FactKey("network.topo_file", bool, "the file that NCCL_TOPO_FILE names is there", each="file"),
    # One GPU
    FactKey("gpu.device.name", str, "marketing name", each="gpu"),
    FactKey("gpu.device.arch", str, "gfx942, sm_90, ...", each="gpu"),
    FactKey("gpu.device.package", int, "number of the package that the GPU is part of, from 0", each="gpu"),
    FactKey("gpu.device.bus", str, "PCI address", each="gpu"),
    FactKey("gpu.device.compute_units", int, "compute units", "CUs", each="gpu"),
    FactKey("gpu.device.xcc", int, "accelerator dies in this logical GPU", "XCDs", each="gpu"),
    FactKey("gpu.device.memory_bytes", int, "memory", "bytes", each="gpu"),
    FactKey("gpu.device.numa_node", int, "NUMA node of the slot; -1: none", each="gpu"),
    FactKey("gpu.device.compute_partition", str, "SPX, CPX, ...", each="gpu"),
    FactKey("gpu.device.memory_partition", str, "NPS1, NPS4, ...", each="gpu"),
    FactKey("gpu.device.perf_level", str, "auto, perf_determinism, ...", each="gpu"),
    FactKey("gpu.device.clock_cap_mhz", int, "highest clock that is allowed now", "MHz", each="gpu"),
    FactKey("gpu.device.max_clock_mhz", int, "highest clock of the hardware", "MHz", each="gpu"),
    FactKey("gpu.device.firmware", str, "firmware version", each="gpu"),
    FactKey("gpu.device.vbios", str, "VBIOS version", each="gpu"),
    FactKey("gpu.device.link_width", int, "PCIe lanes in use", "lanes", each="gpu"),
    FactKey("gpu.device.link_speed", str, "PCIe speed in use", each="gpu"),
    FactKey("gpu.device.max_link_width", int, "PCIe lanes that GPU and slot can use", "lanes", each="gpu"),
    FactKey("gpu.device.clock_mhz", int, "application clock that is set", "MHz", each="gpu"),
    FactKey("gpu.device.default_clock_mhz", int, "application clock that the driver sets by itself", "MHz", each="gpu"),
    FactKey("gpu.device.power_limit_w", int, "power limit that is set", "W", each="gpu"),
    FactKey("gpu.device.default_power_w", int, "power limit that the driver sets by itself", "W", each="gpu"),
    FactKey("gpu.device.persistence", bool, "persistence mode", each="gpu"),
    FactKey("gpu.device.ecc", str, "ECC mode: Enabled, Disabled", each="gpu"),
    FactKey("gpu.device.ecc_errors", int, "memory errors since the driver was loaded that ECC could not correct",
        "errors", each="gpu"),
    FactKey("gpu.device.pages_retired", int, "memory pages given up for double bit errors", "pages", each="gpu"),
    FactKey("gpu.device.pages_pending", bool, "pages wait for a reset to be given up", each="gpu"),
    FactKey("gpu.device.bad_pages", int, "pages of memory that the amdgpu driver has given up", "pages", each="gpu"),
    FactKey("gpu.device.rows_remapped", int, "memory rows replaced for errors that ECC could not correct", "rows",
        each="gpu"),
    FactKey("gpu.device.rows_pending", bool, "rows wait for a reset to be replaced", each="gpu"),
    FactKey("gpu.device.rows_failed", bool, "a row could not be replaced", each="gpu"),
    FactKey("gpu.device.fabric", str, "registration with the NVLink fabric: state, status", each="gpu"),
    FactKey("gpu.device.nvlinks", int, "active NVLinks", "links", each="gpu"),
    FactKey("gpu.device.nvlinks_down", int, "inactive NVLinks", "links", each="gpu"),
    FactKey("gpu.device.hidden", bool, "a variable hides it from the examined process or job", each="gpu"),
    FactKey("gpu.device.mig", str, "MIG mode", each="gpu"),
    FactKey("gpu.device.compute_mode", str, "compute mode: Default, Exclusive_Process, ...", each="gpu"),
    # Driver
    FactKey("driver.version", str, "version of the GPU kernel module; empty for the one of the kernel itself"),
    FactKey("driver.kernel", str, "kernel release that the in-kernel driver belongs to"),
    FactKey("driver.source", str, "file that says so"),
    FactKey("driver.live", bool, "the module is initialised"),
    FactKey("driver.open_kernel_module", bool, "NVIDIA's open kernel module"),
    FactKey("driver.release", str, "driver line of AMD that this module version belongs to (6.2, 30.10)"),
    FactKey("driver.unlisted", str, "module version of AMD that no known package has"),
    FactKey("driver.rocm_supported", str, "ROCm releases that AMD's table pairs with this driver line"),
    FactKey("driver.rocm_distance", int, "releases between driver line and user space; positive: user space is newer",
        "releases", each="ROCm release in use"),
    # ROCm and CUDA
    FactKey("rocm.version", str, "version of the ROCm that is used by default"),
    FactKey("rocm.build", str, "build number of it"),
    FactKey("rocm.root", str, "its folder"),
    FactKey("rocm.install", str, "version of an install", each="folder of the install"),
    FactKey("rocm.header_version", str, "version in rocm_version.h, where it differs from .info/version",
        each="folder of the install"),
    FactKey("rocm.hip_version", str, "HIP version of an install", each="folder of the install"),
    FactKey("rocm.wheel", str, "version of a ROCm wheel", each="distribution"),
    FactKey("rocm.user_space", str, "ROCm release that is in use", each="who uses it"),
    FactKey("rocm.rocm_path_env", str, "folder that ROCM_PATH, ROCM_HOME or HIP_PATH names, links followed",
        each="variable"),
    FactKey("rocm.ld_so_conf", str, "ROCm folder in the configuration of the dynamic linker", each="file"),
    FactKey("rocm.torch_hip", str, "HIP version that torch was built with"),
    FactKey("cuda.toolkit", str, "version of the CUDA toolkit"),
    FactKey("cuda.driver_cuda", str, "newest CUDA version that the driver supports"),
    FactKey("cuda.torch_cuda", str, "CUDA version that torch was built with"),
    # The process
    FactKey("process.rocm_root", str, "ROCm folder that mapped libraries come from", each="folder"),
    FactKey("process.hip_runtime", str, "a mapped libamdhip64", each="path"),
    FactKey("process.miopen", str, "a mapped libMIOpen", each="path"),
    # A running job
    FactKey("job.ranks", int, "ranks of the examined job on this node"),
    FactKey("job.rank_library", str, "the collectives library that a rank has mapped", each="rank"),
    FactKey("job.differs", str, "values of a variable that is not the same for all ranks", each="variable"),
    FactKey("job.gpu_ranks", str, "ranks that are bound to one GPU, where they are several", each="gpu"),
    # Collectives
    FactKey("ccl.kind", str, "rccl or nccl"),
    FactKey("ccl.loaded", str, "a collectives library mapped into the process", each="path"),
    FactKey("ccl.used_by_torch", str, "the one whose functions torch calls"),
    FactKey("ccl.loaded_version_code", int, "what ncclGetVersion of it says"),
    FactKey("ccl.torch_header_version", str, "version of the header that torch was built with"),
    FactKey("ccl.installed", str, "a collectives library on the node", each="path"),
    FactKey("ccl.version_code", int, "version of an installed library", each="path"),
    FactKey("ccl.build_type", str, "Debug or Release", each="path"),
    FactKey("ccl.preloaded", str, "a collectives library that LD_PRELOAD names", each="path"),
    FactKey("ccl.on_library_path", str, "a collectives library in a folder of LD_LIBRARY_PATH", each="path"),
    FactKey("ccl.conf_file", str, "read, replaced, or ignored", each="file"),
    FactKey("ccl.plugin", str, "a net, tuner, profiler or environment plug-in: mapped, named, installed", each="path"),
    FactKey("ccl.ranks_per_gpu", int, "most ranks that one GPU had in a run"),
    # MIOpen
    FactKey("miopen.version", str, "version of the default ROCm's MIOpen, else of torch's"),
    FactKey("miopen.torch_version", str, "MIOpen that torch was built with"),
    FactKey("miopen.loaded", str, "the mapped libMIOpen", each="path"),
    FactKey("miopen.user_db", str, "folder that MIOPEN_USER_DB_PATH names"),
    FactKey("miopen.user_db_files", int, "files of the user database", "files", each="folder"),
    FactKey("miopen.cache", str, "folder that MIOPEN_CUSTOM_CACHE_DIR names"),
    FactKey("miopen.find_mode", str, "MIOPEN_FIND_MODE"),
    FactKey("miopen.find_enforce", str, "MIOPEN_FIND_ENFORCE"),
    # torch
    FactKey("torch.version", str, "version of torch", each="site-packages folder"),
    FactKey("torch.hip", str, "torch.version.hip"),
    FactKey("torch.cuda", str, "torch.version.cuda"),
    FactKey("torch.bundled", str, "a GPU library inside the torch wheel", each="path"),
    FactKey("torch.wheel", str, "version of a library wheel that torch uses", each="distribution"),
    FactKey("torch.cuda_available", bool, "torch.cuda.is_available() in a fresh process"),
    FactKey("torch.cuda_error", str, "what torch says where it sees no GPU, in a fresh process"),
    FactKey("torch.driver_library", str, "why the driver's library cannot be loaded, in a fresh process"),
    FactKey("torch.import_error", str, "the library for which torch cannot be imported, in a fresh process"),
    FactKey("torch.device_count", int, "torch.cuda.device_count() in a fresh process"),
    FactKey("torch.device_name", str, "name of the first device"),
    FactKey("torch.arch", str, "architecture of the first device as torch says it"),
    FactKey("torch.build_type", str, "BUILD_TYPE of torch.__config__"),
    FactKey("torch.matmul_allow_tf32", bool, "torch.backends.cuda.matmul.allow_tf32 in a fresh process"),
    FactKey("torch.cudnn_allow_tf32", bool, "torch.backends.cudnn.allow_tf32 in a fresh process"),
    FactKey("torch.cudnn_benchmark", bool, "torch.backends.cudnn.benchmark in a fresh process"),
    FactKey("torch.cudnn_deterministic", bool, "torch.backends.cudnn.deterministic in a fresh process"),
    FactKey("torch.deterministic_algorithms", bool, "torch.are_deterministic_algorithms_enabled() in a fresh process"),
    FactKey("torch.float32_matmul_precision", str, "torch.get_float32_matmul_precision() in a fresh process"),
    FactKey("torch.bf16_reduced_precision_reduction", bool,
        "torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction in a fresh process"),
    FactKey("torch.fp16_reduced_precision_reduction", bool,
        "torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction in a fresh process"),
    # Helpers
    FactKey("helper.version", str, "version that an optional helper prints", each="helper"),
    FactKey("helper.status", int, "exit status with which a vendor's tool reports a fault of the GPUs", each="helper"),
    FactKey("helper.says", str, "what a vendor's tool says of a fault of the GPUs", each="helper"),
    FactKey("helper.rocm_version", str, "ROCm version that a helper prints", each="helper"),
    FactKey("helper.disagrees", str, "what a helper says where a file of the kernel says otherwise", each="key"),
)  # fmt: skip

KEYS: dict[str, FactKey] = {key.name: key for key in _TABLE}


def fits(name: str, value: Scalar) -> bool:
    """Whether the table knows the key and the value is of its type."""
    key = KEYS.get(name)
    if key is None or value is None:
        return key is not None and key.unlimited
    return type(value) is key.type
