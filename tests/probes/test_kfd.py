"""GPUs of AMD: KFD's topology, the cards of amdgpu, and AMD's helpers."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from node_helpers import Answers, by_detail, failed, observed, view_of

from envdoctor.node.probes.amd import kfd
from envdoctor.node.probes.amd import sysfs as amd_sysfs
from envdoctor.node.probes.amd import tools as amd_tools
from envdoctor.node.probes.amd.kfd import TOPOLOGY, gfx_name, kfd_probe, parse_properties
from envdoctor.node.probes.base import Absent, ProbeFailed
from envdoctor.node.probes.parts import Device, Driver, Gpu

XGMI, PCIE = 11, 2


def gpu_node(
    number: int, links: Iterable[tuple[int, int]] = (), declared: int | None = None, **more: int
) -> dict[str, str]:
    """Files of a GPU's KFD node: links are (target, type)."""
    links = list(links)
    properties = {
        "simd_count": 1216, "simd_per_cu": 4, "gfx_target_version": 90402, "location_id": number << 8, "domain": 0,
        "unique_id": 100 + number, "io_links_count": len(links) if declared is None else declared,
        "drm_render_minor": 128 + number, "num_xcc": 8, "device_id": 29857, **more,
    }  # fmt: skip
    files = {f"{TOPOLOGY}/{number}/properties": "".join(f"{k} {v}\n" for k, v in properties.items())}
    for index, (target, kind) in enumerate(links):
        text = f"type {kind}\nnode_from {number}\nnode_to {target}\nweight 15\n"
        files[f"{TOPOLOGY}/{number}/io_links/{index}/properties"] = text
    return files


def topology(count: int, *, first: int = 1, without: Iterable[tuple[int, int]] = (), **more: int) -> dict[str, str]:
    """`count` GPUs from node `first` on, with xGMI between all but the pairs named."""
    files = {f"{TOPOLOGY}/0/properties": "cpu_cores_count 96\nsimd_count 0\nio_links_count 8\n"}
    missing = {frozenset(pair) for pair in without}
    numbers = range(first, first + count)
    for number in numbers:
        links = [(o, XGMI) for o in numbers if o != number and frozenset((o, number)) not in missing]
        files |= gpu_node(number, [(0, PCIE), *links], **more)
    return files


@pytest.mark.parametrize(
    ("version", "name"),
    [(90402, "gfx942"), (90010, "gfx90a"), (90006, "gfx906"), (90500, "gfx950"), (100300, "gfx1030"),
     (110000, "gfx1100"), (110501, "gfx1151"), (120001, "gfx1201"), (90008, "gfx908")],
)  # fmt: skip
def test_names_of_architectures(version: int, name: str) -> None:
    assert gfx_name(version) == name


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a 1\nb -2\n", {"a": 1, "b": -2}),
        ("a\nb 1 2\nc x\n\n d 3 \n", {"d": 3}),
        ("", {}),
        ("unique_id 18446744073709551615\n", {"unique_id": 2**64 - 1}),
        ("a 999999999999999999999999999\n", {}),
    ],
)
def test_properties(text: str, found: dict[str, int]) -> None:
    assert parse_properties(text) == found


@given(st.text())
def test_properties_of_anything(text: str) -> None:
    assert all(isinstance(value, int) for value in parse_properties(text).values())


def test_devices_and_links(tmp_path: Path) -> None:
    view = view_of(tmp_path, topology(4, first=2))
    devices, links, all_xgmi, packages = kfd_probe(view)
    assert [(d.index, d.kfd_node, d.arch, d.compute_units, d.bus) for d in devices[:2]] == [
        (0, 2, "gfx942", 304, "0000:02:00.0"),
        (1, 3, "gfx942", 304, "0000:03:00.0"),
    ]
    assert (len(links), all_xgmi, packages) == (6, True, 4)
    assert {link.kind for link in links} == {"xgmi"}


def test_a_pair_without_a_link(tmp_path: Path) -> None:
    view = view_of(tmp_path, topology(4, without=[(1, 3)]))
    assert kfd_probe(view)[2] is False
    assert by_detail(view.facts, "gpu.missing_link") == {"gpu 0 - gpu 2": "none"}


