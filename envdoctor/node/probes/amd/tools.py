"""Optional helpers of AMD: rocminfo, amd-smi, rocm-smi. What the kernel's files say comes first; that a helper is
missing, hangs or prints garbage is a fact, and nothing depends on it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from envdoctor.node.probes.base import Absent, NodeView, ProbeFailed, command, same
from envdoctor.node.probes.parts import Device, Driver, Gpu
from envdoctor.node.probes.runner import MISSING, CommandResult

SECONDS = 5.0
"""On 8 GPUs rocminfo and the Python tools answer in one or two seconds."""
PLAIN_VERSION = re.compile(r"[0-9]+(?:\.[0-9]+)+(?:[-+][\w.]*)?$")
"""amd-smi prints a squeezed kernel banner for the in-kernel driver (ROCm/k8s-device-plugin#157): no version."""


def run_tool(view: NodeView, name: str, *arguments: str) -> CommandResult:
    """Run a helper of ROCm, which is often not on PATH."""
    result = view.run(name, *arguments, timeout=SECONDS)
    if result.rc == MISSING and view.files.live:
        folders = ["/opt/rocm", *view.files.paths("/opt/rocm", "core*")]
        beside = [f"{folder}/bin/{name}" for folder in folders if view.files.exists(f"{folder}/bin/{name}")]
        return view.run(beside[0], *arguments, timeout=SECONDS) if beside else result
    return result


def json_of(result: CommandResult) -> Any:
    """The JSON that a helper printed. Raises `Absent` where the helper is missing, `ProbeFailed` for a failure."""
    if result.rc == MISSING:
        raise Absent(result.failure)
    if not result.ok:
        raise ProbeFailed(result.failure)
    try:
        return json.loads(result.stdout)
    except (ValueError, RecursionError):
        raise ProbeFailed(f"{command(result)} printed no JSON") from None


def rows(data: Any) -> list[dict[str, Any]]:
    """The objects of an amd-smi answer, which from 7.x is wrapped in {"gpu_data": [...]} (ROCm/amdsmi#134)."""
    if isinstance(data, dict):
        data = data.get("gpu_data", [data])
    return [row for row in data if isinstance(row, dict)] if isinstance(data, list) else []


def parse_agents(text: str) -> list[str]:
    """Names of the GPU agents that rocminfo lists (gfx942, ...), in order."""
    names = []
    for agent in re.split(r"^Agent\s+[0-9]+\s*$", text, flags=re.MULTILINE)[1:]:
        name = re.search(r"^  Name:\s+(\S.*?)\s*$", agent, re.MULTILINE)
        if name and re.search(r"^  Device Type:\s+GPU\s*$", agent, re.MULTILINE):
            names.append(name[1])
    return names


def devices_of(agents: Sequence[str]) -> list[Device]:
    """GPUs of which only rocminfo tells, as on WSL2."""
    return [Device(i, "amd", arch=name, package=i, source="rocminfo") for i, name in enumerate(agents)]


def rocminfo_probe(view: NodeView, gpu: Gpu) -> list[str]:
    """The architecture that the HSA runtime reports: another than KFD's shows HSA_OVERRIDE_GFX_VERSION at work.

    Returns the names of all GPUs that it lists.
    """
    result = run_tool(view, "rocminfo")
    if result.rc == MISSING:
        raise Absent(result.failure)
    if not result.ok:
        raise ProbeFailed(rocminfo_failure(result))
    agents = parse_agents(result.stdout)
    gpu.arch_reported_by_hsa = same(agents)
    view.facts.observe_known("gpu.arch_reported_by_hsa", gpu.arch_reported_by_hsa, "rocminfo")
    return agents


def rocminfo_failure(result: CommandResult) -> str:
    """Why rocminfo failed: it explains itself on its standard output."""
    told = re.search(r"^Unable to open \S+ .*$", result.stdout, re.MULTILINE)
    return f"rocminfo: {told[0].strip()}" if told else result.failure


def amd_smi_probe(view: NodeView, driver: Driver | None) -> None:
    """Versions that amd-smi prints."""
    result = run_tool(view, "amd-smi", "version", "--json")
    found = rows(json_of(result))
    if not found:
        raise ProbeFailed(f"{command(result)} printed other JSON than it should")
    for key, name in (("version", "helper.version"), ("rocm_version", "helper.rocm_version")):
        if isinstance(value := found[0].get(key), str) and PLAIN_VERSION.match(value):
            view.facts.observe(name, value, command(result), detail="amd-smi")
    told = found[0].get("amdgpu_version")
    if driver and driver.version and isinstance(told, str) and PLAIN_VERSION.match(told) and told != driver.version:
        view.facts.observe("helper.disagrees", told, command(result), detail="driver.version")


def rocm_smi_probe(view: NodeView, devices: Sequence[Device]) -> None:
    """Performance level and partitions from rocm-smi, only where the kernel's files did not tell."""
    if all(device.perf_level for device in devices):
        raise Absent("not needed: the kernel's files tell")
    for option, field, key in QUESTIONS:
        fill(view, devices, run_tool(view, "rocm-smi", option, "--json"), field, key)


QUESTIONS = (
    ("--showperflevel", "perf_level", "Performance Level"),
    ("--showcomputepartition", "compute_partition", "Compute Partition"),
    ("--showmemorypartition", "memory_partition", "Memory Partition"),
)
"""Option of rocm-smi, field of a device, key of the answer {"card0": {key: value}}."""


def fill(view: NodeView, devices: Sequence[Device], result: CommandResult, field: str, key: str) -> None:
    """Take over one answer of rocm-smi where all cards give the same: its order of cards need not be KFD's."""
    answer = json_of(result)
    cards = answer.values() if isinstance(answer, dict) else ()
    value = same([card[key] for card in cards if isinstance(card, dict) and isinstance(card.get(key), str)])
    for device in devices:
        if value not in (None, "mixed") and not getattr(device, field):
            setattr(device, field, value)
            device.sources[field] = command(result)
