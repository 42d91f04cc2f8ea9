r"""A recorded node as one text file: a folder is packed into it, and comes out of it as it was.

    python tools/node_tree.py pack FOLDER FILE      write the folder of a node as one file
    python tools/node_tree.py unpack FILE FOLDER    write what such a file holds into a new or empty folder

The file has a section for each file, each link and each empty folder, in the order of their paths:

    # envdoctor node tree 1
    folder root/proc/empty
    file root/proc/cmdline
    |BOOT_IMAGE=/vmlinuz quiet
    file root/proc/self/environ
    !HOME=/root\0
    !LANG=C\0
    file root/usr/bin/helper 755
    link root/etc/os-release -> ../usr/lib/os-release

A line behind `|` is a line of the file as it stands. A line behind `!` is a piece of the file with escapes, and ends no
line of the file unless `\n` says so: it holds what a reader or an editor would not see or not keep (control characters,
bytes that are no UTF-8, white space at the end of a line, a last line without an end). Paths have the same escapes, and
`\x20` for a space. Permissions are told where they are not 644, or 755 for a folder. That group or others may write is
not kept: it follows from who packs.
"""

from __future__ import annotations

import argparse
import os
import re
import stat
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Kind = Literal["file", "folder", "link"]

HEADING = "# envdoctor node tree 1"
USUAL: dict[Kind, int] = {"file": 0o644, "folder": 0o755, "link": 0o777}
"""Permissions that are not told."""
KEPT = 0o755
SECTION = re.compile(
    r"(?P<kind>file|folder) (?P<path>\S+)(?: (?P<mode>[0-7]{3}))?|link (?P<link>\S+) -> (?P<target>\S+)"
)
LINE = re.compile(rb"[^\n]*\n|[^\n]+")
UNSEEN = re.compile(
    "[\x00-\x08\x0a-\x1f\x7f-\x9f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]"
)
"""Characters that a reader does not see, or that end a line for some programs."""
PIECE = re.compile(rb"[\t -~]{4,}[\x00\n]?|(?:(?![\t -~]{4}).){1,24}", re.DOTALL)
"""What stands on one line behind `!`: text with what ends it, or a few other bytes."""
ESCAPE = re.compile(rb"\\(x[0-9a-f]{2}|[0nt\\]|)")
SHORT = {b"0": b"\0", b"n": b"\n", b"t": b"\t", b"\\": b"\\"}
SHOWN = {byte: chr(byte) if 0x20 <= byte < 0x7F else f"\\x{byte:02x}" for byte in range(256)} | {
    byte[0]: f"\\{name.decode()}" for name, byte in SHORT.items()
}


class NodeTreeError(Exception):
    """A file that is no node tree, with its name and line, or a folder that cannot be packed or written."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A file, folder or link. `path` is relative to the folder of the node; a link has its target as `content`."""

    kind: Kind
    path: str
    mode: int
    content: bytes = b""


def read_folder(folder: Path, below: str = "") -> Iterator[Entry]:
    """Entries of all that lies in a folder and that a text has to tell. Raises `NodeTreeError` and `OSError`."""
    for path in sorted(folder.iterdir(), key=lambda path: os.fsencode(path.name)):
        entry = read_entry(path, below + path.name)
        inside = list(read_folder(path, f"{entry.path}/")) if entry.kind == "folder" else []
        if not inside or entry.mode != USUAL["folder"]:
            yield entry
        yield from inside


def read_entry(path: Path, shown: str) -> Entry:
    """One file, folder or link."""
    status = path.lstat()
    if stat.S_ISLNK(status.st_mode):
        return Entry("link", shown, USUAL["link"], os.fsencode(path.readlink()))
    if stat.S_ISDIR(status.st_mode):
        return Entry("folder", shown, status.st_mode & KEPT)
    if not stat.S_ISREG(status.st_mode):
        raise NodeTreeError(f"{path}: neither a file nor a folder nor a link")
    return Entry("file", shown, status.st_mode & KEPT, path.read_bytes())


