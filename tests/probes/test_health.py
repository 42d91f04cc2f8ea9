"""Faults that files and logs tell of, network devices, and what torch alone tells of GPUs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from node_helpers import Answers, by_detail, examined, failed, observed, view_of, write
from recorded import copy_of

from envdoctor.node.probes.amd.kfd import TOPOLOGY
from envdoctor.node.probes.amd.ras import computing, ras_probe, uncorrected
from envdoctor.node.probes.base import Absent, ProbeFailed
from envdoctor.node.probes.files import NodeFiles
from envdoctor.node.probes.host.kernel_log import faults, kept, kernel_log_probe
from envdoctor.node.probes.host.network import named, network_probe
from envdoctor.node.probes.node import examine
from envdoctor.node.probes.parts import Device
from envdoctor.node.probes.torch.gpus import devices_of, take_architecture

CARD = "/sys/class/drm/card1/device"
LOG = """\
[    1.0] nvidia-nvlink: Nvlink Core is being initialized
[ 1234.5] NVRM: Xid (PCI:0000:89:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.
[ 1235.5] NVRM: Xid (PCI:0000:89:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.
[ 2000.0] amdgpu 0000:c1:00.0: amdgpu: 3 uncorrectable hardware errors detected in umc block
[ 2001.0] amdgpu 0000:c1:00.0: amdgpu: GPU reset begin!
[ 2002.0] someone@host secret-word ran something
"""


@pytest.mark.parametrize(
    ("text", "count"), [("ue: 3\nce: 7\n", 3), ("ue: 0\nce: 0\n", 0), ("", None), ("ue: x\n", None)]
)
def test_counts_of_a_block(text: str, count: int | None) -> None:
    assert uncorrected(text) == count


def test_a_card_with_faults(tmp_path: Path) -> None:
    pages = "0x00000001 : 0x00001000 : R\n0x00000002 : 0x00001000 : P\ngarbage\n"
    files = {f"{CARD}/ras/umc_err_count": "ue: 3\nce: 9\n", f"{CARD}/ras/gfx_err_count": "ue: 1\nce: 0\n",
             f"{CARD}/ras/sdma_err_count": "", f"{CARD}/ras/gpu_vram_bad_pages": pages}  # fmt: skip
    device = Device(0, "amd")
    ras_probe(view_of(tmp_path, files), CARD, device)
    assert (device.ecc_errors, device.bad_pages, device.pages_pending) == (4, 2, True)
    assert device.sources["ecc_errors"] == f"{CARD}/ras/umc_err_count"


def test_a_card_without_such_files_says_nothing(tmp_path: Path) -> None:
    device = Device(0, "amd")
    ras_probe(view_of(tmp_path), CARD, device)
    assert (device.ecc_errors, device.bad_pages, device.pages_pending) == (None, None, None)


def test_who_has_opened_the_device(tmp_path: Path) -> None:
    files = {"/sys/class/kfd/kfd/proc/4711/pasid": "1", "/sys/class/kfd/kfd/proc/99/pasid": "1", "/proc/self": "-> 99"}
    view = view_of(tmp_path, files)
    view.files.links["/proc/self"] = "99"
    assert computing(view) == [4711]


def test_a_log(tmp_path: Path) -> None:
    view = view_of(tmp_path, runner=Answers({"dmesg": LOG}))
    kernel_log_probe(view)
    assert by_detail(view.facts, "gpu.xid") == {"0000:89:00.0 79": 2}
    assert by_detail(view.facts, "gpu.kernel_fault") == {
        "0000:c1:00.0 uncorrectable hardware errors": 1, "0000:c1:00.0 gpu reset begin": 1
    }  # fmt: skip


def test_what_a_recording_keeps_of_a_log() -> None:
    text = kept(LOG)
    assert "secret-word" not in text
    assert list(faults(text)) == list(faults(LOG))


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (failed(127), Absent),
        (failed(1, stderr="dmesg: read kernel buffer failed: Operation not permitted"), Absent),
        (failed(1, stderr="dmesg: no such device"), ProbeFailed),
        (failed(0, timed_out=True), ProbeFailed),
    ],
)
def test_a_log_that_cannot_be_read(tmp_path: Path, answer: object, error: type[Exception]) -> None:
    view = view_of(tmp_path, runner=Answers({"dmesg": answer}))  # type: ignore[dict-item]
    with pytest.raises(error):
        kernel_log_probe(view)
    assert view.facts.observations == []


@given(st.text())
def test_any_log(text: str) -> None:
    assert list(faults(kept(kept(text)))) == list(faults(kept(text)))


IB = "/sys/class/infiniband"
PORTS = {f"{IB}/mlx5_0/ports/1/state": "4: ACTIVE\n", f"{IB}/mlx5_1/ports/1/state": "1: DOWN\n",
         f"{IB}/mlx5_10/ports/1/state": "4: ACTIVE\n"}  # fmt: skip


@pytest.mark.parametrize(
    ("mask", "states"),
    [
        ("mlx5_0", {"mlx5_0": "active"}),
        ("mlx5_1", {"mlx5_1": "active"}),  # a beginning: mlx5_10 is meant too
        ("=mlx5_1", {"mlx5_1": "down"}),
        ("=mlx5_0:1,mlx5_0:2", {"mlx5_0:1": "active", "mlx5_0:2": "absent"}),
        ("mlx5", {"mlx5": "active"}),
        ("bnxt_re0", {"bnxt_re0": "absent"}),
        ("^mlx5_0", {}),
        ("", {}),
    ],
)
def test_hcas_that_a_variable_names(tmp_path: Path, mask: str, states: dict[str, str]) -> None:
    view = view_of(tmp_path, PORTS, environment={"NCCL_IB_HCA": mask})
    network_probe(view)
    assert by_detail(view.facts, "network.named_hca") == states
    assert by_detail(view.facts, "network.port") == {"mlx5_0:1": True, "mlx5_1:1": False, "mlx5_10:1": True}


def test_topology_files_and_clouds(tmp_path: Path) -> None:
    dmi = "/sys/devices/virtual/dmi/id"
    files = {f"{dmi}/sys_vendor": "Microsoft Corporation\n", f"{dmi}/product_name": "Virtual Machine\n", "/t.xml": ""}
    view = view_of(tmp_path, files, environment={"NCCL_TOPO_FILE": "/gone.xml"})
    network_probe(view)
    assert by_detail(view.facts, "network.topo_file") == {"/gone.xml": False}
    assert observed(view.facts, "host.cloud") == ["azure"]
    with pytest.raises(Absent):
        network_probe(view_of(tmp_path / "plain"))


@given(st.text(max_size=40))
def test_any_mask_of_hcas(text: str) -> None:
    named(text)


def test_torch_tells_the_architecture_of_gpus_of_one_name() -> None:
    report = {"capability": [7, 0]}
    alike, other = ([Device(i, "nvidia", name=name) for i, name in enumerate(names)] for names in ("VV", "VW"))
    take_architecture(alike, report)
    take_architecture(other, report)
    assert [device.arch for device in alike + other] == ["sm_70", "sm_70", "", ""]
    known = [Device(0, "nvidia", name="V", arch="sm_80")]
    take_architecture(known, report)
    assert known[0].arch == "sm_80"


@pytest.mark.parametrize(
    ("report", "found"),
    [
        ({"devices": [{"name": "A", "arch": "gfx942:xnack-", "memory_bytes": 5}], "torch.version.hip": "6.2"},
         [("amd", "A", "gfx942", 5)]),
        ({"device_name": "V", "capability": [8, 9], "torch.cuda.device_count": 2}, [("nvidia", "V", "sm_89", None)] * 2),
        ({"torch.cuda.device_count": 0}, []),
        ({"torch.cuda.device_count": "many", "devices": "x"}, []),
        ({"devices": [3, {}]}, [("nvidia", "", "", None)]),
        ({}, []),
    ],
)  # fmt: skip
def test_gpus_that_torch_alone_tells_of(report: dict[str, Any], found: list[tuple[object, ...]]) -> None:
    assert [(d.vendor, d.name, d.arch, d.memory_bytes) for d in devices_of(report)] == found


@pytest.mark.parametrize("text", ["", "cpu_cores_count 0\nsimd_c", "garbage"])
def test_kfd_nodes_that_end_before_they_say_what_they_are(tmp_path: Path, text: str) -> None:
    folder = copy_of("mi300x-8gpu-rocm-6.2", tmp_path)
    (folder / "root/sys/class/kfd/kfd/topology/nodes/5/properties").write_text(text)
    node = examined(folder, "files")
    assert node.gpu.count == 7
    assert observed(node.facts, "gpu.unreadable") == [1]


def test_kfd_folders_that_fail_to_read(tmp_path: Path) -> None:
    folder = copy_of("mi300x-8gpu-rocm-6.2", tmp_path)
    nodes = folder / "root/sys/class/kfd/kfd/topology/nodes"
    for number in (5, 6):
        (nodes / f"{number}/properties").unlink()
        (nodes / f"{number}/properties").mkdir()
    node = examined(folder, "files")
    assert (node.gpu.count, observed(node.facts, "gpu.unreadable")) == (6, [2])
    told = {probe.name: probe.why for probe in node.probes}
    assert told["KFD topology"] == "nodes of the topology that could not be read: 2"


@pytest.mark.parametrize("kind", ["fails", "denied"])
def test_a_gpu_whose_node_fails_to_read_is_missing_and_a_denied_one_is_not(tmp_path: Path, kind: str) -> None:
    folder = copy_of("mi300x-8gpu-rocm-6.2", tmp_path)
    node = examined(folder, "files")
    for device in node.devices:
        pci = {"vendor": "0x1002\n", "class": "0x120000\n", "device": "0x74a1\n"}
        write(folder / "root", {f"/sys/bus/pci/devices/{device.bus}/{name}": word for name, word in pci.items()})
    assert observed(examined(folder, "files").facts, "gpu.missing") == []
    properties = folder / "root/sys/class/kfd/kfd/topology/nodes/5/properties"
    properties.unlink()
    properties.mkdir()
    files = NodeFiles(folder / "root")
    if kind == "denied":  # root may read everything, so the file system cannot be made to say so here
        files.errors[f"{TOPOLOGY}/5/properties"] = "permission denied"
        files._fail = lambda *_: None  # type: ignore[method-assign]
    found = examine(folder / "root", Answers(), "files", files=files)
    assert len(observed(found.facts, "gpu.missing")) == (1 if kind == "fails" else 0)


def test_torch_tells_where_nothing_else_does_beside_a_driver(tmp_path: Path) -> None:
    report = {"torch": "2.9", "devices": [{"name": "NVIDIA H200", "arch": "sm_90"}], "torch.cuda.device_count": 1}
    write(tmp_path, {"/sys/module/nvidia/version": "580.1\n", "/dev/nvidiactl": ""})
    node = examine(tmp_path, Answers({"python3 -c": json.dumps(report)}), "torch")
    assert [(d.name, d.arch, d.source) for d in node.devices] == [("NVIDIA H200", "sm_90", "torch (fresh process)")]
    assert (node.gpu.count, node.gpu.arch) == (1, "sm_90")


def test_wsl_without_a_tool_says_that_nothing_is_known(tmp_path: Path) -> None:
    write(tmp_path / "root", {"/dev/dxg": "", "/proc/self/limits": ""})
    node = examined(tmp_path, "files")
    assert node.as_json().get("gpu") == {} or "gpu" not in node.as_json()
    assert observed(node.facts, "gpu.count") == []
    assert "nothing that was asked tells which" in {probe.name: probe.why for probe in node.probes}["GPUs"]
