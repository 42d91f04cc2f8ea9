"""GPUs on the PCI bus against the driver's list."""

from __future__ import annotations

from pathlib import Path

import pytest
from node_helpers import by_detail, observed, view_of

from envdoctor.node.probes.base import Absent, NodeView
from envdoctor.node.probes.host.bus import bus_probe, limited, lost, read_bus

H100, GT710, MI300X = (
    ("0x10de", "0x030200", "0x2330"),
    ("0x10de", "0x030000", "0x128b"),
    ("0x1002", "0x120000", "0x74a1"),
)


def pci(number: int, what: tuple[str, str, str], driver: str = "") -> dict[str, str]:
    folder = f"/sys/bus/pci/devices/0000:{number:02x}:00.0"
    files = {f"{folder}/{name}": f"{word}\n" for name, word in zip(("vendor", "class", "device"), what, strict=True)}
    return files | ({f"{folder}/driver": f"-> ../../../../bus/pci/drivers/{driver}"} if driver else {})


def view(tmp_path: Path, *devices: dict[str, str]) -> NodeView:
    return view_of(tmp_path, {path: text for device in devices for path, text in device.items()})


def missing(seen: NodeView, listed: list[str], *, vendor: str = "nvidia", partial: bool = False) -> list[str]:
    bus_probe(seen, vendor, listed, partial)
    return list(by_detail(seen.facts, "gpu.missing"))


def address(number: int) -> str:
    return f"0000:{number:02x}:00.0"


def test_one_that_the_driver_does_not_list(tmp_path: Path) -> None:
    seen = view(tmp_path, *(pci(n, H100, "nvidia") for n in (1, 2)), pci(3, H100))
    assert missing(seen, [address(1), address(2)]) == [address(3)]
    assert by_detail(seen.facts, "gpu.on_bus") == {"nvidia": 3}
    assert "no driver is bound" in str(observed(seen.facts, "gpu.missing")[0])


def test_all_are_listed(tmp_path: Path) -> None:
    assert (
        missing(view(tmp_path, *(pci(n, MI300X, "amdgpu") for n in (1, 2))), [address(1), address(2)], vendor="amd")
        == []
    )


@pytest.mark.parametrize("driver", ["vfio-pci", "gim", "pci-stub"])
def test_one_that_was_given_to_a_virtual_machine(tmp_path: Path, driver: str) -> None:
    assert missing(view(tmp_path, pci(1, H100, "nvidia"), pci(2, H100, driver)), [address(1)]) == []


def test_a_card_of_another_model_may_be_too_old_for_the_driver(tmp_path: Path) -> None:
    assert missing(view(tmp_path, pci(1, H100, "nvidia"), pci(2, GT710)), [address(1)]) == []


def test_a_virtual_function_is_not_for_this_machine(tmp_path: Path) -> None:
    virtual = pci(2, MI300X) | {f"/sys/bus/pci/devices/{address(2)}/physfn": "-> ../0000:01:00.0"}
    assert missing(view(tmp_path, pci(1, MI300X, "amdgpu"), virtual), [address(1)], vendor="amd") == []


def test_in_a_container_a_part_is_shown_in_good_order(tmp_path: Path) -> None:
    assert missing(view(tmp_path, pci(1, H100), pci(2, H100)), [address(1)], partial=True) == []


def test_other_devices_are_no_gpus(tmp_path: Path) -> None:
    switch, audio, screen = (
        ("0x10de", "0x068000", "0x22a3"),
        ("0x10de", "0x040300", "0x1"),
        ("0x1002", "0x030000", "0x2"),
    )
    assert read_bus(view(tmp_path, pci(1, switch), pci(2, audio), pci(3, screen))) == []
    with pytest.raises(Absent):
        bus_probe(view(tmp_path), "amd", [], partial=False)


def test_nothing_is_lost_where_the_driver_lists_nothing(tmp_path: Path) -> None:
    assert lost(read_bus(view(tmp_path, pci(1, H100))), []) == []


@pytest.mark.parametrize(
    ("cgroup", "container", "part"),
    [
        ("0::/user.slice/user-1000.slice\n", False, False),
        ("0::/system.slice/slurmd.service\n", False, False),  # a prolog sees all of the node
        ("0::/system.slice/slurmstepd.scope/job_4711/step_0/user/task_0\n", False, True),
        ("9:devices:/slurm/uid_1000/job_4711/step_batch\n", False, True),
        ("0::/\n", True, True),
    ],
)
def test_where_devices_are_limited(tmp_path: Path, cgroup: str, container: bool, part: bool) -> None:
    assert limited(view_of(tmp_path, {"/proc/self/cgroup": cgroup}), container) is part
