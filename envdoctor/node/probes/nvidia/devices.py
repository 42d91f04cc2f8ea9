"""GPUs of NVIDIA: the driver's files first, then NVML or nvidia-smi for what no file tells."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from envdoctor.node.probes.base import Absent, NodeView, ProbeFailed, command
from envdoctor.node.probes.children import NVML, child_argv
from envdoctor.node.probes.parts import Cuda, Device, Link, LinkKind

PROC = "/proc/driver/nvidia"
TOOLKIT = "/usr/local/cuda/version.json"
QUERY = (
    "index,name,uuid,pci.bus_id,driver_version,vbios_version,mig.mode.current,compute_mode,persistence_mode,"
    "ecc.mode.current,memory.total,clocks.applications.graphics,clocks.max.sm,power.limit,compute_cap"
)
QUERY_COMMAND = ("nvidia-smi", f"--query-gpu={QUERY}", "--format=csv")
TOPOLOGY_COMMAND = ("nvidia-smi", "topo", "-m")
VERSION_COMMAND = ("nvidia-smi", "--version")
SHORT_QUERY = "index,name,pci.bus_id,vbios_version,persistence_mode,memory.total,clocks.max.sm,compute_cap"
"""For drivers that refuse a field of `QUERY` (they drop deprecated ones) and then answer nothing at all."""
IN_FILES = {"name": "Model", "pci.bus_id": "Bus Location", "vbios_version": "Video BIOS"}
"""Field of a query -> key of the file `information`."""
UNKNOWN = {"", "[N/A]", "N/A", "[Not Supported]", "[Unknown Error]", "None", "null"}
SECONDS = 2.5
"""Without persistence mode nvidia-smi wakes the GPUs first, which takes a second or two."""

_UNDERLINE = re.compile(r"\x1b\[[0-9;]*m")


@dataclass(slots=True)
class DeviceAnswer:
    """What NVML or nvidia-smi tells. `why`: why they tell less than they could."""

    devices: list[Device]
    links: list[Link]
    driver_cuda: str | None = None
    why: str = ""


def present(view: NodeView) -> bool:
    """Whether there is anything of NVIDIA's driver on the node."""
    return any(view.files.exists(p) for p in (f"{PROC}/version", "/sys/module/nvidia/version", "/dev/nvidiactl"))


def bus_name(text: str) -> str:
    """0000:18:00.0 of 00000000:18:00.0."""
    return re.sub(r"^0000(?=[0-9a-f]{4}:)", "", text.strip().lower())


def parse_information(text: str) -> dict[str, str]:
    """`Key: <tabs> value` lines of /proc/driver/nvidia/gpus/<bus>/information."""
    pairs = (line.partition(":") for line in text.splitlines())
    return {key.strip(): value.strip() for key, colon, value in pairs if colon}


def parse_query(text: str) -> list[dict[str, str]]:
    """Rows of `nvidia-smi --query-gpu --format=csv`, keyed by field; units in the heading are left out."""
    table = [[cell.strip() for cell in row] for row in csv.reader(text.splitlines())]
    if not table or "index" not in table[0]:
        return []
    fields = [cell.split(" [")[0] for cell in table[0]]
    return [dict(zip(fields, row, strict=True)) for row in table[1:] if len(row) == len(fields)]


def parse_topology(text: str) -> dict[tuple[int, int], str]:
    """Pairs of GPUs of `nvidia-smi topo -m` -> NV18, SYS, ... The heading has escapes even in a pipe."""
    lines = [_UNDERLINE.sub("", line).split("\t") for line in text.splitlines()]
    heading = next((line for line in lines if "GPU0" in (cell.strip() for cell in line)), [])
    columns = [int(c.strip()[3:]) if re.fullmatch(r"GPU[0-9]+", c.strip()) else None for c in heading]
    pairs = {}
    for line in lines:
        name = re.fullmatch(r"GPU([0-9]+)", line[0].strip())
        for column, cell in zip(columns, line, strict=False):
            if name and column is not None and int(name[1]) < column:
                pairs[int(name[1]), column] = cell.strip()
    return pairs


def number(text: str | None) -> int | None:
    """The leading number of "81559 MiB"."""
    match = re.match(r"([0-9]+)(?:\.[0-9]+)?\b", text or "")
    return int(match[1]) if match else None


def known(row: Mapping[str, Any], field: str) -> str | None:
    """A field of an answer; None where the GPU has no such thing."""
    value = row.get(field)
    return None if value is None or str(value).strip() in UNKNOWN else str(value).strip()


