"""What git lists, asked for in both ways."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from envdoctor import git_files
from envdoctor.git_files import Listing

Tree = Callable[[Mapping[str, str]], Path]


@pytest.fixture(params=["spawned", "run"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "run":
        monkeypatch.setattr(git_files, "_start", lambda words: None)


@pytest.mark.usefixtures("way")
def test_tracked_files_and_new_ones(tree: Tree) -> None:
    root = tree({"a.sh": "", "sub/b c.sh": "", "out.log": "", ".gitignore": "*.log\n"})
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    subprocess.run(["git", "-C", str(root), "add", "a.sh"], check=True)
    raw = Listing(str(root)).raw()
    assert raw is not None
    assert sorted(raw.split(b"\0")) == [b"", b".gitignore", b"a.sh", b"sub/b c.sh"]


@pytest.mark.usefixtures("way")
def test_many_names_come_through(tree: Tree) -> None:
    root = tree({f"{'x' * 60}/{'y' * 60}{i}.sh": "" for i in range(2000)})
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    raw = Listing(str(root)).raw()
    assert raw is not None
    assert raw.count(b"\0") == 2000


@pytest.mark.usefixtures("way")
def test_no_repository(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tree({"a.sh": ""})
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(root.parent))
    assert Listing(str(root)).raw() is None


def test_no_git(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    assert Listing(str(tree({}))).raw() is None
