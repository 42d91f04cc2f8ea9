"""Configuration that depends on the path: patterns, and what holds where they fit."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Generic, TypeVar

from envdoctor.project.discovery import excluded, path_from

T = TypeVar("T")


class ByPath(Generic[T]):
    """Patterns of paths, as they are written in a configuration file, and what each leads to.

    Patterns are matched against paths from `folder`, where that file lies; paths are given as a scan has them, from
    `base`.
    """

    def __init__(self, table: Mapping[str, T], folder: Path = Path(), base: Path = Path()) -> None:
        self._table = table
        self._folder = folder
        self._base = base
        self._same = folder == base

    def __bool__(self) -> bool:
        return bool(self._table)

    def fitting(self, path: str) -> list[T]:
        """What the patterns that fit lead to, in order of the file."""
        if not self._table:
            return []
        if not self._same:
            path = path_from(path, self._folder, self._base)
        return [value for pattern, value in self._table.items() if excluded(path, (pattern,))]

    def last(self, path: str) -> T | None:
        """What the last pattern that fits leads to."""
        found = self.fitting(path)
        return found[-1] if found else None
