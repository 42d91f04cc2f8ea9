"""Writes changed files: atomically, with their mode, inside the scanned tree only, and never through a link."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple


class Change(NamedTuple):
    """One file before and after. `path` is as it is reported."""

    path: str
    before: bytes
    after: bytes


def trees(paths: Sequence[str]) -> tuple[Path, ...]:
    """What may be written: the folders and files that were named, but for files that are links."""
    given = [Path(path) for path in paths or ["."]]
    return tuple(path.resolve() for path in given if path.is_dir() or not path.is_symlink())


def refusal(path: Path, before: bytes, allowed: Sequence[Path]) -> str:
    """Why a file is not written; empty where it may be."""
    try:
        status = path.lstat()
        if stat.S_ISLNK(status.st_mode):
            return "is a link"
        real = path.resolve(strict=True)
        if not stat.S_ISREG(status.st_mode):
            return "is not a plain file"
        if not any(real == tree or real.is_relative_to(tree) for tree in allowed):
            return "lies outside of what was scanned"
        if not status.st_mode & 0o222 or not os.access(path, os.W_OK):
            return "is read-only"
        if path.read_bytes() != before:
            return "changed since it was scanned"
    except OSError as error:
        return error.strerror or "cannot be read"
    return ""


def write(base: Path, change: Change, allowed: Sequence[Path]) -> str:
    """Write one file. What went wrong is returned, and the file is then as it was; empty: it was written."""
    path = base / change.path
    if reason := refusal(path, change.before, allowed):
        return reason
    try:
        _replace(path, change.after)
    except OSError as error:
        return error.strerror or "cannot be written"
    return ""


def _replace(path: Path, data: bytes) -> None:
    """A new file beside the old one takes its place in one step, so that nobody ever sees half of it."""
    status = path.stat()
    handle, name = tempfile.mkstemp(prefix=f".{path.name[:40]}.", suffix=".envdoctor", dir=path.parent)
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            # The owner first: a change of owner clears the bits that run a file as its owner.
            if hasattr(os, "fchown") and (status.st_uid, status.st_gid) != (os.getuid(), os.getgid()):
                with contextlib.suppress(PermissionError):
                    os.fchown(file.fileno(), status.st_uid, status.st_gid)
            temporary.chmod(stat.S_IMODE(status.st_mode))
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
