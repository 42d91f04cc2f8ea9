"""The record file that traced processes share: made before the program starts, read after it.

Its layout is that of `shim_records.h`; the shim writes it in place through a mapping, so it can be read at any time,
also after the program was killed. Numbers are in the machine's own byte order.
"""

from __future__ import annotations

import errno
import os
import socket
import struct
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Kind = Literal["process", "environment", "ask", "set", "unset", "clear", "exec"]

MAGIC = 0x3154524356444E45
RECORD_MAGIC = 0x52434452
HEADER_SIZE = 65536
UNIT = 64
NO_VALUE = 0xFFFF
NO_PROCESS = 0xFFFFFFFF
HEADER = struct.Struct("=6Q65s")
RECORD = struct.Struct("=IHHII4Q4H")
KINDS: dict[int, Kind] = {1: "process", 2: "environment", 3: "ask", 4: "set", 5: "unset", 6: "clear", 7: "exec"}
VALUE_CUT, VALUE_HIDDEN, EXEC_FAILED, FORKED = 1, 2, 4, 8

SIZE = 32 << 20
"""About 250,000 records; the file system reserves them before the program starts."""


class RecordError(OSError):
    """The record file cannot be made or read; the text says why, for a user."""


@dataclass(frozen=True, slots=True)
class NamePattern:
    """A name to watch, or a prefix of names. Without `value`, only the fact that it is set is recorded."""

    text: str
    prefix: bool = False
    value: bool = True


@dataclass(frozen=True, slots=True)
class TraceRecord:
    """One thing that happened. `first` and `last` are seconds of the real-time clock, the same on all hosts."""

    kind: Kind
    unit: int
    process: int
    """Unit of the record of the process; of the nearest recorded ancestor for a `process` that a fork made."""
    name: str
    value: str | None
    """None: not set. Cut after 1,024 bytes (`VALUE_CUT`); empty where it is not recorded (`VALUE_HIDDEN`)."""
    library: str
    first: float
    last: float
    count: int
    pid: int
    parent_pid: int
    flags: int


@dataclass(frozen=True, slots=True)
class Recording:
    """Everything the processes of one host recorded. `lost` are records for which the file had no room."""

    host: str
    records: tuple[TraceRecord, ...]
    lost: int


def create(path: Path, patterns: Iterable[NamePattern], *, size: int = SIZE) -> None:
    """Make an empty record file of `size` bytes with the names to watch. Raises RecordError."""
    head = HEADER.pack(
        MAGIC,
        (size - HEADER_SIZE) // UNIT,
        time.time_ns(),
        time.monotonic_ns(),
        1,
        0,
        socket.gethostname().encode()[:64],
    )
    texts = [_pattern_text(pattern) for pattern in patterns]
    data = head + b"".join(text + b"\0" for text in texts)
    if len(data) >= HEADER_SIZE or len(texts) > 4096:
        raise RecordError(f"{len(texts)} names are more than can be watched")
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            _give_room(descriptor, size)
            os.pwrite(descriptor, data, 0)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise RecordError(f"{path}: {error.strerror}") from error


def _give_room(descriptor: int, size: int) -> None:
    """Room on the disk for every byte: a mapped page without any would kill the traced program."""
    try:
        os.posix_fallocate(descriptor, 0, size)
    except OSError as error:
        if error.errno not in (errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS):
            raise
        zeros = bytes(1 << 20)
        for offset in range(0, size, len(zeros)):
            os.pwrite(descriptor, zeros[: size - offset], offset)


def _pattern_text(pattern: NamePattern) -> bytes:
    letter = "P" if pattern.prefix else "N"
    return ((letter if pattern.value else letter.lower()) + pattern.text).encode()


def read_all(path: Path) -> list[Recording]:
    """The recordings of every host that wrote beside `path`, this host's first. Raises RecordError."""
    return [read(path), *(read(other) for other in sorted(path.parent.glob(f"{path.name}@*")))]


def read(path: Path) -> Recording:
    """The recording of one host. Raises RecordError."""
    try:
        with path.open("rb") as file:
            head = file.read(HEADER_SIZE)
            if len(head) < HEADER_SIZE or HEADER.unpack_from(head)[0] != MAGIC:
                raise RecordError(f"{path}: not a record file")
            _, units, real, monotonic, following, lost, host = HEADER.unpack_from(head)
            room = os.fstat(file.fileno()).st_size - HEADER_SIZE
            data = file.read(min(room, units * UNIT, following * UNIT))
    except OSError as error:
        raise RecordError(f"{path}: {error.strerror or error}") from error
    name = host.rstrip(b"\0").decode("utf-8", "backslashreplace")
    return Recording(name, tuple(_records(data, real - monotonic)), lost)


def _records(data: bytes, clock_offset: int) -> Iterator[TraceRecord]:
    """All complete records. One that was never finished, since its process was killed, is passed over."""
    unit, units = 1, len(data) // UNIT
    while unit < units:
        fields = RECORD.unpack_from(data, unit * UNIT)
        ready, kind, size = fields[0], fields[1], fields[3]
        if ready != RECORD_MAGIC or not 0 < size <= units - unit:
            unit += 1
            continue
        if kind in KINDS:
            yield _record(data, unit, fields, clock_offset)
        unit += size


def _record(data: bytes, unit: int, fields: tuple[int, ...], clock_offset: int) -> TraceRecord:
    _, kind, flags, _, process, first, last, count, key, name_size, value_size, library_size, _ = fields
    at = unit * UNIT + RECORD.size
    value_at = at + name_size
    library_at = value_at + (0 if value_size == NO_VALUE else value_size)
    is_process = KINDS[kind] == "process"
    return TraceRecord(
        kind=KINDS[kind],
        unit=unit,
        process=process,
        name=_text(data[at:value_at]),
        value=None if value_size == NO_VALUE else _text(data[value_at:library_at]),
        library=_text(data[library_at : library_at + library_size]),
        first=(first + clock_offset) / 1e9,
        last=(last + clock_offset) / 1e9,
        count=1 if is_process else count,
        pid=key if KINDS[kind] in ("process", "exec") else 0,
        parent_pid=count if is_process else 0,
        flags=flags,
    )


def _text(data: bytes) -> str:
    return data.decode("utf-8", "backslashreplace")
