"""Words of Dockerfile instructions: `A=1 B="x y" C=a\\ b`, the legacy form `A the rest`, JSON lists.

Quoting follows BuildKit's shell lexer: nothing is special in single quotes; in double quotes the escape character
acts before `"`, `$` and itself only.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from envdoctor.core.records import dataclass
from envdoctor.core.regexes import regex
from envdoctor.readers.docker.lines import GAP
from envdoctor.readers.shared.command_words import CommandWord
from envdoctor.readers.shared.quoted_text import double_quoted, plain
from envdoctor.readers.shared.substitution import Part, VariableReference, reference_at

_STRING = r'"(?:[^"\\]|\\.)*"'
_LIST = regex(rf"[\s{GAP}]*\[(?:[\s{GAP},]|{_STRING})*\][\s{GAP}]*")
_FLAG = regex(rf"[\s{GAP}]*(--[a-z][\w-]*(?:=\S*)?)(?=\s)")


@dataclass(frozen=True, slots=True)
class DockerPair:
    """One assignment; the spans are offsets into the flat text of the instruction."""

    name: str
    name_at: tuple[int, int]
    value_at: tuple[int, int]


def flags_end(flat: str) -> int:
    """Where the flags (`--mount=...`) at the start of an instruction end."""
    at = 0
    while match := _FLAG.match(flat, at):
        at = match.end()
    return at


def words(flat: str, escape: str) -> Iterator[tuple[int, int]]:
    """Spans of words, which blanks outside of quotes part."""
    at, length = 0, len(flat)
    while at < length:
        while at < length and (flat[at].isspace() or flat[at] == GAP):
            at += 1
        if at < length:
            end = _word_end(flat, at, escape)
            yield at, end
            at = end


def _word_end(flat: str, at: int, escape: str) -> int:
    quote = ""
    while at < len(flat):
        char = flat[at]
        if char == escape and quote != "'":
            at += 1
        elif quote:
            quote = "" if char == quote else quote
        elif char in "'\"":
            quote = char
        elif char.isspace():
            break
        at += 1
    return min(at, len(flat))


def pairs(flat: str, escape: str) -> list[DockerPair]:
    """Assignments of ENV, ARG or LABEL; a first word without `=` begins the legacy form (one name, the rest)."""
    spans = list(words(flat, escape))
    if not spans:
        return []
    start, end = spans[0]
    if "=" not in flat[start:end]:
        return [_legacy(flat, start, end)] if len(spans) > 1 else []
    return [pair for start, end in spans if (pair := _pair(flat, start, end))]


def _pair(flat: str, start: int, end: int) -> DockerPair | None:
    equal = flat.find("=", start, end)
    if equal <= start:
        return None
    return DockerPair(_name(flat[start:equal]), (start, equal), (equal + 1, end))


def _legacy(flat: str, start: int, end: int) -> DockerPair:
    rest = end
    while rest < len(flat) and (flat[rest].isspace() or flat[rest] == GAP):
        rest += 1
    return DockerPair(_name(flat[start:end]), (start, end), (rest, rest + len(flat[rest:].rstrip())))


def _name(text: str) -> str:
    return text.replace(GAP, "").strip("\"'")


def unquoted(text: str, escape: str) -> list[Part]:
    """A word without its quotes and escapes, cut into literal pieces and references."""
    parts: list[Part] = []
    quote, at = "", 0
    text = text.replace(GAP, "")
    while at < len(text):
        char = text[at]
        found = reference_at(text, at) if char in "${" and quote != "'" else None
        if found:
            parts.append(found[0])
            at = found[1]
            continue
        if char == escape and quote != "'" and at + 1 < len(text):
            kept = "" if not quote or text[at + 1] in f'"${escape}' else char
            parts.append(kept + text[at + 1])
            at += 2
            continue
        if char in "'\"" and quote in ("", char):
            quote = "" if quote else char
        else:
            parts.append(char)
        at += 1
    return _merged(parts)


def _merged(parts: list[Part]) -> list[Part]:
    merged: list[Part] = []
    for part in parts:
        if isinstance(part, str) and merged and not isinstance(merged[-1], VariableReference):
            merged[-1] += part
        else:
            merged.append(part)
    return merged


def exec_words(flat: str, start: int) -> list[CommandWord] | None:
    """The words of an exec form (`["torchrun", "train.py"]`) that starts at offset `start`; None: shell form."""
    if not _LIST.fullmatch(flat):
        return None
    try:
        listed = json.loads(flat.replace(GAP, " "))
    except ValueError:
        return None
    spans = [match.span() for match in re.finditer(_STRING, flat)]
    if len(spans) != len(listed):
        return None
    return [CommandWord(*double_quoted(plain(flat[first + 1 : last - 1], start + first + 1))) for first, last in spans]
