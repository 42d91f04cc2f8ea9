"""Statements and words of small command languages: csh, fish, Tcl, and the command lines of unit files.

They differ in what quotes and backslashes mean (`Language`); each character of a word keeps its offset.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from envdoctor.core.facts import Value
from envdoctor.core.records import dataclass, field
from envdoctor.core.regexes import regex
from envdoctor.core.source import Source
from envdoctor.readers.shared.substitution import parts_of, value_of

LITERAL_DOLLAR = "\ue024"
"""Stands for a `$` that is no reference, in a character that no file uses, while references are looked for."""

LONGEST = 10_000
"""Characters within which a quote has to close on a further line."""

_SEPARATOR = regex(r"\n|;|&&|\|\|?&?|&")


@dataclass(frozen=True, slots=True)
class Language:
    """What quotes and backslashes mean.

    escapes: a backslash outside of quotes takes a character its meaning; in_double, in_single: characters that a
    backslash escapes inside such quotes; braces: `{...}` is one literal word (Tcl); brackets: pairs whose inside
    belongs to the word, whatever stands in it; operators: `&&`, `|` and `&` end a statement as `;` does; multiline:
    quotes may close on a further line; comment_anywhere: one begins in the middle of a word too (csh).
    """

    escapes: bool = True
    in_double: str = ""
    in_single: str = ""
    braces: bool = False
    brackets: Mapping[str, str] = field(default_factory=dict)
    operators: bool = True
    multiline: bool = False
    comment_anywhere: bool = False
    comment: str = "#"


@dataclass(slots=True)
class StatementWord:
    """What a program gets for a word, the offset of each character, and the span with its quotes.

    `template` is the text with `LITERAL_DOLLAR` for each `$` that stands for itself; `braced`: a literal `{...}`.
    """

    start: int
    end: int
    text: str = ""
    offsets: list[int] = field(default_factory=list)
    template: str = ""
    computed: bool = False
    braced: bool = False

    def add(self, text: str, offset: int, literal: bool = False, single: bool = False) -> None:
        """Append text that stands at `offset`; `single`: all of it stands for one character there."""
        self.text += text
        self.offsets += [offset] * len(text) if single else range(offset, offset + len(text))
        self.template += text.replace("$", LITERAL_DOLLAR) if literal else text

    def value(self, known: Mapping[str, str] | None = None) -> Value:
        """The word as a value; `known` gives what variables hold."""
        if self.computed or "$(" in self.template:
            return Value("unknown", self.text)
        value = value_of(parts_of(self.template, False), self.text, known)
        if LITERAL_DOLLAR not in self.template:
            return value
        fallback = value.fallback.replace(LITERAL_DOLLAR, "$") if value.fallback else value.fallback
        return Value(value.kind, self.text, value.references, fallback)


@dataclass(slots=True)
class Statement:
    """Words up to a line end or an operator, which is kept in `ended_by`."""

    words: list[StatementWord]
    ended_by: str = "\n"

    @property
    def start(self) -> int:
        """Offset of the first word."""
        return self.words[0].start

    @property
    def end(self) -> int:
        """Offset behind the last word."""
        return self.words[-1].end


class Scanner:
    """Cuts text into statements and words. What is not closed ends with its line, or with the text."""

    def __init__(self, source: Source, language: Language, start: int = 0, end: int | None = None) -> None:
        self.text = source.text
        self.language = language
        self.at = start
        self.end = len(source.text) if end is None else end
        special = r"\s;\"'\\" + ("&|" if language.operators else "") + re.escape("".join(language.brackets))
        special += language.comment if language.comment_anywhere else ""
        self.plain = re.compile(f"[^{special}]+")

    def statements(self) -> Iterator[Statement]:
        """All statements that have words."""
        words: list[StatementWord] = []
        while self.at < self.end:
            if self.skip():
                continue
            if ended_by := self.separator():
                if words:
                    yield Statement(words, ended_by)
                    words = []
            elif self.text.startswith(self.language.comment, self.at) and self.comments(words):
                stop = self.text.find("\n", self.at, self.end)
                self.at = stop if stop != -1 else self.end
            else:
                words.append(self.word())
        if words:
            yield Statement(words)

    def comments(self, words: list[StatementWord]) -> bool:
        """Whether a comment may begin here: in Tcl only where a command may."""
        return not self.language.braces or not words

    def skip(self) -> bool:
        """Pass over blanks and continued line ends."""
        start = self.at
        while self.at < self.end and self.text[self.at] in " \t\r\f\v":
            self.at += 1
        if self.text.startswith("\\\n", self.at):
            self.at += 2
        return self.at > start

    def separator(self) -> str:
        """The line end or operator here, passed over; empty where there is none."""
        match = _SEPARATOR.match(self.text, self.at, self.end)
        if match is None or (match[0][0] in "&|" and not self.language.operators):
            return ""
        self.at = match.end()
        return match[0]

    def word(self) -> StatementWord:
        """One word."""
        word = StatementWord(self.at, self.at)
        if self.language.braces and self.text[self.at] == "{":
            return self.braced(word)
        while self.at < self.end and self.text[self.at] not in " \t\r\f\v\n;" and not self.operator():
            if (self.language.comment_anywhere and self.text[self.at] == "#") or not self.piece(word):
                break
        word.end = self.at
        return word

    def operator(self) -> bool:
        """Whether an operator stands here, which ends a word."""
        return self.language.operators and self.text[self.at] in "&|"

    def piece(self, word: StatementWord) -> bool:
        """One part of a word; False where the word ends (a continued line)."""
        text, at = self.text, self.at
        char = text[at]
        if plain := self.plain.match(text, at, self.end):
            word.add(plain[0], at)
            self.at = plain.end()
        elif char in "\"'" and not (self.language.braces and char == "'"):
            self.quoted(word, char)
        elif char == "\\":
            if text.startswith("\\\n", at):
                return False
            self.escaped(word)
        elif char in self.language.brackets:
            self.bracketed(word, self.language.brackets[char])
        else:
            word.add(char, at)
            self.at += 1
        return True

    def escaped(self, word: StatementWord) -> None:
        """A backslash and what follows it."""
        following = self.text[self.at + 1 : min(self.at + 2, self.end)]
        if self.language.escapes and following:
            word.add(following, self.at, literal=True, single=True)
            self.at += 2
        else:
            word.add("\\", self.at)
            self.at += 1

    def quoted(self, word: StatementWord, quote: str) -> None:
        """Text in quotes, up to the closing one or the end of the line."""
        allowed = self.language.in_double if quote == '"' else self.language.in_single
        inside = re.compile(rf"[^{quote}\\\n`]+")
        self.at += 1
        stop = self.quote_end(quote)
        while self.at < stop and self.text[self.at] != quote:
            char = self.text[self.at]
            following = self.text[self.at + 1 : min(self.at + 2, self.end)]
            if plain := inside.match(self.text, self.at, self.end):
                word.add(plain[0], self.at, literal=quote == "'")
                self.at = plain.end()
            elif char == "\\" and following == "\n":
                self.at += 2
            elif char == "\\" and following and following in allowed:
                word.add(following, self.at, literal=True, single=True)
                self.at += 2
            else:
                word.computed = word.computed or (char == "`" and quote == '"' and not self.language.braces)
                word.add(char, self.at)
                self.at += 1
        if self.text.startswith(quote, self.at) and self.at < self.end:
            self.at += 1

    def quote_end(self, quote: str) -> int:
        """How far quoted text may go: to the end of its line, unless it may close on a further one."""
        line = self.text.find("\n", self.at, self.end)
        line = line if line != -1 else self.end
        further = self.language.multiline and self.text.find(quote, line, min(self.end, line + LONGEST)) != -1
        return self.end if further and quote not in self.text[self.at : line] else line

    def bracketed(self, word: StatementWord, closing: str) -> None:
        """What stands in brackets: computed at run time, up to the closing bracket on its line."""
        opening, depth, at = self.text[self.at], 0, self.at
        while at < self.end and (self.text[at] != "\n" or self.text[at - 1] == "\\"):
            char = self.text[at]
            depth += (char == opening != closing) - (char == closing != opening)
            at += 1
            if (opening != closing and depth == 0) or (opening == closing == char and at > self.at + 1):
                break
        word.computed = True
        word.add(self.text[self.at : at], self.at)
        self.at = at

    def braced(self, word: StatementWord) -> StatementWord:
        """`{...}` of Tcl: one literal word, over any number of lines."""
        depth, start = 0, self.at
        for match in re.compile(r"\\.|[{}]", re.DOTALL).finditer(self.text, self.at, self.end):
            depth += (match[0] == "{") - (match[0] == "}")
            if depth == 0:
                self.at = match.end()
                break
        else:
            self.at = self.end
        closed = self.text[self.at - 1] == "}"
        word.braced, word.end = True, self.at
        word.add(self.text[start + 1 : self.at - closed], start + 1, literal=True)
        return word
