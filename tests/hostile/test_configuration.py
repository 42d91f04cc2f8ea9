"""What a stranger's configuration may hold: told with its file, and everything else is judged."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from support import ROOT, here

Tree = Callable[[Mapping[str, str]], Path]
GHOST = "export NCCL_DETERMINISTIC=1\n"
RULE = """
id = "ED950"
name = "own"
title = "t"
severity = "warning"
confidence = "high"
level = "hygiene"
check = "name"
since = "1"
why = "w"
fix = "f"
"""
CONFIGURATIONS = {
    "a value in the place of a table": ("pyproject.toml", "tool = 1 # [tool.envdoctor\n"),
    "a list of tables": ("pyproject.toml", "[[tool.envdoctor]]\n"),
    "deep brackets": ("envdoctor.toml", "a = " + "[" * 1500),
    "many digits": ("envdoctor.toml", "a = " + "1" * 4301),
    "no name of a file": ("envdoctor.toml", 'rules = ["\\u0000"]\n'),
    "a long name": ("envdoctor.toml", f'rules = ["{"a" * 300}"]\n'),
    "a version of many digits": ("envdoctor.toml", f'required-version = ">={"1" * 4301}"\n'),
}
RULES = {
    "triggers": "triggers = [1]\n",
    "examples": "example = [1]\n",
    "what is expected": 'example = [{ kind = "bad", expect = 3 }]\n',
    "a date": "title.x = 1979-05-27\n",
    "no parameters": "",
    "another type": "parameters.verdicts = 5\n",
    "a key that nobody knows": 'parameters = { verdicts = ["ghost"], "\\u00a0" = 1 }\n',
    "entry triggers": "parameters.entry_triggers = [1]\n",
    "entry triggers of another kind": "parameters.entry_triggers = 5\n",
    "deep brackets": "evidence = " + "[" * 1500,
    "many digits": "evidence = " + "1" * 4301,
}


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_a_configuration_that_cannot_be_used(tree: Tree, name: str) -> None:
    path, text = CONFIGURATIONS[name]
    run = here("scan", "--format", "concise", cwd=tree({path: text, "a.sh": GHOST}))
    assert run.returncode == 2
    assert "a.sh:1:8: ED101" in run.stdout
    assert f"{path}:1:" in run.stdout
    assert "internal error" not in run.stdout + run.stderr


@pytest.mark.parametrize("name", RULES)
def test_a_rule_of_ones_own_that_cannot_be_used(tree: Tree, name: str) -> None:
    files = {"envdoctor.toml": 'rules = ["own.toml"]\n', "own.toml": RULE + RULES[name], "a.sh": GHOST}
    run = here("scan", "--format", "concise", cwd=tree(files))
    assert run.returncode == 2
    assert "a.sh:1:8: ED101" in run.stdout
    assert re.search(r"own\.toml(:\d+)?: ", run.stdout)
    assert "internal error" not in run.stdout + run.stderr


def test_patterns_of_gitignore_that_are_none(tree: Tree) -> None:
    run = here(
        "scan",
        "--format",
        "concise",
        cwd=tree({".gitignore": "[z-a]\n!\n[[a]]\nout/\n", "a.sh": GHOST, "out/b.sh": GHOST}),
    )
    assert (run.returncode, run.stderr) == (1, "")
    assert [line.split(":")[0] for line in run.stdout.splitlines()] == ["a.sh"]


@pytest.mark.parametrize("name", ["--output=x", "--fix", "--config", "-x"])
@pytest.mark.parametrize("words", [("{name}",), ("a.sh", "{name}"), ("{name}", "a.sh")])
def test_a_file_named_as_an_option(tree: Tree, name: str, words: tuple[str, ...]) -> None:
    """pre-commit, xargs and `*` hand on names as they are."""
    root = tree({name: GHOST, "a.sh": GHOST})
    before = {path.name: path.read_text() for path in root.iterdir()}
    run = here("scan", *(word.format(name=name) for word in words), cwd=root)
    assert (run.returncode, run.stdout) == (2, "")
    assert (
        run.stderr
        == f"envdoctor: {name}: an option, and a file here has this name: write ./{name}, or -- before all files\n"
    )
    assert {path.name: path.read_text() for path in root.iterdir()} == before
    assert here("scan", "--", "a.sh", name, cwd=root).returncode == 1
    assert here("scan", f"./{name}", "a.sh", cwd=root).returncode == 1


def test_paths_that_are_none(tree: Tree) -> None:
    root = tree({"a.sh": GHOST})
    (root / "loop").symlink_to("loop")
    run = here("scan", "--format", "concise", "a.sh", "a" * 300, "loop", "gone", cwd=root)
    assert run.returncode == 2
    assert "a.sh:1:8: ED101" in run.stdout
    assert "a: cannot be opened: File name too long\n" in run.stderr
    assert "envdoctor: loop: cannot be opened\nenvdoctor: gone: no such file or folder\n" in run.stderr


@pytest.mark.parametrize("words", [
    ("--config", "a" * 300), ("--baseline", "deep.json"), ("--baseline", "long.json"), ("--write-baseline", "a" * 300),
    ("--write-baseline", "loop"), ("--stdin-filename", "loop", "-"),
])  # fmt: skip
def test_files_that_are_named_and_are_none(tree: Tree, words: tuple[str, ...]) -> None:
    entry = '{"content": "", "findings": {"ghost-variable": 1}}'
    long = f'{{"version": 1, "files": {{"{"a" * 300}": {entry}}}}}'
    root = tree({"a.sh": GHOST, "deep.json": "[" * 100_000, "long.json": long})
    (root / "loop").symlink_to("loop")
    run = here("scan", *words, cwd=root)
    assert run.returncode in ((1,) if "long.json" in words else (0, 2))
    assert "internal error" not in run.stderr


def test_a_current_folder_that_is_gone(tree: Tree) -> None:
    root = tree({"a.sh": GHOST, "gone/x": ""})
    command = f"cd gone; rm -r {root}/gone; {sys.executable} -m envdoctor scan {root}/a.sh"
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    run = subprocess.run(["bash", "-c", command], cwd=root, env=env, capture_output=True, text=True, check=False)
    assert (run.returncode, run.stdout) == (2, "")
    assert run.stderr == "envdoctor: the current folder is gone: start again in one that is there\n"


def test_an_error_in_telling_an_error(
    tree: Tree, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    from envdoctor.cli import main as cli
    from envdoctor.core import internal_errors

    def fail(*_: object) -> None:
        raise MemoryError

    monkeypatch.chdir(tree({"a.sh": GHOST}))
    monkeypatch.setattr(cli, "_run", fail)
    monkeypatch.setattr(internal_errors, "described", fail)
    assert cli.main(["scan", "--no-cache"]) == 2
    assert capfd.readouterr().err == "envdoctor: internal error, and no memory to say which\n"
