"""Words as tuples of parts, read from the text itself: quotes and escapes removed, each part with its place.

The rules are those of `shell.syntax.words`: POSIX Shell Command Language 2.2 (quoting) and 2.6 (expansions), `$'...'`
as in bash. Text that is contiguous on one line is one part; where characters were removed, a new part begins.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from envdoctor.core.operations import Body, Part, Word
from envdoctor.core.regexes import regex
from envdoctor.readers.shell.bodies.text import BodyText
from envdoctor.readers.shell.syntax.words import _ansi as ansi_character
from envdoctor.readers.shell.syntax.words import expansion_end

if TYPE_CHECKING:
    from tree_sitter import Node

Commands = Callable[[int, int, "Node | None"], "Body | None"]
"""The body of the substitution at a span, looked for in a node; None where it is too deep to follow."""

_SIMPLE = regex(
    r"([^\s\\'\"$`<>]+)|'([^'\n]*)'|\"([^\"\\$`\n]*)\"|(\"?)\$(?:([A-Za-z_]\w*)|\{([A-Za-z_]\w*)\})\4", re.ASCII
)
_RUN = regex(r"[^\\'\"$`<>]+")
_RUN_QUOTED = regex(r"[^\\\"$`]+")
_RUN_DOCUMENT = regex(r"[^\\$`]+")
_SPECIAL = regex(r"[A-Za-z_]\w*|[0-9@*#?$!-]", re.ASCII)
_PARAMETER = regex(
    r"([!#]?)([A-Za-z_]\w*|[0-9]+|[@*#?$!-])(?:\[([^\]]{0,200})\])?(:?[-=+?]|##?|%%?|[:/^,@])?", re.ASCII
)
_ANSI = regex(r"\\(x[0-9A-Fa-f]{1,2}|[0-7]{1,3}|.)", re.DOTALL)
_FOLLOWED = frozenset((":-", "-", ":=", "=", ":+", "+", ":?", "?", "#", "##", "%", "%%"))
_TRIMMING = frozenset(("#", "##", "%", "%%"))
_QUOTED_PATTERN = regex(r"\\[*?\[\\]|['\"][^'\"]*[*?\[][^'\"]*['\"]")
"""Signs of a pattern that stand for themselves: words do not tell which."""
_ESCAPED = {"word": '$`"\\', "document": "$`\\"}
DEEPEST = 30
"""Levels of words inside words (`${A:-${B:-...}}`) and of commands that are followed."""


def simple_word(text: BodyText, start: int, end: int) -> Word | None:
    """A word that is one plain or quoted text, or one variable; None where it is more than that."""
    match = _SIMPLE.fullmatch(text.text, start, end)
    if match is None or text.mapped or (text.holes and text.hole_after(start, end)):
        return None
    line, column = text.point(start)
    group = match.lastindex or 1
    part: Part
    if group <= 3:
        begin, stop = match.span(group)
        if begin == stop:
            return (line, column, line, column + end - start, ())
        part = ("text", match[group], line, column + begin - start)
    else:
        quoted = bool(match[4])
        part = ("ref", match[group], "", "", None, quoted, line, column + quoted)
    return (line, column, line, column + end - start, (part,))


class WordParts:
    """Reads one word run by run. `mode` is "word"; "document" or "literal" for a here-document."""

    __slots__ = ("at", "commands", "end", "mode", "node", "parts", "pending", "quoted", "start", "text")

    def __init__(
        self, text: BodyText, start: int, end: int, commands: Commands, node: Node | None = None,
        quoted: bool = False, mode: str = "word",
    ) -> None:  # fmt: skip
        self.text, self.start, self.end = text, start, end
        self.commands, self.node = commands, node
        self.quoted, self.mode = quoted, mode
        self.at = start
        self.parts: list[Part] = []
        self.pending: tuple[int, int] | None = None

    def word(self) -> Word:
        """The word."""
        parts = self.read()
        return (*self.text.point(self.start), *self.text.end(self.start, self.end), parts)

    def read(self) -> tuple[Part, ...]:
        """The parts."""
        source = self.text.text
        if self.mode == "literal":
            self._raw(self.start, self.end)
            self.at = self.end
        while self.at < self.end:
            hole = self.text.hole_after(self.at, self.end) if self.text.holes else None
            if hole is not None and hole[0] <= self.at:
                self._hole(hole)
            else:
                self._step(source[self.at], self.end if hole is None else min(hole[0], self.end))
        self._flush()
        return tuple(self.parts)

    def _hole(self, hole: tuple[int, int, str]) -> None:
        self._part("unknown", hole[2], self.at)
        self.at = max(hole[1], self.at + 1)

    def _step(self, char: str, limit: int) -> None:
        run = _RUN_DOCUMENT if self.mode == "document" else _RUN_QUOTED if self.quoted else _RUN
        if match := run.match(self.text.text, self.at, limit):
            self._take(self.at, match.end())
            return
        handler = _STEPS.get(char)
        if handler is None:
            self._take(self.at, self.at + 1)
        else:
            handler(self)

    def _take(self, start: int, stop: int) -> None:
        """Text as it stands; what follows on what was taken before is one with it."""
        if self.pending is not None and self.pending[1] == start:
            self.pending = self.pending[0], stop
        else:
            self._flush()
            self.pending = start, stop
        self.at = stop

    def _flush(self) -> None:
        if self.pending is not None:
            start, stop = self.pending
            self.pending = None
            if start < stop:
                self.parts += self.text.texts(start, stop)

    def _part(self, kind: str, shown: str, at: int) -> None:
        self._flush()
        self.parts.append((kind, shown, *self.text.point(at)))

    def _double_quote(self) -> None:
        self.quoted = not self.quoted
        self.at += 1

    def _single_quotes(self) -> None:
        close = self.text.text.find("'", self.at + 1, self.end)
        close = self.end if close == -1 else close
        self._raw(self.at + 1, close)
        self.at = close + 1

    def _raw(self, start: int, stop: int) -> None:
        """Text in which nothing is special but what nobody can tell."""
        while start < stop:
            hole = self.text.hole_after(start, stop) if self.text.holes else None
            if hole is None:
                self._take(start, stop)
                return
            if hole[0] > start:
                self._take(start, hole[0])
            self._part("unknown", hole[2], max(hole[0], start))
            start = max(hole[1], start + 1)

    def _escape(self) -> None:
        following = self.text.text[self.at + 1 : min(self.at + 2, self.end)]
        if following == "\n":
            self.at += 2
        elif following and (not (self.quoted or self.mode == "document") or following in _ESCAPED[self.mode]):
            self._take(self.at + 1, self.at + 2)
        else:
            self._take(self.at, self.at + 1)

    def _backquote(self) -> None:
        self._command(expansion_end(self.text.text, self.at, self.end))

    def _angle(self) -> None:
        """`<(...)`: process substitution."""
        if not self.text.text.startswith("(", self.at + 1) or self.at + 1 >= self.end:
            self._take(self.at, self.at + 1)
            return
        stop = expansion_end(self.text.text, self.at, self.end)
        self._part("unknown", self.text.text[self.at : stop], self.at)
        self.at = stop

    def _dollar(self) -> None:
        plain = not self.quoted and self.mode == "word"
        following = self.text.text[self.at + 1 : min(self.at + 2, self.end)]
        if following == "'" and plain:
            self._ansi_quotes()
        elif following == '"' and plain:
            self.at += 1
        elif following == "(":
            self._command(expansion_end(self.text.text, self.at, self.end))
        elif following == "{":
            self._braces(expansion_end(self.text.text, self.at, self.end))
        elif following == "[":  # the old form of arithmetic
            stop = self.text.text.find("]", self.at, self.end) + 1 or self.end
            self._part("unknown", self.text.text[self.at : stop], self.at)
            self.at = stop
        elif match := _SPECIAL.match(self.text.text, self.at + 1, self.end):
            self._reference(match[0], "", "", None, match.end())
        else:
            self._take(self.at, self.at + 1)

    @property
    def _in_quotes(self) -> bool:
        return self.quoted or self.mode == "document"

    def _reference(self, name: str, subscript: str, operator: str, operand: Word | None, stop: int) -> None:
        self._flush()
        point = self.text.point(self.at)
        self.parts.append(("ref", name, subscript, operator, operand, self._in_quotes, *point))
        self.at = stop

    def _braces(self, stop: int) -> None:
        source = self.text.text
        match = _PARAMETER.match(source, self.at + 2, stop - 1)
        closed = stop > self.at + 3 and source[stop - 1] == "}"
        if match is None or not closed or self.text.depth >= DEEPEST:
            self._part("unknown", source[self.at : stop], self.at)
            self.at = stop
            return
        prefix, name, subscript, operator = match.groups()
        whole = match.end() == stop - 1 and operator is None
        operand: Word | None = None
        if prefix:
            operator = {"#": "#len", "!": "!"}[prefix] if whole and not (prefix == "!" and subscript) else "other"
        elif operator in _TRIMMING and _QUOTED_PATTERN.search(source, match.end(), stop - 1):
            operator = "other"
        elif operator in _FOLLOWED:
            operand = self._operand(match.end(), stop - 1)
        else:
            operator = "" if whole else "other"
        self._reference(name, subscript or "", operator, operand, stop)

    def _operand(self, start: int, stop: int) -> Word:
        self.text.depth += 1
        try:
            return WordParts(self.text, start, stop, self.commands, self.node, self._in_quotes).word()
        finally:
            self.text.depth -= 1

    def _command(self, stop: int) -> None:
        """`$(...)` or backquotes; arithmetic is not followed."""
        body = self.commands(self.at, stop, self.node)
        if body is None:
            self._part("unknown", self.text.text[self.at : stop], self.at)
        else:
            self._flush()
            self.parts.append(("command", body, self._in_quotes, *self.text.point(self.at)))
        self.at = stop

    def _ansi_quotes(self) -> None:
        source, at = self.text.text, self.at + 2
        while at < self.end and source[at] != "'":
            match = _ANSI.match(source, at, self.end)
            if match is None:
                self._take(at, at + 1)
                at += 1
            else:
                self._part("text", ansi_character(match[1]), at)
                at = match.end()
        self.at = at + 1


_STEPS: dict[str, Callable[[WordParts], None]] = {
    "\\": WordParts._escape,
    '"': WordParts._double_quote,
    "'": WordParts._single_quotes,
    "$": WordParts._dollar,
    "`": WordParts._backquote,
    "<": WordParts._angle,
    ">": WordParts._angle,
}
