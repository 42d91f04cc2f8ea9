"""Running the command: its status, its signals, and commands that cannot be run."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from envdoctor.node.trace import launch
from envdoctor.node.trace.launch import LaunchError, environment_for, run

pytestmark = pytest.mark.slow

ROOT = Path(launch.__file__).parents[2]


@pytest.mark.parametrize(
    ("code", "status"),
    [("", 0), ("raise SystemExit(7)", 7), ("import os; os.kill(os.getpid(), 9)", 137), ("import os; os.abort()", 134)],
)
def test_status(code: str, status: int) -> None:
    ended = run([sys.executable, "-c", code], os.environ)
    assert ended.status == status
    assert ended.program == os.path.realpath(sys.executable)
    assert abs(ended.started - time.time()) < 30


def test_commands_that_cannot_be_run(tmp_path: Path) -> None:
    text = tmp_path / "text"
    text.write_text("no program")
    binary = tmp_path / "binary"
    binary.write_bytes(b"\x7fELF broken")
    binary.chmod(0o755)
    for command, message in (
        ("envdoctor-no-such-command", "envdoctor-no-such-command: no such command"),
        (str(tmp_path / "missing"), "no such command"),
        (str(text), "not executable"),
        (str(tmp_path), "not executable"),
        (str(binary), "not a program"),
    ):
        with pytest.raises(LaunchError, match=message):
            run([command], os.environ)


@pytest.mark.parametrize(
    ("preload", "expected"),
    [("", "/c/shim.so"), ("/a.so:/b.so", "/c/shim.so:/a.so:/b.so"), ("/a.so /c/shim.so", "/a.so /c/shim.so")],
)
def test_environment(preload: str, expected: str) -> None:
    before = {"A": "1", "LD_PRELOAD": preload}
    environment = environment_for(before, Path("/c/shim.so"), Path("/r"))
    assert environment == {"A": "1", "LD_PRELOAD": expected, "ENVDOCTOR_TRACE": "/r"}
    assert before["LD_PRELOAD"] == preload


CHILD = """
import signal, sys, time
def caught(number, frame):
    print(signal.Signals(number).name, flush=True)
    sys.exit(5)
for name in ("SIGTERM", "SIGUSR1", "SIGINT", "SIGHUP"):
    signal.signal(getattr(signal, name), caught)
print("ready", flush=True)
time.sleep(30)
"""
PARENT = f"""
import os, sys
from envdoctor.node.trace.launch import run
ended = run([sys.executable, "-c", {CHILD!r}], os.environ)
print("ended", ended.status, flush=True)
"""


@pytest.mark.parametrize("name", ["SIGTERM", "SIGUSR1", "SIGINT", "SIGHUP"])
def test_signals_reach_the_command_and_the_report_is_still_made(name: str) -> None:
    """A scheduler signals the tracer only; without a terminal that holds for SIGINT too."""
    with subprocess.Popen(
        [sys.executable, "-c", PARENT], stdout=subprocess.PIPE, text=True, cwd=ROOT, start_new_session=True
    ) as parent:
        assert parent.stdout is not None
        assert parent.stdout.readline() == "ready\n"
        parent.send_signal(getattr(signal, name))
        out, _ = parent.communicate(timeout=30)
    assert out == f"{name}\nended 5\n"


def test_handlers_are_put_back() -> None:
    before = signal.getsignal(signal.SIGTERM)
    run([sys.executable, "-c", ""], os.environ)
    assert signal.getsignal(signal.SIGTERM) is before
