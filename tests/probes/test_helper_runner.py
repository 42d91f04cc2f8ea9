"""Helper commands: run for real with bounds, and answered from recordings."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

import pytest

from envdoctor.node.probes.children import NVML, TORCH, child_argv
from envdoctor.node.probes.runner import MISSING, OUTPUT_LIMIT, CommandResult, RecordedRunner, SystemRunner


def python(code: str) -> tuple[str, ...]:
    return (sys.executable, "-c", code)


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return "Z" not in Path(f"/proc/{pid}/stat").read_text().split(")")[1]


def test_output_and_status() -> None:
    result = SystemRunner().run(python("import sys; print('out'); sys.stderr.write('err'); sys.exit(3)"), 20)
    assert (result.rc, result.stdout, result.stderr, result.ok) == (3, "out\n", "err", False)
    assert result.failure.endswith("ended with status 3: err")


@pytest.mark.parametrize(
    ("argv", "rc"), [(("no-such-helper-here",), MISSING), (("/etc/passwd",), 126), ((), 126), (("a\0b",), 126)]
)
def test_what_cannot_be_started(argv: tuple[str, ...], rc: int) -> None:
    result = SystemRunner().run(argv, 5)
    assert (result.rc, result.ok, bool(result.failure)) == (rc, False, True)


@pytest.mark.slow
def test_a_helper_that_hangs_is_ended_with_its_children(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    code = (
        "import os, subprocess, sys, time\n"
        f"child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])\n"
        f"open({str(pids)!r}, 'w').write(f'{{os.getpid()}} {{child.pid}}')\n"
        "print('begun', flush=True); time.sleep(60)"
    )
    begin = time.monotonic()
    result = SystemRunner().run(python(code), 1.5)
    assert result.timed_out
    assert time.monotonic() - begin < 10
    assert (result.stdout, result.rc, result.failure.endswith("did not answer in time")) == ("begun\n", -9, True)
    time.sleep(0.1)
    assert [alive(int(pid)) for pid in pids.read_text().split()] == [False, False]


def test_a_helper_that_ignores_signals() -> None:
    result = SystemRunner().run(python("import signal, time; signal.signal(15, signal.SIG_IGN); time.sleep(60)"), 0.5)
    assert result.timed_out


def test_a_grandchild_that_keeps_the_pipe_is_not_waited_for() -> None:
    begin = time.monotonic()
    result = SystemRunner().run(("sh", "-c", "sleep 60 & echo done"), 20)
    assert (result.stdout, result.rc, result.timed_out) == ("done\n", 0, False)
    assert time.monotonic() - begin < 5


@pytest.mark.slow
def test_a_helper_that_closes_its_output_and_goes_on() -> None:
    begin = time.monotonic()
    result = SystemRunner().run(python("import os, time; os.close(1); os.close(2); time.sleep(60)"), 1.0)
    assert result.timed_out
    assert time.monotonic() - begin < 5


def test_endless_output_is_cut() -> None:
    result = SystemRunner().run(("sh", "-c", "yes"), 20)
    assert result.truncated
    assert not result.ok
    assert len(result.stdout) == OUTPUT_LIMIT
    assert "MiB" in result.failure


def test_input_is_empty_and_bytes_are_replaced() -> None:
    result = SystemRunner().run(python("import sys; sys.stdout.buffer.write(sys.stdin.buffer.read() + b'\\xff')"), 20)
    assert result.stdout == "�"


def test_a_pattern_is_expanded_as_a_shell_does(tmp_path: Path) -> None:
    for name in ("n10", "n9", "other"):
        (tmp_path / name).write_text("")
    result = SystemRunner().run(("echo", f"{tmp_path}/n*", f"{tmp_path}/none*", "*"), 5)
    assert result.stdout == f"{tmp_path}/n9 {tmp_path}/n10 {tmp_path}/none* *\n"


def test_the_environment_can_be_given() -> None:
    assert SystemRunner({"ONLY": "this"}).run(("/usr/bin/env",), 5).stdout == "ONLY=this\n"


def recording(folder: Path, index: str, **files: str) -> RecordedRunner:
    (folder / "index.toml").write_text(index)
    for name, text in files.items():
        (folder / f"{name}.out").write_text(text)
    return RecordedRunner(folder)


def test_recorded_answers(tmp_path: Path) -> None:
    index = """
[[command]]
argv = ["tool", "--json"]
file = "a.out"
rc = 0
[[command]]
argv = ["broken"]
file = "b.out"
rc = 7
stderr = "c.out"
timed_out = true
"""
    runner = recording(tmp_path, index, a="{}", b="", c="sad")
    assert runner.run(["tool", "--json"], 1).stdout == "{}"
    assert runner.run(["broken"], 1) == CommandResult(("broken",), 7, "", "sad", timed_out=True)
    assert runner.run(["tool"], 1).rc == MISSING
    assert runner.logs() == []


def test_the_torch_child_is_known_by_its_script(tmp_path: Path) -> None:
    index = f'[[command]]\nargv = {list(TORCH.recorded)}\nfile = "a.out"\nrc = 0\n'.replace("'", '"')
    runner = recording(tmp_path, index, a="report")
    assert runner.run(child_argv("/some/where/python3.12", TORCH), 1).stdout == "report"
    assert runner.run(child_argv("/some/where/python3.12", NVML), 1).rc == MISSING


def test_logs_of_runs_in_the_same_environment(tmp_path: Path) -> None:
    index = """
[[command]]
argv = ["python3", "allreduce.py", "# LD_PRELOAD of another"]
file = "a.out"
[[command]]
argv = ["python3", "allreduce.py", "# plain"]
file = "b.out"
"""
    runner = recording(tmp_path, index, a="other", b="plain")
    assert runner.logs() == [("python3 allreduce.py # plain", "plain")]


DAMAGED = ["", "not toml [", "command = 3", "[[command]]\nargv = 3\n", '[[command]]\nfile = "../x"']


@pytest.mark.parametrize("index", DAMAGED)
def test_a_recording_that_is_damaged(tmp_path: Path, index: str) -> None:
    assert recording(tmp_path, index).run(["tool"], 1).rc == MISSING


def test_a_recording_that_is_not_there(tmp_path: Path) -> None:
    assert RecordedRunner(tmp_path / "none").run(["tool"], 1).rc == MISSING


def test_signals_have_negative_status() -> None:
    result = SystemRunner().run(("sh", "-c", "kill -9 $$"), 5)
    assert result.rc == -signal.SIGKILL
