"""A scan runs nothing of a repository: whatever its configuration says, with every command that asks git."""

from __future__ import annotations

import argparse
import ast
import hashlib
import io
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from repositories import GHOST, Trap, bare_looking, gits, hostile, lacking
from support import ROOT, envdoctor, found, scan_json

from envdoctor.cli.arguments import parser
from envdoctor.cli.main import main

pytestmark = pytest.mark.slow

Run = Callable[..., tuple[int, str, str]]
COMMANDS = (
    "scan", "scan train.sh", "scan sub nested", "scan --since HEAD", "scan --since @{upstream}",
    "scan --since HEAD --no-cache new.sh", "scan --docs --hints --statistics", "scan --no-inline-ignores",
    "scan --format json --format sarif:report.sarif", "scan --output report.txt", "scan --exclude sub --force-exclude .",
    "scan --target rocm-6.2 --level placement --select ED1 --ignore ED2 --fail-on never",
    "scan --config sub/own.toml", "scan --stdin-filename train.sh", "scan --show-files", "scan --show-settings",
    "scan --show-target", "scan --show-launches", "scan --show-unknown --fail-on-unknown",
    "scan --diff-launch train.sh new.sh", "scan --diff",
    "scan --diff --unsafe-fixes", "scan --write-baseline baseline.json", "scan --baseline baseline.json",
    "scan --add-ignores", "scan --fix", "scan --fix --unsafe-fixes", "live --no-torch --script train.sh",
)  # fmt: skip
WRITING = ("--fix", "--add-ignores", "--write-baseline", "--output", "sarif:")


@pytest.fixture
def trap(tmp_path: Path) -> Trap:
    return Trap(tmp_path / "trap")


@pytest.fixture(params=gits(), ids=lambda folder: f"git-{folder.strip('/').replace('/', '-')}")
def asked(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    """Each git at hand is the one that is asked, with folders of its own for temporary files and answers."""
    monkeypatch.setenv("PATH", f"{request.param}{os.pathsep}{os.environ['PATH']}")
    for name in ("TMPDIR", "XDG_CACHE_HOME"):
        (tmp_path / name).mkdir()
        monkeypatch.setenv(name, str(tmp_path / name))
    return str(request.param)


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    def go(root: Path, *words: str) -> tuple[int, str, str]:
        monkeypatch.chdir(root)
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(GHOST.encode())))
        capsys.readouterr()
        return main(words), *capsys.readouterr()

    return go


def all_words(command: argparse.ArgumentParser) -> Iterator[str]:
    for action in command._actions:
        yield from (word for word in action.option_strings if word.startswith("--") and word != "--help")


def test_every_option_of_a_scan_is_tried() -> None:
    sub = next(a for a in parser("scan")._actions if isinstance(a, argparse._SubParsersAction)).choices["scan"]
    tried = {word for command in COMMANDS for word in command.split()}
    assert set(all_words(sub)) <= tried


def test_the_repositories_are_what_they_should_be(asked: str, trap: Trap, tmp_path: Path) -> None:
    """The git at hand falls into the traps where it is let loose: the tests below could fail."""
    root = hostile(tmp_path / "hostile", trap)
    assert trap.sprung() == []
    for words in (("status",), ("diff", "HEAD")):
        subprocess.run([f"{asked}/git", "-C", str(root), *words], capture_output=True, check=False)
        assert trap.sprung(), words
    sub = bare_looking(tmp_path / "bare", trap) / "sub"
    assert trap.sprung() == []
    subprocess.run([f"{asked}/git", "-C", str(sub), "status"], capture_output=True, check=False)
    assert trap.sprung() or _is_old(asked)


@pytest.mark.parametrize("command", COMMANDS)
def test_nothing_of_a_repository_runs(asked: str, trap: Trap, tmp_path: Path, run: Run, command: str) -> None:
    del asked
    root = hostile(tmp_path / "hostile", trap)
    (root / "sub/own.toml").write_text("")
    (root / "baseline.json").write_text('{"version": 1, "files": {}}')
    before = state(root)
    for _ in range(2):  # the second time by what was kept of the first
        status, out, told = run(root, *command.split())
        assert trap.sprung() == []
        assert status in (0, 1) or "upstream" in command or "--baseline" in command, told
        assert "Traceback" not in out + told
    if not any(word in command for word in WRITING):
        assert state(root) == before
    assert list((tmp_path / "TMPDIR").iterdir()) == []


