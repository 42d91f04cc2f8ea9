"""Every fact of NVIDIA GPUs that `envdoctor live` states, against nvidia-smi's own report, as one command.

    python3 tests/gpu/check_facts.py --out FOLDER

nvidia-smi is asked in another way than the probes ask it (`-q -x`), and both ways of the probes, NVML and nvidia-smi, are
held against it. Prints one line a check. Exit status: 0 all hold, 1 one does not. Needs at least one GPU; torch for a part.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

ROOT = Path(__file__).parent.parent.parent
sys.path.insert(0, str(ROOT))

from envdoctor.node.probes.base import Facts, NodeView  # noqa: E402
from envdoctor.node.probes.files import NodeFiles  # noqa: E402
from envdoctor.node.probes.nvidia import devices as nvidia  # noqa: E402
from envdoctor.node.probes.parts import Device  # noqa: E402
from envdoctor.node.probes.process import read_environment  # noqa: E402
from envdoctor.node.probes.runner import SystemRunner  # noqa: E402
from envdoctor.node.probes.torch import pythons  # noqa: E402

Read = Callable[[str], Any]
failed: list[str] = []


def holds(what: str, fact: object, more: object = "") -> None:
    """One line a check."""
    print(f"{'ok  ' if fact else 'FAIL'} {what}{'' if fact else f': {more}'}", flush=True)
    if not fact:
        failed.append(what)


def run(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """One command."""
    env = {**os.environ, "PYTHONPATH": f"{ROOT}:{os.environ.get('PYTHONPATH', '')}", **environment}
    return subprocess.run(words, cwd=ROOT, env=env, capture_output=True, text=True, timeout=300, check=False)


def number(text: str) -> int | None:
    """16 of "16x", 700 of "700.00 W"."""
    match = re.match(r"([0-9]+)", text)
    return int(match[1]) if match else None


def yes(text: str) -> bool | None:
    """Words of nvidia-smi for a fact."""
    return {"Yes": True, "No": False, "1": True, "0": False}.get(text)


def word(text: str) -> str | None:
    """A word; None where the GPU has no such thing."""
    return None if text in ("", "N/A") or text.startswith("[") else text


WHERE: dict[str, tuple[tuple[str, ...], Read]] = {
    "name": (("product_name",), word),
    "vbios": (("vbios_version",), word),
    "ecc": (("ecc_mode/current_ecc",), word),
    "compute_mode": (("compute_mode",), word),
    "mig": (("mig_mode/current_mig",), word),
    "persistence": (("persistence_mode",), lambda text: {"Enabled": True, "Disabled": False}.get(text)),
    "link_width": (("pci/pci_gpu_link_info/link_widths/current_link_width",), number),
    "max_link_width": (("pci/pci_gpu_link_info/link_widths/max_link_width",), number),
    "max_clock_mhz": (("max_clocks/sm_clock",), number),
    "clock_mhz": (("applications_clocks/graphics_clock",), number),
    "default_clock_mhz": (("default_applications_clocks/graphics_clock",), number),
    "power_limit_w": (("gpu_power_readings/current_power_limit", "power_readings/power_limit"), number),
    "default_power_w": (("gpu_power_readings/default_power_limit", "power_readings/default_power_limit"), number),
    "rows_remapped": (("remapped_rows/remapped_row_unc",), number),
    "rows_pending": (("remapped_rows/remapped_row_pending",), yes),
    "rows_failed": (("remapped_rows/remapped_row_failure",), yes),
    "pages_retired": (("retired_pages/double_bit_retirement/retired_count",), number),
    "pages_pending": (("retired_pages/pending_retirement", "retired_pages/pending_blacklist"), yes),
}
"""Field of a device -> where nvidia-smi -q -x has it, and how its text is read."""


def xml_gpus() -> list[ElementTree.Element]:
    """The GPUs of nvidia-smi -q -x."""
    return ElementTree.fromstring(run("nvidia-smi", "-q", "-x").stdout).findall("gpu")


def text_of(gpu: ElementTree.Element, paths: tuple[str, ...]) -> str:
    """The text of the first path that is there."""
    return next((found.strip() for path in paths if (found := gpu.findtext(path)) is not None), "")


def compare(devices: list[Device], gpus: list[ElementTree.Element], how: str) -> None:
    """Each field of each device. A way that does not tell a field is named, and no failure."""
    holds(f"{how}: number of GPUs", len(devices) == len(gpus), (len(devices), len(gpus)))
    for device, gpu in zip(devices, gpus, strict=False):
        bus = re.sub(r"^0000(?=[0-9a-f]{4}:)", "", gpu.findtext("pci/pci_bus_id", "").lower())
        holds(f"{how}: {device.label} address", device.bus == bus, (device.bus, bus))
        total = number(gpu.findtext("fb_memory_usage/total", ""))
        holds(f"{how}: {device.label} memory", device.memory_bytes == (total or 0) << 20, (device.memory_bytes, total))
        silent = []
        for field, (paths, read) in WHERE.items():
            wanted, told = read(text_of(gpu, paths)), getattr(device, field)
            if told is None and wanted is not None:
                silent.append(field)
            elif wanted is not None:
                holds(f"{how}: {device.label} {field} = {told}", told == wanted, wanted)
        print(f"     {how}: {device.label} tells no {', '.join(silent)}" if silent else "", flush=True)
        fabric = ", ".join(filter(None, [word(text_of(gpu, (f"fabric/{part}",))) for part in ("state", "status")]))
        holds(f"{how}: {device.label} fabric = {device.fabric}", device.fabric in (None, fabric or None), fabric)


def node_view() -> NodeView:
    """This machine, as the probes see it."""
    files = NodeFiles(Path("/"))
    view = NodeView(files, SystemRunner(), Facts(), environment=read_environment(files, "/proc/self"))
    view.site_packages = pythons.site_packages(view, sys.executable)
    return view


def ways(gpus: list[ElementTree.Element]) -> None:
    """NVML and nvidia-smi, each against the report."""
    view = node_view()
    begin = time.monotonic()
    answer = nvidia.from_smi(view)
    print(f"     nvidia-smi took {time.monotonic() - begin:.2f} s, all questions side by side")
    compare(answer.devices, gpus, "nvidia-smi")
    pids = {
        int(p.findtext("pid", "0")) for gpu in gpus for p in gpu.iter("process_info") if "C" in p.findtext("type", "")
    }
    holds("nvidia-smi: processes", set(answer.processes) == pids, (answer.processes, pids))
    holds("nvidia-smi: none is lost", not answer.lost and not answer.why, (answer.lost, answer.why))
    links = run("nvidia-smi", "nvlink", "-s").stdout
    active = len(re.findall(r"Link [0-9]+: [0-9.]+ GB/s", links))
    told = sum(device.nvlinks or 0 for device in answer.devices)
    holds(f"nvidia-smi: {told} active NVLinks", told == active or len(gpus) == 1, active)
    interpreter = pythons.interpreter_with(view.files, view.site_packages, "pynvml.py")
    if not interpreter:
        print("     NVML: no interpreter here has nvidia-ml-py (pip install nvidia-ml-py to compare it too)")
        return
    begin = time.monotonic()
    by_nvml = nvidia.from_nvml(node_view(), interpreter)
    print(f"     NVML took {time.monotonic() - begin:.2f} s")
    holds("NVML answers", by_nvml is not None)
    if by_nvml is not None:
        compare(by_nvml.devices, gpus, "NVML")
        holds("NVML: CUDA of the driver", by_nvml.driver_cuda == answer.driver_cuda, by_nvml.driver_cuda)
        holds("NVML: none is lost", not by_nvml.lost, by_nvml.lost)
        kinds = [{(k.first, k.second): k.kind for k in one.links} for one in (answer, by_nvml)]
        holds("NVML: links as nvidia-smi topo -m", len(gpus) == 1 or kinds[0] == kinds[1], kinds)


def live(out: Path, name: str, *words: str, **environment: str) -> tuple[dict[str, Any], float, int]:
    """(report, seconds, status) of envdoctor live."""
    begin = time.monotonic()
    result = run(sys.executable, "-m", "envdoctor", "live", "--format", "json", *words, **environment)
    seconds = time.monotonic() - begin
    (out / f"{name}.json").write_text(result.stdout)
    (out / f"{name}.err").write_text(result.stderr)
    return json.loads(result.stdout or "{}"), seconds, result.returncode


def values(report: dict[str, Any], key: str) -> list[Any]:
    """Values of an observation."""
    return [o["value"] for o in report.get("details", {}).get("observations", []) if o["key"] == key]


def rules(report: dict[str, Any]) -> set[str]:
    """Names of the rules that speak."""
    return {finding["name"] for finding in report.get("findings", [])}


def commands(out: Path, count: int) -> None:
    """The command as a prolog and a user run it."""
    live(out, "warm", "--no-torch")
    report, seconds, _ = live(out, "files", "--no-torch")
    holds(f"--no-torch took {seconds:.2f} s, under a second", seconds < 1.0)
    holds("GPUs on the PCI bus", sum(values(report, "gpu.on_bus")) >= count, values(report, "gpu.on_bus"))
    holds("none is missing", not values(report, "gpu.missing"), values(report, "gpu.missing"))
    slow = sorted(report["details"]["probes"], key=lambda probe: -probe["seconds"])[:4]
    print("     slowest:", ", ".join(f"{p['name']} {p['seconds']:.2f} s" for p in slow))
    held, _, _ = live(out, "expected", "--no-torch", "--gpus", str(count))
    holds("--gpus with the right number is silent", "missing-gpu" not in rules(held))
    more, _, status = live(out, "more", "--no-torch", "--gpus", str(count + 1))
    holds("--gpus with one more is a finding, status 1", "missing-gpu" in rules(more) and status == 1)
    masked, _, _ = live(out, "masked", "--no-torch", CUDA_VISIBLE_DEVICES="0")
    holds("a mask hides the others", count == 1 or values(masked, "gpu.visible") == [1], values(masked, "gpu.visible"))
    quiet = rules(masked) & {"unequal-gpus", "missing-link"}
    holds("what is hidden is not judged", not quiet, quiet)
    whole, _, _ = live(out, "torch", "--no-smoke", "--record", str(out / "record"))
    archs = set(values(whole, "torch.arch"))
    holds("architecture as torch says it", not archs or archs <= set(values(whole, "gpu.device.arch")), archs)
    again, _, _ = live(out, "recorded", "--recorded", str(out / "record"))
    holds("the record gives the same node", again.get("node") == whole.get("node"))
    kept = (out / "record").rglob("*dmesg*")
    holds("a record keeps no line of the kernel's log but faults", all(safe(path.read_text()) for path in kept))


def safe(text: str) -> bool:
    """Whether each line begins with what a probe looks for."""
    return all(line.startswith(("NVRM: Xid", "amdgpu", "dmesg:")) for line in text.splitlines())


def main() -> int:
    """Every check."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, required=True)
    out = parser.parse_args().out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    gpus = xml_gpus()
    holds(f"nvidia-smi -q -x tells of {len(gpus)} GPUs", gpus)
    (out / "nvidia-smi.xml").write_text(run("nvidia-smi", "-q", "-x").stdout)
    ways(gpus)
    commands(out, len(gpus))
    print(f"failed: {failed}")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
