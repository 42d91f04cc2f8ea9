"""One node examined: probes in order, each for itself, bounded in time, and what they found put together."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Thread

from envdoctor.core.records import replace
from envdoctor.node.probes import conf, process
from envdoctor.node.probes.amd import kfd, miopen, ras, rocm
from envdoctor.node.probes.amd import sysfs as amd_sysfs
from envdoctor.node.probes.amd import tools as amd_tools
from envdoctor.node.probes.amd.layout import home_of
from envdoctor.node.probes.base import Absent, Depth, Facts, NodeView, ProbeFailed, ProbeStatus, Status
from envdoctor.node.probes.files import NodeFiles
from envdoctor.node.probes.host import acs, bus, driver, gpus, host, kernel_log, masks, network, permissions
from envdoctor.node.probes.libraries import ccl, plugins
from envdoctor.node.probes.nvidia import devices as nvidia
from envdoctor.node.probes.nvidia.smi import PROC, bus_name
from envdoctor.node.probes.parts import Torch
from envdoctor.node.probes.report import HIP_RUNTIME, Node, install_of
from envdoctor.node.probes.runner import CommandRunner
from envdoctor.node.probes.torch import gpus as torch_gpus
from envdoctor.node.probes.torch import probe as torch_probe
from envdoctor.node.probes.torch import pythons  # fmt: skip
from envdoctor.node.recording.recorded import read_recorded

BAD_DATA = (OSError, ValueError, LookupError, TypeError)
"""What code raises on data of a shape that nobody foresaw: the probe fails, and says so."""

GPU_LIBRARY = re.compile(
    r"/lib(?:nccl|rccl|amdhip|MIOpen|hsa-|roc|hip|torch|c10|cuda|cublas|cudnn|nvrtc)[^/]*\.so[^/]*$"
)
"""Mapped libraries that tell which GPU software a process uses."""

Work = Callable[["ExaminationState"], str | None]


@dataclass(frozen=True, slots=True)
class Probe:
    """A step of the examination. It is skipped at a lesser depth, and given up after so many seconds."""

    name: str
    work: Work
    depth: Depth = "files"
    seconds: float = 10.0


@dataclass(slots=True)
class ExaminationState:
    """What a step sees: the node's files and helpers, and what the steps before it found."""

    view: NodeView
    node: Node
    interpreter: str = ""

    @property
    def report(self) -> Mapping[str, object]:
        """What a fresh torch said."""
        return self.node.torch.report if self.node.torch else {}


def examine(
    root: Path,
    runner: CommandRunner,
    depth: Depth,
    *,
    process_id: str = "self",
    known: Callable[[str], bool] = process.in_families,
    interpreter: str = "",
    name: str = "",
    told: Callable[[ProbeStatus], None] | None = None,
    files: NodeFiles | None = None,
    masks: Sequence[Mapping[str, str]] = (),
) -> Node:
    """Examine the node below `root`.

    `process_id` is the process to look at; `known` says which variables may be recorded; `interpreter` is the Python
    that has torch, where the caller knows better; `told` hears of each probe as it ends; `masks` are the variables of
    all ranks of a job. Never raises for what a node is: a probe that fails is a `ProbeStatus`.
    """
    files = files or NodeFiles(root)
    view = NodeView(files, runner, Facts(name), process_id, known=known)
    view.environment = process.read_environment(files, view.proc)
    view.mapped = process.read_mapped(files, view.proc)
    view.masks = masks or [view.environment]
    kept = read_recorded(files.root)
    view.site_packages = kept.site_packages or pythons.site_packages(view, interpreter)
    view.recorded_libraries = kept.libraries
    state = ExaminationState(
        view, Node(name, files=files, facts=view.facts, site_packages=list(view.site_packages)), interpreter
    )
    for probe in (*BEFORE, *AFTER):
        if probe is AFTER[0]:
            settle(state)
        status = attempt(probe, state) if probe.depth == "files" or depth == "torch" else skipped(probe)
        state.node.probes.append(status)
        if told:
            told(status)
    view.finish()
    return state.node


