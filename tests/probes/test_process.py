"""The examined process: environment, secrets, mapped libraries, conf files."""

from __future__ import annotations

import os
import string
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from node_helpers import by_detail, view_of

from envdoctor.core.credentials import MASKED, is_credential
from envdoctor.node.probes import conf, process
from envdoctor.node.probes.base import Absent, ProbeFailed
from envdoctor.node.probes.files import NodeFiles


def test_environment_as_getenv_sees_it() -> None:
    data = "A=1\0B=x=y\0A=2\0EMPTY=\0junk\0=odd\0\0"
    assert process.parse_environ(data) == {"A": "1", "B": "x=y", "EMPTY": ""}


MAPS = """55d0c0a00000-55d0c0a5f000 r--p 00000000 fd:01 13   /usr/bin/python3.10
7f2a00000000-7f2a00064000 r--p 00000000 00:31 90     /opt/a b/librccl.so
7f2a00064000-7f2a02c64000 r-xp 00064000 00:31 90     /opt/a b/librccl.so
7f2a10000000-7f2a10064000 r--p 00000000 00:31 91     /opt/libamdhip64.so.6.2.60200 (deleted)
7f2affff0000-7f2affff2000 rw-p 00000000 00:00 0
7f2affff0000-7f2affff2000 rw-p 00000000 00:00 0      /dev/shm/x.sock
7ffd1c8f0000-7ffd1c911000 rw-p 00000000 00:00 0      [stack]
short
"""


def test_mapped_libraries() -> None:
    assert process.parse_maps(MAPS) == ["/opt/a b/librccl.so", "/opt/libamdhip64.so.6.2.60200"]


@given(st.text())
def test_any_environment_and_maps(text: str) -> None:
    process.parse_environ(text)
    process.parse_maps(text)
    conf.parse_conf(text)


def test_a_real_process() -> None:
    child = subprocess.Popen(
        [sys.executable, "-c", "import ctypes, sys; print('up', flush=True); sys.stdin.read()"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={**os.environ, "NCCL_PROBE_TEST": "yes"},
    )  # fmt: skip
    try:
        assert child.stdout is not None
        child.stdout.readline()
        files = NodeFiles(Path("/"))
        assert process.read_environment(files, f"/proc/{child.pid}")["NCCL_PROBE_TEST"] == "yes"
        assert any("libc.so" in path or "libc-" in path for path in process.read_mapped(files, f"/proc/{child.pid}"))
    finally:
        child.communicate(timeout=20)


def test_a_process_that_is_gone() -> None:
    files = NodeFiles(Path("/"))
    assert process.read_environment(files, "/proc/999999999") == {}
    assert process.read_mapped(files, "/proc/999999999") == []


def test_only_known_variables_become_settings(tmp_path: Path) -> None:
    environment = {"HOME": "/home/alice", "NCCL_ALGO": "Ring", "SECRET": "x", "ROCM_PATH": "/opt/rocm"}
    files = {"/opt/rocm": "-> rocm-6.2.0", "/opt/rocm-6.2.0/x": ""}
    view = view_of(tmp_path, files, environment=environment, known=process.in_families)
    process.environment_probe(view)
    assert [(s.name, s.value.known, s.place.line) for s in view.facts.settings] == [
        ("NCCL_ALGO", "Ring", 2),
        ("ROCM_PATH", "/opt/rocm", 4),
    ]
    assert by_detail(view.facts, "rocm.rocm_path_env") == {"ROCM_PATH": "/opt/rocm-6.2.0"}


def test_an_environment_that_may_not_be_read(tmp_path: Path) -> None:
    view = view_of(tmp_path, {"/proc/self/environ/folder": ""})
    view.environment = process.read_environment(view.files, view.proc)
    with pytest.raises(ProbeFailed, match="is a directory"):
        process.environment_probe(view)


SECRETS = [
    ("HF_TOKEN", "x"), ("AWS_SECRET_ACCESS_KEY", "x"), ("WANDB_API_KEY", "x"), ("MY_PASSWORD", "x"),
    ("NCCL_X", "https://user:pw@host/"), ("NCCL_X", "hf_" + "a1" * 12), ("NCCL_X", "ghp_" + "A1" * 18),
    ("NCCL_X", "AKIA" + "A1" * 8), ("NCCL_X", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTYifQ.x"),
    ("NCCL_X", "Bearer abcdefghijklmnop1"),
    ("NCCL_X", "password=hunter22"), ("NCCL_X", "k3y" * 14), ("NCCL_X", "sk-proj-" + "a1" * 10),
    ("TORCH_X", "-----BEGIN RSA PRIVATE KEY"),
]  # fmt: skip
PLAIN = [
    ("NCCL_ALGO", "Ring"), ("NCCL_IB_HCA", "mlx5_0:1,mlx5_1:1,mlx5_2:1,mlx5_3:1,mlx5_4:1,mlx5_5:1,mlx5_6:1"),
    ("LD_LIBRARY_PATH", "/opt/rocm-6.2.0/lib:/usr/local/cuda/lib64:/home/user/.venv/lib/python3.12/site-packages/x"),
    ("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True,garbage_collection_threshold:0.8,max_split_size_mb:512"),
    ("NCCL_DEBUG_FILE", "/tmp/nccl.%h.%p.log"), ("NCCL_SOCKET_IFNAME", "=eth0,eth1"), ("MONKEY_PATCH", "1"),
    ("NCCL_KEYS", "a"), ("CUDA_VISIBLE_DEVICES", "0,1,2,3,4,5,6,7"), ("HSA_OVERRIDE_GFX_VERSION", "9.4.2"),
    ("TORCH_TOKENS_PER_STEP", "4096"), ("XLA_FLAGS", "--xla_gpu_deterministic_ops=true --xla_gpu_autotune_level=0"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "value"), SECRETS)
def test_credentials_are_masked(tmp_path: Path, name: str, value: str) -> None:
    assert is_credential(name, value)
    view = view_of(tmp_path, environment={name: value}, known=lambda name: True)
    process.environment_probe(view)
    assert view.facts.settings[0].value.text == MASKED
    assert view.facts.settings[0].value.known is None


@pytest.mark.parametrize(("name", "value"), PLAIN)
def test_plain_values_are_not(name: str, value: str) -> None:
    assert not is_credential(name, value)


@given(st.text(alphabet=string.printable), st.text(alphabet=string.printable))
def test_masks_of_anything(name: str, value: str) -> None:
    assert is_credential(name, value) in (True, False)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("A=1\n# x=2\nB = 3\n\nC\nD=a=b\n", [("A", "1", 1), ("B ", " 3", 3), ("D", "a=b", 6)]),
        ("=x\n", []),
        ('Q="quoted"\n', [("Q", '"quoted"', 1)]),
    ],
)
def test_lines_of_a_conf_file(text: str, found: list[tuple[str, str, int]]) -> None:
    assert conf.parse_conf(text) == found


