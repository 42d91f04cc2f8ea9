"""From the kind of a file to the reader that turns it into facts.

A reader is a module with `read(source: Source, kind: str) -> FileFacts`. It never raises for bad input: what it
cannot read becomes a `Problem` and the rest of the file is still read. Text of another kind inside a file is read by
whoever handed over the file: see `Source.inside`.
"""

from __future__ import annotations

import importlib
from typing import Protocol, cast

from envdoctor.core.facts import FileFacts
from envdoctor.core.source import Source

READERS = {
    "shell": "envdoctor.readers.shell.reader", "python": "envdoctor.readers.python.reader",
    "dockerfile": "envdoctor.readers.docker.reader", "yaml": "envdoctor.readers.yaml.reader",
    "json": "envdoctor.readers.json.reader", "toml": "envdoctor.readers.toml.reader",
    "ini": "envdoctor.readers.ini.reader", "csh": "envdoctor.readers.csh", "fish": "envdoctor.readers.fish",
    "make": "envdoctor.readers.make.reader", "justfile": "envdoctor.readers.make.just",
    "notebook": "envdoctor.readers.notebook.reader", "modulefile": "envdoctor.readers.modulefile.reader",
    "lua-modulefile": "envdoctor.readers.modulefile.reader", "terraform": "envdoctor.readers.terraform.reader",
    "markup": "envdoctor.readers.markup", "env-file": "envdoctor.readers.envfile",
    "docker-env-file": "envdoctor.readers.envfile", "deepspeed-env": "envdoctor.readers.envfile",
    "launcher-env-file": "envdoctor.readers.envfile", "ci-env": "envdoctor.readers.envfile",
    "cmake": "envdoctor.readers.cmake.reader", "nccl-conf": "envdoctor.readers.conf", "conf": "envdoctor.readers.conf",
    "conf-file": "envdoctor.readers.conf",
}  # fmt: skip
"""Kind of a file, or of text inside one, -> module."""


class Reader(Protocol):
    """What every module of a reader offers."""

    def read(self, source: Source, kind: str) -> FileFacts:
        """Facts of one file, in source order."""
        ...


def read(source: Source, kind: str) -> FileFacts:
    """Facts of one file of a kind that `kind_of` gave, none for another kind.

    The module of a kind is imported when it is first needed.
    """
    if kind not in READERS:
        return FileFacts(source.path, kind)
    source.inside = read
    return cast("Reader", importlib.import_module(READERS[kind])).read(source, kind)