def skipped(probe: Probe) -> ProbeStatus:
    """A probe that the asked depth leaves out."""
    return ProbeStatus(probe.name, "skipped", "only the files were asked for")


def attempt(probe: Probe, state: ExaminationState) -> ProbeStatus:
    """Run one probe in a thread: a file system or driver that hangs must not hold the rest."""
    own = replace(state, view=replace(state.view, facts=Facts(state.node.name)))
    outcome: list[tuple[Status, str]] = []
    begin = time.monotonic()
    thread = Thread(target=lambda: outcome.append(ended(probe.work, own)), daemon=True, name=probe.name)
    thread.start()
    thread.join(probe.seconds)
    seconds = round(time.monotonic() - begin, 3)
    if not outcome:
        why = f"no answer in {probe.seconds:.0f} s" if thread.is_alive() else "stopped by a fault of its own"
        return ProbeStatus(probe.name, "failed", why, seconds)
    state.node.facts.extend(own.view.facts)
    return ProbeStatus(probe.name, *outcome[0], seconds)


def ended(work: Work, state: ExaminationState) -> tuple[Status, str]:
    """How the work of a probe ended."""
    try:
        why = work(state) or ""
    except Absent as reason:
        return "absent", str(reason)
    except ProbeFailed as reason:
        return "failed", str(reason)
    except BAD_DATA as error:
        return "failed", f"unexpected data: {type(error).__name__}: {error}"
    return "ok", why


def settle(state: ExaminationState) -> None:
    """Before the second half: what a fresh torch has mapped counts where the examined process has no torch."""
    view, mapped = state.view, state.report.get("mapped")
    if isinstance(mapped, list) and not any("/libtorch" in p or HIP_RUNTIME in p for p in view.mapped):
        view.mapped = [path for path in mapped if isinstance(path, str)]
    state.node.mapped = tuple(path for path in view.mapped if GPU_LIBRARY.search(path))


def vendor_of(node: Node, torch: Torch | None) -> str:
    """The vendor whose GPUs count, where a node has GPUs of both: the one that torch was built for."""
    vendors = {device.vendor for device in node.devices}
    if len(vendors) == 1:
        return vendors.pop()
    return ("amd" if torch and torch.hip else "nvidia") if vendors else ""


# The steps. Each takes over what its probe returns; a text says what is lacking although the probe did not fail.


def _environment(state: ExaminationState) -> None:
    view = state.view
    named = view.environment.get("ROCM_PATH") or view.environment.get("ROCM_HOME")
    state.node.rocm_path_env = home_of(view.files, named) if named else None
    process.environment_probe(view)


def _container(state: ExaminationState) -> None:
    state.node.container = host.container_probe(state.view)


def _torch_files(state: ExaminationState) -> None:
    state.node.torch = torch_probe.torch_files_probe(state.view, state.view.site_packages)


def _kfd(state: ExaminationState) -> str:
    node = state.node
    node.devices, node.links, node.gpu.all_xgmi, _ = kfd.kfd_probe(state.view)
    unreadable = [o.value for o in state.view.facts.observations if o.key == "gpu.unreadable"]
    return f"nodes of the topology that could not be read: {unreadable[0]}" if unreadable else ""


def _cards(state: ExaminationState) -> None:
    state.node.devices = amd_sysfs.sysfs_probe(state.view, state.node.devices)


def _nvidia(state: ExaminationState) -> str:
    node, view = state.node, state.view
    nvml = pythons.interpreter_with(view.files, view.site_packages, "pynvml.py")
    answer = nvidia.nvidia_probe(view, nvml)
    if not node.devices or not (node.torch and node.torch.hip):
        node.devices, node.links, node.gpu.all_xgmi = answer.devices, answer.links, None
        node.gpu.all_nvlink = nvidia.all_nvlink(len(answer.devices), answer.links)
        node.gpu.mig_devices = answer.instances
    node.driver_cuda, node.told_driver = answer.driver_cuda, answer.driver_version
    node.computing = answer.processes
    return answer.why


def _cuda(state: ExaminationState) -> None:
    source = state.node.devices[0].source if state.node.devices else PROC
    state.node.cuda = nvidia.cuda_probe(state.view, state.node.driver_cuda, source)


