"""Commands given as a list of words (exec form of Dockerfiles and manifests), as text for the shell reader."""

from __future__ import annotations

import re
from collections.abc import Sequence

from envdoctor.core.records import dataclass
from envdoctor.core.regexes import regex
from envdoctor.core.source import Source
from envdoctor.readers.shared.embedded import MappedSource, mapped

SHELLS = ("sh", "bash", "zsh", "dash", "ash", "ksh")
INITS = ("tini", "dumb-init", "env", "--", "-g", "-s", "exec")
"""What may stand before the shell without changing what it runs."""

_PLAIN = regex(r"[A-Za-z0-9_./:=@%+,-]+")
_SHELL_FLAG = regex(r"-[a-z]*c[a-z]*")
_SHELL_OPTION = regex(r"[-+][A-Za-z]+|--\w+|pipefail|errexit")


@dataclass(frozen=True, slots=True)
class CommandWord:
    """One word: what the process gets, and the offset of each of its characters. `raw`: it is shell text already."""

    text: str
    offsets: Sequence[int]
    raw: bool = False

    def source(self, origin: Source) -> MappedSource:
        """The word as a source of its own."""
        return mapped(origin, self.text, self.offsets)


def script_of(words: Sequence[CommandWord]) -> CommandWord | None:
    """The script of `bash -c script`, where nothing but an init program stands before the shell."""
    at = 0
    while at < len(words) and words[at].text.rsplit("/", 1)[-1] in INITS:
        at += 1
    if at >= len(words) or words[at].text.rsplit("/", 1)[-1] not in SHELLS:
        return None
    for index in range(at + 1, len(words) - 1):
        if _SHELL_FLAG.fullmatch(words[index].text):
            return words[index + 1]
        if not _SHELL_OPTION.fullmatch(words[index].text):
            return None
    return None


def command_source(origin: Source, words: Sequence[CommandWord]) -> MappedSource:
    """One shell command from words, each character with its place."""
    pieces: list[str] = []
    offsets: list[int] = []
    for word in words:
        if pieces:
            pieces.append(" ")
            offsets.append(offsets[-1] if offsets else 0)
        text, places = (word.text, word.offsets) if word.raw else quote(word.text, word.offsets)
        pieces.append(text)
        offsets += places
    return mapped(origin, "".join(pieces), offsets)


def quote(text: str, offsets: Sequence[int]) -> tuple[str, list[int]]:
    """A word quoted for the shell; a quote that was added stands where the character next to it does."""
    if _PLAIN.fullmatch(text):
        return text, list(offsets)
    first, last = (offsets[0], offsets[-1]) if offsets else (0, 0)
    if "'" not in text:
        return f"'{text}'", [first, *offsets, last]
    if not re.search(r'["$`\\!]', text):
        return f'"{text}"', [first, *offsets, last]
    spread = [at for char, at in zip(text, offsets, strict=True) for _ in range(4 if char == "'" else 1)]
    return "'" + text.replace("'", "'\\''") + "'", [first, *spread, last]
