"""Facts of files that did not change since an earlier scan: reading them anew takes most of a scan's time.

The facts of a project stand in one file of the user's cache, each file's under the hash of its path, kind and content.
They are kept as plain lists (a record is a list: the number of its class, then its fields), since records themselves
would have to be pickled, and what is pickled can run code when it is read.
"""

from __future__ import annotations

import marshal
from collections.abc import Callable, Sequence
from typing import Any

from envdoctor.cache import results
from envdoctor.cache.dependency_log import digest
from envdoctor.core import facts as vocabulary
from envdoctor.core.facts import FileFacts
from envdoctor.core.operations import Script
from envdoctor.core.records import fields
from envdoctor.core.source import Source

MARK = "envdoctor facts 2"
SMALLEST = 1_000
"""Characters of a text that is worth looking up."""
LARGEST = 32_000_000
"""Bytes of facts that are kept of one project."""
CLASSES: tuple[Any, ...] = (
    vocabulary.Place, vocabulary.Value, vocabulary.Scope, vocabulary.Branch, vocabulary.Setting, vocabulary.Use,
    vocabulary.Argument, vocabulary.Call, vocabulary.Definition, vocabulary.Launch, vocabulary.Inclusion,
    vocabulary.Component, vocabulary.Observation, vocabulary.Problem,
)  # fmt: skip
NUMBERS = {cls: number for number, cls in enumerate(CLASSES)}
NESTED = (list, tuple)
Read = Callable[[Source, str], FileFacts]
Scripts = Callable[[Source, str], Sequence[Script]]


def packed(item: Any) -> Any:
    """A record as a list, a tuple as a tuple of what is packed, anything else as it is."""
    number = NUMBERS.get(type(item))
    if number is not None:
        return [number, *(packed(getattr(item, field.name)) for field in fields(item))]
    return tuple(map(packed, item)) if type(item) is tuple else item


def unpacked(item: Any) -> Any:
    """What `packed` was made from."""
    if type(item) is list:
        return CLASSES[item[0]](*[unpacked(v) if type(v) in NESTED else v for v in item[1:]])
    return tuple([unpacked(v) if type(v) in NESTED else v for v in item]) if type(item) is tuple else item


def to_bytes(found: FileFacts) -> bytes:
    """All facts of a file."""
    path, kind, *groups = (getattr(found, field.name) for field in fields(found))
    return marshal.dumps([path, kind, *(list(map(packed, group)) for group in groups)])


def from_bytes(data: bytes) -> FileFacts:
    """The facts that `to_bytes` was given."""
    path, kind, *groups = marshal.loads(data)
    return FileFacts(path, kind, *[list(map(unpacked, group)) for group in groups])


def scripts_to_bytes(found: Sequence[Script]) -> bytes:
    """The scripts in a file; their bodies are plain tuples, and are kept as they are."""
    return marshal.dumps([(s.body, packed(s.scope), packed(s.branch), s.order, s.shell) for s in found])


def scripts_from_bytes(data: bytes) -> tuple[Script, ...]:
    """What `scripts_to_bytes` was given."""
    return tuple(
        Script(body, unpacked(scope), unpacked(branch), order, shell)
        for body, scope, branch, order, shell in marshal.loads(data)
    )


class Store:
    """The facts of one project: those of earlier scans, and those that this one adds."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._kept: dict[str, bytes] | None = None
        self._used: dict[str, bytes] = {}
        self._new = False

    def read(self, source: Source, kind: str, read: Read) -> FileFacts:
        """Facts of a file: those that are kept for this content, else by `read`."""
        if len(source.text) < SMALLEST:
            return read(source, kind)
        key, data = self._look(source, kind)
        if data is not None:
            return from_bytes(data)
        found = read(source, kind)
        if not found.problems:
            self._keep(key, to_bytes(found))
        return found

    def scripts(self, source: Source, kind: str, make: Scripts) -> Sequence[Script]:
        """The scripts in a file: those that are kept for this content, else what `make` makes of it."""
        if len(source.text) < SMALLEST:
            return make(source, kind)
        key, data = self._look(source, f"scripts\0{kind}")
        if data is not None:
            return scripts_from_bytes(data)
        found = make(source, kind)
        self._keep(key, scripts_to_bytes(found))
        return found

    def _look(self, source: Source, kind: str) -> tuple[str, bytes | None]:
        """The key of a file's content, and what is kept under it."""
        if self._kept is None:
            self._kept = _loaded(self._path)
        key = digest(f"{kind}\0{source.path}\0{source.text}".encode("utf-8", "surrogatepass"))
        data = self._kept.get(key)
        if data is not None:
            self._used[key] = data
        return key, data

    def _keep(self, key: str, data: bytes) -> None:
        self._used[key] = data
        self._new = True

    def save(self) -> None:
        """Keep what was used, and what was kept before as far as there is room."""
        if not self._new:
            return
        every = {**(self._kept or {}), **self._used}
        chosen = every if sum(map(len, every.values())) < LARGEST // 2 else self._used
        data = marshal.dumps(chosen)
        if len(data) < LARGEST:
            results.write(self._path, f"{MARK} {digest(data)}".encode() + b"\0" + data)


def _loaded(path: str) -> dict[str, bytes]:
    """What is kept; nothing where it is not exactly as it was written (`marshal` trusts what it is given)."""
    try:
        with open(path, "rb", 0) as file:
            mark, _, data = file.read(2 * LARGEST).partition(b"\0")
    except OSError:
        return {}
    if mark.decode("utf-8", "replace") != f"{MARK} {digest(data)}":
        return {}
    found: dict[str, bytes] = marshal.loads(data)
    return found


current: Store | None = None
"""The facts of the project that is scanned, where they are kept."""


def read(source: Source, kind: str, reader: Read) -> FileFacts:
    """Facts of a file, by the store where there is one."""
    return reader(source, kind) if current is None else current.read(source, kind, reader)


def scripts(source: Source, kind: str, make: Scripts) -> Sequence[Script]:
    """The scripts in a file, by the store where there is one."""
    return make(source, kind) if current is None else current.scripts(source, kind, make)
