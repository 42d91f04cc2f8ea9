"""A scanner for CMake: commands and their arguments, without comments, each with its offsets."""

from __future__ import annotations

import re
from typing import NamedTuple

from envdoctor.core.regexes import regex

_SKIP = regex(r"\s+|#\[(=*)\[|#[^\n]*")
_NAME = regex(r"([A-Za-z_]\w*)[ \t]*\(")
_BRACKET = regex(r"\[(=*)\[\n?")
_QUOTED = regex(r'"((?:[^"\\]|\\.)*)"', re.DOTALL)
_PLAIN = regex(r'(?:[^\s()#"\\]|\\.|"[^"\n]*")+', re.DOTALL)
MOST_WORDS = 200_000
"""Arguments of one file; beyond this the rest is left out."""


class CMakeWord(NamedTuple):
    """One argument: its text without quotes, as it is written, and where that starts."""

    text: str
    start: int


class CMakeCommand(NamedTuple):
    """A command with its arguments; brackets that stand among them are words of their own."""

    name: str
    words: tuple[CMakeWord, ...]
    start: int


Problem = tuple[str, int]


def commands(text: str) -> tuple[list[CMakeCommand], Problem | None]:
    """All commands of a text in order, and the first thing that was wrong with its offset."""
    found: list[CMakeCommand] = []
    problem: Problem | None = None
    at, count = 0, 0
    while at < len(text) and count < MOST_WORDS:
        if (skipped := _skipped(text, at)) > at:
            at = skipped
            continue
        match = _NAME.match(text, at)
        if match is None:
            problem = problem or ("not CMake: a command is expected here", at)
            end = text.find("\n", at)
            at = len(text) if end == -1 else end + 1
            continue
        words, at, closed = _words(text, match.end())
        count += len(words) + 1
        found.append(CMakeCommand(match[1].lower(), tuple(words), match.start()))
        if not closed:
            problem = problem or ("a command is not closed", match.start())
    return found, problem


def _skipped(text: str, at: int) -> int:
    """Behind the space or comment at an offset; the offset where there is none."""
    match = _SKIP.match(text, at)
    if match is None:
        return at
    if match[1] is None:
        return match.end()
    end = text.find(f"]{match[1]}]", match.end())
    return len(text) if end == -1 else end + len(match[1]) + 2


def _words(text: str, at: int) -> tuple[list[CMakeWord], int, bool]:
    """The arguments from behind the bracket of a command, where they end, and whether the bracket is closed."""
    words: list[CMakeWord] = []
    depth = 1
    while at < len(text) and len(words) < MOST_WORDS:
        if (skipped := _skipped(text, at)) > at:
            at = skipped
            continue
        if text[at] in "()":
            depth += 1 if text[at] == "(" else -1
            if depth == 0:
                return words, at + 1, True
            words.append(CMakeWord(text[at], at))
            at += 1
            continue
        word, at = _word(text, at)
        words.append(word)
    return words, len(text), False


def _word(text: str, at: int) -> tuple[CMakeWord, int]:
    """The argument that starts at an offset, and where the next one may. What is never closed goes to the end."""
    if bracket := _BRACKET.match(text, at):
        end = text.find(f"]{bracket[1]}]", bracket.end())
        after = len(text) if end == -1 else end + len(bracket[1]) + 2
        return CMakeWord(text[bracket.end() : len(text) if end == -1 else end], bracket.end()), after
    if text[at] == '"':
        quoted = _QUOTED.match(text, at)
        return (
            (CMakeWord(quoted[1], at + 1), quoted.end()) if quoted else (CMakeWord(text[at + 1 :], at + 1), len(text))
        )
    plain = _PLAIN.match(text, at)
    return (CMakeWord(plain[0], at), plain.end()) if plain else (CMakeWord(text[at], at), at + 1)
