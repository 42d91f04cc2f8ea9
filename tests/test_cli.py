"""The command line: exit statuses, selection, output, and what a scan must not import."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from support import ROOT, envdoctor, found, scan_json

from envdoctor import __version__

pytestmark = pytest.mark.slow

Tree = Callable[[Mapping[str, str]], Path]
GHOST = "export NCCL_DETERMINISTIC=1\n"
CLEAN = "export NCCL_ALGO=Ring\n"
HEAVY = {
    "libcst",
    "rich",
    "yaml",
    "rapidfuzz",
    "multiprocessing",
    "concurrent",
    "packaging",
    "tomllib",
    "tomli",
    "tree_sitter",
    "difflib",
}


def test_version(tmp_path: Path) -> None:
    assert envdoctor("--version", cwd=tmp_path).stdout == f"envdoctor {__version__}\n"


@pytest.mark.parametrize(
    ("code", "words", "status"),
    [
        (CLEAN, [], 0),
        (GHOST, [], 1),
        (GHOST, ["--fail-on", "never"], 0),
        ("export NCCL_P2P_DISABLE=true\n", [], 1),
        ("export NCCL_P2P_DISABLE=true\n", ["--fail-on", "error"], 0),
        (GHOST, ["--ignore", "ED101"], 0),
        (GHOST, ["--select", "ED2"], 0),
        (GHOST, ["--select", "ghost-variable"], 1),
        (CLEAN, ["--select", "gost-variable"], 2),
        (CLEAN, ["nowhere.sh"], 2),
        (CLEAN, ["--format", "xml"], 2),
        (CLEAN, ["--target", "rocn-6.2"], 2),
        (CLEAN, ["--output", "no/such/folder/x"], 2),
    ],
)
def test_exit_status(tree: Tree, code: str, words: list[str], status: int) -> None:
    run = envdoctor("scan", *words, cwd=tree({"a.sh": code}))
    assert run.returncode == status, run.stdout + run.stderr
    assert "Traceback" not in run.stderr


def test_no_command_is_a_usage_error(tmp_path: Path) -> None:
    run = envdoctor(cwd=tmp_path)
    assert run.returncode == 2
    assert "usage: envdoctor" in run.stderr


def test_a_missing_file_is_named_and_the_others_are_scanned(tree: Tree) -> None:
    run = envdoctor("scan", "a.sh", "b.sh", "--format", "concise", cwd=tree({"a.sh": GHOST}))
    assert run.returncode == 2
    assert "b.sh: no such file" in run.stderr
    assert "a.sh:1:8: ED101" in run.stdout


def test_named_files_are_reported_on_and_the_rest_is_context(tree: Tree) -> None:
    reader = 'import os\nx = int(os.environ["NCCL_DETERMINISTIC"])\n'
    root = tree({"a.sh": GHOST, "b.sh": GHOST})
    assert [p for p, *_ in found(scan_json(root, "a.sh"))] == ["a.sh"]
    root = tree({"private.py": reader})
    assert found(scan_json(root, "a.sh")) == []


def test_paths_are_reported_from_the_current_folder(tree: Tree) -> None:
    root = tree({"sub/a.sh": GHOST})
    assert [p for p, *_ in found(scan_json(root / "sub", "."))] == ["a.sh"]
    assert [p for p, *_ in found(scan_json(root / "sub", str(root / "sub" / "a.sh")))] == ["a.sh"]


def test_output_file(tree: Tree) -> None:
    root = tree({"a.sh": GHOST})
    run = envdoctor("scan", "--format", "json", "--output", "report.json", cwd=root)
    assert (run.returncode, run.stdout) == (1, "")
    assert json.loads((root / "report.json").read_text())["version"] == 1


def test_a_reader_that_goes_away_is_no_error(tree: Tree) -> None:
    root = tree({f"{i}.sh": GHOST * 50 for i in range(40)})
    command = f"{sys.executable} -m envdoctor scan | head -n 1"
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    run = subprocess.run(["bash", "-c", command], cwd=root, env=env, capture_output=True, text=True, check=False)
    assert run.stderr == ""


def imported(root: Path, *words: str) -> set[str]:
    """Top-level modules in memory after a scan."""
    code = (
        "import sys; from envdoctor.cli.main import main\n"
        "try: main(sys.argv[1:])\n"
        "except SystemExit: pass\n"
        "print(','.join(sorted({m.split('.')[0] for m in sys.modules})), file=sys.stderr)"
    )
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    run = subprocess.run(
        [sys.executable, "-S", "-c", "import site; site.main()\n" + code, *words],
        cwd=root, env=env, capture_output=True, text=True, check=False,
    )  # fmt: skip
    return set(run.stderr.strip().splitlines()[-1].split(","))


def test_a_scan_imports_only_what_it_needs(tree: Tree) -> None:
    root = tree({"a.py": 'import os\nos.environ["NCCL_DEBUG"] = "INFO"\n'})
    envdoctor("scan", cwd=root)  # fills the cache of compiled rules where there is no built one
    assert not imported(root, "scan", "--format", "json", "a.py") & HEAVY


def test_a_shell_file_costs_the_shell_parser_and_nothing_else(tree: Tree) -> None:
    root = tree({"a.sh": CLEAN})
    envdoctor("scan", cwd=root)
    assert imported(root, "scan", "--format", "json", "a.sh") & HEAVY == {"tree_sitter"}


UNUSED = {"argparse", "re", "json", "pathlib", "typing", "subprocess", "hashlib", "dataclasses", "ast"}
"""Modules of the standard library that take as long to import as the answers below take to give."""


def test_a_quiet_file_imports_next_to_nothing(tree: Tree) -> None:
    root = tree({"sub/loud.sh": "export NCCL_DETERMINISTIC=1\n", "quiet.py": "import json\n"})
    assert envdoctor("scan", "sub", cwd=root).returncode == 1  # leaves the tokens that files are looked through for
    assert not imported(root, "scan", "quiet.py") & UNUSED


def test_a_kept_answer_imports_next_to_nothing(tree: Tree) -> None:
    root = tree({"a.sh": "export NCCL_DETERMINISTIC=1\n"})
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    assert imported(root, "scan", "a.sh") & {"re"}
    assert not imported(root, "scan", "a.sh") & UNUSED


def test_a_scan_makes_no_class_by_the_slow_way(tree: Tree) -> None:
    root = tree({"a.sh": "export NCCL_DETERMINISTIC=1\n"})
    envdoctor("scan", cwd=root)
    assert not imported(root, "scan", "--no-cache", "a.sh") & {"dataclasses", "inspect", "argparse", "tempfile"}


def test_the_version_imports_nothing(tree: Tree) -> None:
    assert not imported(tree({}), "rules", "--help") & (HEAVY - {"tomllib", "tomli"})


@pytest.mark.parametrize("module", ["yaml", "tomllib", "tomli", "tree_sitter", "pathspec", "argparse", "libcst"])
def test_no_module_of_the_scanned_folder_is_imported(tree: Tree, module: str) -> None:
    files = {"a.yaml": "env:\n  NCCL_DETERMINISTIC: 1\n", "b.sh": "export NCCL_DETERMINISTIC=1\n", "c.toml": "a = 1\n"}
    root = tree({f"{module}.py": "open('ran', 'w').close()\n", ".gitignore": "x\n", **files})
    run = envdoctor("scan", "--diff", cwd=root)
    assert (run.returncode, (root / "ran").exists()) == (1, False), run.stderr
