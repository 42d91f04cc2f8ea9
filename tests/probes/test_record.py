"""A recorded tree of a node: only what was read, no name or number of its owner, and the same facts again."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from node_helpers import examined, write
from recorded import NAMES, UNLIKE, folder_of

from envdoctor.knowledge.files import loads_toml
from envdoctor.node.probes.files import NodeFiles
from envdoctor.node.probes.host.acs import redirects
from envdoctor.node.probes.node import examine
from envdoctor.node.probes.report import Node
from envdoctor.node.probes.runner import CommandResult, RecordedRunner, SystemRunner
from envdoctor.node.recording.record import record
from envdoctor.node.recording.recorded import read_recorded
from envdoctor.node.recording.redact import Redactor


class Listening(RecordedRunner):
    """A recorded runner that keeps what it answered, as the real one does."""

    ran: list[CommandResult]

    def run(self, argv, timeout):  # type: ignore[no-untyped-def]
        result = super().run(argv, timeout)
        self.__dict__.setdefault("ran", []).append(result)
        return result


def again(name: str, folder: Path) -> tuple[object, object]:
    """A recorded node examined, recorded, and examined again: both short forms."""
    runner = Listening(folder_of(name) / "commands")
    runner.ran = []
    node = examine(folder_of(name) / "root", runner, "torch", files=NodeFiles(folder_of(name) / "root", keep=True))
    record(node, runner.ran, folder)
    return node, examined(folder)


@pytest.mark.parametrize("name", [name for name in (*NAMES, *UNLIKE) if name != "recorded-h200-1gpu-nccl-2.28"])
def test_the_record_of_a_node_is_that_node(tmp_path: Path, name: str) -> None:
    first, second = again(name, tmp_path)
    before, after = first.as_json(), second.as_json()  # type: ignore[attr-defined]
    # The logs of communicator runs are no part of an examination, and with them goes what only they tell.
    for sheet in (before, after):
        sheet.get("ccl", {}).pop("used_by_torch", None)
        sheet.get("ccl", {}).pop("loaded_version_code" if name == "mi300x-rocm-7.0-container" else "", None)
        sheet.get("ccl", {}).pop("torch_header_version" if name == "mi300x-rocm-7.0-container" else "", None)
    assert after == before
    assert loads_toml((tmp_path / "node.toml").read_text())["gpu"] == before["gpu"]
    assert [p.status for p in first.probes] == [p.status for p in second.probes]  # type: ignore[attr-defined]
    keys = ("gpu.missing", "gpu.on_bus", "gpu.bound_to", "gpu.xid", "gpu.kernel_fault", "gpu.process", "host.wsl")
    told = [[o.value for o in node.facts.observations if o.key in keys] for node in (first, second)]  # type: ignore[attr-defined]
    assert told[0] == told[1]


def test_a_record_without_links_is_the_same(tmp_path: Path) -> None:
    first, _ = again("mi300x-two-rocm-installs", tmp_path)
    for path in list((tmp_path / "root").rglob("*")):
        if path.is_symlink():
            path.unlink()
    assert examined(tmp_path).as_json() == first.as_json()  # type: ignore[attr-defined]


def examine_and_record(root: Path, folder: Path) -> Node:
    """Examine this node and write its recorded tree to `folder`, as `live --record` does."""
    runner = SystemRunner()
    node = examine(root, runner, "torch", files=NodeFiles(root, keep=True))
    record(node, runner.ran, folder)
    return node


def test_this_machine(tmp_path: Path) -> None:
    node = examine_and_record(Path("/"), tmp_path)
    second = examined(tmp_path)
    assert second.as_json() == node.as_json()
    facts = [(o.key, o.value, o.detail) for o in node.facts.observations]
    assert [(o.key, o.value, o.detail) for o in second.facts.observations] == facts
    assert loads_toml((tmp_path / "node.toml").read_text()) == node.as_json()
    own = os.uname().nodename
    if len(own) > 2 and own != "localhost":
        texts = [p.read_text(errors="replace") for p in tmp_path.rglob("*") if p.is_file()]
        assert not any(own in text for text in texts)


OWNER = {
    "/proc/self/environ": "NCCL_ALGO=Ring\0HOME=/home/alice\0SSH_KEY=x\0HF_TOKEN=hf_abc\0USER=alice\0"
    "MASTER_ADDR=10.1.2.3\0VIRTUAL_ENV=/home/alice/env\0TORCH_API_KEY=verysecret\0",
    "/proc/self/mounts": "nas01.corp:/export /home nfs4 rw,addr=10.1.2.3 0 0\n/dev/sda1 / ext4 rw 0 0\n"
    "tmpfs /dev/shm tmpfs rw,size=64k 0 0\n",
    "/proc/self/status": "Name:\tsecretjob\nUid:\t1000\t1000\nGid:\t1000\t1000\nGroups:\t44\nCpus_allowed_list:\t0-3\n",
    "/proc/self/limits": "Limit\nMax open files            10              20            files\n",
    "/proc/self/maps": "1-2 r-xp 0 0 0     /home/alice/env/lib/python3.12/site-packages/torch/lib/libtorch.so\n"
    "1-2 r-xp 0 0 0     /home/alice/private/libmine.so\n",
    "/proc/cmdline": "root=UUID=12345678-1234-1234-1234-123456789abc iommu=pt host=acme-node7\n",
    "/etc/passwd": "bob:x:7:7:Bob:/home/bob:/bin/sh\nalice:x:1000:1000:Alice A:/home/alice:/bin/zsh\n",
    "/etc/group": "video:x:44:alice,bob\nalice:x:1000:\n",
    "/home/alice/env/lib/python3.12/site-packages/torch/version.py": "__version__ = '2.5.1'\n",
    "/home/alice/env/bin/python3.12": "binary",
    "/home/alice/env/lib/python3.12/site-packages/private/thing.py": "secret",
    "/sys/bus/pci/devices/0000:00:01.0/class": "0x060400\n",
    "/sys/class/kfd/kfd/topology/nodes/1/properties": "simd_count 4\nsimd_per_cu 4\nunique_id 11651590505119481856\n",
    "/sys/class/drm/card1/device/vendor": "0x1002\n",
    "/sys/class/drm/card1/device/uevent": "PCI_SLOT_NAME=0000:00:00.0\n",
    "/sys/module/amdgpu/version": "6.8.5\n",
}
FORBIDDEN = ("alice", "bob", "acme", "nas01", "10.1.2.3", "12345678-1234", "hf_abc", "verysecret", "secretjob",
             "private", "11651590505119481856", "SSH_KEY", "binary", "SERIALNO")  # fmt: skip


def test_nothing_of_the_owner_is_recorded(tmp_path: Path) -> None:
    root = write(tmp_path / "node/tree", OWNER)
    files = NodeFiles(root, keep=True)
    config = bytearray(4096)
    config[0x100:0x10C] = b"\x03\x00\x01\x20SERIALNO"
    write(root, {"/sys/bus/pci/devices/0000:00:01.0/config": bytes(config)})
    node = examine(root, RecordedRunner(tmp_path / "none"), "torch", files=files)
    ran = [CommandResult(("nvidia-smi", "-L"), 0, "GPU 0: H200 (UUID: GPU-12345678-1234-1234-1234-123456789abc)\n")]
    record(node, ran, tmp_path / "out", redactor=Redactor(["acme-node7"], ["alice"]))
    texts = {
        path: path.read_bytes().decode("utf-8", "replace") for path in (tmp_path / "out").rglob("*") if path.is_file()
    }
    for word in FORBIDDEN:
        assert not [
            str(path) for path, text in texts.items() if word in text or word in str(path.relative_to(tmp_path / "out"))
        ]
    again = examined(tmp_path / "out")
    assert again.torch is not None
    assert again.torch.folder == "/home/user/env/lib/python3.12/site-packages"
    assert again.gpu.count == 1


def test_a_file_that_was_not_read_is_not_recorded(tmp_path: Path) -> None:
    root = write(tmp_path / "node/tree", {"/etc/shadow": "x", "/etc/os-release": "ID=x\n"})
    node = examine(root, RecordedRunner(tmp_path), "files", files=NodeFiles(root, keep=True))
    record(node, [], tmp_path / "out")
    assert (tmp_path / "out/root/etc/os-release").read_text() == "ID=x\n"
    assert not (tmp_path / "out/root/etc/shadow").exists()


def test_a_node_whose_files_were_not_kept(tmp_path: Path) -> None:
    node = examine(tmp_path, RecordedRunner(tmp_path), "files")
    with pytest.raises(ValueError, match="without keeping"):
        record(node, [], tmp_path / "out")


def test_commands_are_recorded_with_their_failures(tmp_path: Path) -> None:
    node = examine(tmp_path / "none", RecordedRunner(tmp_path), "files", files=NodeFiles(tmp_path / "none", keep=True))
    ran = [
        CommandResult(("rocm-smi", "--json"), -9, "part", "", timed_out=True),
        CommandResult(("tool", "a\nb"), 3, "", 'quote " and \\ back'),
    ]
    record(node, ran, tmp_path / "out")
    runner = RecordedRunner(tmp_path / "out/commands")
    assert [runner.run(result.argv, 1) for result in ran] == ran


def test_bridges_keep_their_acs_bit(tmp_path: Path) -> None:
    config = bytearray(4096)
    config[0x100:0x108] = bytes([0x0D, 0, 1, 0, 0x1F, 0, 4, 0])
    folder = "/sys/bus/pci/devices/0000:00:01.0"
    files = {f"{folder}/config": bytes(config), f"{folder}/class": "0x060400\n", **OWNER}
    root = write(tmp_path / "node/tree", files)
    node = examine(root, RecordedRunner(tmp_path / "none"), "files", files=NodeFiles(root, keep=True))
    record(node, [], tmp_path / "out")
    assert redirects((tmp_path / f"out/root{folder}/config").read_bytes()) is True


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"libraries": {"/x": {}}, "site_packages": []}', '{"libraries": []}']
)
def test_a_damaged_list_of_libraries(tmp_path: Path, text: str) -> None:
    write(tmp_path, {"/recorded.json": text, "/root/x": ""})
    assert read_recorded(tmp_path / "root").libraries == {}


def test_what_is_told_of_libraries(tmp_path: Path) -> None:
    first, second = again("mi300x-rocm-7.0-container", tmp_path)
    assert second.libraries == first.libraries  # type: ignore[attr-defined]
    data = json.loads((tmp_path / "recorded.json").read_text())
    assert {"kind", "version", "names"} <= set(next(iter(data["libraries"].values())))


@pytest.mark.parametrize(
    ("text", "redacted"),
    [
        ("acme-node7:12:13 [0]", "gpu-node-01:12:13 [0]"),
        ("acme-node70 acme-node7-x xacme-node7", "acme-node70 acme-node7-x xacme-node7"),
        ("/home/alice/x:/home/bob/y", "/home/user/x:/home/user/y"),
        ("/gpfs/alice/x alice-key", "/gpfs/user/x alice-key"),
        ("root user", "root user"),
        ("version 24.6.2.0 and 6.2.0.0-66", "version 24.6.2.0 and 6.2.0.0-66"),
        ("0000:0c:00.0 GPU", "0000:0c:00.0 GPU"),
        ("docker/" + "ab12" * 16, "docker/" + "0" * 64),
        ("unique_id 0\n", "unique_id 0\n"),
    ],
)
def test_redaction(text: str, redacted: str) -> None:
    assert Redactor(["acme-node7"], ["alice"]).text(text) == redacted


def test_one_identity_in_two_forms_stays_one() -> None:
    redactor = Redactor()
    decimal = redactor.text("unique_id 11651590505119481856\n").split()[1]
    assert redactor.text("GPU-a1b2c3d4e5f60000") == f"GPU-{int(decimal):016x}"
    assert redactor.text("0xa1b2c3d4e5f60000") == f"0x{int(decimal):016x}"
    assert redactor.text("unique_id 11651590505119481857\n").split()[1] != decimal


@given(st.text(), st.sampled_from(["alice", "acme-node7"]))
def test_a_name_on_its_own_never_stays(text: str, name: str) -> None:
    assert name not in Redactor(["acme-node7"], ["alice"]).text(f"{text.replace(name, '')} {name} ").split()[-1]


def test_the_command_line_of_a_script_is_not_recorded(tmp_path: Path) -> None:
    node = examine_and_record(Path("/"), tmp_path)
    assert node.files is not None
    index = (tmp_path / "commands/index.toml").read_text()
    assert "import ctypes" not in index
    assert sys.executable not in index


def test_of_the_kernels_log_only_faults_are_kept(tmp_path: Path) -> None:
    write(tmp_path / "root", {"/proc/self/limits": ""})
    files = NodeFiles(tmp_path / "root", keep=True)
    node = examine(tmp_path / "root", RecordedRunner(tmp_path), "files", files=files)
    log = "[1.0] usb 1-1: SerialNumber: secret-word\n[2.0] NVRM: Xid (PCI:0000:89:00): 79, pid=1, name=alice-train\n"
    record(node, [CommandResult(("dmesg",), 0, log)], tmp_path / "out")
    (kept,) = (tmp_path / "out/commands").glob("*dmesg.out")
    assert kept.read_text() == "NVRM: Xid (PCI:0000:89:00): 79\n"
