"""Headers, sections and dynamic section of an ELF file, read by position and nothing else.

A collectives library has 200 to 500 MB, of which a few hundred kilobytes matter. Everything is fetched with
`os.pread`, never through a mapping: a mapped file that is cut short while it is read kills the reader with SIGBUS.
"""

from __future__ import annotations

import os
import struct
from dataclasses import dataclass

MACHINES = {3: "x86", 8: "mips", 20: "powerpc", 21: "ppc64", 22: "s390", 40: "arm", 43: "sparc64", 62: "x86_64",
            183: "aarch64", 243: "riscv", 258: "loongarch64"}  # fmt: skip
TYPES = {1: "object", 2: "executable", 3: "shared", 4: "core"}

PT_LOAD, PT_DYNAMIC, PT_INTERP = 1, 2, 3
DT_NEEDED, DT_STRTAB, DT_STRSZ, DT_SONAME = 1, 5, 10, 14
SHT_NOBITS = 8
MAX_OFFSET = 1 << 62
MAX_TABLE = 4 << 20
"""No header table, string table or dynamic section of a real library comes near this; a damaged header may ask more."""


class ElfError(ValueError):
    """The file cannot be read as ELF; the text says why, for a user."""


@dataclass(frozen=True, slots=True)
class ElfSection:
    """A section with its place in the file (bytes)."""

    name: str
    type: int
    offset: int
    size: int


@dataclass(frozen=True, slots=True)
class ElfSegment:
    """A program header: what the loader maps. `flags`: 1 execute, 2 write, 4 read."""

    type: int
    flags: int
    offset: int
    address: int
    size: int


@dataclass(frozen=True, slots=True)
class Elf:
    """What the headers of one ELF file say. `sections` is empty where the section table is missing or cut off."""

    bits: int
    order: str
    machine: str
    type: str
    sections: tuple[ElfSection, ...]
    segments: tuple[ElfSegment, ...]
    soname: str | None
    needed: tuple[str, ...]
    interpreter: str | None
    truncated: bool
    """The headers name bytes past the end of the file."""

    def section(self, name: str) -> ElfSection | None:
        """The first section of that name that has bytes in the file."""
        return next((s for s in self.sections if s.name == name and s.type != SHT_NOBITS), None)


@dataclass(frozen=True, slots=True)
class _Layout:
    """Structure formats of one class (32 or 64 bits) and byte order."""

    bits: int
    order: str

    @property
    def header(self) -> struct.Struct:
        return struct.Struct(self.order + ("HHIQQQIHHHHHH" if self.bits == 64 else "HHIIIIIHHHHHH"))

    @property
    def section(self) -> struct.Struct:
        return struct.Struct(self.order + ("IIQQQQIIQQ" if self.bits == 64 else "IIIIIIIIII"))

    @property
    def segment(self) -> struct.Struct:
        return struct.Struct(self.order + ("IIQQQQQQ" if self.bits == 64 else "IIIIIIII"))

    @property
    def dynamic(self) -> struct.Struct:
        return struct.Struct(self.order + ("qQ" if self.bits == 64 else "iI"))


def read_bytes(descriptor: int, offset: int, size: int) -> bytes:
    """At most `size` bytes at `offset`; fewer where the file ends. Raises OSError."""
    parts: list[bytes] = []
    while size > 0 and offset < MAX_OFFSET and (part := os.pread(descriptor, size, offset)):
        parts.append(part)
        offset += len(part)
        size -= len(part)
    return b"".join(parts)


def read_elf(descriptor: int) -> Elf:
    """The headers of an open file. Raises ElfError where it is no ELF file or cut off in its first header, OSError."""
    size = os.fstat(descriptor).st_size
    head = read_bytes(descriptor, 0, 64)
    layout = _layout(head)
    if len(head) < 16 + layout.header.size:
        raise ElfError("cut off inside its first header")
    fields = layout.header.unpack_from(head, 16)
    kind, machine, segments_at, sections_at = fields[0], fields[1], fields[4], fields[5]
    segment_size, segment_count, section_size, section_count, names_index = fields[8:13]
    segments = _segments(descriptor, layout, segments_at, segment_size, segment_count)
    sections = _sections(descriptor, layout, sections_at, section_size, section_count, names_index)
    soname, needed = _dynamic(descriptor, layout, segments)
    return Elf(
        bits=layout.bits,
        order="little" if layout.order == "<" else "big",
        machine=MACHINES.get(machine, f"machine {machine}"),
        type=TYPES.get(kind, f"type {kind}"),
        sections=sections,
        segments=segments,
        soname=soname,
        needed=needed,
        interpreter=_interpreter(descriptor, segments),
        truncated=_ends_after(size, segments, sections, sections_at + section_size * section_count),
    )


