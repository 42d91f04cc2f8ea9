"""Shell words: quotes and escapes removed, expansions kept as written, every character with its place.

A word is read from its source text, not from the parser's nodes: the text is what the value is, and text inside a
word (`bash -c "..."`) can be read on with its places kept. Rules: POSIX Shell Command Language 2.2 (quoting) and
2.6 (expansions); `$'...'` as in bash.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator, Sequence
from typing import Literal

from envdoctor.core.facts import Branch, Place, Value
from envdoctor.core.records import dataclass
from envdoctor.core.regexes import regex
from envdoctor.core.source import Source
from envdoctor.readers.shared.embedded import MappedSource, mapped

ExpansionKind = Literal["plain", "default", "alternative", "other", "command"]

_PLAIN_WORD = regex(r"[^\s\\'\"$`]*")
_QUOTED_WORD = regex(r"'([^']*)'|\"([^\"\\$`]*)\"")
_SIMPLE_WORD = regex(
    r"(\"?)([^\"'\\$`]*(?:\$(?:[A-Za-z_]\w*(?!\w)|\{[A-Za-z_]\w*(?::?[-=+?][^{}\"'`\\$]*)?\})[^\"'\\$`]*)*)\1", re.ASCII
)
_SIMPLE_EXPANSION = regex(r"\$(?:([A-Za-z_]\w*)|\{([A-Za-z_]\w*)(?:(:?[-=+?])([^{}]*))?\})", re.ASCII)
_KINDS: dict[str | None, ExpansionKind] = {
    None: "plain",
    ":-": "default",
    "-": "default",
    ":=": "default",
    "=": "default",
    ":+": "alternative",
    "+": "alternative",
}
_RUN = regex(r"[^\\'\"$`]+")
_NAME = regex(r"[A-Za-z_]\w*", re.ASCII)
_SPECIAL = regex(r"[A-Za-z_]\w*|[0-9@*#?$!-]", re.ASCII)
_PARAMETER = regex(r"([!#]?)([A-Za-z_]\w*|[0-9@*#?$!-])(?:\[[^\]]{0,200}\])?(:?[-=+?]|:|[#%/^,@])?", re.ASCII)
_NESTING = regex(r"\\.|['\"`(){}]|\$\(|\$\{", re.DOTALL)
_ASSIGNMENT = regex(r"([A-Za-z_]\w*)(\+?=)", re.ASCII)
_ANSI = regex(r"\\(x[0-9A-Fa-f]{1,2}|[0-7]{1,3}|.)", re.DOTALL)
_ANSI_LETTERS = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "e": "\x1b", "f": "\f", "v": "\v"}
_DECIDED = ("default", "alternative")
"""Kinds of expansion that say what the value is where the parameter is not given: `${1:-x}`."""
_DEEPEST = 20
"""`${A:-${B:-...}}` is followed so many levels for its fallback."""


@dataclass(slots=True)
class Expansion:
    """One `$...` or backquote part of a word; `name` is empty where it is no variable, `operand` what follows it."""

    kind: ExpansionKind
    name: str
    start: int
    end: int
    operand: str = ""


@dataclass(slots=True)
class Word:
    """`text` after quote removal; character i stands at `offsets[i]` of the source, the whole at `start` to `end`."""

    source: Source
    text: str
    start: int
    end: int
    offsets: Sequence[int]
    expansions: tuple[Expansion, ...] = ()
    branch: tuple[Branch, ...] = ()
    """Conditions under which the word is there at all (a flag that was put into a variable in an `if`)."""
    used: Word | None = None
    """The variable that stands for the word where it is used."""

    @property
    def literal(self) -> bool:
        """Whether the shell uses the text as it is."""
        return not self.expansions

    def part(self, start: int, end: int | None = None) -> Word:
        """`text[start:end]` as a word of its own; expansions cut in two are dropped from the list, not the text."""
        end = len(self.text) if end is None else end
        offsets = self.offsets[start:end]
        inside = tuple(
            Expansion(e.kind, e.name, e.start - start, e.end - start, e.operand)
            for e in self.expansions
            if e.start >= start and e.end <= end
        )
        first = offsets[0] if offsets else self._gap(start)
        last = offsets[-1] + 1 if offsets else first
        return Word(self.source, self.text[start:end], first, last, offsets, inside, self.branch)

    def under(self, branch: tuple[Branch, ...]) -> Word:
        """The same word, there only under these conditions too."""
        more = tuple(b for b in branch if b not in self.branch)
        if not more:
            return self
        branch = self.branch + more
        return Word(self.source, self.text, self.start, self.end, self.offsets, self.expansions, branch, self.used)

    def seen_at(self, used: Word) -> Word:
        """The same word, where `used` stands for it."""
        return Word(self.source, self.text, self.start, self.end, self.offsets, self.expansions, self.branch, used)

    @property
    def computed(self) -> bool:
        """Whether the whole word is the output of a command."""
        if len(self.expansions) != 1 or self.expansions[0].kind != "command":
            return False
        return self.expansions[0].start == 0 and self.expansions[0].end == len(self.text)

    def place(self) -> Place:
        """Where the word stands."""
        return self.source.place(self.start, self.end)

    def as_source(self) -> Source:
        """The word as text to read on."""
        if isinstance(self.offsets, range) and not isinstance(self.source, MappedSource):
            return self.source.part(self.offsets.start, self.offsets.stop)
        return mapped(self.source, self.text, self.offsets)

    @property
    def quoted(self) -> bool:
        """Whether the word starts with a double quote, so that what a variable holds is not split."""
        return self.source.text.startswith('"', self.start)

    def variable(self) -> str:
        """The name where the word is nothing but `$NAME`, `${NAME}` or `${NAME[@]}`, else an empty string."""
        if len(self.expansions) != 1 or len(self.text) < 2:
            return ""
        only = self.expansions[0]
        return only.name if only.kind in ("plain", "default") and only.end - only.start == len(self.text) else ""

    def _gap(self, at: int) -> int:
        """Where an empty part at `at` stands: right after the character before it."""
        return self.offsets[at - 1] + 1 if 0 < at <= len(self.offsets) else self.start

    def assignment(self) -> tuple[Word, str, Word] | None:
        """Name, operator and value of `NAME=VALUE` or `NAME+=VALUE`; None where the word is no assignment."""
        match = _ASSIGNMENT.match(self.text)
        if match is None:
            return None
        value = self.part(match.end())
        if self.end > value.end and not value.text:
            value.start = value.end = max(value.start, self.start)
        return self.part(0, match.end(1)), match[2], value

    def leading_variable(self) -> tuple[str, int] | None:
        """The plain variable a word starts with, and where the rest of the text begins: `$v=1`, `${v}`."""
        if self.expansions and self.expansions[0].start == 0 and self.expansions[0].kind == "plain":
            return self.expansions[0].name, self.expansions[0].end
        return None

    def split(self) -> list[Word]:
        """The words that an unquoted expansion of this text becomes: split at blanks outside of expansions."""
        if not self.expansions:
            return [self.part(*match.span()) for match in re.finditer(r"\S+", self.text)]
        text = list(self.text)
        for expansion in self.expansions:
            text[expansion.start : expansion.end] = "x" * (expansion.end - expansion.start)
        return [self.part(*match.span()) for match in re.finditer(r"\S+", "".join(text))]


def read_word(source: Source, start: int, end: int) -> Word:
    """The word at `source.text[start:end]`."""
    text = source.text
    if _PLAIN_WORD.fullmatch(text, start, end):
        return Word(source, text[start:end], start, end, range(start, end))
    if match := _QUOTED_WORD.fullmatch(text, start, end):
        return Word(source, match[match.lastindex or 1], start, end, range(start + 1, end - 1))
    if match := _SIMPLE_WORD.fullmatch(text, start, end):
        return _simple(source, match)
    return _Reader(source, start, end).word()


def _simple(source: Source, match: re.Match[str]) -> Word:
    """A word in one pair of quotes or none, whose expansions need no unnesting."""
    shift = match.start(2)
    expansions = [
        Expansion(_KINDS.get(m[3], "other"), m[1] or m[2], m.start() - shift, m.end() - shift, m[4] or "")
        for m in _SIMPLE_EXPANSION.finditer(source.text, shift, match.end(2))
    ]
    return Word(source, match[2], match.start(), match.end(), range(shift, match.end(2)), tuple(expansions))


def joined(words: Sequence[Word]) -> Word:
    """Words of one source with a blank between them, as `ssh host a b` and `eval a b` join theirs."""
    text: list[str] = []
    offsets = array("I")
    expansions: list[Expansion] = []
    length = 0
    for word in words:
        if text:
            text.append(" ")
            offsets.append(offsets[-1] + 1 if offsets else word.start)
            length += 1
        expansions += [Expansion(e.kind, e.name, e.start + length, e.end + length, e.operand) for e in word.expansions]
        text.append(word.text)
        offsets.extend(word.offsets)
        length += len(word.text)
    return Word(words[0].source, "".join(text), words[0].start, words[-1].end, offsets, tuple(expansions))


def value_of(word: Word, known: bool = True) -> Value:
    """What a setting is given by a word. `known` is False where a template or placeholder stands in it."""
    if not known:
        return Value("unknown", word.text)
    if word.literal:
        return Value("literal", word.text)
    first = word.expansions[0]
    if len(word.expansions) == 1 and "$" not in first.operand and first.name.isidentifier():
        return Value("template", word.text, (first.name,), fallback_of(word))
    names = tuple(dict.fromkeys(references(word)))
    if any(e.kind == "command" or not (_NAME.fullmatch(e.name) or e.kind in _DECIDED) for e in word.expansions):
        return Value("unknown", word.text, names)
    return Value("template", word.text, names, fallback_of(word))


def references(word: Word) -> Iterator[str]:
    """Names of the variables a word refers to, those in operands and commands included."""
    for expansion in word.expansions:
        if _NAME.fullmatch(expansion.name):
            yield expansion.name
        if "$" in expansion.operand:
            yield from re.findall(r"\$\{?([A-Za-z_]\w*)", expansion.operand)


def fallback_of(word: Word, depth: int = 0) -> str | None:
    """The value when every variable in the word is unset; None where that cannot be told."""
    if word.expansions and word.expansions[0].kind == "plain":
        return None
    pieces: list[str] = []
    done = 0
    for expansion in word.expansions:
        pieces.append(word.text[done : expansion.start])
        done = expansion.end
        if expansion.kind == "default" and depth < _DEEPEST:
            operand = expansion.operand
            inner = operand if _PLAIN_WORD.fullmatch(operand) else fallback_of(_operand(operand), depth + 1)
            if inner is None:
                return None
            pieces.append(inner)
        elif expansion.kind != "alternative":
            return None
    pieces.append(word.text[done:])
    return "".join(pieces)


def _operand(text: str) -> Word:
    return _Reader(Source("", text), 0, len(text)).word()


class _Reader:
    """Reads one word character run by character run."""

    def __init__(self, source: Source, start: int, end: int) -> None:
        self.source, self.text, self.start, self.end = source, source.text, start, end
        self.at = start
        self.pieces: list[str] = []
        self.offsets = array("I")
        self.expansions: list[Expansion] = []
        self.quoted = False

    def word(self) -> Word:
        while self.at < self.end:
            self._step(self.text[self.at])
        return Word(self.source, "".join(self.pieces), self.start, self.end, self.offsets, tuple(self.expansions))

    def _step(self, char: str) -> None:
        if char == "\\":
            self._escape()
        elif char == '"':
            self.quoted = not self.quoted
            self.at += 1
        elif char == "'" and not self.quoted:
            self._single_quotes()
        elif char == "$":
            self._dollar()
        elif char == "`":
            self._expansion(expansion_end(self.text, self.at, self.end), "command")
        elif match := _RUN.match(self.text, self.at, self.end):
            self._take(self.at, match.end())
        else:
            self._take(self.at, self.at + 1)

    def _take(self, start: int, stop: int) -> None:
        self.pieces.append(self.text[start:stop])
        self.offsets.extend(range(start, stop))
        self.at = stop

    def _escape(self) -> None:
        following = self.text[self.at + 1 : min(self.at + 2, self.end)]
        if following == "\n":
            self.at += 2
        elif following and (not self.quoted or following in '$`"\\'):
            self._take(self.at + 1, self.at + 2)
        else:
            self._take(self.at, self.at + 1)

    def _single_quotes(self) -> None:
        close = self.text.find("'", self.at + 1, self.end)
        close = self.end if close == -1 else close
        self._take(self.at + 1, close)
        self.at = close + 1

    def _dollar(self) -> None:
        following = self.text[self.at + 1 : min(self.at + 2, self.end)]
        if following == "'" and not self.quoted:
            self._ansi_quotes()
        elif following == '"' and not self.quoted:
            self.at += 1
        elif following == "(":
            self._expansion(expansion_end(self.text, self.at, self.end), "command")
        elif following == "{":
            self._braces(expansion_end(self.text, self.at, self.end))
        elif match := _SPECIAL.match(self.text, self.at + 1, self.end):
            self._expansion(match.end(), "plain", match[0])
        else:
            self._take(self.at, self.at + 1)

    def _braces(self, stop: int) -> None:
        match = _PARAMETER.match(self.text, self.at + 2, stop)
        if match is None:
            self._expansion(stop, "other")
            return
        prefix, name, operator = match.groups()
        kind: ExpansionKind = "other"
        if not prefix and operator is None and match.end() == stop - 1:
            kind = "plain"
        elif not prefix and operator in (":-", "-", ":=", "="):
            kind = "default"
        elif not prefix and operator in (":+", "+"):
            kind = "alternative"
        self._expansion(stop, kind, "" if prefix == "!" else name, self.text[match.end() : stop - 1])

    def _expansion(self, stop: int, kind: ExpansionKind, name: str = "", operand: str = "") -> None:
        start = len(self.offsets)
        if kind == "command":
            operand = self.text[self.at : stop]
        self._take(self.at, stop)
        self.expansions.append(Expansion(kind, name, start, len(self.offsets), operand))

    def _ansi_quotes(self) -> None:
        at = self.at + 2
        while at < self.end and self.text[at] != "'":
            match = _ANSI.match(self.text, at, self.end)
            self.pieces.append(_ansi(match[1]) if match else self.text[at])
            self.offsets.append(at)
            at = match.end() if match else at + 1
        self.at = at + 1


def _ansi(code: str) -> str:
    if code[0] == "x" and len(code) > 1:
        return chr(int(code[1:], 16))
    if code[0] in "01234567":
        return chr(int(code, 8) & 0xFF)
    return _ANSI_LETTERS.get(code, code if code in "\\'\"?" else "\\" + code[:1])[:1] if code else ""


def expansion_end(text: str, start: int, end: int) -> int:
    """Where the `$(`, `${` or backquote that begins at `start` ends; `end` where it is not closed."""
    opening = text[start] if text[start] == "`" else text[start + 1]
    stack = [opening]
    at = start + (1 if opening == "`" else 2)
    while stack:
        match = _NESTING.search(text, at, end)
        if match is None:
            return end
        at = match.end()
        token = match[0]
        if token == "'":
            if '"' not in stack:
                close = text.find("'", at, end)
                at = end if close == -1 else close + 1
        elif token[0] != "\\":
            _nest(stack, token)
    return at


_CLOSERS = {"(": ")", "{": "}", '"': '"', "`": "`"}


def _nest(stack: list[str], token: str) -> None:
    """Open or close one level of nesting."""
    top = stack[-1]
    if token == _CLOSERS[top]:
        stack.pop()
    elif token in ("$(", "${"):
        stack.append(token[1])
    elif token in ('"', "`") or (token in "({" and top != '"' and token == top):
        stack.append(token)
