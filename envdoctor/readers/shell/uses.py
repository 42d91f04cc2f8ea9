"""Where a script reads a variable and does something with it, and where it gives one a default on the way."""

from __future__ import annotations

import re
from bisect import bisect_right

from envdoctor.core.facts import Exported
from envdoctor.core.regexes import regex
from envdoctor.readers.shell.state import ShellContext, ShellState
from envdoctor.readers.shell.syntax.words import expansion_end, read_word

_REFERENCE = regex(r"\$(?:\{[#!]?)?([A-Z][A-Z0-9_]{3,})(?![A-Za-z0-9_])")
_DEFAULT = regex(r"\$\{([A-Za-z_]\w*)(:?=)", re.ASCII)
_ARITHMETIC = regex(r"\(\(([^\n]{1,400}?)\)\)")
_BARE_NAME = regex(r"(?<![\w$.])[A-Z][A-Z0-9_]{3,}(?![\w(])")
_SPECIAL = regex(r"\\.|['\"`]|[$<>]\(", re.DOTALL)
_EMPTY_TEST = regex(r"\s-z\s")
_HIDING = regex(r"['`]|[$<>]\(")
_TESTED = regex(r"\s-v\s+([A-Z][A-Z0-9_]{3,})\b")
_EVERYWHERE = frozenset(("HOME", "USER", "PATH", "SHELL", "HOSTNAME"))
"""Used by every second script; that says nothing of a project's own variables."""
_BEFORE_FORWARDED = frozenset(("=", ":", '"', "'", " ", "\\"))
PRINTING = regex(
    r"(?i)(?:echo|printf?|logger|(?:\w*_)?(?:log|info|warn|err|error|debug|die|fatal|note|msg|say|banner)(?:_\w+)?)\Z"
)


def scan(state: ShellState, start: int, end: int, context: ShellContext, own: str = "", printing: bool = False) -> None:
    """State the uses and the `${X:=d}` defaults in a part of the text.

    `own` is the variable being assigned: a reference to itself is no use. `printing` says that the text only goes to
    a terminal or a log.
    """
    text = state.text
    at = text.find("$", start, end)
    if at == -1:
        return
    part = text[start:end]
    hidden = _hidden(text, start, end) if _HIDING.search(part) else []
    if "=" in part:
        _defaults(state, start, end, context, hidden)
    if printing:
        return
    for match in _REFERENCE.finditer(text, at, end):
        name = match[1]
        if name != own and name not in _EVERYWHERE and not _quiet(text, match.start(), name, hidden):
            state.use(name, state.place(match.start(1), match.end(1)))
    if "((" in part:
        _arithmetic(state, at, end, own)


def scan_test(state: ShellState, start: int, end: int, context: ShellContext) -> None:
    """State the uses in a test: `[ ... ]`, `[[ -v NAME ]]`, `(( NAME > 1 ))`.

    `[ -z "$A" ]` in a script that assigns A is how a default is given, and no use.
    """
    first = len(state.facts.uses)
    scan(state, start, end, context)
    if _EMPTY_TEST.search(state.text, start, end):
        state.guards += range(first, len(state.facts.uses))
    for match in _TESTED.finditer(state.text, start, end):
        state.use(match[1], state.place(match.start(1), match.end(1)))
    if state.text.startswith("((", start):
        _arithmetic(state, start, end, "")


def _arithmetic(state: ShellState, start: int, end: int, own: str) -> None:
    for outer in _ARITHMETIC.finditer(state.text, start, end):
        for match in _BARE_NAME.finditer(state.text, outer.start(1), outer.end(1)):
            if match[0] != own:
                state.use(match[0], state.place(match.start(), match.end()))


def _defaults(state: ShellState, start: int, end: int, context: ShellContext, hidden: list[tuple[int, int]]) -> None:
    for match in _DEFAULT.finditer(state.text, start, end):
        if _escaped(state.text, match.start()) or _within(hidden, match.start()):
            continue
        stop = expansion_end(state.text, match.start(), end)
        name = read_word(state.source, match.start(1), match.end(1))
        value = read_word(state.source, match.end(), max(match.end(), stop - 1))
        exported: Exported = "yes" if state.allexport else "no"
        comment = state.comment(start, end)
        fact = state.setting("default", name, value, context, exported=exported, comment=comment)
        state.note_bare(fact)


def _quiet(text: str, at: int, name: str, hidden: list[tuple[int, int]]) -> bool:
    """Whether a reference is no use here: escaped, hidden, or the variable forwarded under its own name."""
    before = text[at - 1 : at]
    if before == "\\" and _escaped(text, at):
        return True
    if before in _BEFORE_FORWARDED and _forwarded(text, at, name):
        return True
    return bool(hidden) and _within(hidden, at)


def _within(spans: list[tuple[int, int]], at: int) -> bool:
    index = bisect_right(spans, (at, at)) - 1
    return index >= 0 and spans[index][0] <= at < spans[index][1]


def _escaped(text: str, at: int) -> bool:
    count = 0
    while at > count and text[at - 1 - count] == "\\" and count < 8:
        count += 1
    return count % 2 == 1


def _forwarded(text: str, at: int, name: str) -> bool:
    """`NAME=$NAME`, `NAME="${NAME}"`, `"NAME": "$NAME"`: the variable under its own name."""
    before = text[max(0, at - len(name) - 10) : at].rstrip("\"'\\ ")
    if not before.endswith(("=", ":")):
        return False
    before = before[:-1].rstrip("\"'\\ :")
    return before.endswith(name) and not before[: -len(name)][-1:].isidentifier()


def _hidden(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """The parts of a statement in single quotes, and its substitutions, which are statements of their own."""
    spans: list[tuple[int, int]] = []
    double = False
    position = start
    while match := _SPECIAL.search(text, position, end):
        position = match.end()
        token = match[0]
        if token == '"':
            double = not double
        elif token == "'" and not double:
            close = text.find("'", position, end)
            position = end if close == -1 else close + 1
            spans.append((match.start(), position))
        elif token in ("$(", "`", "<(", ">(") and not text.startswith("$((", match.start()):
            position = expansion_end(text, match.start(), end)
            spans.append((match.start(), position))
    return spans
