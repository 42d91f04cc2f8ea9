"""GPUs of NVIDIA: the driver's files first, then NVML or nvidia-smi for what no file tells."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence, Sized
from dataclasses import dataclass, field
from typing import Any

from envdoctor.node.probes.base import Absent, NodeView, ProbeFailed, command
from envdoctor.node.probes.children import NVML, child_argv
from envdoctor.node.probes.host.driver import DXG
from envdoctor.node.probes.nvidia import smi
from envdoctor.node.probes.nvidia.smi import PROC, bus_name, known, number
from envdoctor.node.probes.parts import Cuda, Device, Link, LinkKind
from envdoctor.node.probes.runner import CommandResult

TOOLKIT = "/usr/local/cuda/version.json"
IN_FILES = {"name": "Model", "pci.bus_id": "Bus Location", "vbios_version": "Video BIOS"}
"""Field of a query -> key of the file `information`."""


@dataclass(slots=True)
class DeviceAnswer:
    """What NVML or nvidia-smi tells. `why`: why they tell less than they could; `lost`: PCI address -> what is said of
    a GPU that cannot be opened; `more`: rows about each GPU beyond what it is; `source`: who told."""

    devices: list[Device]
    links: list[Link]
    driver_cuda: str | None = None
    why: str = ""
    driver_version: str = ""
    lost: dict[str, str] = field(default_factory=dict)
    instances: int | None = None
    processes: dict[int, str] = field(default_factory=dict)
    """Process that computes on a GPU -> PCI address of that GPU."""
    results: list[CommandResult] = field(default_factory=list)


def present(view: NodeView) -> bool:
    """Whether there is anything of NVIDIA's driver on the node."""
    paths = (f"{PROC}/version", "/sys/module/nvidia/version", "/dev/nvidiactl", smi.BESIDE)
    return any(view.files.exists(path) for path in paths) or view.files.exists(DXG)


def parse_information(text: str) -> dict[str, str]:
    """`Key: <tabs> value` lines of /proc/driver/nvidia/gpus/<bus>/information."""
    pairs = (line.partition(":") for line in text.splitlines())
    return {key.strip(): value.strip() for key, colon, value in pairs if colon}


def device_of(index: int, row: Mapping[str, Any], source: str) -> Device:
    """The GPU of a row of NVML or nvidia-smi."""
    capability = known(row, "compute_cap")
    memory, persistence = number(known(row, "memory.total")), known(row, "persistence_mode")
    device = Device(
        index, "nvidia",
        arch=f"sm_{capability.replace('.', '')}" if capability else "",
        name=known(row, "name") or "",
        bus=bus_name(known(row, "pci.bus_id") or ""),
        key=known(row, "uuid") or "",
        package=index,
        memory_bytes=None if memory is None else memory << 20,
        vbios=known(row, "vbios_version"),
        mig=known(row, "mig.mode.current"),
        compute_mode=known(row, "compute_mode"),
        persistence=None if persistence is None else persistence == "Enabled",
        ecc=known(row, "ecc.mode.current"),
        max_clock_mhz=number(known(row, "clocks.max.sm")),
        source=source,
    )  # fmt: skip
    take_more(device, row)
    return device


def take_more(device: Device, row: Mapping[str, Any]) -> None:
    """What else a row tells: set by somebody, or worn out."""
    for name, wanted in MORE_FIELDS.items():
        if (value := number(known(row, wanted))) is not None:
            setattr(device, name, value)
    for name, wanted in (("pages_pending", "retired_pages.pending"), ("rows_pending", "remapped_rows.pending"),
                         ("rows_failed", "remapped_rows.failure")):  # fmt: skip
        if (word := known(row, wanted)) is not None:
            setattr(device, name, word in ("Yes", "1"))
    state, status = known(row, "fabric.state"), known(row, "fabric.status")
    device.fabric = ", ".join(filter(None, [state, status])) or device.fabric


MORE_FIELDS = {
    "clock_mhz": "clocks.applications.graphics", "default_clock_mhz": "clocks.default_applications.graphics",
    "power_limit_w": "power.limit", "default_power_w": "power.default_limit",
    "link_width": "pcie.link.width.current", "max_link_width": "pcie.link.width.max",
    "ecc_errors": "ecc.errors.uncorrected.volatile.total", "pages_retired": "retired_pages.double_bit.count",
    "rows_remapped": "remapped_rows.uncorrectable",
}  # fmt: skip
"""Number of a device -> field of an answer."""


