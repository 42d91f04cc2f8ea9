"""The short form says a thing once: what only repeats another key is left out."""

from __future__ import annotations

import pytest

from envdoctor.node.probes.keys import KEYS, fits
from envdoctor.node.probes.parts import Ccl, Cuda, Driver, Gpu, Host, Miopen, Rocm, Torch
from envdoctor.node.probes.report import Node

SITE = "/venv/lib/python3.12/site-packages"
WHEEL_HIP, OPT_HIP, OTHER_HIP = (
    f"{SITE}/torch/lib/libamdhip64.so",
    "/opt/a/lib/libamdhip64.so.6",
    "/opt/b/lib/libamdhip64.so.6",
)
ONE = Rocm("6.2.0", "66", "/opt/a", ["/opt/a"])
TWO = Rocm("6.2.0", "66", "/opt/a", ["/opt/a", "/opt/b"])


def test_a_node_of_which_nothing_is_known() -> None:
    assert Node().as_json() == {"vendor": "", "gpu": {"count": 0, "physical": 0}}


@pytest.mark.parametrize(
    ("rocm", "named", "shown"),
    [(ONE, "/opt/a", None), (ONE, "/opt/x", "/opt/x"), (TWO, "/opt/a", "/opt/a"), (TWO, None, None)],
)
def test_rocm_path(rocm: Rocm, named: str | None, shown: str | None) -> None:
    assert Node(rocm=rocm, rocm_path_env=named).as_json()["rocm"].get("rocm_path_env") == shown


@pytest.mark.parametrize(
    ("mapped", "hip", "shown"),
    [
        ((WHEEL_HIP,), "6.4.43482", None),  # a wheel with its whole runtime
        ((WHEEL_HIP, OPT_HIP), "6.4.43482", "6.4.43482"),
        ((OPT_HIP,), "6.2.41133", None),
        ((OTHER_HIP,), "6.4.43482", "6.4.43482"),
        ((), "6.4.43482", None),
    ],
)
def test_hip_of_torch(mapped: tuple[str, ...], hip: str, shown: str | None) -> None:
    node = Node(rocm=TWO, torch=Torch(hip=hip), mapped=mapped)
    assert node.as_json()["rocm"].get("torch_hip") == shown


@pytest.mark.parametrize(
    ("mapped", "loaded", "shown"),
    [
        ((OTHER_HIP,), "/opt/a/lib/libMIOpen.so.1", True),
        ((OPT_HIP,), "/opt/a/lib/libMIOpen.so.1", False),
        ((OPT_HIP, OTHER_HIP), "/opt/a/lib/libMIOpen.so.1", False),
        ((f"{SITE}/_rocm_sdk_core/lib/libamdhip64.so.7",), f"{SITE}/_rocm_sdk_libraries/lib/libMIOpen.so.1", False),
        ((), "/opt/a/lib/libMIOpen.so.1", False),
    ],
)
def test_miopen_of_another_install(mapped: tuple[str, ...], loaded: str, shown: bool) -> None:
    node = Node(rocm=TWO, miopen=Miopen("3.2.0", [loaded]), mapped=mapped)
    assert ("loaded" in node.as_json()["miopen"]) is shown


@pytest.mark.parametrize(
    ("ccl", "keys"),
    [
        (Ccl("rccl", ["/a"], "/a", 22005, [2, 20, 5], ["/a"]), {"kind", "loaded", "loaded_version_code", "installed"}),
        (Ccl("rccl", ["/a", "/b"], "/a", 22005, None), {"kind", "loaded", "used_by_torch", "loaded_version_code"}),
        (
            Ccl("nccl", ["/a"], "/a", 21803, [2, 20, 5]),
            {"kind", "loaded", "loaded_version_code", "torch_header_version"},
        ),
        (Ccl("nccl", [], None, None, [2, 20, 5], ["/a"]), {"kind", "installed"}),
    ],
)
def test_collectives(ccl: Ccl, keys: set[str]) -> None:
    assert set(Node(ccl=ccl).as_json()["ccl"]) == keys


def test_gpus() -> None:
    gpu = Gpu(8, 8, usable=8, arch="gfx942", arch_reported_by_hsa="gfx942", compute_partition="", all_xgmi=True)
    assert Node(gpu=gpu).as_json()["gpu"] == {
        "count": 8, "physical": 8, "arch": "gfx942", "compute_partition": "", "all_xgmi": True
    }  # fmt: skip
    gpu.usable, gpu.arch_reported_by_hsa = 0, "gfx940"
    assert Node(gpu=gpu).as_json()["gpu"]["usable"] == 0
    assert Node(gpu=gpu).as_json()["gpu"]["arch_reported_by_hsa"] == "gfx940"


@pytest.mark.parametrize(
    ("node", "table"),
    [
        (Node(cuda=Cuda(None, "13.0")), None),  # a driver alone is no CUDA
        (
            Node(cuda=Cuda("12.4.1", "12.4"), torch=Torch(cuda="12.4")),
            {"toolkit": "12.4.1", "driver_cuda": "12.4", "torch_cuda": "12.4"},
        ),
        (Node(torch=Torch(cuda="12.4")), {"torch_cuda": "12.4"}),
    ],
)
def test_cuda(node: Node, table: dict[str, str] | None) -> None:
    assert node.as_json().get("cuda") == table


def test_driver_and_host() -> None:
    driver = Driver("amdgpu", "", "/proc/sys/kernel/osrelease", kernel="6.8")
    sheet = Node(driver=driver, host=Host(iommu="", numa_balancing=0, kfd_rw=False)).as_json()
    assert sheet["driver"] == {"version": "", "kernel": "6.8", "source": "/proc/sys/kernel/osrelease"}
    assert sheet["host"] == {"iommu": "", "numa_balancing": 0, "kfd_rw": False}


def test_the_order_is_always_the_same() -> None:
    node = Node(
        "n", "amd", True, ONE, Cuda("12", "12"), Driver("amdgpu", "6", "s"), ccl=Ccl("rccl"), host=Host(iommu="pt")
    )
    assert list(node.as_json()) == ["name", "vendor", "container", "rocm", "cuda", "driver", "gpu", "ccl", "host"]


def test_each_key_is_told_in_words() -> None:
    assert all(key.meaning and key.type in (str, int, float, bool) for key in KEYS.values())


@pytest.mark.parametrize(
    ("key", "value", "answer"),
    [
        ("gpu.count", 8, True), ("gpu.count", True, False), ("gpu.count", "8", False), ("gpu.count", None, False),
        ("host.memlock_bytes", None, True), ("host.cpu_limit", 1.5, True), ("host.cpu_limit", 1, False),
        ("x", 1, False),
    ],
)  # fmt: skip
def test_values_fit_their_keys(key: str, value: object, answer: bool) -> None:
    assert fits(key, value) is answer  # type: ignore[arg-type]
