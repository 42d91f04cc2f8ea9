"""The ELF reader: against pyelftools on real files, and on damaged ones."""

from __future__ import annotations

import os
import struct
import sys
from pathlib import Path

import pytest
from elftools.elf.dynamic import DynamicSection
from elftools.elf.elffile import ELFFile
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from native import collectives_library, compile_c, needs_compiler

from envdoctor.node.probes.libraries.elf import Elf, ElfError, read_bytes, read_elf

pytestmark = needs_compiler


def parsed(path: Path) -> Elf:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        return read_elf(descriptor)
    finally:
        os.close(descriptor)


def parsed_bytes(folder: Path, data: bytes) -> Elf:
    path = folder / "file"
    path.write_bytes(data)
    return parsed(path)


@pytest.mark.parametrize("name", ["library", "program", "python"])
def test_agrees_with_pyelftools(name: str) -> None:
    path = {
        "library": collectives_library(),
        "program": compile_c("int main(void) { return 0; }"),
        "python": Path(sys.executable),
    }[name]
    ours = parsed(path)
    with path.open("rb") as file:
        theirs = ELFFile(file)
        assert ours.bits == theirs.elfclass
        assert ours.order == ("little" if theirs.little_endian else "big")
        sections = [(s.name, s["sh_offset"], s["sh_size"]) for s in theirs.iter_sections()]
        assert [(s.name, s.offset, s.size) for s in ours.sections] == sections
        dynamic = theirs.get_section_by_name(".dynamic")
        assert isinstance(dynamic, DynamicSection)
        assert list(ours.needed) == [tag.needed for tag in dynamic.iter_tags("DT_NEEDED")]
        assert ours.soname == next((tag.soname for tag in dynamic.iter_tags("DT_SONAME")), None)
    assert not ours.truncated


def test_kind_of_file() -> None:
    program = parsed(compile_c("int main(void) { return 0; }", "-no-pie", "-fno-pie"))
    library = parsed(collectives_library())
    unlinked = parsed(compile_c("int x;", "-c"))
    assert (program.type, library.type, unlinked.type) == ("executable", "shared", "object")
    assert program.interpreter and "ld" in program.interpreter
    assert library.interpreter is None
    assert (library.soname, unlinked.soname) == ("libnccl.so.2", None)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "an empty file"),
        (b"GROUP ( libnccl.so.2 )", "not an ELF file"),
        (b"version https://git-lfs.github.com/spec/v1", "not an ELF file"),
        (b"\x7fELF", "no valid ELF header"),
        (b"\x7fELF\x03\x01" + bytes(60), "no valid ELF header"),
        (b"\x7fELF\x02\x01\x01" + bytes(20), "cut off inside its first header"),
    ],
)
def test_what_is_no_elf_file(tmp_path: Path, data: bytes, message: str) -> None:
    with pytest.raises(ElfError, match=message):
        parsed_bytes(tmp_path, data)


def test_without_section_table(tmp_path: Path) -> None:
    """The loader needs no section headers: SONAME and NEEDED are still read."""
    data = bytearray(collectives_library().read_bytes())
    struct.pack_into("<Q", data, 0x28, 0)  # e_shoff
    struct.pack_into("<HHH", data, 0x3A, 0, 0, 0)
    elf = parsed_bytes(tmp_path, bytes(data))
    assert elf.sections == ()
    assert elf.soname == "libnccl.so.2"
    assert "libc.so.6" in elf.needed


def test_cut_short(tmp_path: Path) -> None:
    data = collectives_library().read_bytes()
    elf = parsed_bytes(tmp_path, data[: len(data) // 2])
    assert elf.truncated
    assert elf.sections == ()


@pytest.mark.parametrize(
    ("order", "machine", "name"), [("<", 40, "arm"), (">", 20, "powerpc"), ("<", 7777, "machine 7777")]
)
def test_32_bit_and_foreign_headers(tmp_path: Path, order: str, machine: int, name: str) -> None:
    ident = b"\x7fELF\x01" + (b"\x01" if order == "<" else b"\x02") + bytes(10)
    strings = b"\0libnccl.so.2\0"
    dynamic = struct.pack(order + "iIiIiIiI", 14, 1, 5, 0x100, 10, len(strings), 0, 0)
    segment = struct.pack(order + "IIIIIIII", 2, 0x80, 0x80, 0, len(dynamic), len(dynamic), 4, 4)
    load = struct.pack(order + "IIIIIIII", 1, 0, 0, 0, 0x200, 0x200, 4, 4)
    header = struct.pack(order + "HHIIIIIHHHHHH", 3, machine, 1, 0, 52, 0, 0, 52, 32, 2, 40, 0, 0)
    data = bytearray(0x200)
    for at, part in ((0, ident + header), (52, segment + load), (0x80, dynamic), (0x100, strings)):
        data[at : at + len(part)] = part
    elf = parsed_bytes(tmp_path, bytes(data))
    assert (elf.bits, elf.machine, elf.soname) == (32, name, "libnccl.so.2")


def test_read_bytes_past_the_end(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"abc")
    descriptor = os.open(path, os.O_RDONLY)
    assert read_bytes(descriptor, 1, 10) == b"bc"
    assert read_bytes(descriptor, 1 << 63, 10) == b""
    os.close(descriptor)


@pytest.mark.slow
@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_damaged_headers_never_raise_anything_else(tmp_path: Path, data: st.DataObject) -> None:
    """Any bytes of the headers and tables may be wrong: the reader answers or says ElfError, and reads no gigabytes."""
    whole = bytearray(collectives_library().read_bytes())
    where = data.draw(st.lists(st.integers(0, len(whole) - 1) | st.integers(16, 63), min_size=1, max_size=12))
    for at in where:
        whole[at] = data.draw(st.integers(0, 255))
    try:
        elf = parsed_bytes(tmp_path, bytes(whole))
    except ElfError:
        return
    assert all(isinstance(s.name, str) for s in elf.sections)
