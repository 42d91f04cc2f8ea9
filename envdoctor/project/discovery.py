"""Which files of a tree are looked at: what git tracks or would track, hidden files that matter, and no links out."""

from __future__ import annotations

import fnmatch
import os
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from envdoctor.cache import dependency_log
from envdoctor.project.git import Listing

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
        is_file = os.path.isfile(given)  # noqa: PTH113 (no error where a folder is closed, or the name too long)
        dependency_log.note("file", os.path.abspath(given), is_file)  # noqa: PTH100 (a link stays a link)
        if os.path.isdir(given):  # noqa: PTH112
            if not os.access(given, os.R_OK | os.X_OK):
                errors.append(f"{given}: cannot be listed: permission denied")
            folder = path.resolve()
            dependency_log.note("link", os.path.abspath(given), folder)  # noqa: PTH100
            for relative in files_below(folder, root):
                if not exclude or not excluded(relative, exclude):
                    files[relative] = None
        elif is_file:
            relative = relative_path(path.resolve(), root)
            named.add(relative)
            files[relative] = None
        else:
            errors.append(f"{given}: {_why_not(given)}")
    return Found(root, tuple(sorted(files)), frozenset(named), tuple(errors))


def _why_not(given: str) -> str:
    """Why a path that was named is neither a file nor a folder."""
    try:
        os.lstat(given)
    except FileNotFoundError:
        return "no such file or folder"
    except (OSError, ValueError) as error:
        return f"cannot be opened: {getattr(error, 'strerror', None) or error}"
    return "cannot be opened"


def files_below(folder: Path, root: Path) -> Iterator[str]:
    """The files of a folder as paths from `root`, as `relative_path` gives them."""
    above, inside = str(folder).rstrip("/"), f"{str(root).rstrip('/')}/"
    for name in _names(folder):
        path = f"{above}/{name}"
        yield path[len(inside) :] if path.startswith(inside) else path


def path_from(path: str, folder: Path, base: Path) -> str:
    """A path of a scan, which is relative to `base`, as a file in `folder` has it."""
    return Path(os.path.relpath(base / path, folder)).as_posix()


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


def _names(folder: Path) -> Iterator[str]:
    """The same, as names from the folder with `/`."""
    listed = _git_files(folder)
    if listed is None:
        yield from _walk(folder)
        return
    above = str(folder).rstrip("/")
    for name in _shown(listed):
        path = f"{above}/{name}"
        if _is_file(path) and _may_follow(path, folder):
            yield name


def _git_files(folder: Path) -> list[str] | None:
    """Tracked files and new ones that are not ignored; None where git has no say."""
    raw = Listing(str(folder)).raw()
    dependency_log.note("git", str(folder), dependency_log.digest(raw) if raw is not None else "-")
    if raw is None:
        return None
    names = raw.decode("utf-8", "surrogateescape").split("\0")
    return sorted({name for name in names if name})


def _shown(names: Iterable[str]) -> Iterator[str]:
    """The names that are not hidden, each folder looked at once."""
    folders: dict[str, bool] = {"": False}
    for name in names:
        folder, _, last = name.rpartition("/")
        if folder not in folders:
            folders[folder] = hidden(folder)
        if not folders[folder] and not hidden(last):
            yield name


def _is_file(path: str) -> bool:
    try:
        found = stat.S_ISREG(os.stat(path).st_mode)  # noqa: PTH116
    except (OSError, ValueError):
        found = False
    dependency_log.note("file", path, found)
    return found


def _may_follow(path: str, folder: Path) -> bool:
    """Whether a file is no link, or one that leads to a place inside the tree."""
    if not os.path.islink(path):  # noqa: PTH114 (called for each file of the tree)
        return True
    dependency_log.note("link", path, os.path.realpath(path))
    return _stays_inside(Path(path), folder)


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


def _walk(folder: Path) -> Iterator[str]:
    """Files of a folder outside a repository; `.gitignore` files are respected, loops are not entered."""
    ignored = _ignore_patterns(folder)
    start = len(str(folder).rstrip("/")) + 1
    for base, folders, names in os.walk(folder, followlinks=False):
        dependency_log.note_folder(base)
        relative = f"{base[start:]}/" if len(base) > start else ""
        folders[:] = sorted(f for f in folders if not hidden(f) and not ignored(relative + f + "/"))
        for name in sorted(names):
            path = f"{base}/{name}"
            if hidden(name) or ignored(relative + name):
                continue
            if _may_follow(path, folder) and _is_file(path):
                yield relative + name


def _ignore_patterns(folder: Path) -> Callable[[str], bool]:
    """Whether a path relative to `folder` is ignored by its `.gitignore`."""
    try:
        lines = dependency_log.read(f"{folder}/.gitignore").decode("utf-8", "replace").split("\n")
    except OSError:
        return lambda relative: False
    import warnings

    from pathspec import GitIgnoreSpec

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return GitIgnoreSpec.from_lines(line for line in lines if _is_pattern(line)).match_file


def _is_pattern(line: str) -> bool:
    """Whether a line is a pattern that can be used; git skips others too."""
    import re

    from pathspec import GitIgnoreSpec

    try:
        GitIgnoreSpec.from_lines([line])
    except (ValueError, re.error, RecursionError):
        return False
    return True
