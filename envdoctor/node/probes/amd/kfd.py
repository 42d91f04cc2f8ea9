"""GPUs of AMD as the kernel's compute driver (KFD) shows them: devices, packages, links.

Shapes: ROCm/k8s-device-plugin@ed764684:testdata, docs of the properties in the facts on live probes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from envdoctor.node.probes.base import Absent, NodeView, ProbeFailed
from envdoctor.node.probes.parts import Device, Link, LinkKind

TOPOLOGY = "/sys/class/kfd/kfd/topology/nodes"
LINK_KINDS: dict[int, LinkKind] = {2: "pcie", 11: "xgmi"}
TWO_DIES = (0x7408, 0x740C)
"""PCI device ids of MI250X and MI250, whose package holds two GPUs (GCDs) with a `unique_id` each. pci.ids."""


@dataclass(frozen=True, slots=True)
class IoLink:
    """One link that a KFD node lists."""

    source: int
    target: int
    type: int
    weight: int


@dataclass(frozen=True, slots=True)
class KfdNode:
    """One GPU node of the topology. `declared` is how many links it says it has."""

    number: int
    properties: Mapping[str, int]
    links: tuple[IoLink, ...] = ()

    @property
    def complete(self) -> bool:
        """Whether every link it declares could be read."""
        declared = self.properties.get("io_links_count", 0) + self.properties.get("p2p_links_count", 0)
        return len(self.links) >= declared


def parse_properties(text: str) -> dict[str, int]:
    """`key value` lines; lines of any other shape are left out."""
    pairs = (line.split() for line in text.splitlines())
    return {p[0]: int(p[1]) for p in pairs if len(p) == 2 and re.fullmatch(r"-?[0-9]{1,24}", p[1])}


def gfx_name(version: int) -> str:
    """gfx942 of 90402: the last two digits of the name are hexadecimal (90010 is gfx90a)."""
    return f"gfx{version // 10000}{version // 100 % 100:x}{version % 100:x}"


def bus_address(location: int, domain: int) -> str:
    """0000:0c:00.0 of a `location_id`."""
    return f"{domain:04x}:{location >> 8 & 0xFF:02x}:{location >> 3 & 0x1F:02x}.{location & 7}"


def read_links(view: NodeView, number: int) -> tuple[IoLink, ...]:
    """Links that a node lists; one that vanishes while it is read is left out.

    `p2p_links`, which newer kernels have, are paths between GPUs through the PCIe of the machine.
    """
    links = []
    kinds = [f"{TOPOLOGY}/{number}/{kind}" for kind in ("io_links", "p2p_links")]
    for folder in (path for kind in kinds for path in view.files.paths(kind, "[0-9]*")):
        found = parse_properties(view.files.read_text(f"{folder}/properties") or "")
        if {"type", "node_from", "node_to"} <= found.keys():
            links.append(IoLink(found["node_from"], found["node_to"], found["type"], found.get("weight", 0)))
    return tuple(links)


def read_nodes(view: NodeView) -> tuple[list[KfdNode], int]:
    """GPU nodes, and how many nodes may not be read, as where a container holds only some of the GPUs.

    A node whose properties end before they say whether it is a GPU counts among the latter.
    """
    nodes, unreadable = [], 0
    for name in view.files.names(TOPOLOGY, "[0-9]*"):
        path = f"{TOPOLOGY}/{name}/properties"
        text = view.files.read_text(path)
        properties = parse_properties(text or "")
        unreadable += view.files.why(path) != "absent" if text is None else "simd_count" not in properties
        if properties.get("simd_count", 0) > 0 and name.isdecimal():
            nodes.append(KfdNode(int(name), properties, read_links(view, int(name))))
    return nodes, unreadable


def device_of(index: int, node: KfdNode) -> Device:
    """The GPU of a KFD node."""
    get = node.properties.get
    version, simds, per_unit = get("gfx_target_version", 0), get("simd_count", 0), get("simd_per_cu", 0)
    return Device(
        index, "amd",
        arch=gfx_name(version) if version else "",
        bus=bus_address(get("location_id", 0), get("domain", 0)),
        key=str(get("unique_id") or f"bus {get('domain', 0)}:{get('location_id', 0) >> 3}"),
        compute_units=simds // per_unit if per_unit else None,
        xcc=get("num_xcc"),
        kfd_node=node.number,
        render_minor=get("drm_render_minor"),
        device_id=get("device_id"),
        max_clock_mhz=get("max_engine_clk_fcompute"),
        firmware=str(get("fw_version", "")) or None,
        source=f"{TOPOLOGY}/{node.number}/properties",
    )  # fmt: skip


def number_packages(devices: Sequence[Device]) -> int:
    """Give each GPU the number of its package; how many packages there are.

    Partitions of one package share their `unique_id`; the two dies of an MI250 do not, and come as neighbours.
    """
    packages: dict[str, int] = {}
    half = 0
    for device in devices:
        key = device.key
        if device.device_id in TWO_DIES:
            key, half = f"pair {half // 2}", half + 1
        device.package = packages.setdefault(key, len(packages))
    return len(packages)


def gpu_links(nodes: Iterable[KfdNode]) -> list[Link]:
    """Links between GPUs, one a pair; the fastest kind where two nodes tell of several."""
    index_of = {node.number: index for index, node in enumerate(nodes)}
    best: dict[tuple[int, int], Link] = {}
    for link in (link for node in nodes for link in node.links):
        if link.source not in index_of or link.target not in index_of or link.source == link.target:
            continue
        first, second = sorted((index_of[link.source], index_of[link.target]))
        kind = LINK_KINDS.get(link.type, "other")
        if (first, second) not in best or kind == "xgmi":
            best[first, second] = Link(first, second, kind, "XGMI" if kind == "xgmi" else kind, link.weight)
    return [best[pair] for pair in sorted(best)]


def missing_xgmi(nodes: Sequence[KfdNode], links: Iterable[Link]) -> dict[tuple[int, int], str]:
    """Pairs of GPUs that are known to have no xGMI link -> what they have instead.

    A pair that no link tells of is only known to have none if one of the two lists all the links it declares.
    """
    kinds = {(link.first, link.second): link.kind for link in links}
    missing: dict[tuple[int, int], str] = {}
    for first in range(len(nodes)):
        for second in range(first + 1, len(nodes)):
            kind = kinds.get((first, second))
            if kind != "xgmi" and (kind or nodes[first].complete or nodes[second].complete):
                missing[first, second] = kind or "none"
    return missing


def all_xgmi(nodes: Sequence[KfdNode], links: Sequence[Link]) -> bool | None:
    """Whether every pair that is known has an xGMI link; None for a single GPU or where no pair is known."""
    if len(nodes) < 2 or not any(node.links for node in nodes):
        return None
    missing = missing_xgmi(nodes, links)
    return not missing if links or missing else None


def kfd_probe(view: NodeView) -> tuple[list[Device], list[Link], bool | None, int]:
    """Devices, links, whether all pairs have xGMI, and the number of packages.

    Raises `Absent` where the kernel has no KFD or no GPU in it, `ProbeFailed` where it may not be read.
    """
    nodes, unreadable = read_nodes(view)
    if unreadable:
        view.facts.observe("gpu.unreadable", unreadable, TOPOLOGY)
    if not nodes and unreadable:
        raise ProbeFailed(f"{TOPOLOGY}: {unreadable} nodes may not be read")
    if not nodes:
        why = view.files.why(TOPOLOGY)
        raise ProbeFailed(f"{TOPOLOGY}: {why}") if why not in ("", "absent") else Absent("no GPU of AMD in KFD")
    devices = [device_of(index, node) for index, node in enumerate(nodes)]
    links = gpu_links(nodes)
    packages = number_packages(devices)
    state_links(view, nodes, links)
    return devices, links, all_xgmi(nodes, links), packages


def state_links(view: NodeView, nodes: Sequence[KfdNode], links: Sequence[Link]) -> None:
    """Facts of pairs without xGMI. A node of which no link could be read says nothing."""
    incomplete = sum(not node.complete for node in nodes)
    if incomplete:
        view.facts.observe("gpu.links_incomplete", incomplete, TOPOLOGY)
    if any(node.links for node in nodes):
        for (first, second), kind in missing_xgmi(nodes, links).items():
            path = f"{TOPOLOGY}/{nodes[first].number}/io_links"
            view.facts.observe("gpu.missing_link", kind, path, detail=f"gpu {first} - gpu {second}")
