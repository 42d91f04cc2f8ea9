"""Device nodes of the GPUs: who may open them, and whether this process may."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from envdoctor.node.probes.base import Absent, NodeView
from envdoctor.node.probes.files import NodeFiles
from envdoctor.node.probes.host.driver import DXG
from envdoctor.node.probes.parts import Device, Host

FORMAT = "%A %n %a %U %G %t %T"
AMD_NODES = ("/dev/kfd", "/dev/dri/card*", "/dev/dri/renderD*")
NVIDIA_NODES = ("/dev/nvidia*",)
KFD = "/dev/kfd"
READ_WRITE = 0o6


@dataclass(frozen=True, slots=True)
class DeviceNode:
    """A line of `stat`: path, permission bits, owner and group (a number where it has no name here)."""

    path: str
    mode: int
    owner: str
    group: str


@dataclass(frozen=True, slots=True)
class Identity:
    """Whom the process acts as. `names`: name of a group -> its number."""

    uid: int
    groups: frozenset[int]
    names: Mapping[str, int]

    def in_group(self, group: str) -> bool:
        """Whether the process is in a group, given by name or number."""
        number = int(group) if group.isdecimal() else self.names.get(group)
        return number in self.groups


def parse_stat(text: str) -> list[DeviceNode]:
    """Character devices in the answer of `stat -c FORMAT`."""
    nodes = []
    for line in text.splitlines():
        fields = line.split()
        if len(fields) == 7 and fields[0].startswith("c") and re.fullmatch(r"[0-7]{1,4}", fields[2]):
            nodes.append(DeviceNode(fields[1], int(fields[2], 8), fields[3], fields[4]))
    return nodes


def parse_groups(text: str) -> dict[str, int]:
    """Name -> number of /etc/group."""
    fields = (line.split(":") for line in text.splitlines())
    return {f[0]: int(f[2]) for f in fields if len(f) >= 3 and f[2].isdecimal()}


def read_identity(files: NodeFiles, proc: str) -> Identity | None:
    """The identity in /proc/PID/status; None where it cannot be read."""
    status = files.read_text(f"{proc}/status") or ""
    found = {k: v for k, _, v in (line.partition(":") for line in status.splitlines())}
    uid, gid = (found.get(key, "").split()[1:2] for key in ("Uid", "Gid"))
    if not uid:
        return None
    groups = [int(g) for g in [*gid, *found.get("Groups", "").split()] if g.isdecimal()]
    return Identity(int(uid[0]), frozenset(groups), parse_groups(files.read_text("/etc/group") or ""))


def may_open(node: DeviceNode, who: Identity) -> bool:
    """Whether permission bits let the process read and write; a device cgroup may still forbid it."""
    if who.uid == 0:
        return True
    shift = 6 if node.owner == str(who.uid) else 3 if who.in_group(node.group) else 0
    return node.mode >> shift & READ_WRITE == READ_WRITE


def kfd_allowed(view: NodeView, node: DeviceNode | None, who: Identity | None) -> bool | None:
    """Whether this process may open /dev/kfd: asked of the kernel where that is possible (lists of access rights
    count too), else told by the permission bits; None: there is no /dev/kfd, or nothing is known of it."""
    answer = view.run("test", "-r", KFD, "-a", "-w", KFD)
    if node is None:
        return None
    if answer.rc in (0, 1):
        return answer.rc == 0
    return may_open(node, who) if who else None


def permissions_probe(view: NodeView, host: Host, vendor: str, devices: Sequence[Device]) -> int | None:
    """Fills in `kfd_rw`; returns how many GPUs this process may open, None where that is not known.

    Raises `Absent` where there is no device node.
    """
    if view.files.exists(DXG):
        return wsl_gpus(view, devices)
    patterns = {"amd": AMD_NODES, "nvidia": NVIDIA_NODES}.get(vendor, AMD_NODES + NVIDIA_NODES)
    nodes = parse_stat(view.run("stat", "-c", FORMAT, *patterns).stdout)
    if not nodes:
        raise Absent(f"no device node {' '.join(patterns)}")
    who = read_identity(view.files, view.proc)
    allowed = {node.path: may_open(node, who) for node in nodes} if who else {}
    if vendor == "amd":
        kfd = next((node for node in nodes if node.path == KFD), None)
        host.kfd_rw = kfd_allowed(view, kfd, who)
        state_kfd(view, host, kfd, who)
    for path, may in allowed.items():
        if not may and "/card" not in path:  # cards are for screens: nothing that computes opens them
            view.facts.observe("host.device_denied", path, path, detail=path)
    return usable_gpus(vendor, host, allowed, devices)


def wsl_gpus(view: NodeView, devices: Sequence[Device]) -> int | None:
    """On WSL2 one device stands for all GPUs of Windows."""
    nodes, who = parse_stat(view.run("stat", "-c", FORMAT, DXG).stdout), read_identity(view.files, view.proc)
    if not nodes or not who:
        raise Absent(f"the rights of {DXG} are not known")
    if may_open(nodes[0], who):
        return len(devices) or None
    view.facts.observe("host.device_denied", DXG, DXG, detail=DXG)
    return 0


def usable_gpus(vendor: str, host: Host, allowed: Mapping[str, bool], devices: Sequence[Device]) -> int | None:
    """GPUs whose device nodes may be opened. Without /dev/kfd no GPU of AMD computes."""
    if vendor == "amd" and host.kfd_rw is False:
        return 0
    if vendor == "amd":
        wanted = [f"/dev/dri/renderD{device.render_minor}" for device in devices]
        return sum(allowed.get(path, False) for path in wanted) if allowed else None
    gpus = [may for path, may in allowed.items() if re.fullmatch(r"/dev/nvidia[0-9]+", path)]
    return sum(gpus) if gpus else None


def state_kfd(view: NodeView, host: Host, kfd: DeviceNode | None, who: Identity | None) -> None:
    """Facts of /dev/kfd."""
    view.facts.observe_known("host.kfd_rw", host.kfd_rw, KFD)
    if kfd:
        view.facts.observe("host.kfd_group", kfd.group, KFD)
        view.facts.observe_known("host.in_kfd_group", who.in_group(kfd.group) if who else None, KFD)
