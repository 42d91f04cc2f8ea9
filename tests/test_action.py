"""The GitHub action: its own steps, run as the runner runs them, with inputs as variables."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from support import ROOT

Tree = Callable[[Mapping[str, str]], Path]
ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
GHOST = "export NCCL_DETERMINISTIC=1\n"


def run_scan(folder: Path, **inputs: str) -> subprocess.CompletedProcess[str]:
    """The second step, in the shell and with the options that the runner uses for `shell: bash`."""
    temporary = folder.parent / f"{folder.name}-runner"
    programs = temporary / "envdoctor" / "bin"
    programs.mkdir(parents=True, exist_ok=True)
    program = programs / "envdoctor"
    program.write_text(f'#!/bin/sh\nPYTHONPATH="{ROOT}" exec "{sys.executable}" -m envdoctor "$@"\n')
    program.chmod(0o755)
    given = {name: inputs.get(name, entry["default"]) for name, entry in ACTION["inputs"].items()}
    env = {
        **os.environ,
        "RUNNER_TEMP": str(temporary),
        "GITHUB_STEP_SUMMARY": str(temporary / "summary.md"),
        **{name.upper(): value for name, value in given.items()},
    }
    script = ACTION["runs"]["steps"][1]["run"]
    command = ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", script]
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=120, check=False)


def summary(folder: Path) -> str:
    return (folder.parent / f"{folder.name}-runner" / "summary.md").read_text(encoding="utf-8")


def test_each_input_reaches_a_step_as_a_variable() -> None:
    steps = ACTION["runs"]["steps"]
    given = {name: value for step in steps for name, value in step["env"].items()}
    assert {f"${{{{ inputs.{name} }}}}" for name in ACTION["inputs"]} <= set(given.values())
    assert not [step["run"] for step in steps if "${{" in step["run"]], "inputs in the text of a script are run"


def test_findings_are_annotations_and_a_summary(tree: Tree) -> None:
    root = tree({"a.sh": GHOST, "b.sh": GHOST})
    run = run_scan(root, paths="a.sh", sarif="out.sarif")
    assert run.returncode == 1, run.stderr
    assert run.stdout.startswith("::error ")
    assert "file=a.sh,line=1," in run.stdout
    assert "b.sh" not in run.stdout
    assert "ghost-variable" in summary(root)
    assert json.loads((root / "out.sarif").read_text())["version"] == "2.1.0"


def test_arguments_are_words_and_nothing_more(tree: Tree) -> None:
    root = tree({"a.sh": GHOST})
    assert run_scan(root, arguments="--fail-on never").returncode == 0
    run = run_scan(root, arguments="--fail-on never; touch ran", paths="$(touch ran) `touch ran`")
    assert run.returncode == 2
    assert not (root / "ran").exists()


def test_nothing_found(tree: Tree) -> None:
    root = tree({"a.sh": "echo\n"})
    run = run_scan(root)
    assert (run.returncode, run.stdout) == (0, "")


def test_no_step_takes_modules_from_the_checkout() -> None:
    """A step works in the checkout of whoever asks for a review: `python -m pip` would take a `pip.py` from there."""
    text = "\n".join(step["run"] for step in ACTION["runs"]["steps"])
    assert re.findall(r"(\S+) -m (\w+)", text) == [("-I", "venv"), ("-I", "pip")]


@pytest.mark.nightly
def test_the_install_step(tmp_path: Path) -> None:
    checkout = tmp_path / "checkout"
    checkout.mkdir()
    for name in ("pip", "venv", "importlib", "contextlib", "types", "runpy", "ensurepip", "envdoctor", "setuptools"):
        (checkout / f"{name}.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'a').write({name!r})\n")
    env = {**os.environ, "RUNNER_TEMP": str(tmp_path), "ACTION": str(ROOT)}
    script = ACTION["runs"]["steps"][0]["run"]
    subprocess.run(["bash", "-e", "-o", "pipefail", "-c", script], cwd=checkout, env=env, check=True, timeout=600)
    assert not (tmp_path / "ran").exists()
    version = subprocess.run([tmp_path / "envdoctor/bin/envdoctor", "--version"], capture_output=True, check=True)
    assert version.stdout.startswith(b"envdoctor ")
