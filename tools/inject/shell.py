"""A small shell lexer: simple commands with their words, operators and what they stand in.

It shares no code with the package and knows nothing of launchers, so that a place for a fault is not chosen by the
analysis that is put to the test.
"""

from __future__ import annotations

import re
from typing import NamedTuple

BLANK = " \t\r"
_OPERATORS = re.compile(r"&&|\|\||\|&|;;&|;;|;&|\||;|&(?!>)|\n")
_REDIRECT = re.compile(r"(?:\d+|\{\w+\})?(?:<<<|<<-?|<>|<&|>>|>&|>\||<(?!\()|>(?!\()|&>>?)")
_NAME = re.compile(r"[A-Za-z_]\w*")
_OPENERS = {"if": "if", "while": "loop", "until": "loop", "for": "loop", "select": "loop", "case": "case", "{": "group"}
_CLOSERS = {"fi": "if", "done": "loop", "esac": "case", "}": "group"}
_STEPS = {"then", "else", "elif", "do", "!"}


class Word(NamedTuple):
    """One word as it is written, quotes included."""

    text: str
    start: int
    end: int


class Command(NamedTuple):
    """A simple command: `words` without redirections, `end` with them; `here` where a here-document follows."""

    words: tuple[Word, ...]
    within: tuple[str, ...]
    before: str
    after: str
    end: int
    here: bool = False

    @property
    def start(self) -> int:
        """Where its first word starts."""
        return self.words[0].start

    @property
    def bare_end(self) -> int:
        """Where its last word ends; redirections come later."""
        return self.words[-1].end

    def texts(self) -> tuple[str, ...]:
        """Its words as they are written."""
        return tuple(word.text for word in self.words)


class UnbalancedError(Exception):
    """The text ends within quotes or brackets."""


def skip_quoted(text: str, at: int) -> int:
    """Behind the quotes, substitution or brackets that start at `at`."""
    char = text[at]
    if char == "\\":
        return at + 2
    if char in "'`":
        return _find(text, char, at + 1, escapes=char == "`")
    if char == '"':
        return _skip_double(text, at + 1)
    if text.startswith("$'", at):
        return _find(text, "'", at + 2, escapes=True)
    if text.startswith(("$(", "<(", ">("), at):
        return _skip_brackets(text, at + 1, "()")
    if text.startswith("${", at):
        return _skip_brackets(text, at + 1, "{}")
    return at + 1


def _find(text: str, char: str, at: int, *, escapes: bool) -> int:
    while at < len(text) and text[at] != char:
        at += 2 if escapes and text[at] == "\\" else 1
    if at >= len(text):
        raise UnbalancedError
    return at + 1


def _skip_double(text: str, at: int) -> int:
    while at < len(text) and text[at] != '"':
        at = skip_quoted(text, at) if text[at] in "\\`" or text.startswith(("$(", "${"), at) else at + 1
    if at >= len(text):
        raise UnbalancedError
    return at + 1


def _skip_brackets(text: str, at: int, pair: str) -> int:
    """Behind the bracket that closes the one at `at`."""
    depth = 0
    while at < len(text):
        char = text[at]
        if char == "#" and pair == "()" and text[at - 1] in " \t\n":
            at = _line_end(text, at)
        elif char in "\\'\"`" or (char == "$" and text.startswith(("$(", "${", "$'"), at)):
            at = skip_quoted(text, at)
        else:
            depth += (char == pair[0]) - (char == pair[1])
            at += 1
            if depth == 0:
                return at
    raise UnbalancedError


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end == -1 else end


