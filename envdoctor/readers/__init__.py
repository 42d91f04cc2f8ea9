"""One module per file kind: each turns one file into facts and knows nothing of rules.

A reader is a module with `read(source: Source, kind: str) -> FileFacts`. It never raises for bad input: what it
cannot read becomes a `Problem` and the rest of the file is still read. It opens no file and imports nothing from
`checks`, `catalog` or `engine`.
"""

from __future__ import annotations

import importlib
from typing import Protocol, cast

from envdoctor.facts import FileFacts
from envdoctor.readers.kinds import NAMES, READERS, SUFFIXES, kind_of, shebang_kind
from envdoctor.source import Source

__all__ = ["NAMES", "READERS", "SUFFIXES", "Reader", "kind_of", "read", "shebang_kind"]


class Reader(Protocol):
    """What every module of this package offers."""

    def read(self, source: Source, kind: str) -> FileFacts:
        """Facts of one file, in source order."""
        ...


def read(source: Source, kind: str) -> FileFacts:
    """Facts of one file of a kind that `kind_of` gave. The module of a kind is imported when it is first needed."""
    module = importlib.import_module(f"envdoctor.readers.{READERS[kind]}")
    return cast("Reader", module).read(source, kind)
