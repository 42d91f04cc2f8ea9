"""Tests of what the collectives library is told of the network and of the machine."""

from __future__ import annotations

from collections.abc import Iterator

from envdoctor.checks.node.common import Seen, Told, listed


def network_device(seen: Seen) -> Iterator[Told]:
    """HCAs that NCCL_IB_HCA names and that are not there or down, and a topology file that is not there."""
    named = seen.all("network.named_hca")
    absent = [o for o in named if o.value == "absent"]
    down = [o for o in named if o.value == "down"]
    if absent:
        message = f"NCCL_IB_HCA names {listed([o.detail for o in absent])}, and there is no such device or port here"
        yield Told(message, absent[0].place, variable="NCCL_IB_HCA")
    if down:
        message = f"NCCL_IB_HCA names {listed([o.detail for o in down])}, and no port of it is active"
        yield Told(message, down[0].place, variable="NCCL_IB_HCA")
    files = seen.all("network.topo_file")
    for file in files:
        if file.value is False:
            yield Told(f"NCCL_TOPO_FILE names {file.detail}, which is not there", file.place, variable="NCCL_TOPO_FILE")
    cloud = seen.first("host.cloud")
    if cloud and not files and not seen.setting("NCCL_TOPO_FILE") and seen.gpus() > 1:
        message = "a virtual machine of Azure shows no PCI switches, and NCCL_TOPO_FILE does not say where they are"
        instead = "name the file that the image of this machine size brings (/opt/microsoft/*-topo.xml)"
        yield Told(message, cloud.place, "info", help=instead)
