"""The picture of the links."""

from __future__ import annotations

from itertools import combinations

import pytest
from node_trees import judged_as_recorded

from envdoctor.node.probes.parts import Device, Link
from envdoctor.node.probes.report import Node
from envdoctor.reports.node.topology import topology


def devices(count: int, packages: int | None = None) -> list[Device]:
    share = count // (packages or count)
    return [Device(i, "amd", arch="gfx942", bus=f"0000:{i:02x}:00.0", package=i // share) for i in range(count)]


def test_every_pair_of_a_healthy_board() -> None:
    lines = topology(judged_as_recorded("mi300x-8gpu-rocm-6.2").node)
    assert lines[0].split() == [str(i) for i in range(8)]
    assert lines[1].split()[:10] == ["gpu", "0", ".", *["xGMI"] * 7]
    assert lines[8].split()[:10] == ["gpu", "7", *["xGMI"] * 7, "."]
    assert "NUMA 1" in lines[8]
    assert "304 CUs" in lines[8]


def test_nvlink_and_pcie() -> None:
    links = [Link(0, 1, "nvlink", "NV18"), Link(0, 2, "pcie", "SYS")]
    lines = topology(Node(devices=devices(3), links=links))
    assert lines[1].split()[:5] == ["gpu", "0", ".", "NV18", "SYS"]
    assert lines[2].split()[:5] == ["gpu", "1", "NV18", ".", "?"]
    assert lines[3].split()[:5] == ["gpu", "2", "SYS", "?", "."]
    assert "NVn: n NVLinks" in lines[4]
    assert "SYS, NODE" in lines[4]


@pytest.mark.parametrize(
    "node", [Node(), Node(devices=devices(1)), Node(devices=devices(2))], ids=["none", "one", "no links"]
)
def test_no_picture_where_there_is_nothing_to_see(node: Node) -> None:
    assert topology(node) == ()


def test_partitions_are_shown_by_package() -> None:
    everything = devices(64, 8)
    links = [Link(a, b, "xgmi", "XGMI", 15) for a, b in combinations(range(64), 2) if (a // 8, b // 8) != (2, 5)]
    links += [Link(a, b, "pcie" if (a, b) == (16, 40) else "xgmi", "") for a in range(16, 24) for b in range(40, 48)]
    lines = topology(Node(devices=everything, links=links))
    assert len(lines) == 1 + 8 + 2
    assert lines[1].split()[:11] == ["package", "0", ".", *["xGMI"] * 7, "8"]
    assert lines[3].split()[7] == "PCIe"  # the slowest link between packages 2 and 5
    assert lines[9] == "within a package: xGMI"


def test_sixteen_gpus_are_still_a_matrix_of_gpus() -> None:
    links = [Link(a, b, "xgmi") for a, b in combinations(range(16), 2)]
    lines = topology(Node(devices=devices(16), links=links))
    assert lines[16].startswith("gpu 15  xGMI")
    assert len({len(line.split("0000:")[0]) for line in lines[1:17]}) == 1
