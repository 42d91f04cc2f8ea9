"""The tests behind the rules about nodes on small sets of facts: each side of each boundary, and what must stay silent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envdoctor.checks.node import common as observations
from envdoctor.checks.node.common import Seen, listed
from envdoctor.checks.node.libraries import release_of
from envdoctor.checks.node.rocm import gfx_of
from envdoctor.checks.registry import CHECKS, codes_of, function
from envdoctor.core.facts import Observation, Place, Setting, Value
from envdoctor.knowledge.rulebook import load_rulebook
from envdoctor.node.probes.keys import KEYS, fits
from envdoctor.node.probes.libraries.library import version_of_code

RULES = {code.removeprefix("node."): rule for rule in load_rulebook() for code in codes_of(rule, ("node",))}
Facts = Mapping[str, Any]
"""Key -> value, or {item: value} for a key that is stated once per item."""


def place(path: str = "/proc/self/environ") -> Place:
    return Place(path, 1, 1, 1, 1)


def observed(facts: Facts) -> Iterator[Observation]:
    for key, value in facts.items():
        for item, one in (value if isinstance(value, dict) else {"": value}).items():
            assert fits(key, one), (key, one)
            assert bool(item) == bool(KEYS[key].each), key
            yield Observation(key, one, place(f"/{key}"), item)


def said(test: str, facts: Facts, environment: Mapping[str, str] | None = None) -> list[tuple[str, str]]:
    """(severity, message) of what a test says."""
    rule = RULES[test]
    settings = [
        Setting("set", name, Value("literal", value), place(), "process-environment", order)
        for order, (name, value) in enumerate((environment or {}).items())
    ]
    told = function(f"node.{test}")(Seen(list(observed(facts)), settings, rule.parameters))
    return [(t.severity or rule.severity, t.message) for t in told]


def severities(test: str, facts: Facts, environment: Mapping[str, str] | None = None) -> list[str]:
    return [severity for severity, _ in said(test, facts, environment)]


def test_every_rule_about_nodes_has_its_test_and_line() -> None:
    from envdoctor.reports.node.base import SECTIONS

    probes = {name for _, names in SECTIONS for name in names}
    assert {f"node.{name}" for name in RULES} == {code for code in CHECKS if code.startswith("node.")}
    for name, rule in RULES.items():
        assert callable(function(f"node.{name}"))
        assert rule.parameters["probe"] in probes, rule.name
    with pytest.raises(LookupError):
        function("node.no_such_test")


@pytest.mark.parametrize("test", sorted(RULES))
def test_nothing_is_said_where_nothing_is_known(test: str) -> None:
    assert said(test, {}) == []


A, B = "/opt/rocm-6.1.2", "/opt/rocm-6.2.4"
TWO = {"rocm.install": {A: "6.1.2", B: "6.2.4"}, "rocm.root": A}
WHEEL = "/venv/lib/python3.12/site-packages"


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ({"rocm.install": {A: "6.1.2"}, "rocm.root": A}, []),
        (TWO, ["info"]),
        # A module chose one, and everything follows it; the default link and the linker's configuration do not matter.
        (TWO | {"rocm.rocm_path_env": {"ROCM_PATH": B}, "rocm.ld_so_conf": {"/etc/x.conf": f"{A}/lib"}}, ["info"]),
        (TWO | {"rocm.rocm_path_env": {"ROCM_PATH": B}, "process.rocm_root": {B: B}}, ["info"]),
        (TWO | {"rocm.rocm_path_env": {"ROCM_PATH": A}, "process.rocm_root": {B: B}}, ["warning"]),
        (TWO | {"rocm.rocm_path_env": {"ROCM_PATH": A}, "ccl.on_library_path": {f"{B}/lib/l": f"{B}/lib/l"}},
         ["warning"]),
        (TWO | {"rocm.rocm_path_env": {"ROCM_PATH": A, "HIP_PATH": f"{A}/hip"}}, ["info"]),
    ],
)  # fmt: skip
def test_several_rocm(facts: Facts, expected: list[str]) -> None:
    assert severities("several_rocm", facts) == expected


def paths(*names: str) -> dict[str, str]:
    return {name: name for name in names}


HIP_A, HIP_B, HIP_WHEEL = f"{A}/lib/libamdhip64.so.6", f"{B}/lib/libamdhip64.so.6", f"{WHEEL}/torch/lib/libamdhip64.so"


@pytest.mark.parametrize(
    ("facts", "count"),
    [
        ({"process.rocm_root": paths(A)}, 0),
        ({"process.rocm_root": paths(A, f"{WHEEL}")}, 0),  # a wheel beside one install
        ({"process.rocm_root": paths(A, B)}, 1),
        ({"process.hip_runtime": paths(HIP_WHEEL)}, 0),
        ({"process.hip_runtime": paths(HIP_WHEEL, HIP_A)}, 1),
        ({"ccl.loaded": paths("/a/librccl.so", "/b/librccl.so.1")}, 1),
        (TWO | {"rocm.rocm_path_env": {"ROCM_PATH": A}, "process.hip_runtime": paths(HIP_A)}, 0),
        (TWO | {"rocm.rocm_path_env": {"HIP_PATH": f"{A}/hip"}, "process.hip_runtime": paths(HIP_A)}, 0),
        (TWO | {"rocm.rocm_path_env": {"ROCM_PATH": B}, "process.hip_runtime": paths(HIP_A)}, 1),
        (TWO | {"rocm.rocm_path_env": {"ROCM_PATH": B}, "process.hip_runtime": paths(HIP_WHEEL)}, 0),
        (TWO | {"rocm.rocm_path_env": {"ROCM_PATH": "/opt/rocm-5.0"}, "process.hip_runtime": paths(HIP_WHEEL)}, 1),
        ({"rocm.rocm_path_env": {"ROCM_PATH": "/opt/rocm"}}, 0),  # no install is known
        ({"rocm.wheel": {"rocm": "7.10.0", "rocm-sdk-core": "7.10.0"}}, 0),
        ({"rocm.wheel": {"rocm": "7.10.0", "rocm-sdk-core": "7.9.0"}}, 1),
        ({"rocm.header_version": {A: "6.0.0"}}, 1),
    ],
)
def test_mixed_rocm(facts: Facts, count: int) -> None:
    assert len(said("mixed_rocm", facts)) == count


WHEEL_NCCL, SYSTEM_NCCL = f"{WHEEL}/nvidia/nccl/lib/libnccl.so.2", "/usr/lib/libnccl.so.2"
WHEEL_RCCL, ROCM_RCCL = f"{WHEEL}/torch/lib/librccl.so", f"{B}/lib/librccl.so.1"


def ccl(used: str, code: int, header: str = "", **installed: Any) -> dict[str, Any]:
    versions: dict[str, int] = dict(installed.get("installed", {}))
    facts: dict[str, Any] = {
        "ccl.kind": "rccl" if "rccl" in used else "nccl", "ccl.loaded": paths(used), "ccl.used_by_torch": used,
        "ccl.loaded_version_code": code, "ccl.version_code": {used: code, **versions},
        "ccl.installed": paths(used, *versions),
    }  # fmt: skip
    return facts | ({"ccl.torch_header_version": header} if header else {})


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        (ccl(WHEEL_NCCL, 22005, "2.20.5"), []),
        (ccl(WHEEL_NCCL, 22809, "2.20.5"), ["info"]),  # pip install --upgrade nvidia-nccl-cu12
        (ccl(WHEEL_NCCL, 21803, "2.20.5"), ["warning"]),
        (ccl(SYSTEM_NCCL, 22809, "2.20.5"), ["warning"]),
        (ccl(ROCM_RCCL, 22005, "2.18.6"), ["warning"]),
        (ccl(WHEEL_NCCL, 22005, installed={SYSTEM_NCCL: 22809}), ["info"]),
        (ccl(WHEEL_NCCL, 22005, installed={SYSTEM_NCCL: 22005}), []),
        ({"rocm.root": B} | ccl(WHEEL_RCCL, 22005, installed={ROCM_RCCL: 22105}), ["warning"]),
        ({"rocm.root": B} | ccl(WHEEL_RCCL, 22005, installed={ROCM_RCCL: 22005}), []),
        ({"rocm.root": A} | ccl(WHEEL_RCCL, 22005, installed={ROCM_RCCL: 22105}), []),  # not the default install
        ({"rocm.root": B} | ccl(ROCM_RCCL, 22105, installed={f"{B}/x/librccl.so": 22005}), []),
        ({"job.rank_library": {"rank 0": "/a", "rank 1": "/a"}}, []),
        ({"job.rank_library": {"rank 0": "/a", "rank 1": "/b"}}, ["warning"]),
    ],
)
def test_library_differs(facts: Facts, expected: list[str]) -> None:
    assert severities("library_differs", facts) == expected


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({}, []),
        ({"ccl.on_library_path": paths(ROCM_RCCL), "ccl.version_code": {ROCM_RCCL: 22005, WHEEL_RCCL: 22005}},
         ["info"]),
        ({"ccl.on_library_path": paths(ROCM_RCCL), "ccl.version_code": {ROCM_RCCL: 22105, WHEEL_RCCL: 22005}},
         ["warning"]),
        ({"ccl.on_library_path": paths(WHEEL_RCCL)}, []),
        ({"ccl.on_library_path": paths(WHEEL_RCCL), "torch.bundled": paths(f"{WHEEL}/other/librccl.so")}, ["warning"]),
        ({"ccl.preloaded": paths(ROCM_RCCL)}, ["warning"]),
    ],
)  # fmt: skip
def test_library_override(more: Facts, expected: list[str]) -> None:
    facts = ccl(WHEEL_RCCL, 22005) | dict(more)
    assert severities("library_override", facts) == expected


def test_a_folder_says_nothing_of_a_process_that_is_not_known() -> None:
    assert severities("library_override", {"ccl.on_library_path": paths(ROCM_RCCL)}) == ["info"]


def pair(line: str, supported: str, **users: tuple[str, int | None]) -> dict[str, Any]:
    distances = {user: far for user, (_, far) in users.items() if far is not None}
    facts: dict[str, Any] = {
        "driver.release": line, "driver.version": "6.8.5", "driver.rocm_supported": supported,
        "rocm.user_space": {user: release for user, (release, _) in users.items()},
    }  # fmt: skip
    return facts | ({"driver.rocm_distance": distances} if distances else {})


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        (pair("6.2", "6.0, 6.1, 6.2", torch=("6.2", 0)), []),
        (pair("6.2", "6.0, 6.1, 6.2, 6.3, 6.4", torch=("6.4", 2)), []),
        (pair("6.2", "6.2, 7.0", torch=("7.0", 3)), ["info"]),
        (pair("6.2", "6.2, 7.0", torch=("7.1", 4)), ["warning"]),
        (pair("6.4", "6.1, 6.4", torch=("5.7", -5)), ["warning"]),
        (pair("6.4", "6.1, 6.4", torch=("7.10", None)), ["info"]),  # a preview, in no table
        (pair("30.10", "7.0, 10.0.0", torch=("10.0", None)), []),
        (pair("6.2", "", torch=("7.1", 4)), []),
        (pair("6.2", "6.2", torch=("7.1", 4), other=("7.1", 4)), ["warning"]),  # one release, said once
    ],
)
def test_driver_pair(facts: Facts, expected: list[str]) -> None:
    assert severities("driver_pair", facts) == expected


@pytest.mark.parametrize(
    ("driver", "torch", "works", "expected"),
    [
        ("12.4", "12.4", None, []),
        ("12.4", "12.8", None, []),
        ("13.0", "12.4", None, []),
        ("12.4", "13.0", None, ["error"]),
        ("12.4", "13.0", False, ["error"]),
        ("12.4", "13.0", True, ["info"]),
    ],
)
def test_cuda_of_torch_and_driver(driver: str, torch: str, works: bool | None, expected: list[str]) -> None:
    facts: dict[str, Any] = {"cuda.driver_cuda": driver, "cuda.torch_cuda": torch}
    facts |= {} if works is None else {"torch.cuda_available": works}
    assert severities("driver_pair", facts) == expected


@pytest.mark.parametrize(
    ("facts", "environment", "expected"),
    [
        ({"gpu.arch": "gfx942"}, {"HSA_OVERRIDE_GFX_VERSION": "9.4.0"}, ["warning"]),
        ({"gpu.arch": "gfx942"}, {"HSA_OVERRIDE_GFX_VERSION_1": "9.4.0"}, ["warning"]),
        ({"gpu.arch": "gfx942"}, {"HSA_OVERRIDE_GFX_VERSION": "9.4.2"}, ["info"]),
        ({"gpu.arch": "gfx1031"}, {"HSA_OVERRIDE_GFX_VERSION": "10.3.0"}, ["info"]),
        ({"gpu.arch": "gfx942"}, {"HSA_OVERRIDE_CPU_AFFINITY_DEBUG": "1"}, []),
        ({"gpu.arch": "gfx942", "gpu.arch_reported_by_hsa": "gfx940"}, {}, ["warning"]),
        ({"gpu.arch": "gfx942", "gpu.arch_reported_by_hsa": "gfx940"}, {"NCCL_ALGO": "Ring"}, []),
        ({"gpu.arch": "gfx942", "gpu.arch_reported_by_hsa": "gfx942"}, {}, []),
    ],
)
def test_gfx_override(facts: Facts, environment: Mapping[str, str], expected: list[str]) -> None:
    assert severities("gfx_override", facts, environment) == expected


@pytest.mark.parametrize(
    ("text", "name"),
    [("9.4.2", "gfx942"), ("9.0.10", "gfx90a"), ("10.3.0", "gfx1030"), ("gfx942", ""), ("9.4", ""), ("", "")],
)
def test_gfx_names(text: str, name: str) -> None:
    assert gfx_of(text) == name


def gpus(count: int, physical: int = 0, **more: Any) -> dict[str, Any]:
    return {"gpu.count": count, "gpu.physical": physical or count} | {
        f"gpu.{key.replace('__', '.')}": value for key, value in more.items()
    }


CPX = gpus(64, 8, arch="gfx942", compute_partition="CPX", memory_partition="NPS4")


@pytest.mark.parametrize(
    ("facts", "environment", "expected"),
    [
        (gpus(8, arch="gfx942", compute_partition="SPX", memory_partition="NPS1"), {}, []),
        (gpus(8, 4, arch="gfx90a", compute_partition="", memory_partition=""), {}, []),  # two dies in a package
        (gpus(8, arch="gfx942", compute_partition="mixed", memory_partition="NPS1"), {}, []),  # unequal-gpus says it
        (CPX, {}, ["warning"]),
        (CPX, {"LOCAL_WORLD_SIZE": "64"}, ["info"]),
        (CPX, {"LOCAL_WORLD_SIZE": "8"}, ["warning"]),
        (CPX | {"job.ranks": 64}, {}, ["info"]),
        (CPX | {"ccl.kind": "rccl", "ccl.loaded_version_code": 22005}, {"LOCAL_WORLD_SIZE": "64"}, ["warning"]),
        (CPX | {"ccl.kind": "rccl", "ccl.loaded_version_code": 22105}, {"LOCAL_WORLD_SIZE": "64"}, ["info"]),
        (gpus(8, arch="gfx942", compute_partition="SPX", memory_partition="NPS4"), {}, ["warning"]),
        (gpus(64, 8, arch="gfx942"), {}, ["warning"]),  # no partition files
        (gpus(8, arch="sm_90", mig="Enabled"), {}, ["info"]),
        (gpus(8, arch="sm_90", mig="Disabled"), {}, []),
    ],
)
def test_partition_mode(facts: Facts, environment: Mapping[str, str], expected: list[str]) -> None:
    assert severities("partition_mode", facts, environment) == expected


def each(values: Sequence[Any]) -> dict[str, Any]:
    return {f"gpu {i}": value for i, value in enumerate(values)}


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        (gpus(3, device__arch=each(["gfx942"] * 3)), []),
        (gpus(3, device__arch=each(["gfx942", "gfx942", "gfx90a"])), ["warning"]),
        (gpus(3, device__compute_units=each([304, 304, 302])), ["warning"]),
        (gpus(3, device__vbios=each(["a", "a", "b"])), ["info"]),
        (gpus(3, device__arch=each(["gfx942", "gfx90a"])), []),  # of the third nothing is known
        (gpus(3, device__numa_node=each([0, 0, 1])), []),
    ],
)
def test_unequal_gpus(facts: Facts, expected: list[str]) -> None:
    assert severities("unequal_gpus", facts) == expected


def test_the_odd_one_is_named() -> None:
    facts = gpus(4, device__perf_level=each(["auto", "auto", "low", "auto"]))
    assert said("unequal_gpus", facts)[0][1].endswith("low on gpu 2, auto on the other 3")


def missing(count: int, kind: str = "pcie") -> dict[str, str]:
    return {f"gpu {i} - gpu {i + 1}": kind for i in range(count)}


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        (gpus(8, arch="gfx942", all_xgmi=True), []),
        (gpus(8, arch="gfx942", missing_link=missing(1)), ["warning"]),
        (gpus(8, arch="gfx942", missing_link=missing(28)), ["warning"]),
        (gpus(8, 4, arch="gfx90a", missing_link=missing(20)), ["warning"]),
        (gpus(8, arch="gfx90a", missing_link=missing(16)), ["info"]),  # bridged cards
        (gpus(2, arch="gfx1100", missing_link=missing(1)), ["info"]),
        (gpus(8, arch="sm_70", all_nvlink=False, missing_link=missing(12, "SYS")), ["info"]),  # a cube of rings
        (gpus(8, arch="sm_90", all_nvlink=False, missing_link=missing(7, "SYS")), ["warning"]),  # one GPU lost its own
        (gpus(1, arch="sm_90", nvlink_disabled=True), []),
        (gpus(8, arch="sm_90", nvlink_disabled=True), ["warning"]),
    ],
)
def test_missing_link(facts: Facts, expected: list[str]) -> None:
    assert severities("missing_link", facts) == expected


H100 = gpus(8, arch="sm_90", all_nvlink=True) | {"ccl.loaded_version_code": 21803}


@pytest.mark.parametrize(
    ("facts", "environment", "speaks"),
    [
        (H100, {}, True),
        (H100, {"NCCL_NVLS_ENABLE": "0"}, False),
        (H100, {"NCCL_NVLS_ENABLE": "yes"}, False),  # read as 0
        (H100, {"NCCL_NVLS_ENABLE": "2"}, True),
        (H100, {"NCCL_ALGO": "Ring"}, False),
        (H100, {"NCCL_ALGO": "ring,tree"}, False),
        (H100, {"NCCL_ALGO": "Ring,NVLS"}, True),
        (H100, {"NCCL_ALGO": "^NVLS,NVLSTree"}, False),
        (H100, {"NCCL_ALGO": "^NVLS"}, True),
        (H100, {"NCCL_ALGO": "allreduce:tree"}, False),
        (H100 | {"gpu.arch": "sm_80"}, {}, False),
        (H100 | {"gpu.count": 1}, {}, False),
        (H100 | {"gpu.all_nvlink": False}, {}, False),
        (H100 | {"ccl.loaded_version_code": 21604}, {}, False),
        (gpus(8, arch="sm_90"), {}, False),  # the release is not known
        (H100 | {"gpu.arch": "gfx942"}, {}, False),
    ],
)
def test_nvls(facts: Facts, environment: Mapping[str, str], speaks: bool) -> None:
    assert bool(said("nvls", facts, environment)) is speaks


@pytest.mark.parametrize(
    ("facts", "environment", "severity", "words"),
    [
        (gpus(8, usable=8) | {"host.kfd_rw": True}, {}, None, ""),
        (gpus(8, usable=0) | {"host.kfd_rw": False, "host.kfd_group": "render", "host.in_kfd_group": False}, {},
         "error", "not in the group render"),
        (gpus(8, usable=0) | {"host.kfd_rw": False, "host.in_kfd_group": True, "host.kfd_group": "render"}, {},
         "error", "may not open /dev/kfd"),
        (gpus(8, usable=6) | {"host.device_denied": paths("/dev/dri/renderD128")}, {}, "warning", "renderD128"),
        (gpus(8, usable=0) | {"host.device_denied": paths("/dev/nvidia0")}, {}, "error", "/dev/nvidia0"),
        (gpus(0) | {"host.device_denied": paths("/dev/dri/renderD128")}, {}, None, ""),
        (gpus(8) | {"torch.cuda_available": False, "torch.hip": "6.2"}, {}, "error", "torch sees none of the 8 GPUs"),
        (gpus(8) | {"torch.cuda_available": False, "torch.version": {"/x": "2.4"}}, {}, "error", "for the CPU alone"),
        (gpus(1, device__arch={"gpu 0": "gfx942"}) | {"torch.cuda_available": False, "torch.cuda": "12.4"},
         {}, "error", "built for CUDA"),
        (gpus(1, device__arch={"gpu 0": "gfx942"}) | {"torch.cuda": "12.4"}, {}, "error", "built for CUDA"),
        (gpus(1, device__arch={"gpu 0": "sm_90"}) | {"torch.hip": "6.2"}, {}, "error", "built for ROCm"),
        (gpus(1, device__arch={"gpu 0": "sm_90"}) | {"torch.cuda": "12.4"}, {}, None, ""),
        (gpus(8) | {"torch.cuda_available": False}, {"CUDA_VISIBLE_DEVICES": ""}, "error", "CUDA_VISIBLE_DEVICES is"),
        (gpus(8) | {"torch.cuda_available": True}, {}, None, ""),
        (gpus(0) | {"torch.cuda_available": False}, {}, None, ""),  # no-gpu says it
    ],
)  # fmt: skip
def test_device_denied(facts: Facts, environment: Mapping[str, str], severity: str | None, words: str) -> None:
    told = said("device_denied", facts, environment)
    assert [s for s, _ in told] == ([severity] if severity else [])
    assert not told or words in told[0][1]


GIB = 1 << 30


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        (gpus(8) | {"host.shm_bytes": 64 << 20}, ["error"]),
        (gpus(2) | {"host.shm_bytes": 64 << 20}, ["warning"]),
        (gpus(8) | {"host.shm_bytes": GIB}, []),
        (gpus(0) | {"host.shm_bytes": 64 << 20, "host.memlock_bytes": 65536, "host.open_files": 256}, []),
        (gpus(8) | {"host.shm_mount_bytes": 64 << 20}, ["error"]),
        (gpus(8) | {"host.shm_bytes": 8 * GIB, "host.shm_mount_bytes": 64 << 20}, []),
        (gpus(8) | {"host.memlock_bytes": 8 << 20}, ["warning"]),
        (gpus(64, 2) | {"host.memlock_bytes": 8 << 20}, ["info"]),
        (gpus(8) | {"host.memlock_bytes": 64 * GIB}, []),
        (gpus(8) | {"host.memlock_bytes": None}, []),
        (gpus(8) | {"host.open_files": 1024}, ["info"]),
        (gpus(8) | {"host.open_files": 1025}, []),
        (gpus(8) | {"host.open_files": None}, []),
    ],
)
def test_small_limits(facts: Facts, expected: list[str]) -> None:
    assert severities("small_limits", facts) == expected


AMD = gpus(8, compute_partition="")


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        (AMD | {"host.iommu": "pt", "host.numa_balancing": 0, "host.acs_redirect": "off"}, []),
        (AMD | {"host.iommu": ""}, ["warning"]),
        (AMD | {"host.iommu": "off"}, []),
        (AMD | {"host.iommu": "force"}, ["warning"]),
        (gpus(8) | {"host.iommu": ""}, []),  # NVIDIA's
        (gpus(1, compute_partition="") | {"host.iommu": "", "host.numa_balancing": 1}, []),
        (AMD | {"host.numa_balancing": 1}, ["warning"]),
        (gpus(8) | {"host.numa_balancing": 1}, ["info"]),
        (AMD | {"host.acs_redirect": "unknown"}, []),
        (gpus(8) | {"host.acs_redirect": "on", "host.acs_bridge": paths("0000:0a:00.0")}, ["warning"]),
    ],
)
def test_host_tuning(facts: Facts, expected: list[str]) -> None:
    assert severities("host_tuning", facts) == expected


@pytest.mark.parametrize(("state", "expected"), [("read", ["info"]), ("replaced", ["info"]), ("ignored", ["warning"])])
def test_conf_file(state: str, expected: list[str]) -> None:
    assert severities("conf_file", {"ccl.kind": "rccl", "ccl.conf_file": {"/etc/nccl.conf": state}}) == expected


def test_a_conf_file_acts_where_nothing_was_set_before() -> None:
    files = {"/home/user/.nccl.conf": "read", "/etc/nccl.conf": "read", "/etc/empty.conf": "read"}
    settings = [Setting("set", "NCCL_ALGO", Value("literal", "Ring"), place(), "process-environment", 0)]
    for path, names in (("/home/user/.nccl.conf", ["NCCL_ALGO", "NCCL_PROTO"]), ("/etc/nccl.conf", ["NCCL_PROTO"])):
        settings += [Setting("default", n, Value("literal", "x"), place(path), "conf-file", 1) for n in names]
    seen = Seen(list(observed({"ccl.kind": "nccl", "ccl.conf_file": files})), settings)
    home, etc, empty = (told.message for told in function("node.conf_file")(seen))
    assert "in force: it sets NCCL_PROTO inside" in home
    assert "all that it names is set before it" in etc
    assert "sets nothing that is known" in empty


@pytest.mark.parametrize(
    ("facts", "environment", "expected"),
    [
        ({}, {"NVIDIA_TF32_OVERRIDE": "1"}, ["warning"]),
        ({}, {"NVIDIA_TF32_OVERRIDE": "0"}, ["info"]),
        ({}, {"NVIDIA_TF32_OVERRIDE": ""}, []),
        ({}, {"TORCH_ALLOW_TF32_CUBLAS_OVERRIDE": "1"}, ["info"]),
        ({}, {"TORCH_ALLOW_TF32_CUBLAS_OVERRIDE": "0"}, []),
        ({}, {"ROCBLAS_INTERNAL_FP16_ALT_IMPL": "1"}, ["warning"]),
        ({"torch.matmul_allow_tf32": True, "torch.float32_matmul_precision": "high"}, {}, ["info", "info"]),
        ({"torch.matmul_allow_tf32": False, "torch.float32_matmul_precision": "highest"}, {}, []),
    ],
)
def test_precision_override(facts: Facts, environment: Mapping[str, str], expected: list[str]) -> None:
    observed_facts = facts or {"gpu.count": 8}
    assert severities("precision_override", observed_facts, environment) == expected


@pytest.mark.parametrize(
    ("facts", "environment", "count"),
    [
        (gpus(1) | {"ccl.ranks_per_gpu": 1}, {}, 0),
        (gpus(1) | {"ccl.ranks_per_gpu": 2}, {}, 1),
        (gpus(8), {"LOCAL_WORLD_SIZE": "8"}, 0),
        (gpus(8), {"LOCAL_WORLD_SIZE": "16"}, 1),
        (gpus(8), {"SLURM_NTASKS_PER_NODE": "16"}, 1),
        (gpus(8), {"SLURM_NTASKS_PER_NODE": "8(x2)"}, 0),
        (gpus(0), {"LOCAL_WORLD_SIZE": "16"}, 0),
        (gpus(8) | {"job.ranks": 4, "job.gpu_ranks": {"CUDA_VISIBLE_DEVICES=0": "0-3"}}, {}, 1),
    ],
)
def test_shared_gpu(facts: Facts, environment: Mapping[str, str], count: int) -> None:
    assert len(said("shared_gpu", facts, environment)) == count


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        (ccl(WHEEL_RCCL, 22005) | {"ccl.build_type": {WHEEL_RCCL: "Release"}}, []),
        (ccl(WHEEL_RCCL, 22005) | {"ccl.build_type": {WHEEL_RCCL: "Debug"}}, ["warning"]),
        (ccl(WHEEL_RCCL, 22005) | {"ccl.build_type": {ROCM_RCCL: "Debug"}}, ["info"]),
        ({"ccl.build_type": {ROCM_RCCL: "Debug"}}, ["warning"]),
        ({"torch.build_type": "Debug"}, ["warning"]),
        ({"torch.build_type": "Release"}, []),
    ],
)
def test_debug_library(facts: Facts, expected: list[str]) -> None:
    assert severities("debug_library", facts) == expected


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ({"miopen.user_db": "/db", "miopen.user_db_files": {"/db": 0}}, ["info"]),
        ({"miopen.user_db_files": {"/home/user/.config/miopen": 0}}, []),
        ({"miopen.user_db_files": {"/home/user/.config/miopen": 2}}, ["info"]),
        ({"job.differs": {"MIOPEN_USER_DB_PATH": "/a on rank 0; /b on rank 1"}}, ["warning"]),
        ({"job.differs": {"OMP_NUM_THREADS": "1 on rank 0; 2 on rank 1"}}, []),
    ],
)
def test_tuning_databases(facts: Facts, expected: list[str]) -> None:
    assert severities("tuning_databases", facts) == expected


@pytest.mark.parametrize(
    ("facts", "count"),
    [
        (gpus(2, device__perf_level=each(["auto", "auto"])), 0),
        (gpus(2, device__perf_level=each(["perf_determinism", "auto"])), 1),
        (gpus(2, device__clock_cap_mhz=each([1200, 2100]), device__max_clock_mhz=each([2100, 2100])), 1),
        (gpus(2, device__clock_cap_mhz=each([2100, 2100]), device__max_clock_mhz=each([2100, 2100])), 0),
        (gpus(2, device__clock_cap_mhz=each([1200, 1200])), 0),
    ],
)
def test_clock_cap(facts: Facts, count: int) -> None:
    assert severities("clock_cap", facts) == ["info"] * count


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({"gpu.count": 0}, "neither amdgpu nor nvidia is loaded"),
        ({"gpu.count": 0, "driver.version": "6.8.5"}, "the driver is loaded (6.8.5)"),
        ({"gpu.count": 0, "driver.version": "", "driver.kernel": "6.8.0"}, "the driver is loaded (6.8.0)"),
        ({"gpu.count": 0, "gpu.unreadable": 8}, "8 nodes of the kernel's topology may not be read"),
        ({"gpu.count": 1}, ""),
    ],
)
def test_no_gpu(facts: Facts, words: str) -> None:
    told = said("no_gpu", facts)
    assert [severity for severity, _ in told] == (["error"] if words else [])
    assert not words or words in told[0][1]


@pytest.mark.parametrize(
    ("words", "text"),
    [([], ""), (["a"], "a"), (["a", "b"], "a and b"), (["a", "b", "c"], "a, b and c"),
     (list("abcdef"), "a, b, c, d and 2 more")],
)  # fmt: skip
def test_lists_in_words(words: list[str], text: str) -> None:
    assert listed(words) == text


@given(st.integers(1000, 60000))
def test_release_numbers_agree_with_the_probes(code: int) -> None:
    assert ".".join(map(str, release_of(code))) == version_of_code(code)


def test_the_environment_wins_over_a_conf_file() -> None:
    conf = Setting("default", "NCCL_ALGO", Value("literal", "Tree"), place("/etc/nccl.conf"), "conf-file", 0)
    own = Setting("set", "NCCL_ALGO", Value("literal", "Ring"), place(), "process-environment", 1)
    assert observations.Seen([], [conf, own]).known_value("NCCL_ALGO") == "Ring"
    assert observations.Seen([], [conf]).known_value("NCCL_ALGO") == "Tree"
    assert observations.Seen([], []).known_value("NCCL_ALGO") is None
