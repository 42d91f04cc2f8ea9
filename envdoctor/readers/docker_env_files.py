"""Which env files are read by `docker run`, whose rules for quotes and comments are not those of `.env` files.

Source: docker/cli pkg/kvfile takes each value as it stands, quotes and `#` included.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterable

from envdoctor.core.regexes import regex
from envdoctor.readers.kinds import SCRIPTS

_DOCKER = regex(rb"\b(?:docker|podman|nerdctl)[ \t]+(?:container[ \t]+)?(?:run|create|exec)\b((?:\\\n|[^\n;|&])*)")
_FLAG = regex(rb"--env-file(?:=|[ \t]+)[\"']?([^\s\"'\\]+)")
_OTHERS = regex(
    rb"(?:(?:^|[;&|(])[ \t]*(?:source|\.)[ \t]+|compose[^\n]*--env-file(?:=|[ \t]+))[\"']?([^\s\"';]+)", re.M
)


def read_by_docker(
    files: Iterable[str], data: Callable[[str], bytes | None], kind: Callable[[str], str | None]
) -> frozenset[str]:
    """The files of a project that scripts give to `docker run --env-file` and to nothing with other rules."""
    given: set[str] = set()
    others: set[str] = set()
    for path in files:
        text = data(path) if kind(path) in SCRIPTS else None
        if text and b"--env-file" in text:
            words = [flag for command in _DOCKER.findall(text) for flag in _FLAG.findall(command)]
            given.update(place for word in words for place in _meant(word, path))
        if text:
            others.update(place for word in _OTHERS.findall(text) for place in _meant(word, path))
    return frozenset(given - others)


def _meant(word: bytes, path: str) -> set[str]:
    """The paths that a word in a script can mean: from the folder of the script, or from that of the project."""
    written = word.decode("utf-8", "replace")
    return {posixpath.normpath(posixpath.join(folder, written)) for folder in (posixpath.dirname(path), "")}
