"""`envdoctor trace -- COMMAND` from end to end."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from native import compile_c, needs_compiler
from support import envdoctor

from envdoctor.cli.trace import patterns
from envdoctor.knowledge.catalog.load import load_catalog
from envdoctor.node.trace.merge import CONTEXT

pytestmark = [pytest.mark.slow, needs_compiler]

PROGRAM = """
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char **argv) {
  getenv("NCCL_DEBUG"); getenv("NCCL_ALGO"); getenv("MY_OWN"); getenv("NCCL_BUFFSIZE"); getenv("OMP_NUM_THREADS");
  setenv("NCCL_ALGO", "Ring", 1);
  puts("the program's own output"); fputs("and its errors\\n", stderr);
  return 5;
}
"""


def trace(*words: str | Path, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return envdoctor("trace", *map(str, words), cwd=cwd, **environment)


def report(path: Path) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(path.read_text())
    return loaded


def test_report_status_and_output(tmp_path: Path) -> None:
    """One real, one ghost, one late and one private setting, told apart; the program's output is its own."""
    program = compile_c(PROGRAM, name="program")
    done = trace(
        "--output", "trace.json", "--", program, "x", cwd=tmp_path,
        NCCL_DEBUG="WARN", NCCL_DETERMINISTIC="1", MY_OWN="1", OMP_NUM_THREADS="2",
        HF_TOKEN="hf_abcdefghijklmnopqrstuv",
    )  # fmt: skip
    assert done.returncode == 5
    assert done.stdout == "the program's own output\n"
    assert done.stderr.startswith("and its errors\nenvdoctor trace: ")
    found = report(tmp_path / "trace.json")
    assert set(found) == {"version", "command", "settings", "limits"}
    assert (found["version"], found["command"]) == (1, [str(program), "x"])
    settings = {setting["variable"]: setting for setting in found["settings"]}
    (asked,) = settings["NCCL_DEBUG"]["asked"]
    assert (asked["library"], asked["value"], asked["count"], asked["rank"]) == (str(program), "WARN", 1, None)
    assert 0 < asked["seconds"] < 30
    assert settings["NCCL_DETERMINISTIC"]["asked"] == []
    assert settings["NCCL_ALGO"]["late"] is True
    assert settings["NCCL_ALGO"]["value"] == "Ring"
    assert settings["OMP_NUM_THREADS"]["asked"]
    assert [name for name, setting in settings.items() if setting["late"]] == ["NCCL_ALGO"]
    assert not {"MY_OWN", "HF_TOKEN", "HOME", "PATH", "NCCL_BUFFSIZE", *CONTEXT} & set(settings)
    assert "TOO LATE for program" in done.stderr
    assert "hf_abc" not in done.stderr + (tmp_path / "trace.json").read_text()
    assert any("os.environ" in limit for limit in found["limits"])


def test_more_names(tmp_path: Path) -> None:
    program = compile_c(PROGRAM, name="program")
    trace("--all", "--name", "MY_*", "--quiet", "--output", "t.json", "--", program, cwd=tmp_path, MY_OWN="private")
    settings = {setting["variable"]: setting for setting in report(tmp_path / "t.json")["settings"]}
    assert settings["MY_OWN"]["value"] == "(not recorded)"
    assert settings["MY_OWN"]["asked"][0]["value"] == "(not recorded)"
    assert (settings["NCCL_BUFFSIZE"]["value"], settings["NCCL_BUFFSIZE"]["asked"][0]["value"]) == (None, None)
    assert "private" not in (tmp_path / "t.json").read_text()


