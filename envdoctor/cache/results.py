"""Answers of earlier scans, given again for as long as nothing that they were made from has changed.

An answer is kept in a file of the user's cache folder: what the scan printed, its exit status, and the log of what it
depended on. It holds where every note of that log still does, for the same command line, folder, version and rules.
Files whose times changed are compared by their content. Whatever is wrong with the folder or a file in it, the answer
is made anew.
"""

from __future__ import annotations

import os
import stat
import sys

import envdoctor
from envdoctor.cache import dependency_log
from envdoctor.cache.dependency_log import DependencyLog, digest, status_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    class Lists(Protocol):
        """How git is asked for the files of a folder: it works from when this is made until `raw` is asked."""

        def __init__(self, folder: str) -> None: ...

        def raw(self) -> bytes | None:
            """What it printed; None where the folder belongs to no repository."""
            ...


MARK = "envdoctor answer 1"
MOST = 64
"""Answers that are kept; the oldest go first."""
MOST_BYTES = 200_000_000
"""Bytes of all answers and facts that are kept."""
OTHERS = stat.S_IWGRP | stat.S_IWOTH
LARGEST = 8_000_000
"""Bytes of the largest answer that is kept."""


def folder() -> str | None:
    """The folder of kept answers, made when one is kept; None where the user has none that only he can write to."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    if not os.path.isabs(base):
        return None
    path = os.path.join(base, "envdoctor", "answers")
    try:
        status = os.stat(path)
    except FileNotFoundError:
        return path
    except OSError:
        return None
    return path if _is_ours(status) else None


def _is_ours(status: os.stat_result) -> bool:
    if not stat.S_ISDIR(status.st_mode):
        return False
    return not hasattr(os, "geteuid") or (status.st_uid == os.geteuid() and not status.st_mode & OTHERS)


def signature() -> str:
    """What says that this is the same program: the version, and every file of the code and of the rules."""
    package = os.path.dirname(os.path.abspath(envdoctor.__file__))
    rules = os.path.join(package, "rules")
    parts = [envdoctor.__version__, sys.version, *_statuses(package)]
    if not os.path.isdir(rules):
        parts += _statuses(os.path.join(os.path.dirname(package), "rules"))
    return digest("\0".join(parts).encode("utf-8", "surrogateescape"))


def _statuses(top: str) -> list[str]:
    """Name, size and time of the files of a folder and those below it."""
    found: list[str] = []
    folders = [top]
    while folders:
        with os.scandir(folders.pop()) as entries:
            for entry in entries:
                if entry.is_dir():
                    folders += [entry.path] if entry.name != "__pycache__" else []
                elif entry.name.endswith((".py", ".toml", ".json")):
                    status = entry.stat()
                    found.append(f"{entry.path} {status.st_size} {status.st_mtime_ns}")
    return sorted(found)


class Answer:
    """What a scan printed on standard output, and its exit status; whoever prints on standard error is not kept."""

    def __init__(self, status: int, out: str) -> None:
        self.status = status
        self.out = out


def load(path: str, lists: type[Lists]) -> Answer | None:
    """The answer in a file if all its notes still hold."""
    fields = _fields(path)
    if fields is None or len(fields) % 4 != 2 or fields[0] not in ("0", "1"):
        return None
    notes = [(fields[i], fields[i + 1], fields[i + 2], fields[i + 3]) for i in range(2, len(fields), 4)]
    return Answer(int(fields[0]), fields[1]) if _hold(notes, lists) else None


def _fields(path: str) -> list[str] | None:
    try:
        with open(path, "rb", 0) as file:
            data = file.read(LARGEST)
    except OSError:
        return None
    mark, _, rest = data.partition(b"\0")
    if mark.decode("utf-8", "replace") != f"{MARK} {digest(rest)}":
        return None
    return rest.decode("utf-8", "surrogateescape").split("\0")


def _hold(notes: list[dependency_log.Note], lists: type[Lists]) -> bool:
    """Whether everything is as it was; git works while files are looked at."""
    listings = [(lists(path), seen) for kind, path, seen, _ in notes if kind == "git"]
    hold = all(_holds(*note) for note in notes)
    for listing, seen in listings:
        raw = listing.raw()
        hold = hold and seen == (digest(raw) if raw is not None else "-")
    return hold


def _holds(kind: str, path: str, seen: str, more: str) -> bool:
    """Whether one note still holds."""
    if kind == "content":
        return _same_content(path, seen, more)
    if kind == "file":
        return str(os.path.isfile(path)) == seen
    if kind == "there":
        return str(os.path.exists(path)) == seen
    if kind == "link":
        return os.path.realpath(path) == seen
    if kind == "folder":
        return status_of(path) == seen
    return kind == "git"


def _same_content(path: str, seen: str, hashed: str) -> bool:
    """Whether a file has the status that it had, or else the content."""
    if seen and status_of(path) == seen:
        return True
    if not hashed:
        return False
    try:
        with open(path, "rb", 0) as file:
            return digest(file.read()) == hashed
    except OSError:
        return False


def may_write(path: str, notes: DependencyLog) -> bool:
    """Whether the cache is no part of what was scanned, and nothing was done in a hurry."""
    listed = [note[1] for note in notes.notes.values() if note[0] in ("git", "folder")]
    return not notes.hurried and not any(path.startswith(f"{folder.rstrip('/')}/") for folder in listed)


def save(path: str, answer: Answer, notes: DependencyLog) -> None:
    """Keep an answer whose notes are complete."""
    if not notes.complete:
        return
    fields = [str(answer.status), answer.out]
    read = {path for (kind, path), note in notes.notes.items() if kind == "content" and note[2] != "-"}
    for note in notes.notes.values():
        if note[:3] != ("file", note[1], "True") or note[1] not in read:  # what was read is a file
            fields += note
    if any("\0" in field for field in fields):
        return
    rest = "\0".join(fields).encode("utf-8", "surrogateescape")
    if len(rest) < LARGEST - 100:
        write(path, f"{MARK} {digest(rest)}".encode() + b"\0" + rest)
        _prune(os.path.dirname(path))


def write(path: str, data: bytes) -> None:
    """Write a file, for the user alone, as a whole or not at all; one that cannot be written is no loss."""
    part = f"{path}.{os.getpid()}"
    try:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            file.write(data)
        os.replace(part, path)
    except OSError:
        return


def _prune(base: str) -> None:
    """Remove the oldest files beyond the number and the size that is kept, parts that were left over among them."""
    try:
        with os.scandir(base) as entries:
            found = sorted((-entry.stat().st_mtime_ns, entry.stat().st_size, entry.path) for entry in entries)
        size = 0
        for number, (_, length, path) in enumerate(found):
            size += length
            if number >= MOST or size > MOST_BYTES:
                os.unlink(path)
    except OSError:  # another scan did it
        return
