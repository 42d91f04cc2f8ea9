"""The recorded nodes: their facts come out exactly as their node.toml says, and stand at places that exist."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from node_helpers import by_detail, examined, expected, observed
from node_trees import changed
from recorded import NAMES, copy_of, folder_of

from envdoctor.node.probes.keys import KEYS, fits

MORE: dict[str, dict[str, dict[str, Any]]] = {
    # True of the recording (its /proc/driver/nvidia/version and its query say so); its node.toml leaves it out.
    "recorded-h200-1gpu-nccl-2.28": {"driver": {"open_kernel_module": True}, "gpu": {"persistence": True}},
}


@pytest.mark.parametrize("name", NAMES)
def test_all_facts_exactly(name: str) -> None:
    wanted = copy.deepcopy(expected(name))
    for table, values in MORE.get(name, {}).items():
        wanted[table].update(values)
    assert examined(folder_of(name)).as_json() == wanted


@pytest.mark.parametrize("name", NAMES)
def test_without_torch_no_fact_is_another(name: str) -> None:
    files_only, whole = examined(folder_of(name), "files").as_json(), examined(folder_of(name)).as_json()
    for key, table in files_only.items():
        if isinstance(table, dict):
            assert {k: v for k, v in table.items() if whole[key][k] != v} == {}


WITH_DF = {"mi300x-rocm-7.0-container", "recorded-h200-2gpu-nccl-2.28"}
FAILING = {
    "recorded-h200-1gpu-nccl-2.28": {"limits", "torch"},  # nothing of the process was recorded
    "no-gpu-access-kfd-denied": {"rocminfo"},
}


@pytest.mark.parametrize("name", NAMES)
def test_only_what_is_not_recorded_fails(name: str) -> None:
    failed = {probe.name for probe in examined(folder_of(name)).probes if probe.status == "failed"}
    no_df = set() if name in WITH_DF else {"shared memory"}
    assert failed == FAILING.get(name, set()) | no_df


@pytest.mark.parametrize("name", NAMES)
def test_every_observation_fits_the_table_and_has_a_place(name: str) -> None:
    for observation in examined(folder_of(name)).facts.observations:
        assert fits(observation.key, observation.value), observation
        assert observation.place.path, observation
        assert bool(observation.detail) >= bool(KEYS[observation.key].each), observation


@pytest.mark.parametrize("name", NAMES)
def test_places_of_files_are_files_of_the_node(name: str) -> None:
    folder = folder_of(name)
    for observation in examined(folder).facts.observations:
        path = observation.place.path
        if path.startswith("/sys/class/kfd") or path.startswith("/sys/class/drm"):
            assert (folder / "root" / path[1:]).exists(), observation


@pytest.mark.parametrize("name", NAMES)
def test_no_serial_number_or_host_name_in_facts(name: str) -> None:
    node = examined(folder_of(name))
    words = repr((node.as_json(), node.facts, node.devices, node.links, node.probes))
    for secret in ("a1b2c3d4e5f6", "11651590505119", "6510516211603", "gpu-node-01", "GPU-0000"):
        assert secret not in words


@pytest.mark.parametrize("name", NAMES)
def test_all_that_is_known_as_json(name: str) -> None:
    node = examined(folder_of(name))
    details = json.loads(json.dumps(node.details_json()))
    assert len(details["observations"]) == len(node.facts.observations)
    assert {item["status"] for item in details["probes"]} <= {"ok", "absent", "failed", "skipped"}
    assert all(item["path"] for item in details["observations"] + details["components"] + details["settings"])
    assert "a1b2c3d4e5f6" not in json.dumps(details)


def test_units_stand_beside_their_values() -> None:
    details = examined(folder_of("mi300x-cpx-nps4-rocm-6.3")).details_json()
    limit = next(item for item in details["observations"] if item["key"] == "host.memlock_bytes")
    assert (limit["value"], limit["unit"], limit["path"]) == (8388608, "bytes", "/proc/self/limits")


def test_each_gpu_of_a_partitioned_node() -> None:
    node = examined(folder_of("mi300x-cpx-nps4-rocm-6.3"))
    packages = by_detail(node.facts, "gpu.device.package")
    assert [packages[f"gpu {i}"] for i in (0, 7, 8, 63)] == [0, 0, 1, 7]
    assert set(by_detail(node.facts, "gpu.device.compute_units").values()) == {38}
    assert observed(node.facts, "gpu.links_incomplete") == [64]
    assert observed(node.facts, "gpu.missing_link") == []


def test_one_gpu_at_another_performance_level() -> None:
    node = examined(folder_of("mi250x-8gcd-rocm-5.7"))
    levels = by_detail(node.facts, "gpu.device.perf_level")
    assert [gpu for gpu, level in levels.items() if level == "perf_determinism"] == ["gpu 0"]
    assert node.gpu.physical == 4


def test_two_installs_in_one_process() -> None:
    node = examined(folder_of("mi300x-two-rocm-installs"))
    facts = node.facts
    assert observed(facts, "process.rocm_root") == ["/opt/rocm-6.2.4", "/opt/rocm-6.1.2"]
    assert observed(facts, "process.hip_runtime") == ["/opt/rocm-6.2.4/lib/libamdhip64.so.6.2.60204"]
    assert observed(facts, "process.miopen") == ["/opt/rocm-6.1.2/lib/libMIOpen.so.1.0.60102"]
    assert by_detail(facts, "rocm.rocm_path_env") == {"ROCM_PATH": "/opt/rocm-6.1.2"}
    assert by_detail(facts, "rocm.ld_so_conf") == {"/etc/ld.so.conf.d/10-rocm-opencl.conf": "/opt/rocm-6.1.2/lib"}
    assert observed(facts, "ccl.on_library_path") == ["/opt/rocm-6.2.4/lib/librccl.so.1.0.60204"]


def test_container_with_a_second_stack() -> None:
    facts = examined(folder_of("mi300x-rocm-7.0-container")).facts
    assert len(observed(facts, "process.hip_runtime")) == 2
    assert by_detail(facts, "ccl.conf_file") == {"/etc/nccl.conf": "ignored"}
    assert by_detail(facts, "rocm.user_space") == {
        "/opt/venv/lib/python3.12/site-packages/torch": "6.4",
        "/opt/rocm-7.0.0": "7.0",
    }
    assert by_detail(facts, "driver.rocm_distance")["/opt/rocm-7.0.0"] == 3
    assert observed(facts, "host.shm_mount_bytes") == [67108864]


def test_preloaded_library_and_conf_file() -> None:
    node = examined(folder_of("h100-8gpu-cuda-12.4"))
    assert by_detail(node.facts, "ccl.preloaded") == {
        "/usr/lib/x86_64-linux-gnu/libnccl.so.2": "/usr/lib/x86_64-linux-gnu/libnccl.so.2.18.3"
    }
    by_name = {s.name: s for s in node.facts.settings}
    assert by_name["NCCL_IB_TIMEOUT"].channel == "conf-file"
    assert by_name["NCCL_IB_TIMEOUT"].op == "default"
    assert (by_name["NCCL_IB_TIMEOUT"].place.path, by_name["NCCL_IB_TIMEOUT"].place.line) == ("/etc/nccl.conf", 1)
    assert by_name["NCCL_ALOG"].value.known == "Ring"
    assert "HOME" not in by_name
    orders = [s.order for s in node.facts.settings]
    assert len(set(orders)) == len(orders)


def test_refused_device() -> None:
    node = examined(folder_of("no-gpu-access-kfd-denied"))
    assert node.gpu.usable == 0
    assert observed(node.facts, "host.kfd_group") == ["render"]
    assert observed(node.facts, "host.in_kfd_group") == [False]
    assert "/dev/kfd" in observed(node.facts, "host.device_denied")
    assert len(observed(node.facts, "host.device_denied")) == 9
    status = {probe.name: probe.why for probe in node.probes}
    assert status["rocminfo"] == "rocminfo: Unable to open /dev/kfd read-write: Permission denied"


def test_wheels_without_opt_rocm() -> None:
    node = examined(folder_of("rocm-wheels-no-opt-rocm"))
    assert by_detail(node.facts, "rocm.wheel") == {
        "rocm": "7.10.0", "rocm-sdk-core": "7.10.0", "rocm-sdk-device-gfx942": "7.10.0", "rocm-sdk-libraries": "7.10.0"
    }  # fmt: skip
    assert observed(node.facts, "driver.release") == []
    assert observed(node.facts, "helper.disagrees") == []


def test_several_ranks_on_one_gpu() -> None:
    assert observed(examined(folder_of("recorded-h200-1gpu-nccl-2.28")).facts, "ccl.ranks_per_gpu") == [2]


FAULTS = [
    # (file of the healthy node, old text, new text, key of the short form, its new value)
    ("sys/module/amdgpu/version", "6.8.5", "6.12.12", ("driver", "version"), "6.12.12"),
    ("sys/class/drm/card9/device/current_compute_partition", "SPX", "CPX", ("gpu", "compute_partition"), "mixed"),
    ("sys/class/drm/card9/device/current_memory_partition", "NPS1", "NPS4", ("gpu", "memory_partition"), "mixed"),
    ("sys/class/drm/card9/device/power_dpm_force_performance_level", "auto", "low", ("gpu", "perf_level"), "mixed"),
    ("sys/class/kfd/kfd/topology/nodes/3/properties", "version 90402", "version 90500", ("gpu", "arch"), "mixed"),
    ("proc/cmdline", " iommu=pt", "", ("host", "iommu"), ""),
    ("proc/sys/kernel/numa_balancing", "0", "1", ("host", "numa_balancing"), 1),
    ("proc/self/limits", "memory         unlimited", "memory         65536", ("host", "memlock_bytes"), 65536),
    ("proc/self/status", "44 110", "44", ("host", "kfd_rw"), False),
    ("proc/self/cgroup", "user.slice", "kubepods.slice", ("container",), True),
    ("opt/rocm-6.2.0/.info/version", "6.2.0-66", "6.2.1-77", ("rocm", "build"), "77"),
    ("opt/rocm-6.2.0/include/miopen/version.h", "MINOR 2", "MINOR 9", ("miopen", "version"), "3.9.0"),
    ("proc/self/environ", "HOME=", "MIOPEN_USER_DB_PATH=/x\0HOME=", ("miopen", "user_db"), "/x"),
]


@pytest.mark.parametrize(("path", "old", "new", "keys", "value"), FAULTS, ids=lambda v: str(v)[:40])
def test_one_change_changes_its_fact(path: str, old: str, new: str, keys: tuple[str, ...], value: object) -> None:
    with changed("mi300x-8gpu-rocm-6.2", [{"file": f"root/{path}", "replace": old, "code": new}]) as folder:
        table: Any = examined(folder).as_json()
    for key in keys:
        table = table[key]
    assert table == value


def test_a_pcie_link_in_place_of_xgmi(tmp_path: Path) -> None:
    folder = copy_of("mi300x-8gpu-rocm-6.2", tmp_path)
    nodes = folder / "root/sys/class/kfd/kfd/topology/nodes"
    for first, second in ((2, 3), (3, 2)):
        for link in (nodes / str(first) / "io_links").iterdir():
            text = (link / "properties").read_text()
            if f"node_to {second}\n" in text:
                (link / "properties").write_text(text.replace("type 11", "type 2"))
    node = examined(folder)
    assert node.as_json()["gpu"]["all_xgmi"] is False
    assert by_detail(node.facts, "gpu.missing_link") == {"gpu 0 - gpu 1": "pcie"}


def test_a_copy_without_links_is_the_same_node(tmp_path: Path) -> None:
    folder = copy_of("mi300x-two-rocm-installs", tmp_path)
    for line in (folder / "links.tsv").read_text().splitlines()[1:]:
        (folder / "root" / line.split("\t")[0][1:]).unlink()
    assert examined(folder).as_json() == expected(folder.name)


def test_real_links_need_no_list(tmp_path: Path) -> None:
    folder = copy_of("mi300x-two-rocm-installs", tmp_path)
    for line in (folder / "links.tsv").read_text().splitlines()[1:]:
        path, target = line.split("\t")
        (folder / "root" / path[1:]).unlink()
        (folder / "root" / path[1:]).symlink_to(target)
    (folder / "links.tsv").unlink()
    assert examined(folder).as_json() == expected(folder.name)
