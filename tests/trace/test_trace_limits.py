"""What a trace says that it cannot see."""

from __future__ import annotations

import os
import struct
import subprocess
import sys
from pathlib import Path

import pytest
from native import compile_c, needs_compiler

from envdoctor.node.trace.launch import Ended
from envdoctor.node.trace.limits import ALWAYS, limits_of, still_running, why_untraced
from envdoctor.node.trace.merge import Run, TracedProcess, TracedSetting

ENDED = Ended(0, 42, 0.0, "/bin/program")


def process(pid: int = 42, program: str = "/bin/program") -> TracedProcess:
    return TracedProcess((os.uname().nodename, pid), pid, 1, program, 0.0, None)


def special(**parts: object) -> list[str]:
    fields = {"processes": (process(),), "settings": (), "ranks": (), "world_size": None, "untraced": (), "lost": 0}
    limits = limits_of(Run(**{**fields, **parts}), ENDED)  # type: ignore[arg-type]
    assert tuple(limits[-len(ALWAYS) :]) == ALWAYS
    return limits[: -len(ALWAYS)]


def test_what_holds_for_every_trace() -> None:
    assert special() == []
    text = " ".join(ALWAYS)
    for word in ("os.environ", "statically linked", "set-user-id", "walks `environ`", "RTLD_DEEPBIND"):
        assert word in text


@pytest.mark.parametrize(
    ("parts", "text"),
    [
        ({"processes": ()}, "/bin/program itself left no record"),
        ({"untraced": ("/sbin/a", "/sbin/b")}, "/sbin/a, /sbin/b"),
        ({"untraced": tuple(f"/sbin/{i}" for i in range(9))}, "/sbin/4 and 4 more"),
        ({"lost": 3}, "3 records found no room"),
        ({"ranks": (0, 1), "world_size": 8}, "2 of 8 ranks were seen"),
        ({"settings": (TracedSetting("NCCL_ENV_PLUGIN", "x", (), (), (), ()),)}, "the plug-in may answer"),
    ],
)
def test_what_holds_for_this_run(parts: dict[str, object], text: str) -> None:
    (limit,) = special(**parts)
    assert text in limit


def test_all_ranks_seen() -> None:
    assert special(ranks=(0, 1), world_size=2) == []
    assert special(settings=(TracedSetting("NCCL_ENV_PLUGIN", None, (), (), (), ()),)) == []


def test_processes_that_go_on() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        program = str(Path(f"/proc/{child.pid}/exe").readlink())
        run = Run((process(), process(child.pid, program)), (), (), None, (), 0)
        assert still_running(run) == 1
        assert "1 process was still running" in " ".join(limits_of(run, ENDED))
        assert still_running(Run((process(child.pid, "/bin/other"),), (), (), None, (), 0)) == 0
        child.communicate()
    assert still_running(run) == 0


@needs_compiler
def test_reasons(tmp_path: Path) -> None:
    program = compile_c("int main(void) { return 0; }")
    assert "could not be loaded" in why_untraced(program)
    library = compile_c("int x;", "-shared", "-fPIC")
    assert "statically linked" in why_untraced(library)
    script = tmp_path / "script"
    script.write_text("#!/bin/static-shell\n")
    assert "what interprets it" in why_untraced(script)
    assert "cannot be read" in why_untraced(tmp_path / "missing")
    changed = tmp_path / "program"
    changed.write_bytes(program.read_bytes())
    changed.chmod(0o4755)
    assert "set-user-id" in why_untraced(changed)
    interpreter = b"/lib64/ld-linux-x86-64.so.2\0"
    data = program.read_bytes()
    if interpreter in data:
        musl = b"/lib/ld-musl-x86_64.so.1\0".ljust(len(interpreter), b"\0")
        changed.write_bytes(data.replace(interpreter, musl))
        changed.chmod(0o755)
        assert "musl" in why_untraced(changed)
    header = (
        b"\x7fELF\x01\x01\x01" + bytes(9) + struct.pack("<HHIIIIIHHHHHH", 2, 3, 1, 0, 52, 0, 0, 52, 32, 1, 40, 0, 0)
    )
    segment = struct.pack("<IIIIIIII", 3, 84, 84, 84, 10, 10, 4, 1)
    changed.write_bytes(header + segment + b"/lib/ld.so\0" + bytes(64))
    assert "32-bit" in why_untraced(changed)
