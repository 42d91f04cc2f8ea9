"""The recorded nodes, one file each under `tests/nodes`; a node is unpacked when a test first asks for its folder."""

from __future__ import annotations

from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any

import tomli
from node_tree import Entry, Reader, read_file, read_folder, text_of, write_folder

ARCHIVES = Path(__file__).parent / "nodes"
NAMES = sorted(path.name.removesuffix(".tree") for path in ARCHIVES.glob("*.tree"))

_unpacked: dict[str, Path] = {}
_home: list[Path] = []


@cache
def entries_of(name: str) -> tuple[Entry, ...]:
    """Files, folders and links of a recorded node."""
    archive = ARCHIVES / f"{name}.tree"
    return tuple(Reader(str(archive)).entries(read_file(archive)))


def folder_of(name: str) -> Path:
    """The folder of a recorded node, for reading: all tests share it. A test that writes takes a copy."""
    assert _home, "a recorded node is unpacked for a running test only: use told or paths_of where tests are collected"
    if name not in _unpacked:
        folder = _home[0] / name
        write_folder(entries_of(name), folder)
        _unpacked[name] = folder
    return _unpacked[name]


def copy_of(name: str, to: Path) -> Path:
    """A folder below `to` with what a recorded node holds, for writing."""
    write_folder(entries_of(name), to / name)
    return to / name


def paths_of(name: str, pattern: str) -> list[str]:
    """Paths of files of a recorded node, without the node being unpacked."""
    return [entry.path for entry in entries_of(name) if PurePosixPath(entry.path).match(pattern)]


def told(name: str) -> dict[str, Any]:
    """What the node.toml of a recorded node says, without the node being unpacked."""
    (text,) = (entry.content.decode() for entry in entries_of(name) if entry.path == "node.toml")
    return tomli.loads(text)


def unpack_below(folder: Path) -> None:
    """Nodes are unpacked there from now on."""
    _home[:] = [folder]
    _unpacked.clear()


def written_into() -> list[str]:
    """The unpacked nodes that are not any more what their files say."""
    return [name for name, folder in _unpacked.items() if text_of(read_folder(folder)) != text_of(entries_of(name))]
