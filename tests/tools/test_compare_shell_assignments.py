"""The tool that compares the shell reader with a second reader: what it counts, and that it can disagree."""

from __future__ import annotations

import sys
from pathlib import Path

import compare_shell_assignments as tool
import pytest

SCRIPT = """#!/bin/bash
# A=0
export A=1 B="x y"
C=2 D=3 cmd E=4
for v in x; do
  F=$(G=1 cmd)
done
case $X in a) H=1;; esac
cat <<EOF
I=1
EOF
f() { local J=1; }
ARGS=(K=1)
"""


def test_the_second_reader() -> None:
    assert [name for _, name in tool.Lexer(SCRIPT).run()] == ["A", "B", "C", "D", "G", "F", "H", "J", "ARGS"]


def test_both_readers_agree_on_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    (tmp_path / "run.sh").write_text(SCRIPT)
    (tmp_path / "other.txt").write_text("A=1")
    monkeypatch.setattr(sys, "argv", ["compare", str(tmp_path)])
    assert tool.main() == 0
    assert "1 files, 9 found by both, 0 only by the lexer, 0 only by the reader" in capsys.readouterr().out


def test_a_difference_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    (tmp_path / "run.sh").write_text("bash -c 'export A=1'\n")
    monkeypatch.setattr(sys, "argv", ["compare", str(tmp_path)])
    tool.main()
    assert "run.sh:1: A: bash -c" in capsys.readouterr().out
