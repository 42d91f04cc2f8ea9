"""Ignore comments, in every language that has comments with `#`, and the ones that silence nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from support import found, scan_json

from envdoctor.project.suppressions import ignores_in

Tree = Callable[[Mapping[str, str]], Path]
GHOST = {
    "a.sh": ("export NCCL_DETERMINISTIC=1", 1),
    "a.py": ('import os\nos.environ["NCCL_DETERMINISTIC"] = "1"', 2),
    "Dockerfile": ("FROM ubuntu\nENV NCCL_DETERMINISTIC=1", 2),
    "a.yaml": ("env:\n  NCCL_DETERMINISTIC: '1'", 2),
}


@pytest.mark.parametrize("name", GHOST)
@pytest.mark.parametrize("rule", ["ED101", "ghost-variable", "ED102, ED101"])
def test_ignored_on_the_line_above(tree: Tree, name: str, rule: str) -> None:
    code, line = GHOST[name]
    lines = code.split("\n")
    indent = lines[line - 1][: len(lines[line - 1]) - len(lines[line - 1].lstrip())]
    lines.insert(line - 1, f"{indent}# envdoctor: ignore[{rule}] -- kept for an old fork")
    root = tree({name: "\n".join(lines) + "\n"})
    names = {n for _, _, n, _ in found(scan_json(root))}
    assert "ghost-variable" not in names


@pytest.mark.parametrize("name", ["a.sh", "a.py", "a.yaml"])
def test_ignored_on_the_same_line(tree: Tree, name: str) -> None:
    code, _ = GHOST[name]
    root = tree({name: f"{code}  # envdoctor: ignore[ghost-variable]\n"})
    assert found(scan_json(root)) == []


def test_ignored_for_a_file(tree: Tree) -> None:
    root = tree({"a.sh": "# envdoctor: ignore-file[ghost-variable]\n\nexport NCCL_DETERMINISTIC=1\n"})
    assert found(scan_json(root)) == []


def test_a_bare_ignore_silences_the_whole_line(tree: Tree) -> None:
    root = tree({"a.sh": "export NCCL_DETERMINISTIC=1 # envdoctor: ignore\n"})
    assert found(scan_json(root)) == []


def test_unused_ignore_is_reported(tree: Tree) -> None:
    root = tree({"a.sh": "# envdoctor: ignore[ED101]\nexport NCCL_ALGO=Ring\n"})
    assert found(scan_json(root)) == [("a.sh", 1, "unused-ignore", None)]


def test_unknown_rule_in_an_ignore_is_reported(tree: Tree) -> None:
    root = tree({"a.sh": "export NCCL_ALGO=Ring # envdoctor: ignore[gost-variable]\n"})
    assert found(scan_json(root)) == [("a.sh", 1, "unused-ignore", None)]


def test_an_ignore_of_a_rule_that_was_not_run_is_not_unused(tree: Tree) -> None:
    root = tree({"a.sh": "export NCCL_DETERMINISTIC=1 # envdoctor: ignore[ED101]\n"})
    assert found(scan_json(root, "--ignore", "ED101")) == []


def test_no_inline_ignores(tree: Tree) -> None:
    root = tree({"a.sh": "export NCCL_DETERMINISTIC=1 # envdoctor: ignore\n"})
    assert found(scan_json(root, "--no-inline-ignores")) == [("a.sh", 1, "ghost-variable", "NCCL_DETERMINISTIC")]


def test_a_comment_covers_the_next_line_that_is_no_comment() -> None:
    ignores = ignores_in("a.sh", "# envdoctor: ignore[x]\n# why\n\nexport A=1\n")
    assert [i.covers for i in ignores] == [4]


def test_reason_is_kept() -> None:
    (ignore,) = ignores_in("a.sh", "A=1 # envdoctor: ignore[x, y] -- our fork reads it\n")
    assert (ignore.names, ignore.covers, ignore.reason) == (("x", "y"), 1, "our fork reads it")
