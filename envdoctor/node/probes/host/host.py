"""The machine around the GPUs: kernel, limits, /dev/shm, control group, container, NUMA, IOMMU."""

from __future__ import annotations

import re

from envdoctor.node.probes.base import NodeView, ProbeFailed
from envdoctor.node.probes.host.driver import DXG
from envdoctor.node.probes.parts import Host

CMDLINE = "/proc/cmdline"
NUMA_BALANCING = "/proc/sys/kernel/numa_balancing"
SHM = "/dev/shm"
UNITS = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "": 1}
CONTAINER_FILES = {"/.dockerenv": "docker", "/run/.containerenv": "podman", "/.singularity.d": "apptainer"}
CONTAINER_WORDS = ("kubepods", "docker", "containerd", "libpod", "lxc")
"""Words in the control group of a process that a container runtime started."""
OVERLAYS = ("overlay", "fuse.fuse-overlayfs", "aufs")


def parse_iommu(cmdline: str) -> str:
    """The value of the last `iommu=` on the kernel command line, "" where there is none."""
    values = [word.partition("=")[2] for word in cmdline.split() if word.startswith("iommu=")]
    return values[-1] if values else ""


def parse_limits(text: str) -> dict[str, int | None]:
    """Soft limits of /proc/PID/limits by name; None is unlimited."""
    limits: dict[str, int | None] = {}
    for line in text.splitlines()[1:]:
        fields = re.split(r"\s{2,}", line.strip())
        if len(fields) >= 3 and (fields[1] == "unlimited" or fields[1].isdecimal()):
            limits[fields[0]] = None if fields[1] == "unlimited" else int(fields[1])
    return limits


def parse_mount_size(mounts: str, point: str) -> int | None:
    """Bytes of the `size=` option of a mount point; None where it has none."""
    for line in mounts.splitlines():
        fields = line.split()
        if len(fields) > 3 and fields[1] == point and (m := re.search(r"\bsize=([0-9]+)([kmg]?)(?:,|$)", fields[3])):
            return int(m[1]) * UNITS[m[2]]
    return None


def parse_df(text: str) -> int | None:
    """Bytes of the file system in the answer of `df -B1`."""
    lines = text.splitlines()
    fields = lines[-1].split() if len(lines) > 1 else []
    return int(fields[1]) if len(fields) > 1 and fields[1].isdecimal() else None


def root_is_overlay(mounts: str) -> bool:
    """Whether the root of the file system is an overlay, as in nearly every container."""
    rows = (line.split() for line in mounts.splitlines())
    return any(row[1] == "/" and row[2] in OVERLAYS for row in rows if len(row) > 2)


def container_probe(view: NodeView) -> bool:
    """Whether the process lives in a container, and in which kind where it can be told."""
    groups = view.files.read_text(f"{view.proc}/cgroup") or ""
    mounts = view.files.read_text(f"{view.proc}/mounts") or ""
    by_file = next((kind for path, kind in CONTAINER_FILES.items() if view.files.exists(path)), "")
    by_group = next((word for word in CONTAINER_WORDS if word in groups), "")
    # A process in a namespace of its own sees "0::/"; with an overlay as its root it is a container of some kind.
    hidden = groups.strip().endswith("::/") and root_is_overlay(mounts)
    runtime = by_file or by_group
    inside = bool(runtime) or hidden
    view.facts.observe("container", inside, f"{view.proc}/cgroup")
    if runtime:
        view.facts.observe("container.runtime", runtime, f"{view.proc}/cgroup")
    return inside