def text_of(entries: Iterable[Entry]) -> str:
    """The text for entries, in their order."""
    lines = [HEADING]
    for entry in entries:
        head = f"{entry.kind} {escaped_word(os.fsencode(entry.path))}"
        if entry.kind == "link":
            lines.append(f"{head} -> {escaped_word(entry.content)}")
            continue
        lines.append(head if entry.mode == USUAL[entry.kind] else f"{head} {entry.mode:03o}")
        for line in LINE.findall(entry.content):
            plain = plain_line(line)
            lines += [f"!{escaped_piece(piece)}" for piece in PIECE.findall(line)] if plain is None else [f"|{plain}"]
    return "\n".join(lines) + "\n"


def plain_line(line: bytes) -> str | None:
    """A line of a file without its end, if that can stand in the text as it is."""
    try:
        text = line.decode()
    except UnicodeDecodeError:
        return None
    body = text.removesuffix("\n")
    return None if body == text or body != body.rstrip() or UNSEEN.search(body) else body


def escaped(data: bytes) -> str:
    """Bytes as characters of ASCII that are seen."""
    return "".join(map(SHOWN.__getitem__, data))


def escaped_word(data: bytes) -> str:
    """A path as one word."""
    return escaped(data).replace(" ", "\\x20")


def escaped_piece(data: bytes) -> str:
    """A piece of a file as a line that ends in no space."""
    text = escaped(data)
    return f"{text[:-1]}\\x20" if text.endswith(" ") else text


def unescaped(text: str) -> bytes:
    """The bytes that were escaped. Raises `ValueError`."""

    def byte(match: re.Match[bytes]) -> bytes:
        if not match[1]:
            raise ValueError("a backslash that begins no escape: \\\\, \\0, \\n, \\t and \\x with two digits are known")
        return SHORT.get(match[1]) or bytes.fromhex(match[1][1:].decode())

    return ESCAPE.sub(byte, text.encode())


