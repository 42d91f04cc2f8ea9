"""Files of a node: links stay inside the root, nothing raises, and the log says what was touched."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from node_helpers import write

from envdoctor.node.probes.files import NodeFiles, natural


def test_reads_of_each_kind(tmp_path: Path) -> None:
    files = NodeFiles(write(tmp_path, {"/a/text": "one\n", "/a/number": "-12\n", "/a/bytes": b"\xff\x00"}))
    assert files.read_text("/a/text") == "one\n"
    assert files.read_word("/a/text") == "one"
    assert files.read_int("/a/number") == -12
    assert files.read_int("/a/text") is None
    assert files.read_bytes("/a/bytes") == b"\xff\x00"
    assert files.read_text("/a/bytes") == "�\x00"
    assert files.read_bytes("/a/text", 2) == b"on"


@pytest.mark.parametrize(
    ("links", "asked", "resolved"),
    [
        ({"/opt/rocm": "rocm-6.2.0"}, "/opt/rocm/lib", "/opt/rocm-6.2.0/lib"),
        ({"/opt/rocm": "/etc/alternatives/rocm", "/etc/alternatives/rocm": "/opt/r"}, "/opt/rocm/x", "/opt/r/x"),
        ({"/opt/rocm": "../../../../outside"}, "/opt/rocm/x", "/outside/x"),
        ({"/a": "b/../c"}, "/a", "/c"),
        ({"/loop": "loop"}, "/loop/x", "/loop/x"),
        ({"/one": "two", "/two": "one"}, "/one", "/one"),
        ({}, "/no/such/../thing", "/no/thing"),
        ({}, "/../..", "/"),
    ],
)  # fmt: skip
def test_links_are_followed_inside_the_root(tmp_path: Path, links: dict[str, str], asked: str, resolved: str) -> None:
    files = NodeFiles(write(tmp_path, {path: f"-> {target}" for path, target in links.items()}))
    assert files.resolve(asked) in (resolved, resolved.replace("/one", "/two"))


def test_a_link_out_of_the_tree_reads_nothing_outside(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("outside")
    root = write(tmp_path / "node" / "tree", {"/up": "-> ../../secret", "/abs": f"-> {tmp_path}/secret"})
    files = NodeFiles(root)
    assert files.read_text("/up") is None
    assert files.read_text("/abs") is None
    assert not files.exists("/up")


def test_links_of_a_recorded_tree(tmp_path: Path) -> None:
    links = "# path\ttarget\n/opt/r\tr-1\n/opt/s\tr\nbad\n"
    write(tmp_path, {"/root/opt/r-1/v": "1", "/root/opt/r": "r-1", "/links.tsv": links})
    files = NodeFiles(tmp_path / "root")
    assert files.read_text("/opt/r/v") == "1"
    assert files.read_text("/opt/s/v") == "1"
    assert files.names("/opt") == ["r", "r-1", "s"]
    assert files.is_folder("/opt/s")


def test_why_a_read_failed(tmp_path: Path) -> None:
    files = NodeFiles(write(tmp_path, {"/folder/file": ""}))
    assert (files.read_text("/none"), files.why("/none")) == (None, "absent")
    assert (files.read_text("/folder/file/x"), files.why("/folder/file/x")) == (None, "absent")
    assert (files.read_text("/folder"), files.why("/folder")) == (None, "is a directory")
    assert files.names("/folder/file") == []
    assert files.read_text("/nul\0byte") is None
    assert not files.exists("/nul\0byte")


def test_a_pipe_does_not_hold_the_reader(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert NodeFiles(tmp_path).read_bytes("/pipe") == b""


def test_a_file_that_vanishes_between_listing_and_reading(tmp_path: Path) -> None:
    files = NodeFiles(write(tmp_path, {"/nodes/1/p": "x", "/nodes/2/p": "y"}))
    seen = files.paths("/nodes")
    (tmp_path / "nodes/1/p").unlink()
    assert [files.read_text(f"{path}/p") for path in seen] == [None, "y"]


def test_the_log(tmp_path: Path) -> None:
    files = NodeFiles(write(tmp_path, {"/a/x1": "1", "/a/x2": "2", "/a/y": "3", "/l": "-> a"}), keep=True)
    files.paths("/l", "x*")
    files.read_text("/l/x1")
    files.read_bytes("/a/y")
    files.exists("/none")
    assert files.touched == {"/a": "folder", "/a/x1": "file", "/a/x2": "exists", "/a/y": "bytes", "/none": "absent"}
    assert files.contents == {"/a/x1": b"1", "/a/y": b"3"}
    assert {p: t for p, t in files.links.items() if t} == {"/l": "a"}


def test_names_in_natural_order(tmp_path: Path) -> None:
    files = NodeFiles(write(tmp_path, {f"/d/card{n}": "" for n in (10, 9, 1, 100)}))
    assert files.names("/d") == ["card1", "card9", "card10", "card100"]


@given(st.lists(st.text(min_size=1)))
def test_natural_order_is_defined_for_all_names(names: list[str]) -> None:
    assert [natural(name) for name in sorted(names, key=natural)] == sorted(natural(name) for name in names)


def test_a_digit_of_another_script_is_a_letter() -> None:
    assert sorted(["card10", "card²", "card9"], key=natural) == ["card9", "card10", "card²"]


@given(st.text())
def test_no_path_raises_or_leaves(path: str) -> None:
    files = NodeFiles(Path(__file__).parent)
    resolved = files.resolve(path)
    assert resolved.startswith("/")
    assert ".." not in resolved.split("/")
    files.read_text(path)
    files.names(path)
    files.exists(path)


def test_the_machine_itself() -> None:
    files = NodeFiles(Path("/"))
    assert files.live
    assert files.read_word("/proc/self/comm")
    assert files.resolve("/proc/self/status") == "/proc/self/status"
