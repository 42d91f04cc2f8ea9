"""GPUs of NVIDIA: the driver's files, nvidia-smi, NVML through a child, CUDA."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from node_helpers import Answers, by_detail, failed, observed, view_of
from recorded import folder_of

from envdoctor.node.probes.base import Absent, ProbeFailed
from envdoctor.node.probes.children import NVML, child_argv
from envdoctor.node.probes.nvidia import devices as nvidia
from envdoctor.node.probes.nvidia import smi
from envdoctor.node.probes.parts import Link
from envdoctor.node.probes.runner import SystemRunner

DRIVER = {"/proc/driver/nvidia/version": "NVRM version: x\n"}
HEAD = "index, name, pci.bus_id, mig.mode.current, persistence_mode, memory.total [MiB], clocks.max.sm [MHz], "
HEAD += "compute_cap\n"
ROW = "{0}, NVIDIA H100 80GB HBM3, 00000000:{1}:00.0, Disabled, {2}, 81559 MiB, 1980 MHz, 9.0\n"


def answers(query: object, topology: object = failed(), version: object = failed()) -> Answers:
    return Answers({"nvidia-smi --query": query, "nvidia-smi topo": topology, "nvidia-smi --version": version})  # type: ignore[dict-item]


def information(bus: str, **more: str) -> dict[str, str]:
    told = {"Model": "NVIDIA H100", "Bus Location": bus, "GPU Excluded": "No", "Video BIOS": "96.00", **more}
    text = "".join(f"{key}: \t\t {value}\n" for key, value in told.items())
    return {f"/proc/driver/nvidia/gpus/{bus}/information": text}


def test_a_query(tmp_path: Path) -> None:
    view = view_of(
        tmp_path, DRIVER, runner=answers(HEAD + ROW.format(0, "18", "Enabled") + ROW.format(1, "2A", "Disabled"))
    )
    devices = nvidia.nvidia_probe(view, "").devices
    assert [(d.index, d.arch, d.bus, d.persistence) for d in devices] == [
        (0, "sm_90", "0000:18:00.0", True),
        (1, "sm_90", "0000:2a:00.0", False),
    ]
    assert (devices[0].memory_bytes, devices[0].max_clock_mhz, devices[0].mig) == (81559 << 20, 1980, "Disabled")


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("", 0),
        ("No devices were found\n", 0),
        (HEAD, 0),
        (HEAD + "0, too, short\n", 0),
        (HEAD + ROW.format(0, "18", "Enabled") + "garbage\n", 1),
    ],
)
def test_queries_of_bad_shape(text: str, rows: int) -> None:
    assert len(smi.parse_table(text)) == rows


@given(st.text())
def test_any_query_and_topology(text: str) -> None:
    smi.parse_table(text)
    smi.parse_topology(text)


def test_fields_that_a_gpu_does_not_have(tmp_path: Path) -> None:
    row = "0, Tesla V100, 00000000:18:00.0, [N/A], [Not Supported], [Unknown Error], [N/A], 7.0\n"
    device = nvidia.nvidia_probe(view_of(tmp_path, DRIVER, runner=answers(HEAD + row)), "").devices[0]
    assert (device.arch, device.mig, device.persistence, device.memory_bytes) == ("sm_70", None, None, None)


def test_a_driver_that_refuses_a_field_is_asked_for_less(tmp_path: Path) -> None:
    answers = Answers({
        f"nvidia-smi --query-gpu={smi.QUERY}": failed(2, stdout='Field "clocks.x" is not a valid field to query.\n'),
        f"nvidia-smi --query-gpu={smi.SHORT_QUERY}": HEAD + ROW.format(0, "18", "Enabled"),
    })  # fmt: skip
    assert len(nvidia.nvidia_probe(view_of(tmp_path, DRIVER, runner=answers), "").devices) == 1


def test_without_nvidia_smi_the_files_tell(tmp_path: Path) -> None:
    files = DRIVER | information("0000:18:00.0") | information("0000:2a:00.0", **{"GPU Excluded": "Yes"})
    files |= {"/sys/bus/pci/devices/0000:18:00.0/numa_node": "1\n"}
    answer = nvidia.nvidia_probe(view_of(tmp_path, files), "")
    assert [(d.bus, d.name, d.arch, d.numa_node) for d in answer.devices] == [("0000:18:00.0", "NVIDIA H100", "", 1)]
    assert answer.why == "nvidia-smi is not here"


@pytest.mark.parametrize(
    ("query", "why"),
    [
        (failed(0, timed_out=True), "did not answer in time"),
        (failed(9, stderr="NVIDIA-SMI has failed because it could not communicate with the driver"), "communicate"),
        ("garbage", "no table"),
    ],
)
def test_a_driver_that_does_not_answer(tmp_path: Path, query: object, why: str) -> None:
    with pytest.raises(ProbeFailed, match=why):
        nvidia.nvidia_probe(view_of(tmp_path, DRIVER, runner=answers(query)), "")


def test_no_driver_and_no_command_is_run(tmp_path: Path) -> None:
    runner = Answers()
    with pytest.raises(Absent):
        nvidia.nvidia_probe(view_of(tmp_path, runner=runner), "")
    assert runner.asked == []


TOPOLOGY = "\t\x1b[4mGPU0\tGPU1\tGPU2\tNIC0\tCPU Affinity\x1b[0m\n"
TOPOLOGY += "GPU0\t X \tNV18\tSYS\tPIX\t0-47\nGPU1\tNV18\t X \tNV18\nGPU2\tSYS\tNV18\t X \nNIC0\tPIX\n"


def test_topology() -> None:
    assert smi.parse_topology(TOPOLOGY) == {(0, 1): "NV18", (0, 2): "SYS", (1, 2): "NV18"}


def test_a_pair_without_nvlink(tmp_path: Path) -> None:
    rows = "".join(ROW.format(i, bus, "Enabled") for i, bus in enumerate(("18", "2A", "3A")))
    view = view_of(tmp_path, DRIVER, runner=answers(HEAD + rows, TOPOLOGY))
    answer = nvidia.nvidia_probe(view, "")
    assert nvidia.all_nvlink(3, answer.links) is False
    assert by_detail(view.facts, "gpu.missing_link") == {"gpu 0 - gpu 2": "SYS"}


def test_a_node_without_any_nvlink_lacks_it_everywhere(tmp_path: Path) -> None:
    rows = "".join(ROW.format(i, bus, "Enabled") for i, bus in enumerate(("18", "2A", "3A")))
    view = view_of(tmp_path, DRIVER, runner=answers(HEAD + rows, TOPOLOGY.replace("NV18", "PHB")))
    assert nvidia.all_nvlink(3, nvidia.nvidia_probe(view, "").links) is False
    assert observed(view.facts, "gpu.missing_link") == ["PHB", "SYS", "PHB"]


@pytest.mark.parametrize(
    ("count", "links", "answer"),
    [(1, [], None), (2, [], None), (2, [Link(0, 1, "nvlink")], True), (3, [Link(0, 1, "nvlink")], None)],
)
def test_all_nvlink_needs_every_pair(count: int, links: list[Link], answer: bool | None) -> None:
    assert nvidia.all_nvlink(count, links) is answer


def test_driver_parameters(tmp_path: Path) -> None:
    files = DRIVER | information("0000:18:00.0") | {"/proc/driver/nvidia/params": 'NvLinkDisable: 1\nRmMsg: ""\n'}
    view = view_of(tmp_path, files)
    nvidia.nvidia_probe(view, "")
    assert observed(view.facts, "gpu.nvlink_disabled") == [True]


PYNVML = """
class NVMLError(Exception): pass
class Pci: busId = {bus}
class Memory: total = 85520809984
def nvmlInit():
    if {broken}: raise NVMLError("Driver Not Loaded")
