"""The files of a project as bytes and text: each is read when it is asked for, and once."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path

from envdoctor.cache import dependency_log
from envdoctor.core.decoding import LARGEST, LARGEST_NOTEBOOK, decode
from envdoctor.core.internal_errors import InternalErrors
from envdoctor.core.records import dataclass, field, replace
from envdoctor.project import discovery

MOST_HELD = 32_000_000
"""Bytes of files that are kept in memory: most are asked for more than once."""
MOST_CONTEXT = 50_000
"""Files of a project that are looked at as context: a home folder that is scanned by mistake must end."""
TEST_PARTS = {"test", "tests", "testing", "unit_tests", "unittests", "conftest.py"}


def is_test(path: str) -> bool:
    """A file that tests the project: what it reads is no use of a variable by the project."""
    parts = path.lower().split("/")
    return not TEST_PARTS.isdisjoint(parts) or parts[-1].startswith("test_") or "_test." in parts[-1]


@dataclass(slots=True)
class Files:
    """The files under `root`. Paths are relative to `base`, the folder that is scanned from, or whole outside of it."""

    base: Path
    root: Path
    exclude: tuple[str, ...] = ()
    overlay: Mapping[str, bytes] = field(default_factory=dict)
    """Bytes of files as they would be after fixes, in place of those on the disk."""
    internal: InternalErrors = field(default_factory=InternalErrors)
    """Errors of ours, each kept to the file that it came up in."""
    errors: list[str] = field(default_factory=list)
    """Files that could not be read."""
    _raw: dict[str, bytes] = field(default_factory=dict)
    _held: list[int] = field(default_factory=lambda: [0])
    _texts: dict[str, str] = field(default_factory=dict)
    _paths: list[str] | None = None

    def edited(self, overlay: Mapping[str, bytes]) -> Files:
        """The same files, some of them as they would be after fixes; what was read of the others is kept."""
        texts = {path: text for path, text in self._texts.items() if path not in overlay}
        return replace(self, overlay=overlay, errors=[], _texts=texts)

    def data(self, path: str, most: int = -1) -> bytes:
        """The bytes of a file, or as many of them as are wanted. `OSError`: it cannot be read."""
        if path in self.overlay:
            return self.overlay[path]
        if path in self._raw:
            return self._raw[path]
        data = dependency_log.read(os.path.join(self.base, path), most)  # noqa: PTH118 (called often)
        complete = most < 0 or len(data) < most
        if complete and self._held[0] + len(data) <= MOST_HELD:
            self._held[0] += len(data)
            self._raw[path] = data
        return data

    def reported(self, path: str) -> bytes | None:
        """The bytes of a file, as many as a reader takes; one that cannot be read becomes an error."""
        try:
            return self.data(path, LARGEST_NOTEBOOK + 1)
        except OSError as error:
            self.errors.append(f"{path}: cannot be read: {error.strerror}")
            return None

    def head(self, path: str, most: int) -> bytes:
        """The first bytes of a file; none where it cannot be read."""
        try:
            return self.data(path, most)[:most]
        except OSError:
            return b""

    def small(self, path: str) -> bytes | None:
        """The bytes of a file; None where it cannot be read or is too large to be one of a person."""
        try:
            data = self.data(path)
        except OSError:
            return None
        return data if len(data) <= LARGEST else None

    def text(self, path: str) -> str:
        """The text of a file; empty where it cannot be read."""
        if path not in self._texts:
            try:
                data = self.data(path)
            except OSError:
                data = b""
            self._texts[path] = ""
            with self.internal.guard(path, "decoding it"):
                self._texts[path] = decode(path, data[:LARGEST]).text
        return self._texts[path]

    def decoded(self, path: str, text: str) -> None:
        """Keep the text that a file was decoded to."""
        self._texts[path] = text

    def paths(self) -> Sequence[str]:
        """All files of the project, as context."""
        if self._paths is None:
            found = islice(discovery.files_below(self.root, self.base), MOST_CONTEXT)
            self._paths = [p for p in found if not self.exclude or not discovery.excluded(p, self.exclude)]
        return self._paths

    def prefix(self) -> str:
        """The root as a path relative to `base`; empty where they are one."""
        return "" if self.root == self.base else discovery.relative_path(self.root, self.base)

    @property
    def name(self) -> str:
        """What an error about no single file names."""
        return self.root.as_posix()
