"""What one collectives library file is, and which variables it reads, told by its bytes alone.

Names and version come from `.rodata`: the whole file would be 200 to 500 MB of reading, and its debug information holds
up to a hundred names of enumerators that no code asks the environment for.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from envdoctor.core.facts import Place, Problem
from envdoctor.core.records import replace
from envdoctor.node.probes.libraries.elf import SHT_NOBITS, Elf, ElfError, read_bytes, read_elf

Kind = Literal["nccl", "rccl", "neither"]
Build = Literal["release", "debug", "unknown"]

NAME = re.compile(rb"((?:NCCL|RCCL|MSCCL|NPKIT)_[A-Z0-9_]{2,80})\0")
"""No left boundary: linkers pack short literals behind the end of other ones."""

NOT_VARIABLES = re.compile(r"_INITIALIZER$|_GIN_CONNECTION_|_IB_MAX_DEVS_PER_NIC$|_WR_ID_DUMMY|_ACK_MSG_ID$")
"""Struct initialisers, and enumerators that end a message: in `.rodata` of NCCL 2.16 to 2.31, never asked for."""

ALWAYS_READ = "NCCL_DEBUG"
"""Read by every release of both libraries: where it is missing, names stand elsewhere or this is a stand-in."""

VERSION = re.compile(rb"([NR]CCL) version ?:? ?(\d+\.\d+\.\d+)([^\0\n]*)")
BUILT_FOR = re.compile(r"\+((?:cuda|hip)[\d.]+)|compiled with (CUDA [\d.]+)")
ROCM_VERSION = re.compile(rb"ROCm version ?: ?(\d[\w.-]*)\0")

UNOPTIMISED = re.compile(rb"NK?St6vectorI\w+E(?:4size|5begin|3end)Ev\0")
"""Functions of one line that GCC 12 and Clang 14 leave in a library at -O0 and at no other level (measured on both)."""

CPP_LIBRARY = re.compile(rb"\0_ZNK?St")
PRODUCER = re.compile(rb"GNU C\+\+[^\0]* -O([0-3s])")

READ_ONLY = 4
FALLBACK_BYTES = 32 << 20
MAX_RODATA = 256 << 20


@dataclass(frozen=True, slots=True)
class LibraryFile:
    """A collectives library as its file describes itself. Empty text and None mean: not told by the file."""

    path: str
    kind: Kind = "neither"
    size: int = 0
    soname: str | None = None
    version: str = ""
    """The NCCL release the code is based on, `2.28.9`; also for RCCL."""
    version_text: str = ""
    built_for: str = ""
    """`cuda12.9`, `hip5.7`, `rocm7.0.0.0-38`."""
    architecture: str = ""
    bits: int = 0
    needed: tuple[str, ...] = ()
    build: Build = "unknown"
    build_evidence: str = ""
    stripped: bool = False
    debug_information: bool = False
    names: frozenset[str] = frozenset()
    names_complete: bool = False
    """Only then does the absence of a name mean that this library does not read it."""
    sha256: str | None = None
    version_code: int | None = None
    """What `ncclGetVersion` of this very file answers, where it was asked."""
    problems: tuple[Problem, ...] = ()


def library_file(path: Path, *, shown: str = "", hash_content: bool = False) -> LibraryFile:
    """The facts of a library file. Never raises for what the file is: each fault is a problem of the result.

    `shown` is the path to report where the file is part of a recorded tree; `hash_content` reads the whole file.
    """
    library = LibraryFile(shown or str(path))
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError as error:
        return with_problem(library, f"cannot be opened: {error.strerror}")
    try:
        return _examined(library, path, descriptor, hash_content)
    except ElfError as error:
        return with_problem(library, f"cannot be examined: {error}")
    except OSError as error:
        return with_problem(library, f"reading stopped: {error.strerror}")
    finally:
        os.close(descriptor)


def with_problem(library: LibraryFile, message: str) -> LibraryFile:
    """The same facts and one more problem."""
    problem = Problem(message, Place(library.path, 1, 1, 1, 1))
    return replace(library, problems=(*library.problems, problem))


def version_of_code(code: int) -> str:
    """The release behind a number of `ncclGetVersion`: X*10000+Y*100+Z from 2.9 on, X*1000+Y*100+Z before."""
    major, rest = divmod(code, 10000 if code >= 10000 else 1000)
    return f"{major}.{rest // 100}.{rest % 100}"


def _examined(library: LibraryFile, path: Path, descriptor: int, hash_content: bool) -> LibraryFile:
    before = os.fstat(descriptor)
    if not stat.S_ISREG(before.st_mode):
        return with_problem(library, "cannot be examined: not a regular file")
    library = replace(library, size=before.st_size)
    elf = read_elf(descriptor)
    library = _with_headers(library, elf)
    library = _with_texts(library, elf, descriptor)
    library = _with_build(library, elf, descriptor)
    if hash_content:
        library = replace(library, sha256=_sha256(descriptor))
    return _checked_unchanged(library, path, descriptor, before)


def _with_headers(library: LibraryFile, elf: Elf) -> LibraryFile:
    library = replace(
        library,
        soname=elf.soname,
        architecture=elf.machine,
        bits=elf.bits,
        needed=elf.needed,
        stripped=bool(elf.sections) and elf.section(".symtab") is None,
        debug_information=elf.section(".debug_info") is not None,
    )
    if elf.truncated:
        library = with_problem(library, "cut short: its headers name bytes past its end")
    if elf.type != "shared":
        library = with_problem(library, f"not a shared library ({elf.type} file)")
    if elf.bits == 32:
        library = with_problem(library, "a 32-bit library: no 64-bit process can load it")
    return library


def foreign(library: LibraryFile, machine: str) -> bool:
    """The file is for another processor than `machine` (as `uname -m` names it), so nothing there can load it."""
    return bool(library.architecture) and library.architecture != {"amd64": "x86_64", "arm64": "aarch64"}.get(
        machine, machine
    )


def _with_texts(library: LibraryFile, elf: Elf, descriptor: int) -> LibraryFile:
    """Version, kind and names, from `.rodata`; from the read-only segments where the section table is gone."""
    names: set[str] = set()
    version: tuple[Kind, str, str] | None = None
    rocm = ""
    for data in _constants(elf, descriptor):
        names.update(match.decode() for match in NAME.findall(data))
        version = version or _version(data)
        if not rocm and (found := ROCM_VERSION.search(data)):
            rocm = f"rocm{found[1].decode()}"
    if not elf.sections:
        library = with_problem(library, "no section table: names were sought in the loaded parts; some may be missing")
    kind, number, text = version or (_kind_by_name(library), "", "")
    built_for = BUILT_FOR.search(text)
    return replace(
        library,
        kind=kind,
        version=number,
        version_text=text,
        built_for=rocm or ((built_for[1] or built_for[2].replace(" ", "").lower()) if built_for else ""),
        names=frozenset(name for name in names if not NOT_VARIABLES.search(name)),
        names_complete=bool(elf.sections) and not elf.truncated and kind != "neither" and ALWAYS_READ in names,
    )


def _constants(elf: Elf, descriptor: int) -> Iterator[bytes]:
    """The bytes that hold string literals: `.rodata`, or `.rodata.str` and its like (mold does not join them)."""
    for section in elf.sections:
        if section.name.startswith(".rodata") and section.type != SHT_NOBITS:
            yield read_bytes(descriptor, section.offset, min(section.size, MAX_RODATA))
    if elf.sections:
        return
    for segment in elf.segments:
        if segment.type == 1 and segment.flags & 6 == READ_ONLY:
            yield read_bytes(descriptor, segment.offset, min(segment.size, FALLBACK_BYTES))


def _version(data: bytes) -> tuple[Kind, str, str] | None:
    """Kind, release and whole text of the first version string; the more telling one where there are several."""
    found = list(VERSION.finditer(data))
    if not found:
        return None
    best = max(found, key=lambda match: (match[1] == b"RCCL", b"+" in match[3], len(match[3])))
    text = best[0].decode("utf-8", "backslashreplace").strip()
    return ("rccl" if best[1] == b"RCCL" else "nccl"), best[2].decode(), text


def _kind_by_name(library: LibraryFile) -> Kind:
    name = library.soname or ""
    return "rccl" if name.startswith("librccl.so") else "nccl" if name.startswith("libnccl.so") else "neither"


def _with_build(library: LibraryFile, elf: Elf, descriptor: int) -> LibraryFile:
    """Optimised or not. Debug information alone proves nothing: NVIDIA's own release wheels carry it."""
    symbols = b"".join(_section_bytes(elf, descriptor, name) for name in (".dynstr", ".strtab"))
    if found := UNOPTIMISED.search(symbols):
        evidence = f"a function that optimisation always removes is there: {found[0][:-1].decode()}"
        return replace(library, build="debug", build_evidence=evidence)
    levels = set(PRODUCER.findall(_section_bytes(elf, descriptor, ".debug_str")))
    if levels:
        flags = ", ".join(f"-O{level.decode()}" for level in sorted(levels))
        build: Build = "debug" if levels == {b"0"} else "release"
        return replace(library, build=build, build_evidence=f"compiled with {flags}")
    if CPP_LIBRARY.search(symbols):
        evidence = "none of the functions that a build without optimisation leaves behind"
        return replace(library, build="release", build_evidence=evidence)
    return library


def _section_bytes(elf: Elf, descriptor: int, name: str) -> bytes:
    section = elf.section(name)
    if section is None or section.type == SHT_NOBITS:
        return b""
    return read_bytes(descriptor, section.offset, min(section.size, 16 << 20))


def _sha256(descriptor: int) -> str:
    import hashlib

    digest = hashlib.sha256()
    offset = 0
    while block := os.pread(descriptor, 1 << 20, offset):
        digest.update(block)
        offset += len(block)
    return digest.hexdigest()


def _checked_unchanged(library: LibraryFile, path: Path, descriptor: int, before: os.stat_result) -> LibraryFile:
    """Says so where the file was written to, or another file took its place, while it was read."""
    after = os.fstat(descriptor)
    if (after.st_size, after.st_mtime_ns) != (before.st_size, before.st_mtime_ns):
        return replace(with_problem(library, "changed while it was read"), names_complete=False, sha256=None)
    try:
        now = path.stat()
    except OSError:
        return with_problem(library, "removed while it was read")
    if (now.st_dev, now.st_ino) != (before.st_dev, before.st_ino):
        return with_problem(library, "replaced while it was read: the facts are those of the old file")
    return library