def _layout(head: bytes) -> _Layout:
    if not head:
        raise ElfError("an empty file")
    if head[:4] != b"\x7fELF":
        raise ElfError("not an ELF file")
    if len(head) < 16 or head[4] not in (1, 2) or head[5] not in (1, 2):
        raise ElfError("no valid ELF header")
    return _Layout(64 if head[4] == 2 else 32, "<" if head[5] == 1 else ">")


def _table(descriptor: int, form: struct.Struct, offset: int, size: int, count: int) -> list[tuple[int, ...]]:
    """The entries of a header table that are in the file; nothing where the header makes no sense."""
    if not offset or size < form.size or size * count > MAX_TABLE:
        return []
    data = read_bytes(descriptor, offset, size * count)
    return [form.unpack_from(data, at) for at in range(0, len(data) - size + 1, size)]


def _segments(descriptor: int, layout: _Layout, offset: int, size: int, count: int) -> tuple[ElfSegment, ...]:
    rows = _table(descriptor, layout.segment, offset, size, count)
    if layout.bits == 64:
        return tuple(ElfSegment(r[0], r[1], r[2], r[3], r[5]) for r in rows)
    return tuple(ElfSegment(r[0], r[6], r[1], r[2], r[4]) for r in rows)


def _sections(
    descriptor: int, layout: _Layout, offset: int, size: int, count: int, names_index: int
) -> tuple[ElfSection, ...]:
    rows = _table(descriptor, layout.section, offset, size, count)
    if names_index >= len(rows):
        return ()
    names_at, names_size = rows[names_index][4:6]
    names = read_bytes(descriptor, names_at, min(names_size, MAX_TABLE))
    return tuple(ElfSection(_text(names, r[0]), r[1], r[4], r[5]) for r in rows)


def _dynamic(descriptor: int, layout: _Layout, segments: tuple[ElfSegment, ...]) -> tuple[str | None, tuple[str, ...]]:
    """SONAME and NEEDED as the loader finds them: through the program headers, so also without section headers."""
    segment = next((s for s in segments if s.type == PT_DYNAMIC), None)
    if segment is None or segment.size > MAX_TABLE:
        return None, ()
    form = layout.dynamic
    data = read_bytes(descriptor, segment.offset, segment.size)
    pairs = [form.unpack_from(data, at) for at in range(0, len(data) - form.size + 1, form.size)]
    values = dict(reversed(pairs))
    strings_at = _file_offset(segments, values.get(DT_STRTAB, 0))
    if strings_at is None:
        return None, ()
    strings = read_bytes(descriptor, strings_at, min(values.get(DT_STRSZ, 0), MAX_TABLE))
    needed = tuple(_text(strings, value) for tag, value in pairs if tag == DT_NEEDED)
    soname = _text(strings, values[DT_SONAME]) if DT_SONAME in values else ""
    return soname or None, tuple(name for name in needed if name)


def _file_offset(segments: tuple[ElfSegment, ...], address: int) -> int | None:
    """Where in the file the byte stands that is loaded at `address`."""
    for segment in segments:
        if segment.type == PT_LOAD and segment.address <= address < segment.address + segment.size:
            return address - segment.address + segment.offset
    return None


def _interpreter(descriptor: int, segments: tuple[ElfSegment, ...]) -> str | None:
    segment = next((s for s in segments if s.type == PT_INTERP), None)
    return _text(read_bytes(descriptor, segment.offset, min(segment.size, 4096)), 0) if segment else None


def _ends_after(size: int, segments: tuple[ElfSegment, ...], sections: tuple[ElfSection, ...], table_end: int) -> bool:
    ends = [s.offset + s.size for s in segments if s.type == PT_LOAD]
    ends += [s.offset + s.size for s in sections if s.type != SHT_NOBITS]
    return max([*ends, table_end]) > size


def _text(data: bytes, offset: int) -> str:
    """The NUL-terminated text at `offset`, or nothing past the end."""
    end = data.find(b"\0", offset)
    return data[offset : end if end >= 0 else len(data)].decode("utf-8", "backslashreplace")