def test_without_dashes_and_quiet(tmp_path: Path) -> None:
    done = trace("--quiet", sys.executable, "-c", "print(1)", cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "1\n", "")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "no command to trace"),
        (["--"], "no command to trace"),
        (["--", "envdoctor-no-such-command"], "envdoctor-no-such-command: no such command"),
        (["--output", "/nowhere/x.json", "--", "true"], "/nowhere/x.json: cannot be written"),
        (["--output", ".", "--", "true"], "cannot be written"),
        (["--directory", "/nowhere", "--", "true"], "No such file or directory"),
    ],
)
def test_what_cannot_be_done(tmp_path: Path, words: list[str], message: str) -> None:
    done = trace(*words, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stdout == ""
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_no_compiler(tmp_path: Path) -> None:
    bin_folder = tmp_path / "bin"
    bin_folder.mkdir()
    (bin_folder / "true").symlink_to(shutil.which("true") or "/bin/true")
    done = trace("--", "true", cwd=tmp_path, PATH=str(bin_folder), CC="", XDG_CACHE_HOME=str(tmp_path / "cache"))
    if "tools" in done.stderr or done.returncode == 0:
        pytest.skip("a prebuilt library came with this installation")
    assert done.returncode == 2
    assert "there is no C compiler" in done.stderr


def test_nothing_is_left_behind(tmp_path: Path) -> None:
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    done = trace("--", "true", cwd=tmp_path, TMPDIR=str(temporary))
    assert done.returncode == 0
    assert list(temporary.iterdir()) == []
    shared = tmp_path / "shared"
    shared.mkdir()
    trace("--directory", shared, "--", "true", cwd=tmp_path)
    assert list(shared.iterdir()) == []


def test_one_report_a_rank(tmp_path: Path) -> None:
    trace("--quiet", "--output", "t-%r.json", "--", "true", cwd=tmp_path, RANK="3")
    trace("--quiet", "--output", "t-%h-%p.json", "--", "true", cwd=tmp_path)
    first, second = sorted(path.name for path in tmp_path.glob("t-*.json"))
    assert "t-3.json" in (first, second)
    assert any(os.uname().nodename in name for name in (first, second))


def test_ranks_are_merged(tmp_path: Path) -> None:
    """What a launcher does: one process a rank, one of them without a setting."""
    program = compile_c(PROGRAM, name="program")
    script = tmp_path / "launch.sh"
    script.write_text(
        f"for rank in 0 1 2; do RANK=$rank LOCAL_RANK=$rank WORLD_SIZE=4 {program} >/dev/null 2>&1 & done\n"
        f"RANK=3 LOCAL_RANK=3 WORLD_SIZE=4 env -u NCCL_DEBUG {program} >/dev/null 2>&1; wait\n"
    )
    done = trace("--output", "t.json", "--", "sh", script, cwd=tmp_path, NCCL_DEBUG="INFO")
    settings = {setting["variable"]: setting for setting in report(tmp_path / "t.json")["settings"]}
    debug = settings["NCCL_DEBUG"]
    assert debug["ranks"] == [0, 1, 2]
    assert sorted((a["rank"], a["value"]) for a in debug["asked"]) == [(0, "INFO"), (1, "INFO"), (2, "INFO"), (3, None)]
    assert settings["NCCL_ALGO"]["ranks"] == [0, 1, 2, 3]
    assert "set only in ranks 0-2 of 4" in done.stderr


def test_killed_program(tmp_path: Path) -> None:
    done = trace("--output", "t.json", "--", "sh", "-c", "kill -9 $$", cwd=tmp_path, NCCL_DEBUG="INFO")
    assert done.returncode == 137
    assert [setting["variable"] for setting in report(tmp_path / "t.json")["settings"]].count("NCCL_DEBUG") == 1


def test_patterns_cover_the_catalogue() -> None:
    catalog = load_catalog()
    watched = list(patterns(catalog, ["MY_NAME", "MY_FAMILY_*", "NCCL_ALGO"]))
    prefixes = tuple(pattern.text for pattern in watched if pattern.prefix and pattern.value)
    names = {pattern.text for pattern in watched if not pattern.prefix and pattern.value}
    assert all(name.startswith(prefixes) or name in names for name in catalog.variables)
    own = {(p.text, p.prefix, p.value) for p in watched[-3:]}
    assert own == {("MY_NAME", False, False), ("MY_FAMILY_", True, False), ("NCCL_ALGO", False, True)}
