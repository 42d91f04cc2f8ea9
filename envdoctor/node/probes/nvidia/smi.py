"""The words of nvidia-smi: what is asked, of which driver, and how its tables are read."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from envdoctor.node.probes.base import NodeView
from envdoctor.node.probes.runner import MISSING, CommandResult

PROC = "/proc/driver/nvidia"
QUERY = (
    "index,name,uuid,pci.bus_id,driver_version,vbios_version,mig.mode.current,compute_mode,persistence_mode,"
    "ecc.mode.current,memory.total,clocks.applications.graphics,clocks.max.sm,power.limit,compute_cap"
)
SHORT_QUERY = "index,name,pci.bus_id,vbios_version,persistence_mode,memory.total,clocks.max.sm,compute_cap"
"""For drivers that refuse several fields of `QUERY` (they drop deprecated ones) and then answer nothing at all."""
MORE = (
    "index,pci.bus_id,pcie.link.width.current,pcie.link.width.max,clocks.default_applications.graphics,"
    "power.default_limit,ecc.errors.uncorrected.volatile.total,retired_pages.double_bit.count,retired_pages.pending,"
    "fabric.state,fabric.status"
)
"""What is known of a GPU beyond what it is: what differs from its defaults, and its health."""
REMAPPED = "gpu_bus_id,remapped_rows.uncorrectable,remapped_rows.pending,remapped_rows.failure"
APPS = "gpu_bus_id,pid"
TOPOLOGY_COMMAND = ("nvidia-smi", "topo", "-m")
VERSION_COMMAND = ("nvidia-smi", "--version")
BANNER_COMMAND = ("nvidia-smi",)
LIST_COMMAND = ("nvidia-smi", "-L")
LINKS_COMMAND = ("nvidia-smi", "nvlink", "-s")
REMAPPED_COMMAND = ("nvidia-smi", f"--query-remapped-rows={REMAPPED}", "--format=csv")
APPS_COMMAND = ("nvidia-smi", f"--query-compute-apps={APPS}", "--format=csv")
BESIDE = "/usr/lib/wsl/lib/nvidia-smi"
"""Where WSL2 puts it, which is not on every PATH. docs.nvidia.com/cuda/wsl-user-guide."""
SECONDS = 2.5
"""Without persistence mode nvidia-smi wakes the GPUs first, which takes a second or two."""
SINCE = {"compute_cap": 495, "mig.mode.current": 450, "fabric.state": 535, "fabric.status": 535}
"""Field -> first driver branch that is asked for it: 470.82 refuses compute_cap (NVIDIA/TensorRT-LLM#735,
huggingface/candle#733), and a refused field costs the whole answer. MIG came with 450; from when on the fabric is told
is not known for certain: a refusal costs a second question, and no answer."""
VERSION_SINCE = 495
"""The same for the option --version, which 470 refuses; a later branch that refuses it is met by its answer."""
MOST_REFUSED = 3

_UNDERLINE = re.compile(r"\x1b\[[0-9;]*m")
_REFUSED = re.compile(r'Field "([\w.]+)" is not a valid field')
_LOST = re.compile(
    r"Unable to determine the device handle for GPU\s?(?:[0-9]+:\s)?"
    r"([0-9A-Fa-f]{4,8}:[0-9A-Fa-f:.]+[0-9A-Fa-f])\s*:\s*(\S.*)"
)


def query_command(fields: str) -> tuple[str, str, str]:
    """The command that asks for fields of every GPU."""
    return "nvidia-smi", f"--query-gpu={fields}", "--format=csv"


def for_driver(fields: str, branch: int | None) -> str:
    """The fields without those that a driver is known to refuse."""
    asked = fields.split(",")
    return ",".join(field for field in asked if branch is None or branch >= SINCE.get(field, 0))


def branch_of(version: str) -> int | None:
    """470 of 470.82.01."""
    match = re.match(r"([0-9]{3,})\.", version)
    return int(match[1]) if match else None


def run_smi(view: NodeView, command: Sequence[str]) -> CommandResult:
    """Run nvidia-smi, on WSL2 from where that puts it."""
    result = view.run(*command, timeout=SECONDS)
    if result.rc == MISSING and view.files.exists(BESIDE):
        return view.run(BESIDE, *command[1:], timeout=SECONDS)
    return result


def ask(view: NodeView, fields: str) -> CommandResult:
    """Ask for fields of every GPU, again without those that this driver refuses."""
    result = run_smi(view, query_command(fields))
    for _ in range(MOST_REFUSED):
        refused = _REFUSED.search(result.stdout + result.stderr)
        if not refused or refused[1] not in fields.split(","):
            break
        fields = ",".join(field for field in fields.split(",") if field != refused[1])
        answer = run_smi(view, query_command(fields))
        if answer.rc == MISSING:  # a recording that did not ask so
            break
        result = answer
    return result


def parse_table(text: str, key: str = "index") -> list[dict[str, str]]:
    """Rows of `--format=csv`, keyed by field; units in the heading are left out, and other lines before or after."""
    table = [[cell.strip() for cell in row] for row in csv.reader(text.splitlines())]
    start = next((n for n, row in enumerate(table) if key in (cell.split(" [")[0] for cell in row)), None)
    if start is None:
        return []
    fields = [cell.split(" [")[0] for cell in table[start]]
    return [dict(zip(fields, row, strict=True)) for row in table[start + 1 :] if len(row) == len(fields)]


def cut_rows(text: str) -> int:
    """Rows of a table that are not whole, as where an answer was cut off."""
    table = [row for row in csv.reader(text.splitlines()) if row]
    start = next((n for n, row in enumerate(table) if row[0].strip() == "index"), len(table))
    return sum(len(row) != len(table[start]) and row[0].strip().isdecimal() for row in table[start + 1 :])


def lost_gpus(results: Iterable[CommandResult]) -> dict[str, str]:
    """PCI address -> what nvidia-smi says of a GPU that it cannot open."""
    found: dict[str, str] = {}
    for result in results:
        for match in _LOST.finditer(result.stdout + "\n" + result.stderr):
            found.setdefault(bus_name(match[1]), " ".join(match[2].split()))
    return found


def lost_rows(text: str) -> dict[str, str]:
    """PCI address -> what nvidia-smi says, in place of values, of a GPU that it lists and that does not answer."""
    found = {}
    for row in parse_table(text):
        said = [cell for cell in row.values() if re.fullmatch(r"\[GPU (?:is lost|requires reset)\]", cell)]
        if said and row.get("pci.bus_id"):
            found[bus_name(row["pci.bus_id"])] = said[0].strip("[]")
    return found


def bus_name(text: str) -> str:
    """0000:18:00.0 of 00000000:18:00.0."""
    return re.sub(r"^0000(?=[0-9a-f]{4}:)", "", text.strip().lower())


def known(row: Mapping[str, Any], field: str) -> str | None:
    """A field of an answer; None where the GPU has no such thing or does not tell: such answers stand in brackets."""
    value = row.get(field)
    text = "" if value is None else str(value).strip()
    return None if text in ("", "N/A", "None", "null", "ERR!") or text.startswith("[") else text


def number(text: str | None) -> int | None:
    """The leading number of "81559 MiB"."""
    match = re.match(r"([0-9]+)(?:\.[0-9]+)?\b", text or "")
    return int(match[1]) if match else None


def parse_topology(text: str) -> dict[tuple[int, int], str]:
    """Pairs of GPUs of `nvidia-smi topo -m` -> NV18, SYS, ... The heading has escapes even in a pipe."""
    lines = [_UNDERLINE.sub("", line).split("\t") for line in text.splitlines()]
    heading = next((line for line in lines if "GPU0" in (cell.strip() for cell in line)), [])
    columns = [int(c.strip()[3:]) if re.fullmatch(r"GPU[0-9]+", c.strip()) else None for c in heading]
    pairs = {}
    for line in lines:
        name = re.fullmatch(r"GPU([0-9]+)", line[0].strip())
        for column, cell in zip(columns, line, strict=False):
            if name and column is not None and int(name[1]) < column and cell.strip():
                pairs[int(name[1]), column] = cell.strip()
    return pairs


def parse_links(text: str) -> dict[int, tuple[int, int]]:
    """GPU -> (active, inactive) NVLinks of `nvidia-smi nvlink -s`."""
    found: dict[int, list[int]] = {}
    gpu: list[int] = []
    for line in text.splitlines():
        if head := re.match(r"GPU ([0-9]+):", line):
            gpu = found.setdefault(int(head[1]), [0, 0])
        elif gpu and (link := re.match(r"\s+Link [0-9]+: (\S.*)", line)):
            gpu[0 if re.match(r"[0-9.]+ GB/s", link[1]) else 1] += 1
    return {index: (counts[0], counts[1]) for index, counts in found.items()}


def count_instances(text: str) -> int:
    """MIG instances that `nvidia-smi -L` lists."""
    return len(re.findall(r"^\s+MIG .*\(UUID: ", text, re.MULTILINE))


def banner_cuda(text: str) -> str | None:
    """The CUDA version in the heading of plain nvidia-smi, which every driver from 410 on prints."""
    match = re.search(r"CUDA Version: ([0-9]+\.[0-9]+)", text)
    return match[1] if match else None