def nvmlDeviceGetCount(): return 2
def nvmlDeviceGetHandleByIndex(i): return i
def nvmlSystemGetDriverVersion(): return {driver}
def nvmlSystemGetCudaDriverVersion(): return 12040
def nvmlDeviceGetName(h): return {name}
def nvmlDeviceGetPciInfo(h): return Pci()
def nvmlDeviceGetCudaComputeCapability(h): return (9, 0)
def nvmlDeviceGetMigMode(h): raise NVMLError("Not Supported")
def nvmlDeviceGetPersistenceMode(h): return 1
def nvmlDeviceGetComputeMode(h): return 3
def nvmlDeviceGetMemoryInfo(h): return Memory()
def nvmlDeviceGetMaxClockInfo(h, which): return 1980
def nvmlDeviceGetP2PStatus(a, b, what): return 0 if what == 2 else 1
"""
NEW: dict[str, Any] = {"bus": '"00000000:18:00.0"', "driver": '"550.90.07"', "name": '"NVIDIA H100"', "broken": "False"}
OLD = {key: f"b{value}" if value.startswith('"') else value for key, value in NEW.items()}


def nvml(folder: Path, source: str) -> Any:
    (folder / "pynvml.py").write_text(source)
    runner = SystemRunner({"PYTHONPATH": str(folder)})
    return json.loads(runner.run(child_argv(sys.executable, NVML), 30).stdout)


@pytest.mark.parametrize("words", [NEW, OLD], ids=["strings", "bytes"])
def test_the_nvml_child(tmp_path: Path, words: dict[str, str]) -> None:
    report = nvml(tmp_path, PYNVML.format(**words))
    assert (report["driver_version"], report["cuda_version"]) == ("550.90.07", "12.4")
    assert [(d["name"], d["nvlink_peers"], d["mig.mode.current"]) for d in report["devices"]] == [
        ("NVIDIA H100", [1], None),
        ("NVIDIA H100", [0], None),
    ]
    assert {d["compute_mode"] for d in report["devices"]} == {"Exclusive_Process"}


@pytest.mark.parametrize(
    ("why", "lost"), [("GPU is lost", {"index 1": "GPU is lost"}), ("Insufficient Permissions", {})]
)
def test_the_nvml_child_tells_of_gpus_that_it_cannot_open(tmp_path: Path, why: str, lost: dict[str, str]) -> None:
    source = PYNVML.format(**NEW).replace(
        "def nvmlDeviceGetHandleByIndex(i): return i",
        f"def nvmlDeviceGetHandleByIndex(i):\n    if i: raise NVMLError('{why}')\n    return i",
    )
    report = nvml(tmp_path, source)
    assert (len(report["devices"]), report["lost"]) == (1, lost)
    runner = Answers({"/bin/python -c": json.dumps(report)})
    view = view_of(tmp_path / "root", DRIVER, runner=runner)
    nvidia.nvidia_probe(view, "/bin/python")
    assert list(by_detail(view.facts, "gpu.missing")) == list(lost)


MORE = """
class App: pid = 4711
def nvmlDeviceGetUUID(h): return "GPU-1"
def nvmlDeviceGetEccMode(h): return [1, 1]
def nvmlDeviceGetTotalEccErrors(h, kind, counter): return 2 if (kind, counter) == (1, 0) else 99
def nvmlDeviceGetRemappedRows(h): return (5, 1, True, False)
def nvmlDeviceGetNvLinkState(h, link):
    if link > 11: raise NVMLError("Invalid Argument")
    return int(link != 3)