def test_a_list_that_is_cut_is_not_a_missing_link(tmp_path: Path) -> None:
    view = view_of(tmp_path, topology(4, without=[(1, 3)], io_links_count=4))
    assert kfd_probe(view)[2] is True
    assert by_detail(view.facts, "gpu.missing_link") == {}
    assert observed(view.facts, "gpu.links_incomplete") == [2]


def test_links_that_cannot_be_read_say_nothing(tmp_path: Path) -> None:
    files = {path: text for path, text in topology(4, io_links_count=4).items() if "io_links/" not in path}
    assert kfd_probe(view_of(tmp_path, files))[2] is None


def test_one_gpu_has_no_links(tmp_path: Path) -> None:
    assert kfd_probe(view_of(tmp_path, topology(1)))[1:3] == ([], None)


def test_pcie_only(tmp_path: Path) -> None:
    files = gpu_node(1, [(2, PCIE)]) | gpu_node(2, [(1, PCIE)])
    view = view_of(tmp_path, files)
    _, links, all_xgmi, _ = kfd_probe(view)
    assert ([link.kind for link in links], all_xgmi) == (["pcie"], False)


def test_partitions_share_a_package(tmp_path: Path) -> None:
    files: dict[str, str] = {}
    for number in range(1, 65):
        package, part = divmod(number - 1, 8)
        files |= gpu_node(number, declared=64, unique_id=500 + package, location_id=package << 8 | part, num_xcc=1)
    devices, _, _, packages = kfd_probe(view_of(tmp_path, files))
    assert (len(devices), packages) == (64, 8)
    assert [d.package for d in devices[6:10]] == [0, 0, 1, 1]
    assert devices[9].bus == "0000:01:00.1"


@pytest.mark.parametrize(("device_id", "count", "packages"), [(0x7408, 8, 4), (0x740C, 3, 2), (0x740F, 8, 8)])
def test_two_dies_of_one_package(tmp_path: Path, device_id: int, count: int, packages: int) -> None:
    assert kfd_probe(view_of(tmp_path, topology(count, device_id=device_id)))[3] == packages


def test_without_unique_ids_the_slot_tells_the_package(tmp_path: Path) -> None:
    files = gpu_node(1, unique_id=0, location_id=0x100) | gpu_node(2, unique_id=0, location_id=0x101)
    files |= gpu_node(3, unique_id=0, location_id=0x200)
    assert [d.package for d in kfd_probe(view_of(tmp_path, files))[0]] == [0, 0, 1]


def test_no_kfd(tmp_path: Path) -> None:
    with pytest.raises(Absent):
        kfd_probe(view_of(tmp_path))


def test_nodes_that_may_not_be_read(tmp_path: Path) -> None:
    files = topology(2)
    del files[f"{TOPOLOGY}/2/properties"]
    view = view_of(tmp_path, files | {f"{TOPOLOGY}/2/properties/is-a-folder": ""})
    devices, _, _, _ = kfd_probe(view)
    assert len(devices) == 1
    assert observed(view.facts, "gpu.unreadable") == [1]


def test_no_node_may_be_read(tmp_path: Path) -> None:
    with pytest.raises(ProbeFailed, match="1 nodes may not be read"):
        kfd_probe(view_of(tmp_path, {f"{TOPOLOGY}/1/properties/folder": ""}))


def test_garbage_in_one_node_leaves_the_others(tmp_path: Path) -> None:
    files = topology(3) | {f"{TOPOLOGY}/2/properties": "\0\1 garbage\nsimd_count lots\n"}
    assert [d.kfd_node for d in kfd_probe(view_of(tmp_path, files))[0]] == [1, 3]


def card(name: str, bus: str, **files: str) -> dict[str, str]:
    folder = f"/sys/class/drm/{name}/device"
    told = {"vendor": "0x1002\n", "uevent": f"DRIVER=amdgpu\nPCI_SLOT_NAME={bus}\n", "class": "0x120000\n", **files}
    return {f"{folder}/{file}": text for file, text in told.items()}


