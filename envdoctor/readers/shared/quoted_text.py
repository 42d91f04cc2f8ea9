"""Quoted strings of JSON and YAML: the text the process gets, and where each of its characters stands."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from envdoctor.core.regexes import regex

_SIMPLE = {
    "0": "\0", "a": "\a", "b": "\b", "t": "\t", "n": "\n", "v": "\v", "f": "\f", "r": "\r", "e": "\x1b",
    "N": "\x85", "_": "\xa0", "L": "\u2028", "P": "\u2029",
}  # fmt: skip
_PAIR = r"u([Dd][89ABab][0-9A-Fa-f]{2})\\u([Dd][C-Fc-f][0-9A-Fa-f]{2})"
_ESCAPE = regex(r"\\(?:" + _PAIR + r"|x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.)|\n)", re.DOTALL)
_TWICE = regex("''")
_DOLLARS = regex(r"\$\$")

Text = tuple[str, Sequence[int]]
"""Text and the offset of each of its characters in the text it was taken from."""


def plain(text: str, start: int) -> Text:
    """Text that stands as it is, from offset `start` on."""
    return text, range(start, start + len(text))


def double_quoted(inside: Text) -> Text:
    """The inside of a double-quoted string without its escapes."""
    return _replaced(inside, _ESCAPE, _unescaped) if "\\" in inside[0] else inside


def unescaped(inside: str) -> str:
    """The inside of a double-quoted string without its escapes, where no places are asked for."""
    return _ESCAPE.sub(_unescaped, inside) if "\\" in inside else inside


def single_quoted(inside: Text) -> Text:
    """The inside of a single-quoted YAML scalar: `''` is one quote."""
    return _replaced(inside, _TWICE, lambda _: "'") if "''" in inside[0] else inside


def undollared(text: Text) -> Text:
    """Text with `$$` made one dollar, as compose does."""
    return _replaced(text, _DOLLARS, lambda _: "$") if "$$" in text[0] else text


def _replaced(text: Text, pattern: re.Pattern[str], new: Callable[[re.Match[str]], str]) -> Text:
    pieces: list[str] = []
    offsets: list[int] = []
    done = 0
    for match in pattern.finditer(text[0]):
        pieces += [text[0][done : match.start()], new(match)]
        offsets += text[1][done : match.start()]
        offsets += [text[1][match.start()]] * len(pieces[-1])
        done = match.end()
    offsets += text[1][done:]
    return "".join([*pieces, text[0][done:]]), offsets


def _unescaped(match: re.Match[str]) -> str:
    if match[1]:  # JSON writes characters beyond the first plane as two halves
        return chr(0x10000 + ((int(match[1], 16) & 0x3FF) << 10) + (int(match[2], 16) & 0x3FF))
    digits = match[3] or match[4] or match[5]
    if digits:
        code = int(digits, 16)
        return chr(code) if code < 0x110000 and not 0xD800 <= code < 0xE000 else "\ufffd"
    return _SIMPLE.get(match[6], match[6]) if match[6] else ""