def nvmlDeviceGetPowerManagementLimit(h): return 300000
def nvmlDeviceGetPowerManagementDefaultLimit(h): return 400000
def nvmlDeviceGetApplicationsClock(h, which): return 1095
def nvmlDeviceGetDefaultApplicationsClock(h, which): return 1095
def nvmlDeviceGetCurrPcieLinkWidth(h): return 8
def nvmlDeviceGetMaxPcieLinkWidth(h): return 16
def nvmlDeviceGetComputeRunningProcesses(h): return [App()]
def nvmlDeviceGetMigMode(h): return (1, 1)
def nvmlDeviceGetMaxMigDeviceCount(h): return 7
def nvmlDeviceGetMigDeviceHandleByIndex(h, i):
    if i > 1: raise NVMLError("Not Found")
    return i
"""


def test_the_nvml_child_tells_what_is_worn_out_or_set(tmp_path: Path) -> None:
    report = nvml(tmp_path, PYNVML.format(**NEW) + MORE)
    answer = nvidia.nvidia_probe(
        view_of(tmp_path / "root", DRIVER, runner=Answers({"/bin/python -c": json.dumps(report)})), "/bin/python"
    )
    device = answer.devices[0]
    assert (device.ecc, device.ecc_errors, device.rows_remapped, device.rows_pending, device.rows_failed) == (
        "Enabled", 2, 1, True, False
    )  # fmt: skip
    assert (device.power_limit_w, device.default_power_w, device.clock_mhz, device.link_width) == (300, 400, 1095, 8)
    assert (device.nvlinks, device.nvlinks_down, answer.instances) == (11, 1, 4)
    assert answer.processes == {4711: "0000:18:00.0"}


def test_the_nvml_child_without_a_driver_or_a_module(tmp_path: Path) -> None:
    assert nvml(tmp_path, PYNVML.format(**{**NEW, "broken": "True"})) == {"error": "NVML: Driver Not Loaded"}
    assert "error" in nvml(tmp_path, "import no_such_module")


def test_nvml_tells_instead_of_nvidia_smi(tmp_path: Path) -> None:
    report = nvml(tmp_path, PYNVML.format(**NEW))
    runner = Answers({"/bin/python -c": json.dumps(report)})
    answer = nvidia.nvidia_probe(view_of(tmp_path / "root", DRIVER, runner=runner), "/bin/python")
    assert [(d.arch, d.memory_bytes, d.source) for d in answer.devices] == [("sm_90", 81559 << 20, "NVML")] * 2
    assert (nvidia.all_nvlink(2, answer.links), answer.driver_cuda) == (True, "12.4")
    assert not any(line.startswith("nvidia-smi") for line in runner.asked)


@pytest.mark.parametrize("text", ["", "garbage", "[]", '{"devices": 3}', '{"devices": [3]}', '{"error": "x"}'])
def test_nvml_that_tells_nothing_leaves_it_to_nvidia_smi(tmp_path: Path, text: str) -> None:
    runner = Answers({"/bin/python -c": text, "nvidia-smi --query": HEAD + ROW.format(0, "18", "Enabled")})
    answer = nvidia.nvidia_probe(view_of(tmp_path, DRIVER, runner=runner), "/bin/python")
    assert [d.source for d in answer.devices] == ["nvidia-smi --query-gpu"]


@pytest.mark.parametrize(
    ("text", "version"),
    [('{"cuda": {"version": "12.4.1"}}', "12.4.1"), ("", None), ("[]", None), ('{"cuda": {}}', None), ("{", None)],
)
def test_toolkits(text: str, version: str | None) -> None:
    assert nvidia.toolkit_version(text) == version


def test_cuda_of_a_plain_node(tmp_path: Path) -> None:
    with pytest.raises(Absent):
        nvidia.cuda_probe(view_of(tmp_path), None, "x")


def test_driver_cuda_of_a_recording(tmp_path: Path) -> None:
    text = (folder_of("recorded-h200-1gpu-nccl-2.28") / "commands/nvidia_smi_version.txt").read_text()
    view = view_of(tmp_path, runner=answers(failed(), version=text))
    assert nvidia.driver_cuda(view) == "13.0"
    assert by_detail(view.facts, "helper.version") == {"nvidia-smi": "580.159.04"}