def state(root: Path) -> dict[str, tuple[str, int]]:
    """Content and time of all files, those of git included."""
    return {
        str(path): (hashlib.sha256(path.read_bytes()).hexdigest(), path.stat().st_mtime_ns)
        for path in sorted(root.rglob("*"))
        if path.is_file()
    }


def test_what_is_asked_is_answered_all_the_same(asked: str, trap: Trap, tmp_path: Path) -> None:
    del asked
    root = hostile(tmp_path / "hostile", trap)
    expected = [("job.env", 1), ("new.sh", 1), ("train.sh", 2)]
    assert [(path, line) for path, line, *_ in found(scan_json(root))] == expected
    assert [(path, line) for path, line, *_ in found(scan_json(root, "--since", "HEAD"))] == expected
    assert trap.sprung() == []


@pytest.mark.parametrize("words", [(), ("sub",), ("sub/train.sh",), ("--since", "HEAD", "sub"), ("sub", "--fix")])
@pytest.mark.parametrize("inside", [False, True])
def test_a_folder_that_looks_like_a_bare_repository(
    asked: str, trap: Trap, tmp_path: Path, run: Run, words: tuple[str, ...], inside: bool
) -> None:
    del asked
    root = bare_looking(tmp_path / "bare", trap)
    if inside:
        words = tuple(word.removeprefix("sub/").replace("sub", ".") for word in words)
    status, out, _ = run(root / "sub" if inside else root, "scan", *words)
    assert trap.sprung() == []
    assert status == (0 if {"--fix", "--since"} & set(words) else 1)
    assert ("NCCL_DETERMINISTIC" in out) == (status == 1)


def test_nothing_is_fetched_for_a_partial_clone(asked: str, trap: Trap, tmp_path: Path, run: Run) -> None:
    root = lacking(tmp_path / "lacking", trap)
    status, out, told = run(root, "scan", "--since", "HEAD")
    assert trap.sprung() == []
    assert (status, out) == (2, "")
    assert "a scan fetches nothing: run `git diff REV` first" in told
    assert run(root, "scan")[0] == 1
    assert trap.sprung() == []
    words = [f"{asked}/git", "-C", str(root), "cat-file", "-p", "HEAD:train.sh"]
    subprocess.run(words, capture_output=True, check=False)
    assert trap.sprung() or _is_old(asked), "the clone fetches nothing by itself: the test above could not fail"


def _is_old(folder: str) -> bool:
    """Whether a git knows neither `core.fsmonitor` nor partial clones (they came with 2.16 and 2.19)."""
    version = subprocess.run([f"{folder}/git", "--version"], capture_output=True, text=True, check=True).stdout
    return version.split()[2].startswith(("1.", "2.0", "2.11.", "2.17."))


def test_the_git_folder_of_somebody_else(asked: str, trap: Trap, tmp_path: Path, run: Run) -> None:
    """`.git` as a file that names a folder of the tree: an archive can hold one, a clone cannot."""
    del asked
    root = hostile(tmp_path / "hostile", trap)
    (root / ".git").rename(root / "data")
    (root / ".git").write_text("gitdir: data\n")
    status, out, _ = run(root, "scan", "--since", "HEAD")
    assert trap.sprung() == []
    assert (status, out.count("ED101")) == (1, 3)


def test_a_git_in_the_current_folder_is_none(trap: Trap, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = hostile(tmp_path / "hostile", trap)
    trap.program(root / "git", "git")
    monkeypatch.setenv("PATH", f".{os.pathsep}{os.pathsep}{os.environ['PATH']}")
    assert envdoctor("scan", "--since", "HEAD", cwd=root).returncode == 1
    assert trap.sprung() == []


STARTING = {
    "subprocess": {"run", "Popen", "call", "check_call", "check_output", "getoutput", "getstatusoutput"},
    "os": {"system", "popen", "posix_spawn", "posix_spawnp", "fork", "forkpty", "execv", "execve", "execvp", "execvpe"},
    "pty": {"spawn"}, "asyncio": {"create_subprocess_exec", "create_subprocess_shell"},
}  # fmt: skip


def test_one_module_starts_programs_for_a_scan() -> None:
    """What a scan may start is started in one place; all else belongs to `live` and `trace`."""
    starting = {path for path in (ROOT / "envdoctor").rglob("*.py") if any(_starts(ast.parse(path.read_text())))}
    names = {path.relative_to(ROOT / "envdoctor").as_posix() for path in starting}
    assert {name for name in names if not name.startswith("node/")} == {"project/git.py"}


def _starts(tree: ast.AST) -> Iterator[bool]:
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and isinstance(node.func.value, ast.Name)
        ):
            yield node.func.attr in STARTING.get(node.func.value.id, ())