def devices_in_files(view: NodeView) -> list[Device]:
    """GPUs below /proc/driver/nvidia/gpus, without those that the driver leaves out."""
    devices: list[Device] = []
    for folder in view.files.paths(f"{PROC}/gpus"):
        path = f"{folder}/information"
        text = view.files.read_text(path)
        told = parse_information(text or "")
        row = {field: told.get(key) for field, key in IN_FILES.items()}
        # The folder itself says that the driver has this GPU, also where its file is cut off or may not be read.
        row["pci.bus_id"] = row["pci.bus_id"] or folder.rpartition("/")[2]
        if told.get("GPU Excluded") != "Yes" and (text is not None or view.files.why(path) != "absent"):
            devices.append(device_of(len(devices), row, path))
    return devices


def ask_smi(view: NodeView, branch: int | None) -> tuple[list[Device], CommandResult]:
    """GPUs as nvidia-smi tells them, and how it answered. A status of fault does not make its table worthless."""
    result = smi.ask(view, smi.for_driver(smi.QUERY, branch))
    rows = smi.parse_table(result.stdout)
    if not rows and "not a valid field" in result.stdout + result.stderr:
        again = smi.ask(view, smi.for_driver(smi.SHORT_QUERY, branch))
        result, rows = (again, smi.parse_table(again.stdout)) if again.ok else (result, [])
    return [device_of(i, row, "nvidia-smi --query-gpu") for i, row in enumerate(rows)], result


def ask_nvml(view: NodeView, interpreter: str) -> Mapping[str, Any]:
    """NVML's report through nvidia-ml-py in a child; {} where that did not work."""
    result = view.run(*child_argv(interpreter, NVML), timeout=smi.SECONDS)
    try:
        answer = json.loads(result.stdout) if result.ok else {}
    except (ValueError, RecursionError):
        return {}
    return answer if isinstance(answer, dict) and isinstance(answer.get("devices"), list) else {}


def peers_of(rows: Sequence[Any]) -> dict[tuple[int, int], str]:
    """Pairs that NVML says have NVLink, and the others."""
    pairs = {}
    for first, row in enumerate(rows):
        peers = row.get("nvlink_peers")
        for second in range(first + 1, len(rows)):
            if isinstance(peers, list):
                pairs[first, second] = "NV" if second in peers else "PCI"
    return pairs


def links_of(pairs: Mapping[tuple[int, int], str]) -> list[Link]:
    """Links of a topology."""
    links = []
    for (first, second), name in sorted(pairs.items()):
        kind: LinkKind = "nvlink" if name.startswith("NV") else "pcie"
        links.append(Link(first, second, kind, name))
    return links


def all_nvlink(count: int, links: Iterable[Link]) -> bool | None:
    """Whether every pair has NVLink; None for a single GPU or where the topology is not known."""
    kinds = [link.kind for link in links]
    return all(kind == "nvlink" for kind in kinds) if count > 1 and len(kinds) == count * (count - 1) // 2 else None


def read_numa(view: NodeView, devices: Iterable[Device]) -> None:
    """NUMA node of each GPU's slot."""
    for device in devices:
        path = f"/sys/bus/pci/devices/{device.bus}/numa_node"
        if device.bus and (node := view.files.read_int(path)) is not None:
            device.numa_node, device.sources["numa_node"] = node, path


def from_nvml(view: NodeView, interpreter: str) -> DeviceAnswer | None:
    """What NVML tells; None where it tells nothing. `interpreter` has nvidia-ml-py, or is ""."""
    report = ask_nvml(view, interpreter) if interpreter else {}
    rows = [row for row in report.get("devices", ()) if isinstance(row, dict)]
    if not rows:
        return None
    devices = [device_of(index, row, "NVML") for index, row in enumerate(rows)]
    answer = DeviceAnswer(devices, links_of(peers_of(rows)), known(report, "cuda_version"))
    answer.driver_version = known(report, "driver_version") or ""
    lost = report.get("lost")
    answer.lost = {str(where): str(why) for where, why in lost.items()} if isinstance(lost, dict) else {}
    answer.instances = sum(n for row in rows if isinstance(n := row.get("mig_instances"), int)) or None
    for device, row in zip(devices, rows, strict=True):
        links, pids = row.get("nvlinks"), row.get("processes")
        if isinstance(links, list) and len(links) == 2 and sum(links):
            device.nvlinks, device.nvlinks_down = links
        answer.processes.update({pid: device.bus for pid in pids or () if isinstance(pid, int)})
    return answer


