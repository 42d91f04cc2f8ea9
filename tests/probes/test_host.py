"""The machine: limits, shared memory, containers, control groups, permissions, ACS."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from node_helpers import Answers, by_detail, failed, observed, view_of

from envdoctor.node.probes.base import Absent, ProbeFailed
from envdoctor.node.probes.host import acs, host
from envdoctor.node.probes.host.permissions import (
    KFD,
    DeviceNode,
    Identity,
    may_open,
    parse_groups,
    parse_stat,
    permissions_probe,
    read_identity,
)  # fmt: skip
from envdoctor.node.probes.parts import Device, Host


@pytest.mark.parametrize(
    ("cmdline", "value"),
    [("ro iommu=pt quiet", "pt"), ("iommu=off iommu=pt", "pt"), ("intel_iommu=on", ""), ("", ""), ("iommu", "")],
)
def test_iommu(cmdline: str, value: str) -> None:
    assert host.parse_iommu(cmdline) == value


LIMITS = """Limit                     Soft Limit           Hard Limit           Units     
Max open files            1048576              1048576              files     
Max locked memory         unlimited            unlimited            bytes     
Max nice priority         0                    0                    
garbage
"""  # noqa: W291


def test_limits() -> None:
    assert host.parse_limits(LIMITS) == {"Max open files": 1048576, "Max locked memory": None, "Max nice priority": 0}


def test_no_limit_is_told_as_no_limit(tmp_path: Path) -> None:
    found, view = Host(), view_of(tmp_path, {"/proc/self/limits": LIMITS})
    host.limits_probe(view, found)
    assert found.memlock_bytes is None
    assert observed(view.facts, "host.memlock_bytes") == [None]


def test_limits_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(ProbeFailed, match="absent"):
        host.limits_probe(view_of(tmp_path), Host())


@pytest.mark.parametrize(
    ("options", "size"),
    [("rw,size=65536k,inode64", 67108864), ("size=1g", 1 << 30), ("size=4096", 4096), ("rw", None), ("size=50%", None)],
)
def test_size_of_a_mount(options: str, size: int | None) -> None:
    mounts = f"proc /proc proc rw 0 0\nshm /dev/shm tmpfs {options} 0 0\nshort\n"
    assert host.parse_mount_size(mounts, "/dev/shm") == size


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("Filesystem 1B-blocks Used\nshm 67108864 0 1 0% /dev/shm\n", 67108864),
        ("", None),
        ("one line", None),
        ("h\nx y", None),
    ],
)
def test_df(text: str, size: int | None) -> None:
    assert host.parse_df(text) == size


def test_shared_memory_that_df_does_not_tell(tmp_path: Path) -> None:
    view = view_of(
        tmp_path, {"/proc/self/mounts": "shm /dev/shm tmpfs rw,size=64k 0 0\n"}, runner=Answers({"df": failed(1)})
    )
    with pytest.raises(ProbeFailed):
        host.shm_probe(view, Host())
    assert observed(view.facts, "host.shm_mount_bytes") == [65536]


@given(st.text())
def test_any_text(text: str) -> None:
    host.parse_limits(text)
    host.parse_mount_size(text, "/dev/shm")
    host.parse_df(text)
    host.root_is_overlay(text)
    parse_stat(text)
    parse_groups(text)
    acs.parse_lspci(text)


OVERLAY = "overlay / overlay rw,lowerdir=/l 0 0\n"
PLAIN = "/dev/sda1 / ext4 rw 0 0\n"


@pytest.mark.parametrize(
    ("files", "inside", "runtime"),
    [
        ({"/proc/self/cgroup": "0::/user.slice/x\n", "/proc/self/mounts": PLAIN}, False, []),
        ({"/proc/self/cgroup": "0::/\n", "/proc/self/mounts": OVERLAY}, True, []),
        ({"/proc/self/cgroup": "0::/\n", "/proc/self/mounts": PLAIN}, False, []),
        ({"/proc/self/cgroup": "0::/user.slice\n", "/proc/self/mounts": OVERLAY}, False, []),
        ({"/proc/self/cgroup": "1:cpu:/kubepods/pod1\n", "/proc/self/mounts": PLAIN}, True, ["kubepods"]),
        ({"/run/.containerenv": "", "/proc/self/mounts": OVERLAY}, True, ["podman"]),
        ({"/.dockerenv": ""}, True, ["docker"]),
        ({"/.singularity.d/env": ""}, True, ["apptainer"]),
        ({}, False, []),
    ],
)
def test_containers(tmp_path: Path, files: dict[str, str], inside: bool, runtime: list[str]) -> None:
    view = view_of(tmp_path, files)
    assert host.container_probe(view) is inside
    assert observed(view.facts, "container.runtime") == runtime


@pytest.mark.parametrize(
    ("files", "key", "values"),
    [
        ({"memory.max": "max\n"}, "host.memory_limit_bytes", [None]),
        ({"memory.max": "1073741824\n"}, "host.memory_limit_bytes", [1 << 30]),
        ({"memory/memory.limit_in_bytes": "9223372036854771712\n"}, "host.memory_limit_bytes", [None]),
        ({"memory.max": "lots\n"}, "host.memory_limit_bytes", []),
        ({"cpu.max": "150000 100000\n"}, "host.cpu_limit", [1.5]),
        ({"cpu.max": "max 100000\n"}, "host.cpu_limit", [None]),
        ({"cpu.max": "1 0\n"}, "host.cpu_limit", []),
        ({"pids.max": "4096\n"}, "host.pids_limit", [4096]),
    ],
)
def test_control_groups(tmp_path: Path, files: dict[str, str], key: str, values: list[object]) -> None:
    view = view_of(tmp_path, {f"/sys/fs/cgroup/{name}": text for name, text in files.items()})
    host.cgroup_probe(view)
    assert observed(view.facts, key) == values


def test_kernel_system_and_numa(tmp_path: Path) -> None:
    files = {"/etc/os-release": 'NAME="U"\nVERSION_ID="22.04"\nID=ubuntu\n', "/proc/sys/kernel/osrelease": "5.15\n"}
    files |= {f"/sys/devices/system/node/node{n}/x": "" for n in range(2)}
    view, found = view_of(tmp_path, files), Host()
    host.host_probe(view, found)
    assert (found.iommu, found.numa_balancing) == (None, None)
    assert observed(view.facts, "host.os") == ["ubuntu 22.04"]
    assert observed(view.facts, "host.numa_nodes") == [2]


USER = Identity(1000, frozenset({1000, 44}), {"video": 44, "render": 110})


@pytest.mark.parametrize(
    ("mode", "owner", "group", "who", "may"),
    [
        (0o660, "root", "render", USER, False),
        (0o660, "root", "video", USER, True),
        (0o660, "root", "44", USER, True),
        (0o660, "root", "109", USER, False),
        (0o666, "root", "render", USER, True),
        (0o640, "root", "video", USER, False),
        (0o600, "1000", "render", USER, True),
        (0o000, "root", "root", Identity(0, frozenset(), {}), True),
    ],
)
def test_permission_bits(mode: int, owner: str, group: str, who: Identity, may: bool) -> None:
    assert may_open(DeviceNode("/dev/kfd", mode, owner, group), who) is may


def test_identity(tmp_path: Path) -> None:
    files = {
        "/proc/self/status": "Uid:\t1\t1000\t1\t1\nGid:\t5\t6\t5\t5\nGroups:\t44 110 \n",
        "/etc/group": "video:x:44:a\nbad\n",
    }
    who = read_identity(view_of(tmp_path, files).files, "/proc/self")
    assert who == Identity(1000, frozenset({6, 44, 110}), {"video": 44})
    assert read_identity(view_of(tmp_path / "none").files, "/proc/self") is None


STAT = "crw-rw---- /dev/kfd 660 root render 509 0\ncrw-rw---- /dev/dri/card0 660 root video 226 0\n"
STAT += (
    "crw-rw---- /dev/dri/renderD128 660 root render 226 128\ncrw-rw---- /dev/dri/renderD129 660 root video 226 129\n"
)
IDENTITY = {
    "/proc/self/status": "Uid:\t1000\t1000\nGid:\t1000\t1000\nGroups:\t44\n",
    "/etc/group": "video:x:44:\nrender:x:110:\n",
}
TWO = [Device(0, "amd", render_minor=128), Device(1, "amd", render_minor=129)]


def test_bits_decide_where_the_kernel_was_not_asked(tmp_path: Path) -> None:
    found, view = Host(), view_of(tmp_path, IDENTITY, runner=Answers({"stat": STAT}))
    assert permissions_probe(view, found, "amd", TWO) == 0
    assert found.kfd_rw is False
    assert observed(view.facts, "host.device_denied") == [KFD, "/dev/dri/renderD128"]
    assert observed(view.facts, "host.in_kfd_group") == [False]


def test_the_kernel_is_asked_first(tmp_path: Path) -> None:
    found, view = Host(), view_of(tmp_path, IDENTITY, runner=Answers({"stat": STAT, "test": ""}))
    assert permissions_probe(view, found, "amd", TWO) == 1
    assert found.kfd_rw is True


def test_a_node_that_is_not_passed_into_the_container(tmp_path: Path) -> None:
    stat = STAT.replace("660", "666").replace("/dev/dri/renderD129", "/dev/dri/renderD200")
    assert permissions_probe(view_of(tmp_path, IDENTITY, runner=Answers({"stat": stat})), Host(), "amd", TWO) == 1


def test_no_device_node(tmp_path: Path) -> None:
    runner = Answers({"stat": failed(1, stderr="stat: cannot statx '/dev/kfd'")})
    with pytest.raises(Absent):
        permissions_probe(view_of(tmp_path, runner=runner), Host(), "amd", [])


def test_nodes_of_nvidia(tmp_path: Path) -> None:
    stat = "crw-rw-rw- /dev/nvidia0 666 root root c3 0\ncrw------- /dev/nvidia1 600 root root c3 1\n"
    stat += "crw-rw-rw- /dev/nvidiactl 666 root root c3 ff\n"
    found = Host()
    devices = [Device(0, "nvidia"), Device(1, "nvidia")]
    assert permissions_probe(view_of(tmp_path, IDENTITY, runner=Answers({"stat": stat})), found, "nvidia", devices) == 1
    assert found.kfd_rw is None


def test_the_device_node_of_a_lost_gpu_does_not_count(tmp_path: Path) -> None:
    stat = "".join(f"crw-rw-rw- /dev/nvidia{index} 666 root root c3 {index}\n" for index in range(4))
    view = view_of(tmp_path, IDENTITY, runner=Answers({"stat": stat}))
    assert permissions_probe(view, Host(), "nvidia", [Device(index, "nvidia") for index in range(3)]) == 3
    assert permissions_probe(view, Host(), "nvidia", []) is None


def config(*capabilities: tuple[int, int], size: int = 4096) -> bytes:
    """A configuration space with extended capabilities (id, ACS control register)."""
    data = bytearray(size)
    data[0:4] = b"\x02\x10\xa1\x74"
    for number, (identity, control) in enumerate(capabilities):
        offset = 0x100 + 0x40 * number
        after = offset + 0x40 if number + 1 < len(capabilities) else 0
        struct.pack_into("<IHH", data, offset, identity | 1 << 16 | after << 20, 0x1F, control)
        data[offset + 8 : offset + 16] = b"SERIALNO"
    return bytes(data)


@pytest.mark.parametrize(
    ("data", "answer"),
    [
        (config((1, 0), (0xD, 0x1D)), True),
        (config((0xD, 0x0)), False),
        (config((1, 0), (3, 0)), None),
        (config(size=64), None),
        (b"", None),
        (b"\xff" * 4096, None),
        (config((0xD, 4))[:0x102], None),
    ],
)
def test_acs_registers(data: bytes, answer: bool | None) -> None:
    assert acs.redirects(data) is answer


def test_a_chain_that_goes_in_circles() -> None:
    data = bytearray(4096)
    struct.pack_into("<I", data, 0x100, 1 | 1 << 16 | 0x100 << 20)
    assert acs.redirects(bytes(data)) is None


@given(st.binary(max_size=600))
def test_any_configuration_space(data: bytes) -> None:
    acs.redirects(b"\0" * 0x100 + data)
    assert len(acs.kept(data)) == len(data)


def test_a_recorded_configuration_keeps_acs_and_no_serial_number() -> None:
    data = config((3, 0), (0xD, 4))
    kept = acs.kept(data)
    assert acs.redirects(kept) is True
    assert b"SERIALNO" in data
    assert b"SERIALNO" not in kept


def bridge(bus: str, data: bytes, kind: str = "0x060400\n") -> dict[str, str | bytes]:
    return {f"/sys/bus/pci/devices/{bus}/config": data, f"/sys/bus/pci/devices/{bus}/class": kind}


def test_bridges(tmp_path: Path) -> None:
    files = bridge("0000:00:01.0", config((0xD, 0))) | bridge("0000:00:02.0", config((0xD, 4)))
    files |= bridge("0000:03:00.0", config((0xD, 4)), kind="0x030200\n")
    view = view_of(tmp_path, files)
    acs.acs_probe(view)
    assert observed(view.facts, "host.acs_redirect") == ["on"]
    assert by_detail(view.facts, "host.acs_bridge") == {"0000:00:02.0": "0000:00:02.0"}


LSPCI = "0a:00.0 PCI bridge: X\n\tCapabilities: [170 v1] ACS\n\t\tACSCtl:\tSrcValid+ TransBlk- ReqRedir{} CmpltRedir+\n"


@pytest.mark.parametrize(("sign", "answer"), [("-", "off"), ("+", "on")])
def test_lspci_where_files_are_silent(tmp_path: Path, sign: str, answer: str) -> None:
    view = view_of(tmp_path, bridge("0000:00:01.0", b"\0" * 64), runner=Answers({"lspci": LSPCI.format(sign)}))
    acs.acs_probe(view)
    assert observed(view.facts, "host.acs_redirect") == [answer]


@pytest.mark.parametrize(
    "answer", [failed(127), failed(0, timed_out=True), "0a:00.0 PCI bridge: X\n\t<access denied>\n"]
)
def test_acs_is_unknown_without_rights(tmp_path: Path, answer: object) -> None:
    view = view_of(tmp_path, runner=Answers({"lspci": answer}))  # type: ignore[dict-item]
    with pytest.raises(Absent):
        acs.acs_probe(view)
    assert observed(view.facts, "host.acs_redirect") == ["unknown"]