def _driver(state: ExaminationState) -> None:
    node = state.node
    node.vendor = vendor_of(node, node.torch)
    node.driver = driver.driver_probe(state.view, node.vendor, node.told_driver)
    node.vendor = node.vendor or {"amdgpu": "amd", "nvidia": "nvidia"}[node.driver.name]


def _bus(state: ExaminationState) -> None:
    node, view = state.node, state.view
    listed = [device.bus[:-1] + "0" for device in node.devices if device.bus]
    listed += [bus_name(name) for name in view.files.names(f"{PROC}/gpus")]
    # A control group of devices denies the nodes of GPUs that are not for this process; any other error is a fault.
    denied = any(p.startswith(kfd.TOPOLOGY) and why == "permission denied" for p, why in view.files.errors.items())
    partial = denied or bus.limited(view, node.container)
    bus.bus_probe(view, node.vendor, listed, partial)


def _rocm(state: ExaminationState) -> None:
    state.node.rocm = rocm.rocm_probe(state.view, state.view.site_packages)


def _permissions(state: ExaminationState) -> None:
    node = state.node
    node.gpu.usable = permissions.permissions_probe(state.view, node.host, node.vendor, node.devices)


def _torch_child(state: ExaminationState) -> None:
    state.node.torch = torch_probe.torch_child_probe(state.view, state.node.torch, state.interpreter)


def _rocminfo(state: ExaminationState) -> None:
    node, wsl = state.node, state.view.files.exists(driver.DXG) and not state.node.devices
    if node.vendor != "amd" and not wsl:
        no_amd()
    agents = amd_tools.rocminfo_probe(state.view, node.gpu)
    if wsl:  # there is no KFD: the HSA runtime is the only one that tells
        node.devices = amd_tools.devices_of(agents)
        node.vendor = vendor_of(node, node.torch)


def _amd_smi(state: ExaminationState) -> None:
    amd_tools.amd_smi_probe(state.view, state.node.driver) if state.node.vendor == "amd" else no_amd()


def _rocm_smi(state: ExaminationState) -> None:
    amd_tools.rocm_smi_probe(state.view, state.node.devices) if state.node.vendor == "amd" else no_amd()


def no_amd() -> None:
    """Helpers of ROCm are not run on other nodes."""
    raise Absent("no GPU of AMD")


def _gpus(state: ExaminationState) -> None:
    node, report, wsl = state.node, state.report, state.view.files.exists(driver.DXG)
    if not node.devices and nvidia.present(state.view):
        node.devices = torch_gpus.devices_of(report)
        node.vendor = node.vendor or vendor_of(node, node.torch)
    torch_gpus.take_architecture(node.devices, report)
    left = masks.lay(state.view.masks, node.devices, node.vendor)
    if wsl and not node.devices:
        node.gpu.count = node.gpu.physical = None
        raise ProbeFailed("the GPUs are behind /dev/dxg (WSL2), and nothing that was asked tells which")
    if node.vendor:
        state.view.facts.observe("vendor", node.vendor, node.devices[0].source if node.devices else "/sys/module")
    gpus.summarise(node.gpu, node.devices)
    state.view.facts.observe_known("gpu.visible", left, f"{state.view.proc}/environ")
    gpus.state(state.view, node.gpu, node.devices, node.devices[0].source if node.devices else "/sys/class")
    if not node.devices:
        raise Absent("no GPU")


def _processes(state: ExaminationState) -> None:
    node, view = state.node, state.view
    found = {**dict.fromkeys(ras.computing(view), ""), **node.computing}
    if not found:
        raise Absent("no other process computes on a GPU, as far as this one is shown")
    source = ras.PROCESSES if not node.computing else "nvidia-smi --query-compute-apps"
    for pid, address in sorted(found.items()):
        view.facts.observe("gpu.process", address, source, detail=str(pid))


def _ccl(state: ExaminationState) -> None:
    node, view = state.node, state.view
    installs = node.rocm.installs if node.rocm else []
    node.ccl, node.libraries = ccl.ccl_probe(view, node.torch, node.vendor, installs)


