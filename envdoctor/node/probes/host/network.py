"""The network devices that the collectives library is told to use, and the picture of the machine it is given."""

from __future__ import annotations

from collections.abc import Mapping

from envdoctor.node.probes.base import Absent, NodeView

DEVICES = "/sys/class/infiniband"
DMI = "/sys/devices/virtual/dmi/id"


def ports(view: NodeView) -> dict[tuple[str, int], bool]:
    """(HCA, port) -> whether it is active: `4: ACTIVE`. Linux kernel, Documentation/ABI, sysfs-class-infiniband."""
    found = {}
    for name in view.files.names(DEVICES):
        for port in view.files.names(f"{DEVICES}/{name}/ports", "[0-9]*"):
            state = view.files.read_word(f"{DEVICES}/{name}/ports/{port}/state")
            if port.isdecimal() and state:
                found[name, int(port)] = state.endswith("ACTIVE")
    return found


def named(mask: str) -> list[tuple[str, int | None, bool]]:
    """(name, port, whether the whole name is meant) of NCCL_IB_HCA; [] for a list of what to leave out (`^mlx5_1`).

    NCCL user guide, NCCL_IB_HCA: `=` asks for whole names, else entries are beginnings of names.
    """
    mask = mask.strip()
    if mask.startswith("^"):
        return []
    exact = mask.startswith("=")
    entries = (entry.strip().partition(":") for entry in mask.removeprefix("=").split(",") if entry.strip())
    return [(name, int(port) if port.isdecimal() else None, exact) for name, _, port in entries]


def state_of(entry: tuple[str, int | None, bool], known: Mapping[tuple[str, int], bool]) -> str:
    """active, down or absent: the best port that an entry means."""
    name, port, exact = entry
    mine = [active for (hca, number), active in known.items()
            if (hca == name if exact else hca.startswith(name)) and port in (None, number)]  # fmt: skip
    return "absent" if not mine else "active" if any(mine) else "down"


def network_probe(view: NodeView) -> None:
    """Facts of HCAs and of the topology file. Raises `Absent` where there is neither an HCA nor anything about one."""
    known, mask = ports(view), view.environment.get("NCCL_IB_HCA", "")
    for (name, port), active in known.items():
        view.facts.observe("network.port", active, f"{DEVICES}/{name}/ports/{port}/state", detail=f"{name}:{port}")
    for entry in named(mask):
        text = entry[0] if entry[1] is None else f"{entry[0]}:{entry[1]}"
        view.facts.observe("network.named_hca", state_of(entry, known), DEVICES, detail=text)
    told = topology_file(view)
    if not known and not mask and not told:
        raise Absent("no InfiniBand or RoCE device")


def topology_file(view: NodeView) -> bool:
    """Facts of NCCL_TOPO_FILE, and of the cloud whose machines need one; whether there is any."""
    path = view.environment.get("NCCL_TOPO_FILE", "")
    if path.startswith("/"):
        view.facts.observe("network.topo_file", view.files.exists(path), f"{view.proc}/environ", detail=path)
    vendor, product = (view.files.read_word(f"{DMI}/{name}") for name in ("sys_vendor", "product_name"))
    bios = view.files.read_word(f"{DMI}/bios_version")
    azure = vendor == "Microsoft Corporation" and (product == "Virtual Machine" or bios.startswith("Hyper-V"))
    if azure:
        view.facts.observe("host.cloud", "azure", f"{DMI}/sys_vendor")
    return bool(path) or azure
