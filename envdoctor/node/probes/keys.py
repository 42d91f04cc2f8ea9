"""The one table of observation keys: what each means, its type and its unit.

A key of the node as a whole stands as it does in the short JSON form (`gpu.count`). A key with `each` is stated once
per item, and the observation's `detail` says which one: "gpu 3", "gpu 0 - gpu 5", a path, a release. Where a thing is
not known there is no observation; a value of None says that there is no limit.
"""

from __future__ import annotations

from dataclasses import dataclass

Scalar = str | int | float | bool | None


@dataclass(frozen=True, slots=True)
class Key:
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
    Key("vendor", str, "vendor of the GPUs: amd, nvidia, or empty"),
    Key("container", bool, "the process lives in a container"),
    Key("container.runtime", str, "what the container says it is run by"),
    Key("host.kernel", str, "release of the running kernel"),
    Key("host.os", str, "distribution and its version"),
    Key("host.iommu", str, "value of iommu= on the kernel command line, empty where there is none"),
    Key("host.numa_balancing", int, "automatic NUMA balancing: 0 is off"),
    Key("host.numa_nodes", int, "NUMA nodes with memory or processors"),
    Key("host.cpus_allowed", str, "processors this process may run on"),
    Key("host.memlock_bytes", int, "limit of locked memory", "bytes", unlimited=True),
    Key("host.open_files", int, "limit of open files", "files", unlimited=True),
    Key("host.shm_bytes", int, "size of /dev/shm as the file system says", "bytes"),
    Key("host.shm_mount_bytes", int, "size= in the mount options of /dev/shm", "bytes"),
    Key("host.memory_limit_bytes", int, "memory limit of the control group", "bytes", unlimited=True),
    Key("host.cpu_limit", float, "processor limit of the control group", "processors", unlimited=True),
    Key("host.pids_limit", int, "process limit of the control group", "processes", unlimited=True),
    Key("host.acs_redirect", str, "on, off, or unknown: peer requests sent up to the root complex (ACS ReqRedir)"),
    Key("host.acs_bridge", str, "a PCI bridge with ACS ReqRedir on", each="bridge"),
    Key("host.kfd_rw", bool, "/dev/kfd can be opened for reading and writing"),
    Key("host.kfd_group", str, "group that owns /dev/kfd; a number where it has no name here"),
    Key("host.in_kfd_group", bool, "this process is in the group that owns /dev/kfd"),
    Key("host.device_denied", str, "a device node that this process may not read and write", each="device node"),
    # GPUs as a whole
    Key("gpu.count", int, "logical GPUs"),
    Key("gpu.physical", int, "GPU packages"),
    Key("gpu.usable", int, "logical GPUs that this process may open"),
    Key("gpu.unreadable", int, "KFD nodes of GPUs that may not be read, as in a container with some of the GPUs"),
    Key("gpu.arch", str, "gfx942, sm_90, ...; `mixed` where they differ"),
    Key("gpu.arch_reported_by_hsa", str, "architecture that the HSA runtime reports"),
    Key("gpu.compute_partition", str, "SPX, CPX, ...; empty where there is no such thing; `mixed`"),
    Key("gpu.memory_partition", str, "NPS1, NPS4, ...; empty where there is no such thing; `mixed`"),
    Key("gpu.perf_level", str, "auto, perf_determinism, ...; `mixed`"),
    Key("gpu.all_xgmi", bool, "every pair of GPUs that is known has an xGMI link"),
    Key("gpu.all_nvlink", bool, "every pair of GPUs has NVLink"),
    Key("gpu.missing_link", str, "kind of the link that is there instead of xGMI or NVLink", each="pair of GPUs"),
    Key("gpu.links_incomplete", int, "GPUs that declare more links than could be read"),
    Key("gpu.mig", str, "MIG mode: Enabled, Disabled, `mixed`"),
    Key("gpu.mig_devices", int, "MIG instances"),
    Key("gpu.persistence", bool, "persistence mode is on for all GPUs"),
    Key("gpu.nvlink_disabled", bool, "the driver was loaded with NvLinkDisable"),
    # One GPU
    Key("gpu.device.name", str, "marketing name", each="gpu"),
    Key("gpu.device.arch", str, "gfx942, sm_90, ...", each="gpu"),
    Key("gpu.device.package", int, "number of the package that the GPU is part of, from 0", each="gpu"),
    Key("gpu.device.bus", str, "PCI address", each="gpu"),
    Key("gpu.device.compute_units", int, "compute units", "CUs", each="gpu"),
    Key("gpu.device.xcc", int, "accelerator dies in this logical GPU", "XCDs", each="gpu"),
    Key("gpu.device.memory_bytes", int, "memory", "bytes", each="gpu"),
    Key("gpu.device.numa_node", int, "NUMA node of the slot; -1: none", each="gpu"),
    Key("gpu.device.compute_partition", str, "SPX, CPX, ...", each="gpu"),
    Key("gpu.device.memory_partition", str, "NPS1, NPS4, ...", each="gpu"),
    Key("gpu.device.perf_level", str, "auto, perf_determinism, ...", each="gpu"),
    Key("gpu.device.clock_cap_mhz", int, "highest clock that is allowed now", "MHz", each="gpu"),
    Key("gpu.device.max_clock_mhz", int, "highest clock of the hardware", "MHz", each="gpu"),
    Key("gpu.device.firmware", str, "firmware version", each="gpu"),
    Key("gpu.device.vbios", str, "VBIOS version", each="gpu"),
    Key("gpu.device.link_width", int, "PCIe lanes in use", "lanes", each="gpu"),
    Key("gpu.device.link_speed", str, "PCIe speed in use", each="gpu"),
    Key("gpu.device.mig", str, "MIG mode", each="gpu"),
    Key("gpu.device.compute_mode", str, "compute mode: Default, Exclusive_Process, ...", each="gpu"),
    # Driver
    Key("driver.version", str, "version of the GPU kernel module; empty for the one of the kernel itself"),
    Key("driver.kernel", str, "kernel release that the in-kernel driver belongs to"),
    Key("driver.source", str, "file that says so"),
    Key("driver.live", bool, "the module is initialised"),
    Key("driver.open_kernel_module", bool, "NVIDIA's open kernel module"),
    Key("driver.release", str, "driver line of AMD that this module version belongs to (6.2, 30.10)"),
    Key("driver.rocm_supported", str, "ROCm releases that AMD's table pairs with this driver line"),
    Key("driver.rocm_distance", int, "releases between driver line and user space; positive: user space is newer",
        "releases", each="ROCm release in use"),
    # ROCm and CUDA
    Key("rocm.version", str, "version of the ROCm that is used by default"),
    Key("rocm.build", str, "build number of it"),
    Key("rocm.root", str, "its folder"),
    Key("rocm.install", str, "version of an install", each="folder of the install"),
    Key("rocm.header_version", str, "version in rocm_version.h, where it differs from .info/version",
        each="folder of the install"),
    Key("rocm.hip_version", str, "HIP version of an install", each="folder of the install"),
    Key("rocm.wheel", str, "version of a ROCm wheel", each="distribution"),
    Key("rocm.user_space", str, "ROCm release that is in use", each="who uses it"),
    Key("rocm.rocm_path_env", str, "folder that ROCM_PATH, ROCM_HOME or HIP_PATH names, links followed",
        each="variable"),
    Key("rocm.ld_so_conf", str, "ROCm folder in the configuration of the dynamic linker", each="file"),
    Key("rocm.torch_hip", str, "HIP version that torch was built with"),
    Key("cuda.toolkit", str, "version of the CUDA toolkit"),
    Key("cuda.driver_cuda", str, "newest CUDA version that the driver supports"),
    Key("cuda.torch_cuda", str, "CUDA version that torch was built with"),
    # The process
    Key("process.rocm_root", str, "ROCm folder that mapped libraries come from", each="folder"),
    Key("process.hip_runtime", str, "a mapped libamdhip64", each="path"),
    Key("process.miopen", str, "a mapped libMIOpen", each="path"),
    # A running job
    Key("job.ranks", int, "ranks of the examined job on this node"),
    Key("job.rank_library", str, "the collectives library that a rank has mapped", each="rank"),
    Key("job.differs", str, "values of a variable that is not the same for all ranks", each="variable"),
    Key("job.gpu_ranks", str, "ranks that are bound to one GPU, where they are several", each="gpu"),
    # Collectives
    Key("ccl.kind", str, "rccl or nccl"),
    Key("ccl.loaded", str, "a collectives library mapped into the process", each="path"),
    Key("ccl.used_by_torch", str, "the one whose functions torch calls"),
    Key("ccl.loaded_version_code", int, "what ncclGetVersion of it says"),
    Key("ccl.torch_header_version", str, "version of the header that torch was built with"),
    Key("ccl.installed", str, "a collectives library on the node", each="path"),
    Key("ccl.version_code", int, "version of an installed library", each="path"),
    Key("ccl.build_type", str, "Debug or Release", each="path"),
    Key("ccl.preloaded", str, "a collectives library that LD_PRELOAD names", each="path"),
    Key("ccl.on_library_path", str, "a collectives library in a folder of LD_LIBRARY_PATH", each="path"),
    Key("ccl.conf_file", str, "read, replaced, or ignored", each="file"),
    Key("ccl.plugin", str, "a net, tuner, profiler or environment plug-in: mapped, named, or installed", each="path"),
    Key("ccl.ranks_per_gpu", int, "most ranks that one GPU had in a run"),
    # MIOpen
    Key("miopen.version", str, "version of the default ROCm's MIOpen, else of torch's"),
    Key("miopen.torch_version", str, "MIOpen that torch was built with"),
    Key("miopen.loaded", str, "the mapped libMIOpen", each="path"),
    Key("miopen.user_db", str, "folder that MIOPEN_USER_DB_PATH names"),
    Key("miopen.user_db_files", int, "files of the user database", "files", each="folder"),
    Key("miopen.cache", str, "folder that MIOPEN_CUSTOM_CACHE_DIR names"),
    Key("miopen.find_mode", str, "MIOPEN_FIND_MODE"),
    Key("miopen.find_enforce", str, "MIOPEN_FIND_ENFORCE"),
    # torch
    Key("torch.version", str, "version of torch", each="site-packages folder"),
    Key("torch.hip", str, "torch.version.hip"),
    Key("torch.cuda", str, "torch.version.cuda"),
    Key("torch.bundled", str, "a GPU library inside the torch wheel", each="path"),
    Key("torch.wheel", str, "version of a library wheel that torch uses", each="distribution"),
    Key("torch.cuda_available", bool, "torch.cuda.is_available() in a fresh process"),
    Key("torch.device_count", int, "torch.cuda.device_count() in a fresh process"),
    Key("torch.device_name", str, "name of the first device"),
    Key("torch.arch", str, "architecture of the first device as torch says it"),
    Key("torch.build_type", str, "BUILD_TYPE of torch.__config__"),
    Key("torch.matmul_allow_tf32", bool, "torch.backends.cuda.matmul.allow_tf32 in a fresh process"),
    Key("torch.cudnn_allow_tf32", bool, "torch.backends.cudnn.allow_tf32 in a fresh process"),
    Key("torch.cudnn_benchmark", bool, "torch.backends.cudnn.benchmark in a fresh process"),
    Key("torch.cudnn_deterministic", bool, "torch.backends.cudnn.deterministic in a fresh process"),
    Key("torch.deterministic_algorithms", bool, "torch.are_deterministic_algorithms_enabled() in a fresh process"),
    Key("torch.float32_matmul_precision", str, "torch.get_float32_matmul_precision() in a fresh process"),
    Key("torch.bf16_reduced_precision_reduction", bool,
        "torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction in a fresh process"),
    Key("torch.fp16_reduced_precision_reduction", bool,
        "torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction in a fresh process"),
    # Helpers
    Key("helper.version", str, "version that an optional helper prints", each="helper"),
    Key("helper.rocm_version", str, "ROCm version that a helper prints", each="helper"),
    Key("helper.disagrees", str, "what a helper says where a file of the kernel says otherwise", each="key"),
)  # fmt: skip

KEYS: dict[str, Key] = {key.name: key for key in _TABLE}


def fits(name: str, value: Scalar) -> bool:
    """Whether the table knows the key and the value is of its type."""
    key = KEYS.get(name)
    if key is None or value is None:
        return key is not None and key.unlimited
    return type(value) is key.type
