"""nvidia-smi of old and new drivers: what is asked of which, what it refuses, what a broken answer tells."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from node_helpers import Answers, by_detail, failed, observed, view_of

from envdoctor.node.probes.base import Absent, NodeView
from envdoctor.node.probes.nvidia import devices as nvidia
from envdoctor.node.probes.nvidia import smi

HEAD = "index, name, pci.bus_id, driver_version, mig.mode.current, memory.total [MiB], compute_cap\n"
LOST = "Unable to determine the device handle for GPU{0}: GPU is lost.  Reboot the system to recover this GPU\n"


def row(index: int, bus: str = "", mig: str = "Disabled") -> str:
    return f"{index}, NVIDIA A100, 00000000:{bus or f'{index + 1:02X}'}:00.0, 535.183.01, {mig}, 40960 MiB, 8.0\n"


def driver(version: str) -> dict[str, str]:
    return {"/sys/module/nvidia/version": f"{version}\n", "/proc/driver/nvidia/version": "NVRM version: x\n"}


def information(bus: str) -> dict[str, str]:
    return {f"/proc/driver/nvidia/gpus/{bus}/information": f"Model: \t\t NVIDIA A100\nBus Location: \t {bus}\n"}


def probe(tmp_path: Path, answers: dict[str, Any], files: dict[str, str] | None = None) -> tuple[NodeView, Any]:
    view = view_of(tmp_path, driver("535.183.01") if files is None else files, runner=Answers(answers))
    return view, nvidia.nvidia_probe(view, "")


@pytest.mark.parametrize(
    ("version", "asks_capability", "asks_version"),
    [("470.82.01", False, False), ("510.47.03", True, True), ("550.127.05", True, True), ("", True, True)],
)
def test_old_drivers_are_not_asked_what_they_refuse(
    tmp_path: Path, version: str, asks_capability: bool, asks_version: bool
) -> None:
    files = driver(version) if version else {"/proc/driver/nvidia/version": "x"}
    view, _ = probe(tmp_path, {"nvidia-smi --query-gpu=index,name": HEAD + row(0)}, files)
    asked = view.runner.asked  # type: ignore[attr-defined]
    assert any("compute_cap" in line for line in asked) is asks_capability
    assert ("nvidia-smi --version" in asked) is asks_version
    assert ("nvidia-smi" in asked) is not asks_version


def test_a_refused_field_is_left_out_and_the_rest_is_told(tmp_path: Path) -> None:
    refused = failed(2, stdout='Field "compute_cap" is not a valid field to query.\n')
    without = ",".join(field for field in smi.QUERY.split(",") if field != "compute_cap")
    _, answer = probe(
        tmp_path, {f"nvidia-smi --query-gpu={smi.QUERY}": refused, f"nvidia-smi --query-gpu={without}": HEAD + row(0)}
    )
    assert [device.memory_bytes for device in answer.devices] == [40960 << 20]
    assert answer.why == ""


def test_cuda_from_the_heading_where_version_is_refused(tmp_path: Path) -> None:
    banner = "| NVIDIA-SMI 525.147.05   Driver Version: 525.147.05   CUDA Version: 12.0     |\n"
    answers = {
        "nvidia-smi --query-gpu=index,name": HEAD + row(0),
        "nvidia-smi --version": failed(1, stdout="Invalid combination of input arguments.\n"),
        "nvidia-smi --query": failed(),
        "nvidia-smi topo": failed(),
        "nvidia-smi nvlink": failed(),
        "nvidia-smi": banner,
    }
    assert probe(tmp_path, answers)[1].driver_cuda == "12.0"
    assert smi.banner_cuda("no such line") is None


def test_a_lost_gpu_is_a_fact_with_what_the_tool_says(tmp_path: Path) -> None:
    told = failed(15, stdout=LOST.format("0000:89:00.0"))
    view, answer = probe(tmp_path, {"nvidia-smi --query-gpu": told}, driver("550.1") | information("0000:89:00.0"))
    assert by_detail(view.facts, "gpu.missing") == {
        "0000:89:00.0": "nvidia-smi says: GPU is lost. Reboot the system to recover this GPU"
    }
    assert by_detail(view.facts, "helper.status") == {"nvidia-smi": 15}
    assert len(answer.devices) == 1


@pytest.mark.parametrize("form", ["0000:89:00.0", " 0000:89:00.0", "00000000:89:00.0", " 3: 0000:89:00.0"])
def test_forms_of_the_address_of_a_lost_gpu(form: str) -> None:
    assert list(smi.lost_gpus([failed(15, stderr=LOST.format(form))])) == ["0000:89:00.0"]


def test_a_warning_status_does_not_make_the_table_worthless(tmp_path: Path) -> None:
    told = failed(14, stdout=HEAD + row(0) + "WARNING: infoROM is corrupted at gpu 0000:01:00.0\n")
    view, answer = probe(tmp_path, {"nvidia-smi --query-gpu=index,name": told})
    assert len(answer.devices) == 1
    assert observed(view.facts, "helper.status") == [14]


@pytest.mark.parametrize("word", ["GPU is lost", "GPU requires reset"])
def test_a_gpu_that_is_listed_and_does_not_answer(tmp_path: Path, word: str) -> None:
    text = HEAD + row(0) + f"1, [{word}], 00000000:02:00.0, 535.183.01, [{word}], [{word}], [{word}]\n"
    view, answer = probe(tmp_path, {"nvidia-smi --query-gpu=index,name": text})
    assert by_detail(view.facts, "gpu.missing") == {"0000:02:00.0": f"nvidia-smi says: {word}"}
    assert len(answer.devices) == 2


def test_answers_in_brackets_are_no_values(tmp_path: Path) -> None:
    text = HEAD + "0, [GPU is lost], 00000000:01:00.0, [Unknown Error], ERR!, [Insufficient Permissions], [N/A]\n"
    device = probe(tmp_path, {"nvidia-smi --query-gpu=index,name": text})[1].devices[0]
    assert (device.name, device.mig, device.memory_bytes, device.arch) == ("", None, None, "")


def test_a_table_that_was_cut_off_is_filled_up_from_the_files(tmp_path: Path) -> None:
    files = driver("535.1") | information("0000:01:00.0") | information("0000:02:00.0")
    _, answer = probe(tmp_path, {"nvidia-smi --query-gpu=index,name": HEAD + row(0) + row(1)[:30]}, files)
    assert [(device.index, device.bus) for device in answer.devices] == [(0, "0000:01:00.0"), (1, "0000:02:00.0")]
    assert answer.why == "1 of its rows were cut off, and those GPUs are known by their files alone"


def test_files_that_are_cut_off_or_may_not_be_read(tmp_path: Path) -> None:
    files = driver("535.1") | information("0000:01:00.0")
    files |= {
        "/proc/driver/nvidia/gpus/0000:02:00.0/information": "Mod",
        "/proc/driver/nvidia/gpus/0000:03:00.0/information/x": "",
    }
    _, answer = probe(tmp_path, {}, files)
    assert [(d.bus, d.name) for d in answer.devices] == [
        ("0000:01:00.0", "NVIDIA A100"), ("0000:02:00.0", ""), ("0000:03:00.0", "")
    ]  # fmt: skip


def test_a_topology_that_was_cut_off_is_told(tmp_path: Path) -> None:
    topology = "\tGPU0\tGPU1\tGPU2\nGPU0\t X \tNV12\tNV12\nGPU1\tNV12\t X \t"
    answers = {"nvidia-smi --query-gpu=index,name": HEAD + row(0) + row(1) + row(2), "nvidia-smi topo": topology}
    _, answer = probe(tmp_path, answers)
    assert answer.why == "its topology tells of 2 of 3 pairs"
    assert nvidia.all_nvlink(3, answer.links) is None


MORE = "index, pci.bus_id, pcie.link.width.current, pcie.link.width.max, clocks.default_applications.graphics [MHz], "
MORE += "power.default_limit [W], ecc.errors.uncorrected.volatile.total, retired_pages.pending, fabric.state, fabric.status\n"


def test_what_is_worn_out_or_set_by_somebody(tmp_path: Path) -> None:
    answers = {
        "nvidia-smi --query-gpu=index,name": HEAD + row(0) + row(1),
        "nvidia-smi --query-gpu=index,pci": MORE + "1, 00000000:02:00.0, 8, 16, 1095 MHz, 400.00 W, 2, Yes, Completed, Success\n",
        "nvidia-smi --query-remapped": "gpu_bus_id, remapped_rows.uncorrectable, remapped_rows.pending, "
        "remapped_rows.failure\n00000000:02:00.0, 1, 1, No\n",
        "nvidia-smi --query-compute": "gpu_bus_id, pid\n00000000:01:00.0, 4711\nnonsense\n",
        "nvidia-smi nvlink": "GPU 0: A (UUID: x)\n\t Link 0: 25 GB/s\nGPU 1: B\n\t Link 0: <inactive>\n\t Link 1: 25 GB/s\n",
    }  # fmt: skip
    first, second = probe(tmp_path, answers)[1].devices
    assert (second.link_width, second.max_link_width, second.default_clock_mhz, second.default_power_w) == (
        8,
        16,
        1095,
        400,
    )
    assert (second.ecc_errors, second.pages_pending, second.rows_pending, second.rows_failed) == (2, True, True, False)
    assert (second.fabric, second.nvlinks, second.nvlinks_down) == ("Completed, Success", 1, 1)
    assert (first.ecc_errors, first.nvlinks) == (None, 1)
    assert probe(tmp_path, answers)[1].processes == {4711: "0000:01:00.0"}


def test_instances_are_counted_where_a_gpu_is_divided(tmp_path: Path) -> None:
    listed = "GPU 0: A (UUID: GPU-1)\n  MIG 3g.20gb     Device  0: (UUID: MIG-1)\n  MIG 3g.20gb     Device  1: (UUID: MIG-2)\n"
    answers = {"nvidia-smi --query-gpu=index,name": HEAD + row(0, mig="Enabled"), "nvidia-smi -L": listed}
    assert probe(tmp_path, answers)[1].instances == 2
    assert probe(tmp_path, {"nvidia-smi --query-gpu=index,name": HEAD + row(0)})[1].instances is None


def test_wsl_is_asked_and_says_whose_driver_it_is(tmp_path: Path) -> None:
    _, answer = probe(tmp_path, {"nvidia-smi --query-gpu=index,name": HEAD + row(0)}, {"/dev/dxg": ""})
    assert answer.driver_version == "535.183.01"
    with pytest.raises(Absent, match="behind /dev/dxg"):
        probe(tmp_path, {}, {})


@given(st.text())
def test_any_text(text: str) -> None:
    for read in (smi.parse_table, smi.cut_rows, smi.parse_links, smi.count_instances, smi.banner_cuda):
        read(text)
    smi.lost_gpus([failed(15, stdout=text)])
