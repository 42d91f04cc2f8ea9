"""Which files are looked at."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from envdoctor.project.discovery import excluded, find, hidden

Tree = Callable[[Mapping[str, str]], Path]


@pytest.fixture(params=["folder", "repository"])
def project(request: pytest.FixtureRequest, tree: Tree) -> Path:
    root = tree(
        {
            "run.sh": "", "sub/a.yaml": "", "built/x.sh": "", ".gitignore": "built/\n*.log\n", "a.log": "",
            ".github/workflows/ci.yml": "", ".env": "", ".cache/x.sh": "", "venv/y.sh": "",
        }
    )  # fmt: skip
    if request.param == "repository":
        subprocess.run(["git", "init", "-q", str(root)], check=True)
    return root


def test_ignored_and_hidden_files_are_left_out(project: Path) -> None:
    files = find([str(project)], project.resolve()).files
    assert set(files) == {"run.sh", "sub/a.yaml", ".github/workflows/ci.yml", ".env"}


def test_a_named_file_is_taken_even_if_ignored(project: Path) -> None:
    found = find([str(project / "built/x.sh")], project.resolve(), exclude=["built"])
    assert found.files == ("built/x.sh",)
    assert found.named == {"built/x.sh"}


def test_what_is_not_there_is_an_error(project: Path) -> None:
    found = find([str(project / "nope.sh"), str(project / "run.sh")], project.resolve())
    assert found.files == ("run.sh",)
    assert "nope.sh: no such file or folder" in found.errors[0]


def test_links_out_of_the_tree_are_not_followed(tree: Tree, tmp_path_factory: pytest.TempPathFactory) -> None:
    outside = tmp_path_factory.mktemp("outside")
    (outside / "secret.sh").write_text("export A=1\n")
    root = tree({"a.sh": ""})
    (root / "link.sh").symlink_to(outside / "secret.sh")
    (root / "folder").symlink_to(outside)
    (root / "inside.sh").symlink_to(root / "a.sh")
    assert find([str(root)], root.resolve()).files == ("a.sh", "inside.sh")


def test_a_loop_of_links_ends(tree: Tree) -> None:
    root = tree({"a/b.sh": ""})
    (root / "a/loop").symlink_to(root)
    (root / "self.sh").symlink_to("self.sh")
    assert find([str(root)], root.resolve()).files == ("a/b.sh",)


@pytest.mark.skipif(os.geteuid() == 0, reason="root can read every folder")
def test_an_unreadable_folder_is_passed_over(tree: Tree) -> None:
    root = tree({"a.sh": "", "closed/b.sh": ""})
    (root / "closed").chmod(0)
    assert find([str(root)], root.resolve()).files == ("a.sh",)


@pytest.mark.parametrize(
    ("path", "patterns", "out"),
    [
        ("old/a.sh", ["old"], True),
        ("x/old/a.sh", ["old"], True),
        ("x/old/a.sh", ["x/old/"], True),
        ("a.sh", ["*.sh"], True),
        ("older/a.sh", ["old"], False),
        ("x/a.sh", ["y/*"], False),
    ],
)
def test_exclude_patterns(path: str, patterns: list[str], out: bool) -> None:
    assert excluded(path, patterns) is out


@pytest.mark.parametrize(("path", "is_hidden"), [(".github/x.yml", False), (".cache/x", True), ("a/.env.prod", False)])
def test_hidden(path: str, is_hidden: bool) -> None:
    assert hidden(path) is is_hidden
