"""What each probe found, in a few words: the text of its line on the sheet."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import PurePosixPath

from envdoctor.core.numbers import counted
from envdoctor.node.live.examination import Examination
from envdoctor.node.live.job import differing, spans
from envdoctor.node.live.target import library_in_use
from envdoctor.node.probes.base import ProbeStatus
from envdoctor.node.probes.libraries.library import LibraryFile, version_of_code
from envdoctor.node.probes.report import Node

Scalar = str | int | float | bool | None
Say = Callable[[Examination], str]

GIB = 1 << 30


def summary(probe: ProbeStatus, examination: Examination) -> str:
    """What a probe found; for one that found nothing, why."""
    if probe.status in ("absent", "skipped", "failed"):
        return probe.why or probe.status
    said = SAY[probe.name](examination) if probe.name in SAY else ""
    return "; ".join(filter(None, [said, probe.why])) or "nothing to report"


def values(node: Node, key: str) -> list[Scalar]:
    """Values of an observation key, in order."""
    return [o.value for o in node.facts.observations if o.key == key]


def value(node: Node, key: str) -> Scalar:
    """The value of a key that is stated once; None where nothing is known."""
    return next(iter(values(node, key)), None)


def joined(*parts: str) -> str:
    """The parts that say something."""
    return ", ".join(part for part in parts if part)


def size(count: Scalar) -> str:
    """`64 MiB`; "unlimited" for None."""
    if not isinstance(count, int):
        return "unlimited"
    if count >= GIB:
        return f"{count / GIB:.0f} GiB"
    return f"{count / (1 << 20):.0f} MiB" if count >= 1 << 20 else f"{count / (1 << 10):.0f} KiB"


def stated(node: Node, key: str, text: str, unlimited: str = "unlimited") -> str:
    """`text` with the value of a key that is there; "" where it is not."""
    found = [o for o in node.facts.observations if o.key == key]
    return text.format(unlimited if found[0].value is None else found[0].value) if found else ""


def _host(examination: Examination) -> str:
    node = examination.node
    iommu = f"iommu={node.host.iommu}" if node.host.iommu else "no iommu= on the command line"
    numa = {None: "", 0: "NUMA balancing off"}.get(node.host.numa_balancing, "NUMA balancing on")
    wsl = "WSL2: GPUs of Windows behind /dev/dxg, no files of their driver" if value(node, "host.wsl") else ""
    return joined(
        wsl, stated(node, "host.os", "{}"), stated(node, "host.kernel", "kernel {}"), _numa_nodes(node),
        iommu if node.host.iommu is not None else "", numa,
    )  # fmt: skip


def _numa_nodes(node: Node) -> str:
    count = value(node, "host.numa_nodes")
    return counted(count, "NUMA node") if isinstance(count, int) else ""


def _container(examination: Examination) -> str:
    runtime = value(examination.node, "container.runtime")
    return f"inside a container ({runtime or 'of an unknown kind'})" if examination.node.container else "no container"


def _limits(examination: Examination) -> str:
    node = examination.node
    locked = values(node, "host.memlock_bytes")
    return joined(
        f"locked memory {size(locked[0])}" if locked else "", stated(node, "host.open_files", "open files {}"),
        stated(node, "host.cpus_allowed", "processors {}"),
    )  # fmt: skip


def _cgroup(examination: Examination) -> str:
    node = examination.node
    memory = values(node, "host.memory_limit_bytes")
    limits = joined(
        f"memory {size(memory[0])}" if memory and memory[0] is not None else "",
        stated(node, "host.cpu_limit", "{} processors", "no limit of"),
        stated(node, "host.pids_limit", "{} processes", "no limit of"),
    )  # fmt: skip
    return limits or "no limits that are told here"


def _shm(examination: Examination) -> str:
    shm = examination.node.host.shm_bytes
    return f"/dev/shm has {size(shm)}" if shm is not None else ""


def _acs(examination: Examination) -> str:
    return stated(examination.node, "host.acs_redirect", "redirection of peer requests is {}")


def _gpus(examination: Examination) -> str:
    gpu, node = examination.node.gpu, examination.node
    names = Counter(device.name for device in node.devices if device.name)
    name = next(iter(names)) if len(names) == 1 else ""
    memory = {device.memory_bytes for device in node.devices if device.memory_bytes}
    return joined(
        f"{gpu.count} x {joined(name, gpu.arch or '') or 'GPU'}",
        f"{gpu.physical} packages" if gpu.physical != gpu.count else "",
        size(memory.pop()) if len(memory) == 1 else "",
        "/".join(filter(None, [gpu.compute_partition, gpu.memory_partition])),
        f"performance level {gpu.perf_level}" if gpu.perf_level else "",
        f"MIG {gpu.mig.lower()}" if gpu.mig else "",
    )  # fmt: skip


def _count(node: Node) -> str:
    return "an unknown number of GPUs" if node.gpu.count is None else counted(node.gpu.count, "GPU")


def _bus(examination: Examination) -> str:
    node = examination.node
    there = [f"{o.value} of {o.detail}" for o in node.facts.observations if o.key == "gpu.on_bus"]
    missing = len(values(node, "gpu.missing"))
    return joined(f"GPUs on the bus: {' and '.join(there)}" if there else "",
                  f"{missing} missing" if missing else "")  # fmt: skip


def _network(examination: Examination) -> str:
    active = values(examination.node, "network.port")
    named = [f"{o.detail} {o.value}" for o in examination.node.facts.observations if o.key == "network.named_hca"]
    ports = f"{active.count(True)} of {counted(len(active), 'port')} active" if active else ""
    return joined(ports, f"NCCL_IB_HCA: {', '.join(named)}" if named else "")


def _kernel_log(examination: Examination) -> str:
    node = examination.node
    found = values(node, "gpu.xid") + values(node, "gpu.kernel_fault")
    return f"{counted(len(found), 'kind')} of messages about faults" if found else "no message about a fault of a GPU"


def _processes(examination: Examination) -> str:
    count = len(values(examination.node, "gpu.process"))
    return "1 other process" if count == 1 else f"{count} other processes"


def _kfd(examination: Examination) -> str:
    node = examination.node
    missing, lacking = values(node, "gpu.missing_link"), value(node, "gpu.links_incomplete")
    without = f"{counted(len(missing), 'pair')} without xGMI"
    told = {None: "", True: "every pair that is told of has xGMI", False: without}
    return joined(_count(node), told[node.gpu.all_xgmi],
                  f"{lacking} GPUs declare more links than could be read" if lacking else "")  # fmt: skip


def _cards(examination: Examination) -> str:
    boards = Counter(device.vbios for device in examination.node.devices if device.vbios)
    return joined(*(f"{count} x VBIOS {vbios}" for vbios, count in boards.items()))


def _nvidia(examination: Examination) -> str:
    node = examination.node
    nvlink = {None: "", True: "every pair has NVLink", False: "not every pair has NVLink"}[node.gpu.all_nvlink]
    persistence = {None: "", True: "persistence mode on", False: "persistence mode off"}[node.gpu.persistence]
    each = {v for v in values(node, "gpu.device.nvlinks") if v}
    links = f"{each.pop()} active NVLinks each" if len(each) == 1 else ""
    fabric = {str(v) for v in values(node, "gpu.device.fabric")}
    told = f"fabric {fabric.pop()}" if len(fabric) == 1 else ""
    imex = stated(node, "host.imex_channels", "IMEX channels {}")
    return joined(_count(node), nvlink, links, told, imex, persistence)


def _permissions(examination: Examination) -> str:
    node, usable = examination.node, examination.node.gpu.usable
    kfd = {None: "", True: "/dev/kfd may be opened", False: "/dev/kfd may not be opened"}[node.host.kfd_rw]
    denied = len(values(node, "host.device_denied"))
    return joined("" if usable is None else f"{usable} of {_count(node)} usable", kfd,
                  f"{counted(denied, 'device node')} denied" if denied else "")  # fmt: skip


def _driver(examination: Examination) -> str:
    driver = examination.node.driver
    if driver is None:
        return ""
    kind = {None: "", True: "open kernel module", False: "closed kernel module"}[driver.open_kernel_module]
    version = driver.version or f"of the kernel itself ({driver.kernel or 'unknown release'}), which has no version"
    return joined(f"{driver.name} {version}", kind)


def _rocm(examination: Examination) -> str:
    rocm = examination.node.rocm
    if rocm is None:
        return ""
    default = f"{rocm.version or 'unknown version'}{f'-{rocm.build}' if rocm.build else ''} in {rocm.root}"
    others = [f"{rocm.versions[root] or 'unknown version'} in {root}" for root in rocm.installs if root != rocm.root]
    return joined(default, *(f"also {other}" for other in others))


def _cuda(examination: Examination) -> str:
    cuda = examination.node.cuda
    if cuda is None:
        return ""
    return joined(f"toolkit {cuda.toolkit}" if cuda.toolkit else "no toolkit",
                  f"the driver supports up to {cuda.driver_cuda}" if cuda.driver_cuda else "")  # fmt: skip


def _pairing(examination: Examination) -> str:
    node = examination.node
    users = [f"ROCm {o.value} used by {o.detail}" for o in node.facts.observations if o.key == "rocm.user_space"]
    return joined(stated(node, "driver.release", "driver line {}"), *users)


def called(library: LibraryFile) -> str:
    """A library in a few words."""
    title = {"rccl": "RCCL", "nccl": "NCCL"}.get(library.kind, "library")
    build = "built without optimisation" if library.build == "debug" else ""
    names = f"reads {len(library.names)} names" if library.names_complete else ""
    version = library.version or "of unknown version"
    return joined(f"{title} {version} at {library.path}", library.built_for, build, names)


def _ccl(examination: Examination) -> str:
    node = examination.node
    library, ccl = library_in_use(node), node.ccl
    if ccl is None:
        return ""
    others = len(set(ccl.installed) | set(ccl.loaded)) - (library is not None)
    rest = f"{others} other copies on the node" if others > 1 else "one other copy on the node" if others else ""
    if library is None and ccl.loaded_version_code:
        version = version_of_code(ccl.loaded_version_code)
        return joined(f"{ccl.kind.upper()} {version}, told by a run; its file is not known", rest)
    if library is None:
        return joined("which library is called is not known", f"{others} copies on the node")
    how = "" if ccl.loaded else "the only one here; no process shows it loaded"
    return joined(called(library), how, rest)


def _plugins(examination: Examination) -> str:
    plugins = [o for o in examination.node.facts.observations if o.key == "ccl.plugin"]
    return joined(*(f"{PurePosixPath(o.detail).name} ({o.value})" for o in plugins))


def _conf(examination: Examination) -> str:
    files = [o for o in examination.node.facts.observations if o.key == "ccl.conf_file"]
    return joined(*(f"{o.detail} ({o.value})" for o in files))


def _torch_files(examination: Examination) -> str:
    torch = examination.node.torch
    if torch is None:
        return ""
    built = f"HIP {torch.hip}" if torch.hip else f"CUDA {torch.cuda}" if torch.cuda else "built for the CPU"
    return joined(f"torch {torch.version} in {torch.folder}", built)


def _torch(examination: Examination) -> str:
    node = examination.node
    sees = value(node, "torch.cuda_available")
    count = value(node, "torch.device_count")
    on = [name for key, name in SWITCHES.items() if value(node, key) is True]
    seen = f"sees {counted(count, 'GPU')}" if sees and isinstance(count, int) else "sees no GPU"
    return joined(seen, f"in a fresh process on: {', '.join(on) or 'no switch'}")


SWITCHES = {
    "torch.deterministic_algorithms": "deterministic algorithms", "torch.matmul_allow_tf32": "TF32 in matmul",
    "torch.cudnn_allow_tf32": "TF32 in convolutions", "torch.cudnn_benchmark": "cudnn.benchmark",
    "torch.cudnn_deterministic": "cudnn.deterministic",
}  # fmt: skip


def _miopen(examination: Examination) -> str:
    miopen = examination.node.miopen
    if miopen is None:
        return ""
    return joined(
        f"MIOpen {miopen.version}" if miopen.version else "",
        f"user database {miopen.user_db}" if miopen.user_db else "",
        stated(examination.node, "miopen.find_mode", "find mode {}"),
    )


def _environment(examination: Examination) -> str:
    names = [s.name for s in examination.node.facts.settings if s.channel == "process-environment"]
    shown = ", ".join(names[:6]) + (f" and {len(names) - 6} more" if len(names) > 6 else "")
    return f"{counted(len(names), 'known variable')}: {shown}" if names else "no variable of a known family"


def _process(examination: Examination) -> str:
    node = examination.node
    libraries = len(node.mapped)
    return "1 GPU library is mapped" if libraries == 1 else f"{libraries} GPU libraries are mapped"


def _job(examination: Examination) -> str:
    job = examination.job
    if job is None or not job.ranks:
        return "no ranks found"
    numbers = spans([rank.number for rank in job.ranks])
    libraries = {rank.library for rank in job.ranks if rank.library}
    differ = len(differing(job.ranks))
    return joined(
        f"ranks {numbers} on this node",
        f"{len(libraries)} collectives libraries" if len(libraries) > 1 else "",
        f"{counted(differ, 'variable')} not the same for all" if differ else "the same variables for all",
    )


SAY: dict[str, Say] = {
    "host": _host, "container": _container, "limits": _limits, "control group": _cgroup, "shared memory": _shm,
    "access control services": _acs, "network devices": _network, "kernel log": _kernel_log,
    "PCI bus": _bus, "processes on GPUs": _processes, "GPUs": _gpus, "KFD topology": _kfd, "amdgpu cards": _cards,
    "NVIDIA GPUs": _nvidia, "device permissions": _permissions, "driver": _driver, "ROCm installs": _rocm,
    "CUDA": _cuda, "driver and user space": _pairing, "collectives library": _ccl, "plug-ins": _plugins,
    "conf files": _conf, "torch files": _torch_files, "torch": _torch, "MIOpen": _miopen,
    "environment": _environment, "process": _process, "job": _job,
    "rocminfo": lambda e: f"HSA reports {e.node.gpu.arch_reported_by_hsa or 'several architectures'}",
    "amd-smi": lambda e: stated(e.node, "helper.version", "version {}"),
}  # fmt: skip
"""Probe -> what its line says."""
