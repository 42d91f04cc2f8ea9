"""What a scan looked at, so that its answer can be given again for as long as nothing of it changed.

Everything that reads or lists files for a scan notes it here. Whoever adds a place that looks at the file system adds
its note: a test compares the notes with what the interpreter really opened.
"""

from __future__ import annotations

import os
import time

try:  # hashlib loads OpenSSL, which takes longer than what is hashed here
    from _blake2 import blake2b
except ImportError:
    from hashlib import blake2b

SETTLED = 2_000_000_000
"""Nanoseconds after which a change shows in the times of a file on any file system."""
Note = tuple[str, str, str, str]
"""A kind, a path, and what was seen there: see `DependencyLog`."""


def digest(data: bytes) -> str:
    """A short hash of bytes."""
    return blake2b(data, digest_size=16).hexdigest()


def status_of(path: str) -> str:
    """What changes when a file or folder does; `-` where there is none."""
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return "-"
    return f"{status.st_size} {status.st_mtime_ns} {status.st_ctime_ns} {status.st_ino} {status.st_mode:o}"


class DependencyLog:
    """The notes of one scan, each made once.

    `content`: status and hash of a file that was read. `file`: whether a path is a file. `there`: whether there is
    anything. `link`: where a link leads. `folder`: the status of a folder whose names were listed. `git`: the hash of
    what git lists in a folder.
    """

    def __init__(self) -> None:
        self.notes: dict[tuple[str, str], Note] = {}
        self.complete = True
        """Whether the notes are all that the answer depends on."""
        self.hurried = False
        """Whether something was given up because of time: another time it may be done."""
        self._start = time.time_ns()

    def note(self, kind: str, path: str, seen: str, more: str = "") -> None:
        """Note what was seen; the first look counts, so that a change during the scan shows."""
        self.notes.setdefault((kind, path), (kind, path, seen, more))

    def content(self, path: str, status: str, data: bytes | None) -> None:
        """A file that was read as a whole (`data`), or in part or not at all (None)."""
        if ("content", path) in self.notes:
            return
        hashed = digest(data) if data is not None else ""
        if status != "-" and self._unsettled(status):
            # Its times do not tell yet whether it changes again: only its content does.
            status, self.complete = "", self.complete and data is not None
        self.note("content", path, status, hashed)

    def folder(self, path: str) -> None:
        """A folder whose names are about to be listed."""
        status = status_of(path)
        self.complete = self.complete and not self._unsettled(status)
        self.note("folder", path, status)

    def _unsettled(self, status: str) -> bool:
        """Whether something was changed so shortly before that a further change might not show in its times."""
        times = status.split(" ")[1:3]
        return any(int(changed) > self._start - SETTLED for changed in times)


current: DependencyLog | None = None
"""The log of the scan that runs, where one is kept."""


def note_content(path: str, status: str, data: bytes | None) -> None:
    """Note a file that was read; `status` was taken before."""
    if current is not None:
        current.content(path, status, data)


def note_folder(path: str) -> None:
    """Note a folder whose names are about to be listed."""
    if current is not None:
        current.folder(path)


def note(kind: str, path: str, seen: object) -> None:
    """Note whether a path is a `file`, is `there`, or where a `link` leads."""
    if current is not None:
        current.note(kind, path, str(seen))


def spoil() -> None:
    """The answer is more than what is printed: it is not kept."""
    if current is not None:
        current.complete = False


def hurry() -> None:
    """Something was given up because it took too long: what is found depends on more than files."""
    if current is not None:
        current.hurried = True


def read(path: str, most: int = -1) -> bytes:
    """The bytes of a file, or the first `most` of them, noted. `OSError`: it cannot be read."""
    status = status_of(path)
    size = int(status.partition(" ")[0]) if status != "-" else 0
    try:
        with open(path, "rb", 0) as file:
            data = file.read() if most < 0 or size <= most else file.read(most)
    except OSError:
        note_content(path, status, None)
        raise
    note_content(path, status, data if most < 0 or len(data) < most else None)
    return data