def from_smi(view: NodeView) -> DeviceAnswer:
    """What nvidia-smi tells, all questions side by side: each waits for the driver."""
    branch = smi.branch_of(file_version(view))
    alone = len(view.files.names(f"{PROC}/gpus")) == 1
    asks_version = branch is None or branch >= smi.VERSION_SINCE
    questions: list[tuple[str, ...]] = [smi.REMAPPED_COMMAND, smi.APPS_COMMAND]
    questions += [smi.query_command(smi.for_driver(fields, branch)) for fields in (smi.QUERY, smi.MORE)]
    questions.append(smi.VERSION_COMMAND if asks_version else smi.BANNER_COMMAND)
    view.start(*questions, *(() if alone else (smi.TOPOLOGY_COMMAND, smi.LINKS_COMMAND)), timeout=smi.SECONDS)
    devices, main = ask_smi(view, branch)
    results = [main]
    pairs = {}
    if not alone:
        results.append(smi.run_smi(view, smi.TOPOLOGY_COMMAND))
        pairs = smi.parse_topology(results[-1].stdout) if results[-1].ok else {}
    answer = DeviceAnswer(devices, links_of(pairs), driver_cuda(view, asks_version), results=results)
    answer.why = main.failure or lacking(main, devices, pairs, alone)
    if smi.cut_rows(main.stdout):
        told = {device.bus for device in devices}
        for device in devices_in_files(view):
            if device.bus not in told:
                device.index = device.package = len(devices)
                devices.append(device)
    answer.driver_version = file_version(view) or told_version(main)
    add_more(view, answer, branch, alone)
    answer.lost = {**smi.lost_rows(main.stdout), **smi.lost_gpus(results)}
    return answer


def lacking(main: CommandResult, devices: Sequence[Device], pairs: Sized, alone: bool) -> str:
    """What nvidia-smi did not tell although it ended well."""
    if not devices:
        return "no table"
    if cut := smi.cut_rows(main.stdout):
        return f"{cut} of its rows were cut off, and those GPUs are known by their files alone"
    whole = len(devices) * (len(devices) - 1) // 2
    told = not alone and 0 < len(pairs) < whole
    return f"its topology tells of {len(pairs)} of {whole} pairs" if told else ""


def told_version(result: CommandResult) -> str:
    """The driver's version in the answer of nvidia-smi, where no file tells it (WSL2)."""
    return next((v for row in smi.parse_table(result.stdout) if (v := known(row, "driver_version"))), "")


def file_version(view: NodeView) -> str:
    """The driver's version as its files tell it."""
    told = re.search(r"^NVRM version:.*?\s([0-9]{3,}\.[0-9.]+)\s", view.files.read_text(f"{PROC}/version") or "", re.M)
    return view.files.read_word("/sys/module/nvidia/version") or (told[1] if told else "")


def add_more(view: NodeView, answer: DeviceAnswer, branch: int | None, alone: bool) -> None:
    """What further questions tell of the GPUs, matched by PCI address."""
    by_bus = {device.bus: device for device in answer.devices}
    more = smi.ask(view, smi.for_driver(smi.MORE, branch))
    remapped, apps = smi.run_smi(view, smi.REMAPPED_COMMAND), smi.run_smi(view, smi.APPS_COMMAND)
    rows = smi.parse_table(more.stdout) + smi.parse_table(remapped.stdout, "gpu_bus_id")
    for row in rows:
        address = bus_name(row.get("pci.bus_id") or row.get("gpu_bus_id") or "")
        if address in by_bus:
            take_more(by_bus[address], row)
            if "gpu_bus_id" in row:
                tables = dict.fromkeys(("rows_remapped", "rows_pending", "rows_failed"), command(remapped))
                by_bus[address].sources.update(tables)
    for row in smi.parse_table(apps.stdout, "pid"):
        if (pid := row.get("pid", "")).isdecimal():
            answer.processes[int(pid)] = bus_name(row.get("gpu_bus_id", ""))
    if not alone:
        links = smi.run_smi(view, smi.LINKS_COMMAND)
        for device in answer.devices:
            device.nvlinks, device.nvlinks_down = smi.parse_links(links.stdout).get(device.index, (None, None))
            device.sources.update(dict.fromkeys(("nvlinks", "nvlinks_down"), command(links)))
    if any(device.mig == "Enabled" for device in answer.devices):
        listed = smi.run_smi(view, smi.LIST_COMMAND)
        answer.instances = smi.count_instances(listed.stdout) if listed.ok else None