class Reader:
    """Reads a text line by line; `name` is the name of the file in errors."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.section: Entry | None = None
        self.pieces: list[bytes] = []
        self.places: dict[str, tuple[Kind, int]] = {}
        self.parents: dict[str, int] = {}

    def entries(self, text: str) -> Iterator[Entry]:
        """Entries of a text, as they are read. Raises `NodeTreeError`."""
        for number, line in enumerate(text.removesuffix("\n").split("\n"), 1):
            try:
                entry = self.take(number, line)
            except ValueError as error:
                raise NodeTreeError(f"{self.name}:{number}: {error}") from None
            if entry is not None:
                yield entry
        if self.section is not None:
            yield self.finished(self.section)

    def take(self, number: int, line: str) -> Entry | None:
        """Read a line; the section that it ends, if it ends one."""
        if number == 1:
            if line != HEADING:
                raise ValueError(f"a node tree begins with the line {HEADING!r}")
            return None
        if line[:1] in ("|", "!"):
            if self.section is None or self.section.kind != "file":
                raise ValueError("a line of content that belongs to no file")
            self.pieces.append(f"{line[1:]}\n".encode() if line[0] == "|" else unescaped(line[1:]))
            return None
        done = None if self.section is None else self.finished(self.section)
        self.section, self.pieces = section(line), []
        self.place(self.section, number)
        return done

    def finished(self, head: Entry) -> Entry:
        """The entry of a section, with all its lines."""
        return Entry(head.kind, head.path, head.mode, b"".join(self.pieces)) if head.kind == "file" else head

    def place(self, entry: Entry, number: int) -> None:
        """Note where an entry stands. Raises `ValueError` where something else is in its place."""
        path = entry.path
        if path in self.places:
            raise ValueError(f"{path} stands on line {self.places[path][1]} already")
        if path in self.parents and entry.kind != "folder":
            raise ValueError(f"{path} is no {entry.kind}: line {self.parents[path]} lies in it")
        self.places[path] = entry.kind, number
        while "/" in path:
            path = path.rpartition("/")[0]
            kind, line = self.places.get(path, ("folder", 0))
            if kind != "folder":
                raise ValueError(f"{entry.path} cannot lie in {path}, which is a {kind} on line {line}")
            self.parents.setdefault(path, number)


def section(line: str) -> Entry:
    """The entry that a line begins, without content. Raises `ValueError`."""
    match = SECTION.fullmatch(line)
    if match is None:
        known = "neither `file PATH`, `folder PATH`, `link PATH -> TARGET` nor a line of content"
        raise ValueError(f"{known}: {line[:80]!r}")
    path = os.fsdecode(unescaped(match["path"] or match["link"]))
    if any(part in ("", ".", "..") for part in path.split("/")) or "\0" in path:
        raise ValueError(f"{path!r} is no path below the folder of a node")
    if match["link"]:
        return Entry("link", path, USUAL["link"], link_target(match["target"]))
    kind: Kind = "file" if match["kind"] == "file" else "folder"
    mode = USUAL[kind] if match["mode"] is None else int(match["mode"], 8)
    if mode & ~KEPT:
        raise ValueError(f"permissions {mode:03o}: that group or others may write is not kept")
    return Entry(kind, path, mode)


def link_target(word: str) -> bytes:
    """The target of a link. Raises `ValueError`."""
    target = unescaped(word)
    if b"\0" in target:
        raise ValueError("no link has a target with \\x00")
    return target


def read_file(file: Path) -> str:
    """The text of a file. Raises `NodeTreeError` and `OSError`."""
    data = file.read_bytes()
    try:
        return data.decode().replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise NodeTreeError(f"{file}:{data.count(10, 0, error.start) + 1}: bytes that are no UTF-8") from None


def write_folder(entries: Iterable[Entry], folder: Path) -> None:
    """Write entries below a folder that is new or empty. Raises `NodeTreeError` and `OSError`."""
    if folder.is_dir() and any(folder.iterdir()):
        raise NodeTreeError(f"{folder}: is not empty")
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(USUAL["folder"])
    write_entries(entries, folder)


def write_entries(entries: Iterable[Entry], folder: Path) -> None:
    """Write entries below a folder, where nothing may stand in their place yet. Raises `OSError`."""
    modes: dict[Path, int] = {}
    for entry in entries:
        path = folder / entry.path
        make_folders(path if entry.kind == "folder" else path.parent, modes)
        if entry.kind == "folder":
            modes[path] = entry.mode
        elif entry.kind == "link":
            path.symlink_to(os.fsdecode(entry.content))
        else:
            path.write_bytes(entry.content)
            path.chmod(entry.mode)
    for path, mode in reversed(modes.items()):
        path.chmod(mode)


def make_folders(path: Path, modes: dict[Path, int]) -> None:
    """Make a folder and those above it that are not there; `modes` holds what is made, outer ones first."""
    if path not in modes and not path.is_dir():
        make_folders(path.parent, modes)
        path.mkdir()
        modes[path] = USUAL["folder"]


def pack(folder: Path, file: Path) -> None:
    """Write what lies in a folder as one file."""
    if not folder.is_dir():
        raise NodeTreeError(f"{folder}: is no folder")
    file.write_text(text_of(read_folder(folder)), encoding="utf-8", newline="\n")


def unpack(file: Path, folder: Path) -> None:
    """Write what a file holds into a folder that is new or empty; nothing where the file has an error."""
    write_folder(list(Reader(str(file)).entries(read_file(file))), folder)


def main(words: list[str] | None = None) -> int:
    """Pack or unpack as the command line says."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    ways = parser.add_subparsers(dest="way", required=True)
    for way, first, second in (("pack", "folder", "file"), ("unpack", "file", "folder")):
        one = ways.add_parser(way)
        one.add_argument(first, type=Path, metavar=first.upper())
        one.add_argument(second, type=Path, metavar=second.upper())
    arguments = parser.parse_args(words)
    try:
        if arguments.way == "pack":
            pack(arguments.folder, arguments.file)
        else:
            unpack(arguments.file, arguments.folder)
    except (NodeTreeError, OSError) as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
