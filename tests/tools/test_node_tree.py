"""A node as one file: what is packed comes out as it was and packs into the same text; errors name file and line."""

from __future__ import annotations

import os
from pathlib import Path

import node_tree
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from node_tree import HEADING, Entry, NodeTreeError, Reader, read_folder, text_of, write_folder
from recorded import ARCHIVES, NAMES

NAME = st.binary(min_size=1, max_size=8).filter(lambda name: not {0, 47} & set(name) and name not in (b".", b".."))
LINES = st.lists(st.sampled_from(["a", "", " ", "\t", "| x", "!", "\\n", "°C", "\r", "\x1b[1m", "\u2028", "file x"]))
CONTENT = st.binary(max_size=60) | LINES.map("\n".join).map(str.encode)
LEAF = st.one_of(
    st.tuples(st.just("file"), st.sampled_from([0o644, 0o755, 0o444, 0o600]), CONTENT),
    st.tuples(st.just("link"), st.just(0o777), NAME),
)
TREE = st.recursive(LEAF, lambda inside: st.dictionaries(NAME, inside, max_size=4), max_leaves=12)


def entries_of(tree: dict, below: bytes = b"") -> list[Entry]:
    """Entries of a tree of dictionaries, in the order of a text."""
    found = []
    for name, item in sorted(tree.items()):
        path = os.fsdecode(below + name)
        if isinstance(item, tuple):
            found.append(Entry(item[0], path, *item[1:]))
        elif item:
            found += entries_of(item, below + name + b"/")
        else:
            found.append(Entry("folder", path, 0o755))
    return found


def read(*lines: str) -> list[Entry]:
    return list(Reader("a.tree").entries("\n".join([HEADING, *lines, ""])))


@given(st.dictionaries(NAME, TREE, max_size=4))
def test_any_tree_is_read_as_it_was_written(tree: dict) -> None:
    text = text_of(entries_of(tree))
    assert list(Reader("a.tree").entries(text)) == entries_of(tree)
    assert text.isprintable() or set(filter(lambda c: not c.isprintable(), text)) <= {"\n", "\t"}
    assert not [line for line in text.splitlines() if line != line.rstrip()]


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.dictionaries(NAME, TREE, max_size=4))
def test_any_folder_packs_into_the_text_it_came_from(tmp_path_factory: pytest.TempPathFactory, tree: dict) -> None:
    folder = tmp_path_factory.mktemp("tree")
    text = text_of(entries_of(tree))
    write_folder(Reader("a.tree").entries(text), folder)
    assert text_of(read_folder(folder)) == text


@pytest.mark.parametrize("name", NAMES)
def test_every_recorded_node_packs_into_the_text_it_came_from(name: str, tmp_path: Path) -> None:
    archive = ARCHIVES / f"{name}.tree"
    assert node_tree.main(["unpack", str(archive), str(tmp_path / name)]) == 0
    assert node_tree.main(["pack", str(tmp_path / name), str(tmp_path / "again.tree")]) == 0
    same = (tmp_path / "again.tree").read_bytes() == archive.read_bytes()
    assert same, f"python tools/node_tree.py unpack and pack write {archive} as it has to be"


def test_every_recorded_node_is_described() -> None:
    text = (ARCHIVES / "README.md").read_text(encoding="utf-8")
    assert [name for name in NAMES if f"`{name}`" not in text] == []


def test_a_text_is_readable(tmp_path: Path) -> None:
    node = tmp_path / "node"
    (node / "proc/empty").mkdir(parents=True)
    (node / "proc/environ").write_bytes(b"HOME=/root\0LANG=C\0")
    (node / "temperature").write_text("45 °C\n\ntrailing  \nno end", encoding="utf-8")
    (node / "helper").write_bytes(b"#!/bin/sh\r\n\x7fELF\xff\n")
    (node / "helper").chmod(0o755)
    (node / "shut").mkdir(0o700)
    (node / "shut/a file").write_bytes(b"")
    (node / "link").symlink_to("a -> b")
    assert text_of(read_folder(node)).splitlines() == [
        HEADING,
        "file helper 755", "!#!/bin/sh", r"!\x0d\n", r"!\x7fELF\xff\n",
        r"link link -> a\x20->\x20b",
        "folder proc/empty",
        "file proc/environ", r"!HOME=/root\0", r"!LANG=C\0",
        "folder shut 700", r"file shut/a\x20file",
        "file temperature", "|45 °C", "|", r"!trailing  \n", "!no end",
    ]  # fmt: skip