def device_of(index: int, row: Mapping[str, Any], source: str) -> Device:
    """The GPU of a row of NVML or nvidia-smi."""
    capability = known(row, "compute_cap")
    memory, persistence = number(known(row, "memory.total")), known(row, "persistence_mode")
    return Device(
        index, "nvidia",
        arch=f"sm_{capability.replace('.', '')}" if capability else "",
        name=known(row, "name") or "",
        bus=bus_name(known(row, "pci.bus_id") or ""),
        package=index,
        memory_bytes=None if memory is None else memory << 20,
        vbios=known(row, "vbios_version"),
        mig=known(row, "mig.mode.current"),
        compute_mode=known(row, "compute_mode"),
        persistence=None if persistence is None else persistence == "Enabled",
        max_clock_mhz=number(known(row, "clocks.max.sm")),
        source=source,
    )  # fmt: skip


def devices_in_files(view: NodeView) -> list[Device]:
    """GPUs below /proc/driver/nvidia/gpus, without those that the driver leaves out."""
    devices: list[Device] = []
    for folder in view.files.paths(f"{PROC}/gpus"):
        path = f"{folder}/information"
        told = parse_information(view.files.read_text(path) or "")
        row = {field: told.get(key) for field, key in IN_FILES.items()}
        if told and told.get("GPU Excluded") != "Yes":
            devices.append(device_of(len(devices), row, path))
    return devices


def ask_smi(view: NodeView) -> tuple[list[Device], str]:
    """GPUs as nvidia-smi tells them, and why there are none."""
    result = view.run(*QUERY_COMMAND)
    if "not a valid field" in result.stdout + result.stderr:
        result = view.run("nvidia-smi", f"--query-gpu={SHORT_QUERY}", "--format=csv", timeout=SECONDS)
    if not result.ok:
        return [], result.failure
    found = parse_query(result.stdout)
    return [device_of(i, row, "nvidia-smi --query-gpu") for i, row in enumerate(found)], "" if found else "no table"


def ask_nvml(view: NodeView, interpreter: str) -> Mapping[str, Any]:
    """NVML's report through nvidia-ml-py in a child; {} where that did not work."""
    result = view.run(*child_argv(interpreter, NVML), timeout=SECONDS)
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
    devices = [device_of(index, row, "NVML") for index, row in enumerate(rows)]
    return DeviceAnswer(devices, links_of(peers_of(rows)), known(report, "cuda_version")) if devices else None


def from_smi(view: NodeView) -> DeviceAnswer:
    """What nvidia-smi tells, all questions side by side: each waits for the driver."""
    alone = len(view.files.names(f"{PROC}/gpus")) == 1
    view.start(QUERY_COMMAND, VERSION_COMMAND, *(() if alone else (TOPOLOGY_COMMAND,)), timeout=SECONDS)
    devices, why = ask_smi(view)
    result = view.run(*TOPOLOGY_COMMAND) if not alone else None
    pairs = parse_topology(result.stdout) if result and result.ok else {}
    return DeviceAnswer(devices, links_of(pairs), driver_cuda(view), why)


def nvidia_probe(view: NodeView, interpreter: str) -> DeviceAnswer:
    """GPUs, links, and why a part of it is lacking.

    Raises `Absent` where nothing of NVIDIA is there, `ProbeFailed` where a driver is there and tells nothing.
    """
    if not present(view):
        raise Absent("no driver of NVIDIA")
    answer = from_nvml(view, interpreter) or from_smi(view)
    answer.devices = answer.devices or devices_in_files(view)
    if not answer.devices:
        raise ProbeFailed(answer.why or "the driver shows no GPU")
    read_numa(view, answer.devices)
    state_driver(view, answer.links)
    return answer


def state_driver(view: NodeView, links: Iterable[Link]) -> None:
    """Facts of the driver's parameters, and pairs of GPUs without NVLink where others have it."""
    parameters = parse_information(view.files.read_text(f"{PROC}/params") or "")
    if "NvLinkDisable" in parameters:
        view.facts.observe("gpu.nvlink_disabled", parameters["NvLinkDisable"] != "0", f"{PROC}/params")
    pairs = list(links)
    for link in pairs if any(link.kind == "nvlink" for link in pairs) else ():
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


def driver_cuda(view: NodeView) -> str | None:
    """The newest CUDA version that the driver supports, from nvidia-smi."""
    result = view.run(*VERSION_COMMAND, timeout=SECONDS)
    told = parse_information(result.stdout)
    if version := told.get("NVIDIA-SMI version"):
        view.facts.observe("helper.version", version, command(result), detail="nvidia-smi")
    return told.get("CUDA Version") or None