PASSWD = "root:x:0:0::/root:/bin/sh\nme:x:1000:1000::/home/me:/bin/sh\n"
BOTH = {
    "/home/me/.nccl.conf": "", "/etc/nccl.conf": "", "/home/me/.rccl.conf": "", "/etc/rccl.conf": "",
    "/elsewhere/.nccl.conf": "", "/named.conf": "", "/etc/passwd": PASSWD,
}  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "version", "named", "read"),
    [
        ("nccl", 22005, "", ["/home/me/.nccl.conf", "/etc/nccl.conf"]),
        ("rccl", 22005, "", ["/home/me/.rccl.conf", "/etc/rccl.conf"]),
        ("rccl", 21104, "", ["/home/me/.nccl.conf", "/etc/nccl.conf"]),  # ROCm 5.2.0
        ("nccl", 23007, "", ["/elsewhere/.nccl.conf", "/etc/nccl.conf"]),  # $HOME counts from 2.30.3
        ("nccl", 22809, "/named.conf", ["/named.conf", "/etc/nccl.conf"]),
        ("nccl", 22205, "/named.conf", ["/home/me/.nccl.conf", "/etc/nccl.conf"]),  # before NCCL_CONF_FILE
        ("nccl", None, "/named.conf", ["/named.conf", "/etc/nccl.conf"]),
        ("nccl", 22809, "/not-there.conf", ["/etc/nccl.conf"]),
    ],
)
def test_which_conf_files_are_read(tmp_path: Path, kind: str, version: int | None, named: str, read: list[str]) -> None:
    view = view_of(tmp_path, BOTH, environment={"HOME": "/elsewhere", "NCCL_CONF_FILE": named})
    files = conf.conf_files(view, kind, version, 1000)
    assert [file.path for file in files if file.state == "read"] == read


def test_a_file_that_another_replaces_and_one_of_the_other_vendor(tmp_path: Path) -> None:
    view = view_of(tmp_path, BOTH, environment={"HOME": "/home/me", "NCCL_CONF_FILE": "/named.conf"})
    states = {file.path: file.state for file in conf.conf_files(view, "nccl", 22809, 1000)}
    assert states == {
        "/named.conf": "read", "/home/me/.nccl.conf": "replaced", "/etc/nccl.conf": "read",
        "/home/me/.rccl.conf": "ignored", "/etc/rccl.conf": "ignored",
    }  # fmt: skip


def test_settings_in_the_librarys_own_order(tmp_path: Path) -> None:
    files = {"/home/me/.nccl.conf": "NCCL_ALGO=Tree\nOTHER=1\n", "/etc/nccl.conf": "NCCL_ALGO=Ring\nNCCL_DEBUG=INFO\n"}
    view = view_of(tmp_path, files, environment={"HOME": "/home/me", "NCCL_ALGO": "PAT"}, known=process.in_families)
    process.environment_probe(view)
    conf.conf_probe(view, "nccl", 22809, None)
    assert [(s.name, s.value.known, s.op, s.order) for s in view.facts.settings] == [
        ("NCCL_ALGO", "PAT", "set", 0),
        ("NCCL_ALGO", "Tree", "default", 1),
        ("NCCL_ALGO", "Ring", "default", 2),
        ("NCCL_DEBUG", "INFO", "default", 3),
    ]


def test_no_conf_file(tmp_path: Path) -> None:
    with pytest.raises(Absent):
        conf.conf_probe(view_of(tmp_path), "rccl", None, None)


def test_a_conf_file_that_cannot_be_read(tmp_path: Path) -> None:
    view = view_of(tmp_path, {"/etc/nccl.conf/folder": ""})
    conf.conf_probe(view, "nccl", None, None)
    assert [problem.place.path for problem in view.facts.problems] == ["/etc/nccl.conf"]