def test_cards_fill_in_devices(tmp_path: Path) -> None:
    told = {"current_compute_partition": "CPX\n", "numa_node": "-1\n", "mem_info_vram_total": "17\n"}
    files = card("card9", "0000:0C:00.0", **told)
    files |= card("card10", "0000:0d:00.0", pp_od_clk_voltage="OD_SCLK:\n0: 500Mhz\n1: 1700Mhz\nOD_MCLK:\n")
    buses = ("0000:0c:00.0", "0000:0c:00.1", "0000:0d:00.0")
    devices = [Device(index, "amd", bus=bus) for index, bus in enumerate(buses)]
    amd_sysfs.sysfs_probe(view_of(tmp_path, files), devices)
    assert [d.compute_partition for d in devices] == ["CPX", "CPX", ""]
    assert (devices[0].numa_node, devices[0].memory_bytes, devices[2].clock_cap_mhz) == (-1, 17, 1700)
    assert devices[0].sources["numa_node"] == "/sys/class/drm/card9/device/numa_node"
    assert [d.perf_level for d in devices] == [None, None, None]


def test_the_cap_on_power_is_that_of_the_sensor(tmp_path: Path) -> None:
    sensor = {"hwmon/hwmon3/power1_cap": "180000000\n", "hwmon/hwmon3/power1_cap_default": "260000000\n"}
    files = card("card1", "0000:03:00.0", **sensor) | card("card2", "0000:43:00.0")
    files |= card("card3", "0000:83:00.0", **{"hwmon/hwmon5/power1_cap": "n/a\n"})
    devices = [Device(index, "amd", bus=f"0000:{bus}:00.0") for index, bus in enumerate(("03", "43", "83"))]
    amd_sysfs.sysfs_probe(view_of(tmp_path, files), devices)
    assert [(d.power_limit_w, d.default_power_w) for d in devices] == [(180, 260), (None, None), (None, None)]
    assert devices[0].sources["power_limit_w"] == "/sys/class/drm/card1/device/hwmon/hwmon3/power1_cap"


def test_a_card_without_a_readable_uevent_is_found_by_its_link(tmp_path: Path) -> None:
    real = tmp_path / "sys/devices/pci0000:00/0000:00:01.1/0000:03:00.0"
    (real / "drm/card1").mkdir(parents=True)
    (real / "vendor").write_text("0x1002\n")
    (real / "class").write_text("0x120000\n")
    (real / "drm/card1/device").symlink_to("../..")
    (tmp_path / "sys/class/drm").mkdir(parents=True)
    (tmp_path / "sys/class/drm/card1").symlink_to("../../devices/pci0000:00/0000:00:01.1/0000:03:00.0/drm/card1")
    assert [d.bus for d in amd_sysfs.sysfs_probe(view_of(tmp_path, {}), [])] == ["0000:03:00.0"]


def test_connectors_and_other_vendors_are_no_cards(tmp_path: Path) -> None:
    files = card("card0-DP-1", "0000:01:00.0") | card("card1", "0000:02:00.0", vendor="0x10de\n")
    with pytest.raises(Absent):
        amd_sysfs.sysfs_probe(view_of(tmp_path, files), [])


def test_cards_that_compute_without_kfd(tmp_path: Path) -> None:
    files = card("card1", "0000:0c:00.0") | card("card2", "0000:0d:00.0", **{"class": "0x030000\n"})
    assert [d.bus for d in amd_sysfs.sysfs_probe(view_of(tmp_path, files), [])] == ["0000:0c:00.0"]


AGENTS = """
Agent 1
  Name:                    AMD EPYC
  Device Type:             CPU
Agent 2
  Name:                    gfx942
  Device Type:             GPU
Agent 3
  Name:                    gfx940
  Device Type:             GPU
"""


@pytest.mark.parametrize(("text", "names"), [(AGENTS, ["gfx942", "gfx940"]), ("", []), ("Agent x\n", [])])
def test_agents_of_rocminfo(text: str, names: list[str]) -> None:
    assert amd_tools.parse_agents(text) == names