def _plugins(state: ExaminationState) -> None:
    folders = {path.rpartition("/")[0] for path in state.node.libraries}
    plugins.plugins_probe(state.view, sorted(folders))


def _conf(state: ExaminationState) -> None:
    node = state.node
    identity = permissions.read_identity(state.view.files, state.view.proc)
    kind = (node.ccl.kind if node.ccl else "") or {"amd": "rccl", "nvidia": "nccl"}.get(node.vendor, "")
    version = node.ccl.loaded_version_code if node.ccl else None
    conf.conf_probe(state.view, kind, version, identity.uid if identity else None)


def _miopen(state: ExaminationState) -> None:
    node = state.node
    node.miopen = miopen.miopen_probe(state.view, node.rocm, node.torch.report if node.torch else {})


def _process(state: ExaminationState) -> None:
    node, facts, maps = state.node, state.view.facts, f"{state.view.proc}/maps"
    for root in dict.fromkeys(filter(None, (install_of(path, node) for path in node.mapped if "torch" not in path))):
        facts.observe("process.rocm_root", root, maps, detail=root)
    for path in node.mapped:
        if HIP_RUNTIME in path:
            facts.observe("process.hip_runtime", path, maps, detail=path)
        elif miopen.NAME in path:
            facts.observe("process.miopen", path, maps, detail=path)
    if not node.mapped:
        raise Absent("no GPU library in the examined process")


def _pairing(state: ExaminationState) -> None:
    driver.pairing_probe(state.view, state.node.driver, user_space(state.node))


def user_space(node: Node) -> dict[str, str]:
    """Who uses ROCm on this node -> the release: torch, and the installs in its process, else the default install."""
    used = {}
    if node.torch and node.torch.hip:
        used[f"{node.torch.folder}/torch"] = node.torch.version.partition("+rocm")[2] or node.torch.hip
    if node.rocm:
        mapped = {install_of(path, node) for path in node.mapped if HIP_RUNTIME in path}
        roots = [root for root in node.rocm.installs if root in mapped] or ([node.rocm.root] if not mapped else [])
        used.update({root: node.rocm.versions[root] for root in roots})
    return used


def _acs(state: ExaminationState) -> None:
    if not state.node.devices:
        raise Absent("no GPU")
    acs.acs_probe(state.view)


BEFORE = (
    Probe("environment", _environment),
    Probe("container", _container),
    Probe("host", lambda s: host.host_probe(s.view, s.node.host)),
    Probe("limits", lambda s: host.limits_probe(s.view, s.node.host)),
    Probe("control group", lambda s: host.cgroup_probe(s.view)),
    Probe("shared memory", lambda s: host.shm_probe(s.view, s.node.host)),
    Probe("torch files", _torch_files),
    Probe("KFD topology", _kfd),
    Probe("amdgpu cards", _cards),
    Probe("NVIDIA GPUs", _nvidia),
    Probe("CUDA", _cuda),
    Probe("driver", _driver),
    Probe("PCI bus", _bus),
    Probe("ROCm installs", _rocm),
    Probe("device permissions", _permissions),
    Probe("access control services", _acs),
    Probe("network devices", lambda s: network.network_probe(s.view)),
    Probe("kernel log", lambda s: kernel_log.kernel_log_probe(s.view)),
    Probe("processes on GPUs", _processes),
    Probe("torch", _torch_child, "torch", torch_probe.SECONDS + 5),
    Probe("rocminfo", _rocminfo, "torch"),
    Probe("amd-smi", _amd_smi, "torch"),
    Probe("rocm-smi", _rocm_smi, "torch", 20.0),
)
"""Steps that look at the machine, and a fresh torch."""

AFTER = (
    Probe("GPUs", _gpus),
    Probe("collectives library", _ccl, seconds=30.0),
    Probe("plug-ins", _plugins),
    Probe("conf files", _conf),
    Probe("MIOpen", _miopen),
    Probe("process", _process),
    Probe("driver and user space", _pairing),
)
"""Steps that join what the others found."""
