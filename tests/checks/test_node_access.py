"""The tests behind ED710, ED721 to ED724 on small sets of facts: the advice fits the cause, and silence where it is due."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from test_observations import RULES, Facts, each, gpus, observed, place, said, severities

from envdoctor.checks.node.common import Seen, Told
from envdoctor.checks.registry import function
from envdoctor.core.facts import Setting, Value

AMD = gpus(8, device__arch=each(["gfx942"] * 8))
NVIDIA = gpus(8, device__arch=each(["sm_90"] * 8))
BLIND = {"torch.cuda_available": False}


def told(test: str, facts: Facts, environment: Mapping[str, str] | None = None) -> list[Told]:
    """What a test says, with its advice and evidence."""
    settings = [
        Setting("set", name, Value("literal", value), place(), "process-environment", order)
        for order, (name, value) in enumerate((environment or {}).items())
    ]
    return list(function(f"node.{test}")(Seen(list(observed(facts)), settings, RULES[test].parameters)))


CLOSED = {"host.kfd_rw": False, "host.kfd_group": "render"}


@pytest.mark.parametrize(
    ("facts", "environment", "says", "advice"),
    [
        (AMD | CLOSED | {"host.in_kfd_group": False}, {}, "not in the group render", "usermod -a -G"),
        (AMD | CLOSED | {"host.in_kfd_group": True}, {}, "/dev/kfd", "set by udev"),
        (AMD | CLOSED | {"host.in_kfd_group": True, "container": True}, {}, "/dev/kfd", "--device=/dev/kfd"),
        (NVIDIA | {"host.device_denied": {"/dev/nvidia0": "/dev/nvidia0"}}, {}, "/dev/nvidia0", "NVreg_DeviceFileMode"),
        (NVIDIA | {"host.device_denied": {"/dev/nvidia0": "/dev/nvidia0"}, "container": True}, {}, "nvidia0", "--gpus"),
        (NVIDIA | BLIND, {"CUDA_VISIBLE_DEVICES": ""}, "is set and names none", "unset CUDA_VISIBLE_DEVICES"),
        (NVIDIA | BLIND | {"cuda.torch_cuda": "13.0", "cuda.driver_cuda": "12.0"}, {}, "up to 12.0", "a newer driver"),
        (NVIDIA | BLIND | {"torch.cuda_error": "The NVIDIA driver on your system is too old"}, {}, "too old",
         "a newer driver"),
        (NVIDIA | BLIND | {"torch.driver_library": "libcuda.so.1: cannot open shared object file"}, {}, "libcuda.so.1",
         "libcuda.so.1 is not found"),
        (NVIDIA | BLIND | {"torch.cuda_error": "Found no NVIDIA driver on your system."}, {}, "no NVIDIA driver",
         "libcuda.so.1 is not found"),
        (NVIDIA | BLIND | {"torch.cuda_error": "Error 802: system not yet initialized"}, {}, "802", "fabricmanager"),
        (AMD | BLIND | {"torch.cuda_error": "No HIP GPUs are available"}, {}, "No HIP GPUs", "run rocminfo"),
        (AMD | BLIND | {"torch.version": {"/s": "2.4"}}, {}, "for the CPU alone", "a build of torch for ROCm"),
        (AMD | {"torch.cuda": "12.4"}, {}, "is built for CUDA", "a build of torch for ROCm"),
        (NVIDIA | {"helper.status": {"nvidia-smi": 18}, "helper.says": {"nvidia-smi": "Driver/library version mismatch"}},
         {}, "status 18: Driver/library version mismatch", "reboot"),
        (NVIDIA | {"helper.status": {"nvidia-smi": 9}}, {}, "status 9", "modprobe nvidia"),
        (AMD | {"torch.import_error": "libamdhip64.so.6: cannot open shared object file"}, {}, "cannot be imported",
         "install the library"),
    ],
)  # fmt: skip
def test_the_advice_fits_the_cause(facts: Facts, environment: Mapping[str, str], says: str, advice: str) -> None:
    (one,) = told("device_denied", facts, environment)
    assert says in one.message
    assert advice in one.help
    assert ("usermod" in one.help) == ("usermod" in advice)  # no right helps where none is lacking


def test_each_vendor_has_its_own_evidence() -> None:
    amd, nvidia = (told("device_denied", facts | BLIND)[0] for facts in (AMD, NVIDIA))
    assert any("rocminfo" in line for line in amd.evidence)
    assert all(("ROCm" not in line and "NVIDIA" in line) or "nvidia" in line for line in nvidia.evidence)


def test_one_gpu_is_told_of_as_one() -> None:
    (one,) = told("device_denied", gpus(1, device__arch=each(["gfx942"])) | {"torch.cuda": "12.4"})
    assert one.message == "torch is built for CUDA, and the GPU of this node is not"
    assert "the 1 GPU of this node" in told("device_denied", gpus(1) | BLIND)[0].message


def test_an_import_that_fails_says_nothing_of_a_job_that_runs() -> None:
    assert told("device_denied", AMD | {"torch.import_error": "x", "job.ranks": 8}) == []


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        (NVIDIA, []),
        (NVIDIA | {"gpu.missing": {"0000:89:00.0": "nvidia-smi says: GPU is lost"}}, ["error"]),
        (NVIDIA | {"helper.status": {"nvidia-smi": 15}}, ["error"]),
        (NVIDIA | {"helper.status": {"nvidia-smi": 14}}, ["warning"]),
        (NVIDIA | {"helper.status": {"nvidia-smi": 6}}, []),
        (NVIDIA | {"helper.status": {"nvidia-smi": 18}}, []),  # the driver's fault, and ED710's
        # One fault, one finding: the status says what the address says already.
        (NVIDIA | {"helper.status": {"nvidia-smi": 15}, "gpu.missing": {"0000:89:00.0": "lost"}}, ["error"]),
        (NVIDIA | {"gpu.expected": 8}, []),
        (gpus(7) | {"gpu.expected": 8}, ["error"]),
        (gpus(9) | {"gpu.expected": 8}, ["warning"]),
        (gpus(64, 8) | {"gpu.expected": 8}, []),  # partitions of 8 packages
        ({"gpu.expected": 8}, []),  # how many there are is not known
        (gpus(0) | {"gpu.expected": 1}, ["error"]),
    ],
)
def test_missing_gpus(facts: Facts, expected: list[str]) -> None:
    assert severities("missing_gpu", facts) == expected


def test_missing_gpus_are_counted_in_good_grammar() -> None:
    two = NVIDIA | {"gpu.missing": {"0000:89:00.0": "a", "0000:9b:00.0": "b"}}
    assert said("missing_gpu", two)[0][1].startswith("2 GPUs are missing: ")
    assert said("missing_gpu", gpus(1) | {"gpu.expected": 2})[0][1] == "1 GPU on this node, and 2 are expected"


def device(**fields: Any) -> dict[str, Any]:
    return gpus(2, **{f"device__{name}": each(values) for name, values in fields.items()})


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        (device(ecc_errors=[0, 0]), []),
        (device(ecc_errors=[0, 2]), ["warning"]),
        (device(ecc_errors=[0, 2], hidden=[False, True]), []),
        (device(rows_remapped=[0, 1]), ["info"]),
        (device(rows_pending=[False, True]), ["warning"]),
        (device(rows_failed=[False, True]), ["error"]),
        (device(pages_pending=[True, False]), ["warning"]),
        (device(bad_pages=[0, 3]), ["info"]),
        (device(nvlinks=[12, 12], nvlinks_down=[6, 6]), []),  # a board whose other links lead nowhere
        (device(nvlinks=[18, 17], nvlinks_down=[0, 1]), ["warning"]),
        (device(fabric=["Completed, Success"] * 2), []),
        (device(fabric=["In Progress"] * 2), ["warning"]),
        (device(fabric=["In Progress"] * 2) | {"gpu.nvlink_disabled": True}, []),
        (device(fabric=["Not Started"] * 2) | {"torch.cuda_available": True}, ["info"]),
        (device(fabric=["Not Supported"] * 2), []),
        ({"gpu.xid": {"0000:89:00.0 79": 2}}, ["error"]),
        ({"gpu.xid": {"0000:89:00.0 94": 1}}, ["warning"]),
        ({"gpu.xid": {"0000:89:00.0 31": 1}}, ["info"]),
        ({"gpu.xid": {"0000:89:00.0 31": 1, "0000:89:00.0 79": 1}}, ["error", "info"]),
        ({"gpu.kernel_fault": {"0000:c1:00.0 gpu reset begin": 1}}, ["warning"]),
    ],
)
def test_health(facts: Facts, expected: list[str]) -> None:
    assert severities("gpu_health", facts) == expected


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ({"gpu.process": {"4711": ""}}, ["info"]),
        ({"gpu.process": {"4711": "0000:89:00.0", "4712": ""}}, ["info"]),
        ({"gpu.process": {"4711": ""}, "job.ranks": 8}, []),
    ],
)
def test_busy_gpus(facts: Facts, expected: list[str]) -> None:
    assert severities("busy_gpu", facts) == expected


@pytest.mark.parametrize(
    "message", [{"gpu.xid": {"0000:89:00.0 79": 1}}, {"gpu.kernel_fault": {"0000:89:00.0 asic is lost": 1}}]
)
def test_what_the_log_says_of_a_missing_gpu_is_told_with_it(message: Facts) -> None:
    facts = NVIDIA | {"gpu.missing": {"0000:89:00.0": "lost"}} | dict(message)
    assert said("gpu_health", facts) == []
    (one,) = told("missing_gpu", facts)
    assert [("79" in r.message or "asic is lost" in r.message) for r in one.related] == [True]


def test_processes_in_good_grammar() -> None:
    assert "2 processes compute on" in said("busy_gpu", {"gpu.process": {"1": "", "2": ""}})[0][1]
    assert "1 process computes on" in said("busy_gpu", {"gpu.process": {"1": ""}})[0][1]


@pytest.mark.parametrize(
    ("facts", "environment", "expected"),
    [
        ({"network.named_hca": {"mlx5_0": "active"}}, {}, []),
        ({"network.named_hca": {"mlx5_0": "down", "mlx5_9": "absent"}}, {}, ["warning", "warning"]),
        ({"network.topo_file": {"/t.xml": True}}, {}, []),
        ({"network.topo_file": {"/t.xml": False}}, {}, ["warning"]),
        ({"host.cloud": "azure"} | gpus(8), {}, ["info"]),
        ({"host.cloud": "azure"} | gpus(1), {}, []),
        ({"host.cloud": "azure"} | gpus(8), {"NCCL_TOPO_FILE": "/t.xml"}, []),
    ],
)
def test_network_devices(facts: Facts, environment: Mapping[str, str], expected: list[str]) -> None:
    assert severities("network_device", facts, environment) == expected


ONE_HIDDEN = {"gpu.visible": 1, "gpu.device.hidden": each([False, True])}


def test_what_variables_hide_is_not_judged() -> None:
    unlike = gpus(2, arch="mixed", device__arch=each(["gfx1100", "gfx1036"]), all_xgmi=False)
    unlike |= {"gpu.missing_link": {"gpu 0 - gpu 1": "none"}, "gpu.compute_partition": "", "host.iommu": ""}
    assert [
        test for test in ("unequal_gpus", "missing_link", "host_tuning") if said(test, unlike | {"gpu.visible": 1})
    ] == []
    for test, count in (("unequal_gpus", 1), ("missing_link", 1), ("host_tuning", 1)):
        assert len(said(test, unlike)) == count, test
        assert said(test, unlike | ONE_HIDDEN) == [], test


def test_links_of_a_mixed_node_are_judged_by_the_gpus_in_use() -> None:
    facts = gpus(3, arch="mixed", all_xgmi=False, device__arch=each(["gfx942", "gfx942", "gfx1100"]))
    facts |= {"gpu.missing_link": {"gpu 0 - gpu 1": "pcie", "gpu 0 - gpu 2": "pcie"}}
    assert severities("missing_link", facts) == ["info"]
    masked = facts | {"gpu.visible": 2, "gpu.device.hidden": each([False, False, True])}
    assert said("missing_link", masked) == [("warning", "no xGMI in 1 pair of GPUs out of 1: gpu 0 - gpu 1 (pcie)")]


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({"host.kernel": "5.14.21-cray_shasta_c", "host.iommu": ""}, []),
        ({"host.bios": "Hyper-V UEFI Release v4.1", "host.iommu": ""}, []),
        ({"host.kernel": "6.8.0", "host.bios": "2.1", "host.iommu": ""}, ["warning"]),
        ({"host.kernel": "5.14.21-cray_shasta_c", "host.iommu": "", "host.numa_balancing": 1}, ["warning"]),
        ({"host.numa_balancing": 2}, []),  # moves pages between kinds of memory alone
        ({"host.numa_balancing": 3}, ["warning"]),
    ],
)
def test_where_rccl_itself_asks_for_no_iommu(more: Facts, expected: list[str]) -> None:
    assert severities("host_tuning", gpus(8, compute_partition="SPX") | more) == expected


@pytest.mark.parametrize(
    ("archs", "value", "expected"),
    [
        (["gfx1031"], "10.3.0", "info"),
        (["gfx1010"], "10.3.0", "warning"),  # another generation: other instructions
        (["gfx1201"], "11.0.0", "warning"),
        (["gfx1101"], "11.0.0", "info"),
        (["gfx1103"], "11.0.0", "warning"),  # known to hang
        (["gfx1103"], "11.0.2", "info"),
        (["gfx1100", "gfx1036"], "11.0.0", "warning"),  # the second one is told to be what it is not
        (["gfx942"], "9.4.2", "info"),
        ([], "11.0.0", "warning"),
    ],
)
def test_overrides_of_the_chip(archs: list[str], value: str, expected: str) -> None:
    facts = gpus(len(archs), device__arch=each(archs)) if archs else {}
    assert severities("gfx_override", facts, {"HSA_OVERRIDE_GFX_VERSION": value}) == [expected]


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        (device(memory_bytes=[85520809984, 85520809984 - (40 << 20)]), []),
        (device(memory_bytes=[80 << 30, 40 << 30]), ["memory differs between GPUs: 40 GiB on gpu 1, 80 GiB on the other one"]),
        (device(ecc=["Enabled", "Disabled"]), ["ECC mode differs between GPUs: Disabled on gpu 1, Enabled on the other one"]),
        (device(persistence=[True, False]), ["persistence differs between GPUs: off on gpu 1, on on the other one"]),
        (device(compute_units=[304, 302]), ["compute units differ between GPUs: 302 on gpu 1, 304 on the other one"]),
    ],
)  # fmt: skip
def test_unequal_gpus_in_words(facts: Facts, expected: list[str]) -> None:
    assert [message for _, message in said("unequal_gpus", facts)] == expected


@pytest.mark.parametrize(("board", "severity"), [({}, "info"), ({"gpu.all_nvlink": True}, "warning")])
def test_lanes_are_a_fault_on_a_board_and_a_matter_of_slots_elsewhere(board: Facts, severity: str) -> None:
    assert severities("unequal_gpus", device(link_width=[16, 8]) | dict(board)) == [severity]


@pytest.mark.parametrize(
    ("facts", "count"),
    [
        (device(clock_mhz=[1095, 1095], max_clock_mhz=[1410, 1410]), 1),  # which is the default is not known
        (device(clock_mhz=[1410, 1410], max_clock_mhz=[1410, 1410]), 0),
        (device(clock_mhz=[1095, 1095], default_clock_mhz=[1095, 1095], max_clock_mhz=[1410, 1410]), 0),
        (device(clock_mhz=[900, 1095], default_clock_mhz=[1095, 1095]), 1),
        (device(power_limit_w=[300, 400], default_power_w=[400, 400]), 1),
        (device(power_limit_w=[300, 300]), 0),
    ],
)
def test_caps_of_nvidia(facts: Facts, count: int) -> None:
    assert severities("clock_cap", facts) == ["info"] * count


def test_an_unknown_module_version_is_told_as_unknown() -> None:
    (one,) = said("driver_pair", {"driver.unlisted": "6.99.1"})
    assert one[0] == "info"
    assert "is not known here" in one[1]