def host_probe(view: NodeView, host: Host) -> None:
    """Kernel, operating system, IOMMU and NUMA."""
    files, facts = view.files, view.facts
    cmdline = files.read_text(CMDLINE)
    if cmdline is not None:
        host.iommu = parse_iommu(cmdline)
        facts.observe("host.iommu", host.iommu, CMDLINE)
    host.numa_balancing = files.read_int(NUMA_BALANCING)
    facts.observe_known("host.numa_balancing", host.numa_balancing, NUMA_BALANCING)
    if kernel := files.read_word("/proc/sys/kernel/osrelease"):
        facts.observe("host.kernel", kernel, "/proc/sys/kernel/osrelease")
    if bios := files.read_word("/sys/devices/virtual/dmi/id/bios_version"):
        facts.observe("host.bios", bios, "/sys/devices/virtual/dmi/id/bios_version")
    if files.exists(DXG):
        facts.observe("host.wsl", True, DXG)
    if channels := files.names("/dev/nvidia-caps-imex-channels", "channel*"):
        facts.observe("host.imex_channels", len(channels), "/dev/nvidia-caps-imex-channels")
    if system := os_name(files.read_text("/etc/os-release") or ""):
        facts.observe("host.os", system, "/etc/os-release")
    if nodes := files.names("/sys/devices/system/node", "node[0-9]*"):
        facts.observe("host.numa_nodes", len(nodes), "/sys/devices/system/node")


def os_name(text: str) -> str:
    """Distribution and version, as "ubuntu 22.04"."""
    found = dict(re.findall(r"^(ID|VERSION_ID)=\"?([^\"\n]*)\"?$", text, re.MULTILINE))
    return f"{found.get('ID', '')} {found.get('VERSION_ID', '')}".strip()


def limits_probe(view: NodeView, host: Host) -> None:
    """Limits of the process. Raises `ProbeFailed` where they may not be read."""
    path = f"{view.proc}/limits"
    text = view.files.read_text(path)
    if text is None:
        raise ProbeFailed(f"{path}: {view.files.why(path)}")
    limits = parse_limits(text)
    for name, key in (("Max locked memory", "host.memlock_bytes"), ("Max open files", "host.open_files")):
        if name in limits:
            view.facts.observe(key, limits[name], path)
    host.memlock_bytes = limits.get("Max locked memory")
    status = view.files.read_text(f"{view.proc}/status") or ""
    if allowed := re.search(r"^Cpus_allowed_list:\s*(\S+)$", status, re.MULTILINE):
        view.facts.observe("host.cpus_allowed", allowed[1], f"{view.proc}/status")


def shm_probe(view: NodeView, host: Host) -> None:
    """Size of /dev/shm, which NCCL and data loaders share between processes.

    Raises `ProbeFailed` where the file system does not tell it.
    """
    path = f"{view.proc}/mounts"
    mount_size = parse_mount_size(view.files.read_text(path) or "", SHM)
    view.facts.observe_known("host.shm_mount_bytes", mount_size, path)
    result = view.run("df", "-B1", SHM)
    host.shm_bytes = parse_df(result.stdout) if result.ok else None
    if host.shm_bytes is None:
        raise ProbeFailed(result.failure or "df does not tell the size of /dev/shm")
    view.facts.observe("host.shm_bytes", host.shm_bytes, "df -B1 /dev/shm")


CGROUP_LIMITS = (
    ("host.memory_limit_bytes", ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")),
    ("host.pids_limit", ("/sys/fs/cgroup/pids.max", "/sys/fs/cgroup/pids/pids.max")),
)
"""Key, and its file in control groups of version 2 and 1, as a container sees its own group."""
NO_LIMIT = 1 << 60
"""Version 1 writes "no limit" as a number close to 2^63."""


def cgroup_probe(view: NodeView) -> None:
    """Limits of the control group at the root of this view: a container's own, on a plain machine none."""
    for key, paths in CGROUP_LIMITS:
        for path in paths:
            word = view.files.read_word(path)
            if word == "max" or word.isdecimal():
                value = None if word == "max" or int(word) >= NO_LIMIT else int(word)
                view.facts.observe(key, value, path)
    cpu = view.files.read_word("/sys/fs/cgroup/cpu.max").split()
    if len(cpu) == 2 and cpu[1].isdecimal() and int(cpu[1]):
        limit = int(cpu[0]) / int(cpu[1]) if cpu[0].isdecimal() else None
        view.facts.observe("host.cpu_limit", limit, "/sys/fs/cgroup/cpu.max")
