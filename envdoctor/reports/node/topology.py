"""The GPUs and their links as a picture in text."""

from __future__ import annotations

from collections.abc import Sequence

from envdoctor.node.probes.parts import Device, Link
from envdoctor.node.probes.report import Node

LARGEST = 16
"""Above this number of GPUs the matrix is one of packages: 64 partitions make no picture."""
SELF, UNKNOWN = ".", "?"
WORST = ("other", "pcie", "nvlink", "xgmi")
"""Kinds of links, the slowest first."""


def topology(node: Node) -> tuple[str, ...]:
    """Lines of the picture; none for a single GPU or where no link is known."""
    devices = node.devices
    if len(devices) < 2 or not node.links:
        return ()
    cells = {(link.first, link.second): shown(link) for link in node.links}
    if len(devices) <= LARGEST:
        rows = [(f"gpu {device.index}", beside(device)) for device in devices]
        return (*matrix([name for name, _ in rows], cells, [text for _, text in rows]), *legend(cells))
    return packages(devices, node.links)


def shown(link: Link) -> str:
    """A link in the matrix: its name, or xGMI."""
    if link.kind == "xgmi":
        return "xGMI"
    if link.kind == "pcie" and link.name in ("pcie", "PCI", ""):
        return "PCIe"
    return link.name or "other"


def beside(device: Device) -> str:
    """What stands to the right of a row: where the GPU sits."""
    numa = "" if device.numa_node is None else f"NUMA {device.numa_node}"
    units = f"{device.compute_units} CUs" if device.compute_units else ""
    return "  ".join(part for part in (device.bus, numa, device.arch, units) if part)


def matrix(names: Sequence[str], cells: dict[tuple[int, int], str], texts: Sequence[str]) -> list[str]:
    """Names of rows and columns, and what joins each pair."""
    width = max([len(word) for word in cells.values()] + [len(str(len(names) - 1)), 1])
    head = max(len(name) for name in names)
    lines = [" " * head + "  " + " ".join(str(i).rjust(width) for i in range(len(names)))]
    for row, name in enumerate(names):
        line = [cell(row, column, cells).rjust(width) for column in range(len(names))]
        lines.append(f"{name.ljust(head)}  {' '.join(line)}   {texts[row]}".rstrip())
    return lines


def cell(row: int, column: int, cells: dict[tuple[int, int], str]) -> str:
    """What joins two GPUs; `?` where no source tells of a link."""
    return SELF if row == column else cells.get((min(row, column), max(row, column)), UNKNOWN)


def legend(cells: dict[tuple[int, int], str]) -> list[str]:
    """What the words of the matrix mean, for those that are in it."""
    words = set(cells.values())
    meanings = []
    if any(word.startswith("NV") for word in words):
        meanings.append("NVn: n NVLinks")
    if words & {"SYS", "NODE", "PHB", "PXB", "PIX"}:
        meanings.append("SYS, NODE, PHB, PXB, PIX: PCIe, across sockets to behind one switch")
    meanings.append("?: no link is told of")
    return ["; ".join(meanings)]


def packages(devices: Sequence[Device], links: Sequence[Link]) -> tuple[str, ...]:
    """The matrix of packages, each pair with the slowest link that is known between their parts."""
    of = {device.index: device.package or 0 for device in devices}
    kinds: dict[tuple[int, int], str] = {}
    inner: set[str] = set()
    for link in links:
        first, second = sorted((of[link.first], of[link.second]))
        if first == second:
            inner.add(shown(link))
            continue
        slower = min(kinds.get((first, second), link.kind), link.kind, key=WORST.index)
        kinds[first, second] = slower
    count = len(set(of.values()))
    cells = {pair: {"xgmi": "xGMI", "pcie": "PCIe", "nvlink": "NV"}.get(kind, kind) for pair, kind in kinds.items()}
    parts = [sum(package == number for package in of.values()) for number in range(count)]
    texts = [f"{part} logical GPUs" for part in parts]
    names = [f"package {number}" for number in range(count)]
    within = f"within a package: {', '.join(sorted(inner)) or 'no link is told of'}"
    return (*matrix(names, cells, texts), within, *legend(cells))
