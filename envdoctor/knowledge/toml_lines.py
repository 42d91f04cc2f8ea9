"""The lines on which the keys of a TOML file stand: its parser does not tell them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from envdoctor.core.regexes import regex
from envdoctor.knowledge.files import loads_toml
from envdoctor.knowledge.rule_errors import Key, RuleKeyError

SKIPPED = regex(r"(?:[\s,]|#[^\n]*)+")
STRING = regex(
    r'"""(?:\\.|[^\\])*?"""(?:"{0,2})' r"|'''.*?'''(?:'{0,2})" r'|"(?:\\.|[^"\\\n])*"' r"|'[^'\n]*'", re.DOTALL
)
BARE = regex(r"[^,\]}#\n]+")
"""A number, a date or a truth value."""
KEY_PART = regex(r"""[ \t]*([\w-]+|"(?:\\.|[^"\\\n])*"|'[^'\n]*')[ \t]*""")


@contextmanager
def located(text: str) -> Iterator[None]:
    """Errors that name a key of this text name its line, too."""
    try:
        yield
    except RuleKeyError as error:
        raise error.at_line(line_of(text, error.key)) from error


def line_of(text: str, key: Key) -> int | None:
    """The line of a key, of the table or list that it would stand in if it is missing; None where it has none."""
    try:
        lines = KeyLines(text).read()
    except (RecursionError, ValueError):
        return None
    return next((lines[key[:end]] for end in range(len(key), 0, -1) if key[:end] in lines), None)


class KeyLines:
    """Goes through a text that is valid TOML and notes where each key and each item of a list first stands."""

    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0
        self.found: dict[Key, int] = {}
        self._tables: Counter[Key] = Counter()
        """How many tables each list of tables has so far."""

    def read(self) -> dict[Key, int]:
        """Key -> line. `ValueError`: this is no TOML."""
        above: Key = ()
        while self._skip():
            if self.text.startswith("[", self.at):
                above = self._header()
            else:
                self._pair(above)
        return self.found

    def _skip(self) -> bool:
        """Go on to what means something; whether there is anything."""
        if match := SKIPPED.match(self.text, self.at):
            self.at = match.end()
        return self.at < len(self.text)

    def _note(self, key: Key) -> None:
        self.found.setdefault(key, self.text.count("\n", 0, self.at) + 1)

    def _keys(self) -> list[str]:
        """A dotted key."""
        keys = []
        while True:
            match = KEY_PART.match(self.text, self.at)
            if match is None:
                raise ValueError("no key")
            keys.append(_unquoted(match[1]))
            self.at = match.end()
            if not self.text.startswith(".", self.at):
                return keys
            self.at += 1

    def _header(self) -> Key:
        """`[a.b]` or `[[a.b]]`: the table that begins here."""
        brackets = 2 if self.text.startswith("[[", self.at) else 1
        start, self.at = self.at, self.at + brackets
        keys, end = self._keys(), self.at
        self.at = start
        key: Key = ()
        for number, part in enumerate(keys, 1):
            key = (*key, part)
            if number == len(keys) and brackets == 2:
                self._tables[key] += 1
            self._note(key)
            if self._tables[key]:
                key = (*key, self._tables[key] - 1)
                self._note(key)
        self.at = end + brackets
        return key

    def _pair(self, above: Key) -> None:
        """`a.b = value`."""
        start = self.at
        keys, end = self._keys(), self.at
        self.at = start
        key = above
        for part in keys:
            key = (*key, part)
            self._note(key)
        self.at = end + 1  # the equals sign
        self._value(key)

    def _value(self, key: Key) -> None:
        self._skip()
        if self.text.startswith("[", self.at):
            self._items(key)
        elif self.text.startswith("{", self.at):
            self._pairs(key)
        else:
            match = STRING.match(self.text, self.at) or BARE.match(self.text, self.at)
            if match is None:
                raise ValueError("no value")
            self.at = match.end()

    def _items(self, key: Key) -> None:
        """The items of a list."""
        self.at += 1
        index = 0
        while self._skip() and not self.text.startswith("]", self.at):
            self._note((*key, index))
            self._value((*key, index))
            index += 1
        self.at += 1

    def _pairs(self, key: Key) -> None:
        """The pairs of a table in one line."""
        self.at += 1
        while self._skip() and not self.text.startswith("}", self.at):
            self._pair(key)
        self.at += 1


def _unquoted(word: str) -> str:
    if word[0] not in "\"'":
        return word
    return str(loads_toml(f"key = {word}")["key"])