def test_who_may_write_follows_from_who_packs(tmp_path: Path) -> None:
    (tmp_path / "node").mkdir()
    (tmp_path / "node/file").write_text("x\n")
    (tmp_path / "node/file").chmod(0o664)
    assert text_of(read_folder(tmp_path / "node")).splitlines() == [HEADING, "file file", "|x"]
    before = os.umask(0o077)
    try:
        write_folder(read("file a/b", "|x", "file a/c 600", "folder d 555"), tmp_path / "out")
    finally:
        os.umask(before)
    modes = {path.name: path.stat().st_mode & 0o777 for path in (tmp_path / "out").rglob("*")}
    assert modes == {"a": 0o755, "b": 0o644, "c": 0o600, "d": 0o555}


@pytest.mark.parametrize(
    ("lines", "line", "says"),
    [
        (["|x"], 2, "content that belongs to no file"),
        (["folder a", "|x"], 3, "content that belongs to no file"),
        (["link a -> b", "!x"], 3, "content that belongs to no file"),
        (["file a", "", "|x"], 3, "nor a line of content: ''"),
        (["file"], 2, "neither `file PATH`"),
        (["file a b"], 2, "neither `file PATH`"),
        (["file a -> b"], 2, "neither `file PATH`"),
        (["link a"], 2, "neither `file PATH`"),
        (["link a 755 -> b"], 2, "neither `file PATH`"),
        (["device a"], 2, "neither `file PATH`"),
        (["file /etc/passwd"], 2, "no path below the folder of a node"),
        (["file a/../../b"], 2, "no path below the folder of a node"),
        (["file a//b"], 2, "no path below the folder of a node"),
        ([r"file a\0"], 2, "no path below the folder of a node"),
        ([r"link a -> b\0"], 2, "no link has a target with"),
        ([r"file a\q"], 2, "a backslash that begins no escape"),
        (["file a", "!\\"], 3, "a backslash that begins no escape"),
        (["file a", r"!\xG0"], 3, "a backslash that begins no escape"),
        (["file a 666"], 2, "that group or others may write is not kept"),
        (["file a", "|x", "file a"], 4, "a stands on line 2 already"),
        (["link a -> /etc", "file a/passwd"], 3, "cannot lie in a, which is a link on line 2"),
        (["file a", "folder a/b/c"], 3, "cannot lie in a, which is a file on line 2"),
        (["file a/b/c", "link a -> /etc"], 3, "a is no link: line 2 lies in it"),
    ],
)
def test_an_error_names_file_and_line(lines: list[str], line: int, says: str) -> None:
    with pytest.raises(NodeTreeError) as error:
        read(*lines)
    assert str(error.value).startswith(f"a.tree:{line}: ")
    assert says in str(error.value)


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", ":1: a node tree begins with the line '# envdoctor node tree 1'"),
        (b"# envdoctor node tree 2\n", ":1: a node tree begins with"),
        (b"# envdoctor node tree 1\nfile a\n|caf\xe9\n", ":3: bytes that are no UTF-8"),
        (b"# envdoctor node tree 1\nfile a\n|x\nfile b\noops\n", ":5: neither"),
    ],
)
def test_a_malformed_file_leaves_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], data: bytes, says: str
) -> None:
    archive = tmp_path / "bad.tree"
    archive.write_bytes(data)
    assert node_tree.main(["unpack", str(archive), str(tmp_path / "out")]) == 2
    assert f"{archive}{says}" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@given(st.lists(st.sampled_from([*"fil |!\\x0n/.\n>-", "\nfile a", "\nfolder a/b", "\nlink a -> b", "\0", "é"])))
def test_any_text_is_read_or_refused(parts: list[str]) -> None:
    try:
        found = list(Reader("a.tree").entries(HEADING + "".join(parts)))
    except NodeTreeError as error:
        assert str(error).startswith("a.tree:")
    else:
        assert list(Reader("a.tree").entries(text_of(found))) == found


def test_line_ends_of_another_system_are_none_of_the_content(tmp_path: Path) -> None:
    (tmp_path / "a.tree").write_bytes(f"{HEADING}\r\nfile a\r\n|x\r\n".encode())
    assert node_tree.main(["unpack", str(tmp_path / "a.tree"), str(tmp_path / "out")]) == 0
    assert (tmp_path / "out/a").read_bytes() == b"x\n"


def test_what_cannot_be_done_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full/file").write_text("")
    (tmp_path / "a.tree").write_text(f"{HEADING}\n")
    (tmp_path / "odd").mkdir()
    os.mkfifo(tmp_path / "odd/pipe")
    for words, says in (
        (["unpack", "a.tree", "full"], "full: is not empty"),
        (["unpack", "none.tree", "out"], "none.tree"),
        (["pack", "none", "b.tree"], "none: is no folder"),
        (["pack", "odd", "b.tree"], "pipe: neither a file nor a folder nor a link"),
    ):
        assert node_tree.main([words[0], *(str(tmp_path / word) for word in words[1:])]) == 2
        assert says in capsys.readouterr().err
    assert not (tmp_path / "b.tree").exists()
