"""The record file: what the shim wrote is read back, whatever state it is in."""

from __future__ import annotations

import os
import stat
import struct
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from envdoctor.node.trace import records as module
from envdoctor.node.trace.records import (
    HEADER,
    HEADER_SIZE,
    NO_VALUE,
    RECORD,
    RECORD_MAGIC,
    UNIT,
    VALUE_CUT,
    NamePattern,
    RecordError,
    create,
    read,
    read_all,
)

SIZE = 128 * 1024


def record(kind: int, name: str = "", value: str | None = None, library: str = "", **fields: int) -> bytes:
    """One record as the shim writes it."""
    texts = [text.encode() for text in (name, value or "", library)]
    size = RECORD.size + sum(map(len, texts))
    units = (size + UNIT - 1) // UNIT
    head = RECORD.pack(
        fields.get("ready", RECORD_MAGIC), kind, fields.get("flags", 0), fields.get("units", units),
        fields.get("process", 1), fields.get("first", 5_000_000_000), fields.get("last", 6_000_000_000),
        fields.get("count", 1), fields.get("key", 0),
        len(texts[0]), NO_VALUE if value is None else len(texts[1]), len(texts[2]), 0,
    )  # fmt: skip
    return (head + b"".join(texts)).ljust(units * UNIT, b"\0")


def filled(path: Path, *parts: bytes, lost: int = 0) -> Path:
    """A record file with these records, made at second 100 of the real-time clock and second 3 of the other."""
    create(path, [NamePattern("NCCL_", prefix=True)], size=SIZE)
    data = bytearray(path.read_bytes())
    fields = list(HEADER.unpack_from(data))
    body = b"".join(parts)
    fields[2:6] = [100_000_000_000, 3_000_000_000, 1 + len(body) // UNIT, lost]
    HEADER.pack_into(data, 0, *fields)
    data[HEADER_SIZE + UNIT : HEADER_SIZE + UNIT + len(body)] = body
    path.write_bytes(data)
    return path


def test_fresh_file_is_private_empty_and_has_its_room(tmp_path: Path) -> None:
    path = tmp_path / "records"
    create(path, [NamePattern("NCCL_", prefix=True), NamePattern("RANK"), NamePattern("X", value=False)], size=SIZE)
    status = path.stat()
    assert stat.S_IMODE(status.st_mode) == 0o600
    assert status.st_blocks * 512 >= SIZE
    assert b"PNCCL_\0NRANK\0nX\0\0" in path.read_bytes()
    recording = read(path)
    assert (recording.host, recording.records, recording.lost) == (os.uname().nodename, (), 0)


def test_fields(tmp_path: Path) -> None:
    path = filled(
        tmp_path / "records",
        record(1, library="/bin/x", process=1, count=11, key=12),
        record(3, "NCCL_A", "välue", "/lib/libnccl.so.2", count=7, flags=VALUE_CUT),
        record(3, "NCCL_B", None, "/lib/libnccl.so.2"),
        record(4, "NCCL_C", "", "/lib/x.so"),
        lost=3,
    )
    recording = read(path)
    process, ask, unset, given = recording.records
    assert recording.lost == 3
    assert (process.kind, process.unit, process.pid, process.parent_pid) == ("process", 1, 12, 11)
    assert (ask.kind, ask.name, ask.value, ask.library) == ("ask", "NCCL_A", "välue", "/lib/libnccl.so.2")
    assert (ask.count, ask.flags, ask.process, ask.first, ask.last) == (7, VALUE_CUT, 1, 102.0, 103.0)
    assert (unset.value, given.kind, given.value) == (None, "set", "")


def test_unfinished_records_are_passed_over(tmp_path: Path) -> None:
    """A process was killed after it took its room, with and without having said how much."""
    hole = bytes(3 * UNIT)
    path = filled(
        tmp_path / "records",
        record(1),
        record(3, "NCCL_A" * 20, ready=0),
        record(3, "NCCL_B"),
        hole,
        record(3, "NCCL_C"),
        record(3, "NCCL_D", units=0),
        record(3, "NCCL_E", units=9999),
        record(9, "NCCL_F"),
        record(3, "NCCL_G"),
    )
    names = [item.name for item in read(path).records if item.kind == "ask"]
    assert names == ["NCCL_B", "NCCL_C", "NCCL_G"]


def test_files_of_other_hosts(tmp_path: Path) -> None:
    path = filled(tmp_path / "records", record(1))
    filled(tmp_path / "records@node2", record(1), record(3, "NCCL_A"))
    assert [len(recording.records) for recording in read_all(path)] == [1, 2]


@pytest.mark.parametrize("data", [b"", b"x" * 100, b"x" * HEADER_SIZE])
def test_not_a_record_file(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "records"
    path.write_bytes(data)
    with pytest.raises(RecordError, match="not a record file"):
        read(path)


def test_missing(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="No such file"):
        read(tmp_path / "records")


def test_cannot_be_made(tmp_path: Path) -> None:
    path = tmp_path / "records"
    with pytest.raises(RecordError, match="No such file or directory"):
        create(tmp_path / "missing" / "records", [])
    with pytest.raises(RecordError, match="more than can be watched"):
        create(path, [NamePattern(f"NCCL_{i}") for i in range(5000)])
    create(path, [])
    with pytest.raises(RecordError, match="File exists"):
        create(path, [])


def test_no_room_on_the_disk(tmp_path: Path) -> None:
    """The room is asked for before the program runs, so that no page of the mapping is ever without."""
    code = (
        "import resource, sys; from pathlib import Path; from envdoctor.node.trace.records import *\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100000, 100000))\n"
        "try: create(Path(sys.argv[1]), [])\n"
        "except RecordError as error: print(error)"
    )
    root = Path(module.__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "records")], capture_output=True, text=True, check=True, cwd=root
    )
    assert "File too large" in done.stdout


@pytest.mark.slow
@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_damaged_files_never_raise(tmp_path: Path, data: st.DataObject) -> None:
    path = tmp_path / "records"
    path.unlink(missing_ok=True)
    filled(path, record(1), *(record(3, f"NCCL_{i}", "v" * i, "/lib/l.so") for i in range(20)))
    whole = bytearray(path.read_bytes())
    places = st.integers(8, HEADER.size - 1) | st.integers(HEADER_SIZE, HEADER_SIZE + 50 * UNIT)
    for at in data.draw(st.lists(places, min_size=1, max_size=20)):
        whole[at] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(HEADER_SIZE, len(whole)))
    path.write_bytes(whole[:cut])
    for item in read(path).records:
        assert item.kind in module.KINDS.values()
        assert isinstance(item.name, str)


def test_layout_is_that_of_the_shim() -> None:
    """Sizes that both sides rely on; the rest is held by the tests that run the shim."""
    source = (Path(module.__file__).parent / "shim_records.h").read_text()
    assert f"#define HEADER_SIZE {HEADER_SIZE}" in source
    assert f"#define UNIT {UNIT}" in source
    assert f"#define RECORD_MAGIC 0x{RECORD_MAGIC:x}u" in source
    assert f"0x{module.MAGIC:x}ull" in source
    assert (HEADER.size, RECORD.size, struct.calcsize("=Q")) == (113, 56, 8)