def test_rocminfo_reports_mixed_architectures(tmp_path: Path) -> None:
    gpu = Gpu()
    amd_tools.rocminfo_probe(view_of(tmp_path, runner=Answers({"rocminfo": AGENTS})), gpu)
    assert gpu.arch_reported_by_hsa == "mixed"


@pytest.mark.parametrize(
    ("answer", "error", "why"),
    [
        (failed(127), Absent, "is not here"),
        (failed(255, stdout="Unable to open /dev/kfd read-write: Invalid argument\n"), ProbeFailed, "Invalid argument"),
        (failed(0, timed_out=True), ProbeFailed, "did not answer in time"),
        (failed(-11), ProbeFailed, "status -11"),
    ],
)
def test_rocminfo_that_fails(tmp_path: Path, answer: object, error: type[Exception], why: str) -> None:
    with pytest.raises(error, match=why):
        amd_tools.rocminfo_probe(view_of(tmp_path, runner=Answers({"rocminfo": answer})), Gpu())  # type: ignore[dict-item]


BANNER = "Linuxversion6.8.0-60-generic(buildd@builder)"


@pytest.mark.parametrize(
    ("answer", "version", "disagrees"),
    [
        ([{"version": "24.6.2+2b02a07", "amdgpu_version": "6.8.5"}], ["24.6.2+2b02a07"], []),
        ([{"version": "26.0.0", "amdgpu_version": "6.9.1"}], ["26.0.0"], ["6.9.1"]),
        ([{"version": "26.0.0", "amdgpu_version": BANNER}], ["26.0.0"], []),
        ({"gpu_data": [{"version": "27.0"}]}, ["27.0"], []),
        ([{"version": 3, "amdgpu_version": None}], [], []),
    ],
)
def test_amd_smi(tmp_path: Path, answer: object, version: list[str], disagrees: list[str]) -> None:
    view = view_of(tmp_path, runner=Answers({"amd-smi version": json.dumps(answer)}))
    amd_tools.amd_smi_probe(view, Driver("amdgpu", "6.8.5", "x"))
    assert observed(view.facts, "helper.version") == version
    assert observed(view.facts, "helper.disagrees") == disagrees


@pytest.mark.parametrize("text", ["", "garbage", "[", "3", "null", "[[]]", '{"gpu_data": 3}', "[" * 100_000])
def test_amd_smi_that_prints_garbage(tmp_path: Path, text: str) -> None:
    with pytest.raises(ProbeFailed, match="JSON"):
        amd_tools.amd_smi_probe(view_of(tmp_path, runner=Answers({"amd-smi": text})), None)


def test_rocm_smi_is_asked_only_where_files_are_silent(tmp_path: Path) -> None:
    runner = Answers({"rocm-smi": json.dumps({"card0": {"Performance Level": "low"}})})
    devices = [Device(0, "amd"), Device(1, "amd", perf_level="auto")]
    amd_tools.rocm_smi_probe(view_of(tmp_path, runner=runner), devices)
    assert [d.perf_level for d in devices] == ["low", "auto"]
    with pytest.raises(Absent, match="not needed"):
        amd_tools.rocm_smi_probe(view_of(tmp_path, runner=runner), devices)


def test_rocm_smi_with_different_cards_fills_nothing(tmp_path: Path) -> None:
    cards = {"card0": {"Performance Level": "low"}, "card1": {"Performance Level": "auto"}}
    devices = [Device(0, "amd"), Device(1, "amd")]
    amd_tools.rocm_smi_probe(view_of(tmp_path, runner=Answers({"rocm-smi": json.dumps(cards)})), devices)
    assert [d.perf_level for d in devices] == [None, None]


def test_links_of_bad_shape(tmp_path: Path) -> None:
    files = topology(2) | {f"{TOPOLOGY}/1/io_links/7/properties": "type 11\n"}
    assert kfd.kfd_probe(view_of(tmp_path, files))[2] is True
