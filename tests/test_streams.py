"""Standard streams that are closed, full or without a reader: the status is 1 for findings and for nothing else."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from support import ROOT, envdoctor

pytestmark = pytest.mark.slow

Tree = Callable[[Mapping[str, str]], Path]
GHOST = "export NCCL_DETERMINISTIC=1\n"
SCAN = "scan --no-cache"
FULL = "standard output cannot be written: No space left on device"
CLOSED = "standard output cannot be written: Bad file descriptor"


def shell(root: Path, words: str, rest: str, **environment: str) -> tuple[int, str]:
    """Exit status of envdoctor and what it said on standard error, with a rest of shell behind it."""
    command = f"{sys.executable} -m envdoctor {words} {rest}; exit ${{PIPESTATUS[0]}}"
    env = {**os.environ, "PYTHONPATH": str(ROOT), **environment}
    run = subprocess.run(
        ["bash", "-c", command], cwd=root, env=env, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True,
        timeout=120, check=False,
    )  # fmt: skip
    return run.returncode, run.stderr


@pytest.fixture(params=["", "1"], ids=["buffered", "unbuffered"])
def unbuffered(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.mark.parametrize(
    "words", [SCAN, f"{SCAN} --format json", f"{SCAN} --diff", f"{SCAN} --show-settings", "rules", "--help", "--version",
              "scan --help", "explain NCCL_ALGO", "scan", "env --level run-to-run --target cuda"]
)  # fmt: skip
@pytest.mark.parametrize(("rest", "said"), [("> /dev/full", FULL), (">&-", CLOSED)])
def test_a_report_that_cannot_be_delivered(tree: Tree, words: str, rest: str, said: str, unbuffered: str) -> None:
    root = tree({"a.sh": GHOST, "b.sh": "export NCCL_ALGO=Ring\n"})
    assert shell(root, words, rest, PYTHONUNBUFFERED=unbuffered) == (2, f"envdoctor: {said}\n")


def test_a_kept_answer_that_cannot_be_delivered(tree: Tree, tmp_path_factory: pytest.TempPathFactory) -> None:
    root = tree({"a.sh": GHOST})
    cache = str(tmp_path_factory.mktemp("cache"))
    assert envdoctor("scan", "a.sh", cwd=root, XDG_CACHE_HOME=cache).returncode == 1
    assert envdoctor("scan", "a.sh", cwd=root, XDG_CACHE_HOME=cache).returncode == 1
    for rest, said in (("> /dev/full", FULL), (">&-", CLOSED)):
        assert shell(root, "scan a.sh", rest, XDG_CACHE_HOME=cache) == (2, f"envdoctor: {said}\n")


def test_a_report_in_a_file_needs_no_standard_output(tree: Tree) -> None:
    root = tree({"a.sh": GHOST})
    assert shell(root, f"{SCAN} --output report.txt", ">&-") == (1, "")
    assert "NCCL_DETERMINISTIC" in (root / "report.txt").read_text()


@pytest.mark.parametrize("rest", ["2> /dev/full", "2>&-", "2>&- <&-", "<&-"])
@pytest.mark.parametrize(("words", "status"), [(SCAN, 1), (f"{SCAN} quiet.sh", 0), (f"{SCAN} nowhere.sh", 2), ("x", 2)])
def test_what_nobody_hears_changes_no_status(tree: Tree, rest: str, words: str, status: int, unbuffered: str) -> None:
    root = tree({"a.sh": GHOST, "quiet.sh": "export NCCL_ALGO=Ring\n"})
    assert shell(root, words, rest, PYTHONUNBUFFERED=unbuffered)[0] == status


@pytest.mark.parametrize("words", [SCAN, "rules", f"{SCAN} --format json"])
def test_nobody_reads(tree: Tree, words: str, unbuffered: str) -> None:
    root = tree({f"{i}.sh": GHOST * 50 for i in range(40)})
    status, said = shell(root, words, "| true", PYTHONUNBUFFERED=unbuffered)
    assert (status, said) == (141, "")


def test_nothing_at_all_is_open(tree: Tree) -> None:
    root = tree({"a.sh": GHOST, "sub/b.sh": GHOST})
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    assert shell(root, SCAN, "<&- >&- 2>&-")[0] == 2
    assert shell(root, f"{SCAN} --output report.txt", "<&- >&- 2>&-")[0] == 1
    assert (root / "report.txt").read_text().count("NCCL_DETERMINISTIC=1") == 2


def test_standard_input_that_is_closed(tree: Tree) -> None:
    status, said = shell(tree({}), "scan --stdin-filename a.sh -", "<&-")
    assert status == 2
    assert said.startswith("envdoctor: standard input cannot be read: ")
    assert "internal error" not in said


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_what_is_ended_from_outside_leaves_nothing(
    tree: Tree, tmp_path_factory: pytest.TempPathFactory, number: signal.Signals
) -> None:
    root = tree({"a.sh": GHOST})
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    folder = tmp_path_factory.mktemp("bin")
    (folder / "git").write_text(f"#!/bin/sh\n: > {folder}/started\nexec sleep 60\n")
    (folder / "git").chmod(0o755)
    env = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "PATH": f"{folder}:{os.environ['PATH']}",
        "TMPDIR": str(folder / "tmp"),
    }
    (folder / "tmp").mkdir()
    command = [sys.executable, "-m", "envdoctor", "scan", "--no-cache"]
    process = subprocess.Popen(command, cwd=root, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    while not (folder / "started").exists():
        time.sleep(0.02)
    assert list((folder / "tmp").iterdir())
    process.send_signal(number)
    assert process.communicate(timeout=30) == (b"", b"")
    assert process.returncode == 128 + number
    assert list((folder / "tmp").iterdir()) == []
