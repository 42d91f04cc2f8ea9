"""The recorded nodes, one file each under `tests/nodes`; a node is unpacked when a test first asks for its folder."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any

import tomli
from node_tree import Entry, Reader, read_file, read_folder, text_of, write_entries, write_folder

ARCHIVES = Path(__file__).parent / "nodes"
NAMES = sorted(path.name.removesuffix(".tree") for path in ARCHIVES.glob("*.tree"))
UNLIKE = sorted(path.name.removesuffix(".tree") for path in (ARCHIVES / "unlike").glob("*.tree"))
"""Nodes of other kinds, whose node.toml tells a part of the facts, and which rules have to speak and to be silent."""

_unpacked: dict[Path, str] = {}
_home: list[Path] = []


@cache
def entries_of(name: str) -> tuple[Entry, ...]:
    """Files, folders and links of a recorded node."""
    archive = (ARCHIVES / "unlike" if name in UNLIKE else ARCHIVES) / f"{name}.tree"
    return tuple(Reader(str(archive)).entries(read_file(archive)))


def folder_of(name: str) -> Path:
    """The folder of a recorded node, for reading: all tests share it. A test that writes takes a copy."""
    assert _home, "a recorded node is unpacked for a running test only: use told or paths_of where tests are collected"
    return _kept_at(_home[0] / name, name)


def editable(name: str) -> Path:
    """A folder with what a recorded node holds, for a test that puts all of it back (`put_back`): cheaper than a copy."""
    assert _home
    return _kept_at(_home[0] / "edited" / name, name)


def _kept_at(folder: Path, name: str) -> Path:
    if folder not in _unpacked:
        write_folder(entries_of(name), folder)
        _unpacked[folder] = name
    return folder


def put_back(name: str, paths: Iterable[str]) -> None:
    """Undo what was done to files and folders of the editable folder."""
    folder = editable(name)
    for path in paths:
        remove(folder / path)
        write_entries((e for e in entries_of(name) if e.path == path or e.path.startswith(f"{path}/")), folder)
        for above in PurePosixPath(path).parents[:-1]:
            if not any(entry.path.startswith(f"{above}/") for entry in entries_of(name)):
                remove(folder / above)


def remove(path: Path) -> None:
    """Remove a file, a link, a folder or nothing."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


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
    """Folders of unpacked nodes that do not hold any more what their files say."""
    return [str(folder) for folder, name in _unpacked.items() if is_changed(folder, name)]


def is_changed(folder: Path, name: str) -> bool:
    """Whether a folder holds something else than a recorded node."""
    return text_of(read_folder(folder)) != text_of(entries_of(name))