def nvidia_probe(view: NodeView, interpreter: str) -> DeviceAnswer:
    """GPUs, links, and why a part of it is lacking.

    Raises `Absent` where nothing of NVIDIA is there, `ProbeFailed` where a driver is there and tells nothing.
    """
    if not present(view):
        raise Absent("no driver of NVIDIA")
    answer = from_nvml(view, interpreter) or from_smi(view)
    answer.devices = answer.devices or devices_in_files(view)
    state_faults(view, answer)
    if not answer.devices and view.files.exists(DXG):
        raise Absent("nvidia-smi tells of no GPU behind /dev/dxg")
    if not answer.devices:
        raise ProbeFailed(answer.why or "the driver shows no GPU")
    read_numa(view, answer.devices)
    state_driver(view, answer.links)
    return answer


def state_faults(view: NodeView, answer: DeviceAnswer) -> None:
    """Facts of GPUs that a tool could not open, and of a status with which it reports a fault."""
    for address, why in answer.lost.items():
        view.facts.observe("gpu.missing", f"nvidia-smi says: {why}", "nvidia-smi --query-gpu", detail=address)
    for result in answer.results:
        if result.rc in FAULTS:
            view.facts.observe("helper.status", result.rc, command(result), detail="nvidia-smi")
            words = " ".join((result.stderr or result.stdout).split())[:200]
            view.facts.observe("helper.says", words, command(result), detail="nvidia-smi")
            return


FAULTS = (8, 9, 10, 14, 15, 18)
"""Statuses of nvidia-smi that tell of a fault: no external power, a driver that does not answer, an interrupt problem,
a corrupted infoROM, a GPU that is lost (its manual page, "return value"), and a driver of another release than its
library (NVML_ERROR_LIB_RM_VERSION_MISMATCH)."""


def state_driver(view: NodeView, links: Iterable[Link]) -> None:
    """Facts of the driver's parameters, and of pairs of GPUs without NVLink."""
    parameters = parse_information(view.files.read_text(f"{PROC}/params") or "")
    if "NvLinkDisable" in parameters:
        view.facts.observe("gpu.nvlink_disabled", parameters["NvLinkDisable"] != "0", f"{PROC}/params")
    for link in links:
        if link.kind != "nvlink":
            detail = f"gpu {link.first} - gpu {link.second}"
            view.facts.observe("gpu.missing_link", link.name, "nvidia-smi topo -m", detail=detail)


def cuda_probe(view: NodeView, driver_cuda: str | None, source: str) -> Cuda:
    """The toolkit, and what the driver supports, as `source` told. Raises `Absent` where neither can be told."""
    cuda = Cuda(toolkit_version(view.files.read_text(TOOLKIT) or ""), driver_cuda)
    if cuda.toolkit is None and cuda.driver_cuda is None:
        raise Absent("no CUDA toolkit and no driver of NVIDIA")
    view.facts.observe_known("cuda.toolkit", cuda.toolkit, TOOLKIT)
    view.facts.observe_known("cuda.driver_cuda", cuda.driver_cuda, source)
    if cuda.toolkit:
        view.facts.component("CUDA toolkit", cuda.toolkit, TOOLKIT)
    return cuda


def toolkit_version(text: str) -> str | None:
    """The version of the CUDA SDK in /usr/local/cuda/version.json."""
    try:
        data = json.loads(text)
        return str(data["cuda"]["version"])
    except (ValueError, LookupError, TypeError, RecursionError):
        return None


def driver_cuda(view: NodeView, asks_version: bool = True) -> str | None:
    """The newest CUDA version that the driver supports: nvidia-smi --version, or of old drivers its plain heading."""
    if not asks_version:
        return smi.banner_cuda(smi.run_smi(view, smi.BANNER_COMMAND).stdout)
    result = smi.run_smi(view, smi.VERSION_COMMAND)
    told = parse_information(result.stdout)
    if version := told.get("NVIDIA-SMI version"):
        view.facts.observe("helper.version", version, command(result), detail="nvidia-smi")
    if result.ok or "Invalid" not in result.stdout + result.stderr:
        return told.get("CUDA Version") or None
    return smi.banner_cuda(smi.run_smi(view, smi.BANNER_COMMAND).stdout)