class _Lexer:
    """Goes through a text once."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.words: list[Word] = []
        self.stack: list[str] = []
        self.commands: list[Command] = []
        self.before = "\n"
        self.here: list[tuple[str, bool]] = []
        self.had_here = False
        self.function = ""
        self.redirected = 0

    def run(self) -> list[Command]:
        """All simple commands."""
        while self.at < len(self.text):
            self._step()
        self._close("\n")
        if self.stack:
            raise UnbalancedError
        return self.commands

    def _step(self) -> None:
        text, at = self.text, self.at
        if text[at] in BLANK:
            self.at += 1
        elif text.startswith("\\\n", at):
            self.at += 2
        elif text[at] == "#":
            self.at = _line_end(text, at)
        elif match := _REDIRECT.match(text, at):
            self._redirect(match)
        elif match := _OPERATORS.match(text, at):
            self._operator(match[0])
        elif text[at] in "()":
            self._bracket()
        else:
            self._word()

    def _redirect(self, match: re.Match[str]) -> None:
        self.at = match.end()
        while self.at < len(self.text) and self.text[self.at] in BLANK:
            self.at += 1
        target = self._take()
        if match[0].endswith(("<<", "<<-")):
            self.here.append((re.sub(r"[\\'\"]", "", target.text), match[0].endswith("-")))
            self.had_here = True
        self.redirected = self.at

    def _operator(self, operator: str) -> None:
        if operator.startswith(";;") or operator == ";&":
            self._close(";")
            self.stack.append("pattern")
        else:
            self._close(operator)
        self.at += len(operator)
        if operator == "\n":
            self._skip_here()

    def _skip_here(self) -> None:
        for delimiter, tabs in self.here:
            while self.at < len(self.text):
                end = _line_end(self.text, self.at)
                line = self.text[self.at : end]
                self.at = min(end + 1, len(self.text))
                if (line.lstrip("\t") if tabs else line).rstrip("\r") == delimiter:
                    break
        self.here = []

    def _bracket(self) -> None:
        text = self.text
        if self.stack and self.stack[-1] == "pattern":
            self.at += 1
            if text[self.at - 1] == ")":
                self.stack.pop()
                self._forget("\n")
        elif text.startswith("((", self.at) and (not self.words or self.words[0].text == "for"):
            self.at = _skip_brackets(text, self.at, "()")
        elif text[self.at] == "(" and len(self.words) == 1:
            self.function = self.words[0].text
            self.at = text.index(")", self.at) + 1
            self._forget("\n")
        elif text[self.at] == "(":
            self._open("subshell")
            self.at += 1
        else:
            self._close(";")
            self._pop("subshell")
            self.at += 1

    def _word(self) -> None:
        word = self._take()
        if self.stack and self.stack[-1] == "pattern":
            if word.text == "esac":
                self.stack.pop()
                self._pop("case")
            return
        if not self.words and self._keyword(word):
            return
        self.words.append(word)
        self.redirected = 0
        if word.text == "[[" and len(self.words) == 1:
            self._skip_test()
        elif word.text == "in" and self.words[0].text == "case" and len(self.words) > 2:
            self._forget("\n")
            self.stack.append("pattern")

    def _keyword(self, word: Word) -> bool:
        if word.text == "function":
            self.function = self._next_name()
            return True
        if word.text in _CLOSERS:
            self._pop(_CLOSERS[word.text])
            return True
        if word.text in ("for", "select", "case"):
            self._open(_OPENERS[word.text])
            self.words = [word]
            return True
        if word.text in _OPENERS:
            self._open(_OPENERS[word.text])
            return True
        if word.text in _STEPS:
            self.before = "\n"
        return word.text in _STEPS

    def _next_name(self) -> str:
        match = re.compile(r"\s*([\w:.-]+)\s*(\(\s*\))?").match(self.text, self.at)
        if match is None:
            raise UnbalancedError
        self.at = match.end()
        return match[1]

    def _skip_test(self) -> None:
        end = re.compile(r"(?<=\s)\]\](?=[\s;&|)]|$)").search(self.text, self.at)
        if end is None:
            raise UnbalancedError
        self.at = end.end()

    def _take(self) -> Word:
        """The word that starts here."""
        text, start = self.text, self.at
        while self.at < len(text) and text[self.at] not in " \t\r\n;|&()<>":
            self.at = skip_quoted(text, self.at)
            if text[self.at - 1] == "=" and text.startswith("(", self.at) and _NAME.match(text, start):
                self.at = _skip_brackets(text, self.at, "()")
        if text.startswith(("<(", ">("), self.at):
            self.at = skip_quoted(text, self.at)
        if self.at == start:
            self.at += 1
        return Word(text[start : self.at], start, self.at)

    def _open(self, kind: str) -> None:
        name = f"function {self.function}" if self.function else kind
        self.stack.append(name if kind in ("group", "subshell") else kind)
        self.function = ""
        self.before = "\n"

    def _pop(self, kind: str) -> None:
        self._forget("\n")
        top = self.stack.pop() if self.stack else ""
        if top != kind and not (top.startswith("function ") and kind in ("group", "subshell")):
            raise UnbalancedError

    def _close(self, operator: str) -> None:
        """End the command that was collected."""
        if self.words and self.words[0].text not in ("for", "select", "case"):
            end = max(self.redirected, self.words[-1].end)
            self.commands.append(
                Command(tuple(self.words), tuple(self.stack), self.before, operator, end, self.had_here)
            )
        if self.words or operator != "\n":
            self.before = operator
        self.words, self.redirected, self.had_here = [], 0, False

    def _forget(self, before: str) -> None:
        self.words, self.before, self.redirected, self.had_here = [], before, 0, False


def commands(text: str) -> list[Command] | None:
    """The simple commands of a script in their order; None where it is not read."""
    try:
        return _Lexer(text).run()
    except (UnbalancedError, IndexError, ValueError):
        return None
