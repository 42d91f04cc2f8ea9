"""Repositories whose configuration names a program wherever git takes one from it, and the gits to try them with."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

GHOST = "export NCCL_DETERMINISTIC=1\n"
HOOKS = ("post-index-change", "post-checkout", "fsmonitor-watchman", "query-watchman", "reference-transaction")
CONFIGURATION = """
[core]
    repositoryformatversion = 0
    bare = false
    fsmonitor = "{run}/fsmonitor; false"
    hooksPath = {hooks}
    pager = {run}/pager
    editor = {run}/editor
    sshCommand = {run}/ssh
    gitProxy = {run}/proxy
    askPass = {run}/askpass
    alternateRefsCommand = {run}/alternates
[include]
    path = {more}
[includeIf "gitdir:**"]
    path = {more}
[extensions]
    partialClone = origin
    worktreeConfig = true
[remote "origin"]
    url = "ext::{run}/ext"
    uploadpack = {run}/uploadpack
    promisor = true
    fetch = +refs/heads/*:refs/remotes/origin/*
[protocol "ext"]
    allow = always
[filter "own"]
    clean = "{run}/clean; cat"
    smudge = "{run}/smudge; cat"
    required = true
[filter "long"]
    process = {run}/process
    required = true
[diff]
    external = {run}/external
[diff "own"]
    command = {run}/command
    textconv = "{run}/textconv; cat"
[pager]
    ls-files = {run}/pager
    diff = {run}/pager
    rev-parse = {run}/pager
[alias]
    ls-files = "!{run}/alias"
    diff = "!{run}/alias"
    rev-parse = "!{run}/alias"
[credential]
    helper = "!{run}/credential"
[gpg]
    program = {run}/gpg
[log]
    showSignature = true
"""
ATTRIBUTES = "*.sh filter=own diff=own\n*.env filter=long\n"


def gits() -> list[str]:
    """The folders of the gits at hand: that of the PATH, and those that ENVDOCTOR_GITS names (for old and new ones)."""
    found = shutil.which("git")
    folders = [str(Path(found).parent)] if found else []
    return folders + [folder for folder in os.environ.get("ENVDOCTOR_GITS", "").split(os.pathsep) if folder]


def git(root: Path, *words: str, **environment: str) -> str:
    """Run the git of the PATH as its own author would, without what a hostile repository says."""
    own = (
        "-c",
        "user.name=a",
        "-c",
        "user.email=a@example.org",
        "-c",
        "init.defaultBranch=main",
        "-c",
        "core.fsmonitor=",
    )
    command = ["git", "-C", str(root), *own, *words]
    env = {**os.environ, "GIT_CONFIG_NOSYSTEM": "1", **environment}
    return subprocess.run(command, check=True, capture_output=True, text=True, env=env).stdout


class Trap:
    """Programs that leave a mark when they run; a test asks for the marks."""

    def __init__(self, base: Path) -> None:
        self.marks = base / "marks"
        self.run = base / "run"
        self.hooks = base / "hooks"
        self.more = base / "more"
        for folder in (self.marks, self.run, self.hooks):
            folder.mkdir(parents=True)
        words = ("fsmonitor", "pager", "editor", "ssh", "proxy", "askpass", "alternates", "ext", "uploadpack", "clean",
                 "smudge", "process", "external", "command", "textconv", "alias", "credential", "gpg", "git", "include")  # fmt: skip
        for word in words:
            self.program(self.run / word, word)
        for hook in HOOKS:
            self.program(self.hooks / hook, f"hook-{hook}")
        self.more.write_text(f'[core]\n\tfsmonitor = "{self.run}/include; false"\n')

    def program(self, path: Path, word: str) -> None:
        """A program that leaves its mark."""
        path.write_text(f"#!/bin/sh\n: > '{self.marks}/{word}'\n")
        path.chmod(0o755)

    def configuration(self) -> str:
        """A configuration of git that names them all."""
        return CONFIGURATION.format(run=self.run, hooks=self.hooks, more=self.more)

    def sprung(self) -> list[str]:
        """What has run since it was last asked."""
        found = sorted(path.name for path in self.marks.iterdir())
        for path in self.marks.iterdir():
            path.unlink()
        return found


def hostile(root: Path, trap: Trap) -> Path:
    """A repository with a commit, a change, a new file, a nested repository, and a configuration full of programs."""
    root.mkdir(parents=True)
    (root / ".gitignore").write_text("ignored.sh\n")
    (root / ".gitattributes").write_text(ATTRIBUTES)
    for name in ("train.sh", "same.sh", "job.env", "sub/deep.sh"):
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text("echo\n")
    git(root, "init", "-q")
    _nested(root / "nested", trap)
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "first")
    (root / "train.sh").write_text(f"echo\n{GHOST}")
    (root / "job.env").write_text("NCCL_DETERMINISTIC=1\n")
    (root / "same.sh").write_text("echo\n")  # looks changed, so that git has to look at what stands in it
    (root / "new.sh").write_text(GHOST)
    (root / "ignored.sh").write_text(GHOST)
    (root / ".git/config").write_text(trap.configuration())
    (root / ".git/config.worktree").write_text(trap.configuration())
    return root


def lacking(root: Path, trap: Trap) -> Path:
    """A partial clone: what it would be compared with is to be fetched by a program of its own."""
    hostile(root, trap)
    blob = git(root, "rev-parse", "HEAD:train.sh").strip()
    (root / f".git/objects/{blob[:2]}/{blob[2:]}").unlink()
    written = (root / ".git/config").read_text()
    (root / ".git/config").write_text(written.replace("formatversion = 0", "formatversion = 1"))
    return root


def _nested(root: Path, trap: Trap) -> None:
    """A repository in the repository, as a submodule is one, with a configuration of its own."""
    root.mkdir()
    (root / ".gitattributes").write_text(ATTRIBUTES)
    (root / "inner.sh").write_text("echo\n")
    git(root, "init", "-q")
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "inner")
    (root / "inner.sh").write_text(GHOST)
    (root / ".git/config").write_text(trap.configuration())


def bare_looking(root: Path, trap: Trap) -> Path:
    """A clone with a folder that git takes for a bare repository whose work tree is the folder itself."""
    root.mkdir(parents=True)
    git(root, "init", "-q")
    folder = root / "sub"
    (folder / "refs/heads").mkdir(parents=True)
    (folder / "objects").mkdir()
    (folder / "refs/heads/.keep").write_text("")
    (folder / "objects/.keep").write_text("")
    (folder / "HEAD").write_text("ref: refs/heads/main\n")
    (folder / "config").write_text(trap.configuration().replace("bare = false", "bare = false\n    worktree = ."))
    (folder / "envdoctor.toml").write_text("")
    (folder / "train.sh").write_text(GHOST)
    git(root, "add", "-A", "-f")
    git(root, "commit", "-q", "-m", "first")
    cloned = root.parent / "cloned"
    git(root.parent, "clone", "-q", str(root), str(cloned))
    return cloned
