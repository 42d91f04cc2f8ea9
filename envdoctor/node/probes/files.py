"""The one way to the files of a node: a root folder, bounded reads, and a log of what was touched.

Every path given to `NodeFiles` is a path on the node ("/sys/module/amdgpu/version"); where the root folder is a
recorded tree, links are followed inside the tree and never out of it. Nothing here raises for what a node does:
a file that is absent, denied or vanishes while it is read gives None, and `why` says what happened.
"""

from __future__ import annotations

import errno
import os
import re
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Literal

Touch = Literal["file", "bytes", "folder", "exists", "absent", "failed"]
"""What was done with a path: read as text, read as bytes, listed or seen as a folder, only asked for; or not there."""

LIMIT = 1 << 20
"""No file of /proc or /sys that a probe reads is larger; a larger one is cut."""
HOPS = 40
"""As many links as Linux follows in one path."""
NOT_LINKS = ("/proc/self", "/proc/thread-self")
"""Links of the kernel that name the reader; a record keeps them as folders."""
ABSENT = {errno.ENOENT, errno.ENOTDIR, errno.ENXIO, errno.ESRCH, errno.ELOOP, errno.ENAMETOOLONG}


def natural(name: str) -> list[tuple[int, str]]:
    """Sort key that puts card9 before card10."""
    return [(int(part), "") if i % 2 else (-1, part) for i, part in enumerate(re.split(r"([0-9]+)", name))]


def recorded_links(root: Path) -> dict[str, str]:
    """Links of a recorded tree, from the `links.tsv` beside its root: copies of a tree often lose them."""
    try:
        lines = (root.parent / "links.tsv").read_text(encoding="utf-8").splitlines() if root.name == "root" else []
    except (OSError, UnicodeDecodeError):
        return {}
    pairs = (line.split("\t") for line in lines if not line.startswith("#"))
    return {pair[0]: pair[1] for pair in pairs if len(pair) == 2}


def _without_waiting(path: str, flags: int) -> int:
    """A FIFO where a file is expected must not hold the probe."""
    return os.open(path, flags | os.O_NONBLOCK)


class NodeFiles:
    """Files of a node below `root`. `touched` is the log: path without links -> what was done with it.

    With `keep`, what was read is kept in `contents`, so that a recording holds what the probes really saw.
    """

    def __init__(self, root: Path, *, keep: bool = False) -> None:
        self.root = Path(os.path.abspath(root))  # noqa: PTH100  (resolve() would follow links of the root itself)
        self.touched: dict[str, Touch] = {}
        self.contents: dict[str, bytes] = {}
        self.keep = keep
        self.links: dict[str, str | None] = dict(recorded_links(self.root))
        self.errors: dict[str, str] = {}
        self._prefix = "" if self.root == Path("/") else str(self.root)

    @property
    def live(self) -> bool:
        """Whether this is the machine itself and not a recorded tree or a container's root."""
        return not self._prefix

    def readlink(self, path: str) -> str | None:
        """The target of the link at `path`, as it stands there; None where there is no link."""
        if path not in self.links:
            try:
                target = None if path in NOT_LINKS else os.readlink(self._prefix + path)  # noqa: PTH115
            except (OSError, ValueError):
                target = None
            self.links[path] = target
        return self.links[path]

    def resolve(self, path: str) -> str:
        """`path` with every link followed, inside the root. What does not exist is kept as it is."""
        done, hops = "", 0
        todo = path.split("/")[::-1]
        while todo:
            part = todo.pop()
            if part == "..":
                done = done.rpartition("/")[0]
            if part in ("", ".", ".."):
                continue
            here = f"{done}/{part}"
            target = self.readlink(here)
            if target is None or hops >= HOPS:
                done = here
                continue
            hops += 1
            done = "" if target.startswith("/") else done
            todo += target.split("/")[::-1]
        return done or "/"

    def real(self, path: str) -> Path:
        """Where the file lies on this machine, for a reader that needs the file itself."""
        return Path(self._prefix + self.resolve(path))

    def read_bytes(self, path: str, limit: int = LIMIT, touch: Touch = "bytes") -> bytes | None:
        """At most `limit` bytes of a file, or None (see `why`). Never waits for a pipe or a device."""
        real = self.resolve(path)
        try:
            with open(self._prefix + real, "rb", opener=_without_waiting) as file:
                data = file.read(limit)
        except (OSError, ValueError) as error:
            self._fail(path, real, error)
            return None
        self.touched[real] = touch
        if self.keep:
            self.contents[real] = data or b""
        return data or b""  # a pipe without data gives None

    def read_text(self, path: str, limit: int = LIMIT) -> str | None:
        """A file as text, or None (see `why`). Bytes that are no UTF-8 are replaced."""
        data = self.read_bytes(path, limit, "file")
        return None if data is None else data.decode("utf-8", "replace")

    def read_word(self, path: str) -> str:
        """A file of one line, stripped; "" where it cannot be read."""
        return (self.read_text(path, 4096) or "").strip()

    def read_int(self, path: str) -> int | None:
        """A file of one number, or None."""
        word = self.read_word(path)
        return int(word) if re.fullmatch(r"-?[0-9]{1,24}", word) else None

    def names(self, folder: str, pattern: str = "*") -> list[str]:
        """Names in a folder that match a shell pattern, in natural order; [] where it cannot be listed."""
        real = self.resolve(folder)
        try:
            found = set(os.listdir(self._prefix + real))  # noqa: PTH208
        except (OSError, ValueError) as error:
            self._fail(folder, real, error)
            found = set()
        else:
            self.touched.setdefault(real, "folder")
        found.update(p.rpartition("/")[2] for p, t in self.links.items() if t and p.rpartition("/")[0] == real)
        matching = sorted((name for name in found if fnmatchcase(name, pattern)), key=natural)
        for name in matching:
            self.exists(f"{folder}/{name}")
        return matching

    def paths(self, folder: str, pattern: str = "*") -> list[str]:
        """Like `names`, as paths."""
        return [f"{folder}/{name}" for name in self.names(folder, pattern)]

    def exists(self, path: str) -> bool:
        """Whether there is something at `path`, links followed."""
        return self._kind(path) is not None

    def is_folder(self, path: str) -> bool:
        """Whether `path` is a folder, links followed."""
        return self._kind(path) == "folder"

    def why(self, path: str) -> str:
        """Why the last try to read `path` failed: "absent", "permission denied", ...; "" if it did not fail."""
        return self.errors.get(path, "")

    def _kind(self, path: str) -> Touch | None:
        real = self.resolve(path)
        try:
            folder = Path(self._prefix + real).is_dir()
            found = folder or os.path.lexists(self._prefix + real)
        except (OSError, ValueError) as error:
            self._fail(path, real, error)
            return None
        kind: Touch = "folder" if folder else "exists" if found else "absent"
        self.touched.setdefault(real, kind)
        return kind if found else None

    def _fail(self, path: str, real: str, error: OSError | ValueError) -> None:
        number = error.errno if isinstance(error, OSError) else None
        absent = number in ABSENT
        denied = number in (errno.EACCES, errno.EPERM)
        words = (isinstance(error, OSError) and error.strerror) or str(error)
        self.errors[path] = "absent" if absent else "permission denied" if denied else words.lower()
        self.touched.setdefault(real, "absent" if absent else "failed")
