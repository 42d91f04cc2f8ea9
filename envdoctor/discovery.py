"""Which files of a tree are looked at: what git tracks or would track, hidden files that matter, and no links out."""

from __future__ import annotations

import fnmatch
import os
import subprocess
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

SKIPPED_FOLDERS = {
    ".git", ".hg", ".svn", "node_modules", "__pycache__", ".venv", "venv", ".tox", ".nox", ".mypy_cache", ".ruff_cache",
    ".pytest_cache", ".eggs", "site-packages", ".terraform", ".ipynb_checkpoints",
}  # fmt: skip
HIDDEN_KEPT = (
    ".github", ".gitlab", ".circleci", ".devcontainer", ".env", ".deepspeed_env", ".bash", ".profile", ".gitlab-ci.yml",
    ".vscode", ".buildkite", ".azure-pipelines", ".sky", ".nccl.conf", ".rccl.conf", ".cshrc", ".tcshrc", ".login",
    ".zshrc", ".zshenv", ".zprofile", ".cargo", ".mise", ".config", ".justfile", ".modulefiles",
)  # fmt: skip
"""Hidden files and folders that carry settings; other hidden ones are private to tools."""


class Found(NamedTuple):
    """Files to report on, as paths relative to `root` with `/`, and what could not be opened."""

    root: Path
    files: tuple[str, ...]
    named: frozenset[str]
    errors: tuple[str, ...] = ()


def find(paths: Sequence[str], root: Path, exclude: Sequence[str] = ()) -> Found:
    """All files under `paths` (files or folders), each once, in order of their paths.

    A file that is named is taken even where it would be ignored or excluded by a pattern of a folder scan.
    """
    files: dict[str, None] = {}
    named: set[str] = set()
    errors = []
    for given in paths or ["."]:
        path = Path(given)
        if path.is_dir():
            for found in folder_files(path.resolve()):
                relative = relative_path(found, root)
                if not excluded(relative, exclude):
                    files[relative] = None
        elif path.is_file():
            relative = relative_path(path.resolve(), root)
            named.add(relative)
            files[relative] = None
        else:
            reason = "cannot be opened" if path.exists() or path.is_symlink() else "no such file or folder"
            errors.append(f"{given}: {reason}")
    return Found(root, tuple(sorted(files)), frozenset(named), tuple(errors))


def relative_path(path: Path, root: Path) -> str:
    """The path from `root`; the whole path where it lies outside."""
    return (path.relative_to(root) if path.is_relative_to(root) else path).as_posix()


def excluded(relative: str, patterns: Iterable[str]) -> bool:
    """Whether a path, or a folder above it, matches one of the patterns."""
    parts = relative.split("/")
    for pattern in patterns:
        clean = pattern.rstrip("/")
        for end in range(1, len(parts) + 1):
            if fnmatch.fnmatch("/".join(parts[:end]), clean) or fnmatch.fnmatch(parts[end - 1], clean):
                return True
    return False


def folder_files(folder: Path) -> Iterator[Path]:
    """Files of a folder: from git where it is part of a repository, else by walking it."""
    listed = _git_files(folder)
    if listed is None:
        yield from _walk(folder)
        return
    for relative in listed:
        if not hidden(relative):
            path = folder / relative
            if path.is_file() and (not path.is_symlink() or _stays_inside(path, folder)):
                yield path


def _git_files(folder: Path) -> list[str] | None:
    """Tracked files and new ones that are not ignored; None where git has no say."""
    command = ["git", "-C", str(folder), "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", "."]
    try:
        result = subprocess.run(command, capture_output=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    if result.returncode != 0:
        return None
    names = result.stdout.decode("utf-8", "surrogateescape").split("\0")
    return sorted({name for name in names if name})


def hidden(relative: str) -> bool:
    """A hidden file or folder that is not known to carry settings, or a folder that is never ours to read."""
    for part in relative.split("/"):
        if part in SKIPPED_FOLDERS:
            return True
        if part.startswith(".") and not part.startswith(HIDDEN_KEPT):
            return True
    return False


def _stays_inside(link: Path, folder: Path) -> bool:
    """A link is followed only where it leads to a place inside the tree."""
    try:
        return link.resolve(strict=True).is_relative_to(folder.resolve())
    except (OSError, RuntimeError):
        return False


def _walk(folder: Path) -> Iterator[Path]:
    """Files of a folder outside a repository; `.gitignore` files are respected, loops are not entered."""
    ignored = _ignore_patterns(folder)
    for base, folders, names in os.walk(folder, followlinks=False):
        here = Path(base)
        relative = "" if here == folder else here.relative_to(folder).as_posix() + "/"
        folders[:] = sorted(f for f in folders if not hidden(f) and not ignored(relative + f + "/"))
        for name in sorted(names):
            path = here / name
            if hidden(name) or ignored(relative + name):
                continue
            if path.is_symlink() and not _stays_inside(path, folder):
                continue
            if path.is_file():
                yield path


def _ignore_patterns(folder: Path) -> Callable[[str], bool]:
    """Whether a path relative to `folder` is ignored by its `.gitignore`."""
    try:
        lines = (folder / ".gitignore").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return lambda relative: False
    from pathspec import GitIgnoreSpec

    return GitIgnoreSpec.from_lines(lines).match_file
