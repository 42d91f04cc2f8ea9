"""Progress in a real pseudo terminal: only there, only when it takes long, and nothing of it is left."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from envdoctor.reports import progress

pytestmark = pytest.mark.slow

Tree = Callable[[Mapping[str, str]], Path]
SLOW = """
import sys, time
from envdoctor.cli import main as cli
from envdoctor.readers.store import FactStore
from envdoctor.reports import progress

progress.AFTER = float(sys.argv[1])
read = FactStore.read
FactStore.read = lambda self, path: time.sleep(0.15) or read(self, path)
code = cli.main(sys.argv[2:])
print("rich" if "rich" in sys.modules else "no rich")
sys.exit(code)
"""
FILES = {f"{name}.sh": "export NCCL_DETERMINISTIC=1\n" for name in "abcdef"}


def scanned(root: Path, *words: str, after: float = 0.2, terminal: bool = True, **variables: str) -> tuple[str, str]:
    """What a scan of slow files writes: standard output, which is a pipe, and what a terminal at standard error gets."""
    environment = {k: v for k, v in os.environ.items() if k not in ("CI", "NO_COLOR", "FORCE_COLOR")}
    environment |= {"TERM": "xterm-256color", "PYTHONPATH": os.pathsep.join(sys.path), **variables}
    master, slave = pty.openpty()
    run = subprocess.Popen(
        [sys.executable, "-c", SLOW, str(after), "scan", *words], cwd=root, env=environment, text=True,
        stdout=subprocess.PIPE, stderr=slave if terminal else subprocess.PIPE,
    )  # fmt: skip
    os.close(slave)
    written = _read(master) if terminal else b""
    out, err = run.communicate(timeout=60)
    os.close(master)
    assert run.returncode == 1
    return out, written.decode() if terminal else err


def _read(master: int) -> bytes:
    """All that is written to a terminal until the last writer is gone, which Linux says by EIO."""
    pieces = []
    try:
        while piece := os.read(master, 4096):
            pieces.append(piece)
    except OSError:
        pass
    return b"".join(pieces)


def screen(text: str) -> str:
    """What is left on a terminal: cursor up, clear line and carriage return done, all else passed over."""
    lines, row, column = [""], 0, 0
    for part in re.findall(r"\x1b\[[0-9;?]*[A-Za-z]|\r|\n|[^\x1b\r\n]+", text):
        if part == "\n":
            row, column = row + 1, 0
            lines += [""] * (row + 1 - len(lines))
        elif part == "\r":
            column = 0
        elif part.endswith("A"):
            row = max(0, row - int(part[2:-1] or 1))
        elif part.endswith("K"):
            lines[row] = lines[row][:column] if part == "\x1b[K" else ""
        elif not part.startswith("\x1b"):
            lines[row] = lines[row][:column] + part + lines[row][column + len(part) :]
            column += len(part)
    return "\n".join(lines).strip()


def test_a_long_scan_shows_how_far_it_is_and_clears_it(tree: Tree) -> None:
    out, shown = scanned(tree(FILES))
    assert re.search(r"reading.*[1-6]/6", shown)
    assert "\x1b[3" in shown
    assert screen(shown) == ""
    assert out.endswith("\nrich\n")
    assert "6 findings" in out


def test_without_colours(tree: Tree) -> None:
    _, shown = scanned(tree(FILES), NO_COLOR="1")
    assert "reading" in shown
    assert not re.search(r"\x1b\[[0-9;]*3[0-7](?:;[0-9;]*)?m", shown)
    assert screen(shown) == ""


@pytest.mark.parametrize(
    ("words", "after", "terminal", "variables"),
    [
        ([], 30.0, True, {}),
        ([], 0.2, False, {}),
        ([], 0.2, True, {"CI": "true"}),
        ([], 0.2, True, {"TERM": "dumb"}),
    ],
    ids=["short", "no terminal", "CI", "dumb"],
)
def test_silence(tree: Tree, words: list[str], after: float, terminal: bool, variables: dict[str, str]) -> None:
    out, shown = scanned(tree(FILES), *words, after=after, terminal=terminal, **variables)
    assert shown == ""
    assert out.endswith("\nno rich\n")


def test_messages_stay(tree: Tree) -> None:
    out, shown = scanned(tree({**FILES, "z.sh": "export NCCL_P2P_DISABLE=true\n"}), "--fix")
    assert screen(shown) == "envdoctor: 6 fixed; 6 files written"
    assert "1 finding" in out


def test_what_is_counted_is_what_is_given() -> None:
    with progress.Watcher(False) as silent, progress.Watcher(True) as counting:
        assert list(silent([1, 2], "x")) == list(counting([1, 2], "x")) == [1, 2]
