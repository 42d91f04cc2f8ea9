"""Does the text of a value do what it seems to? Pure functions of a variable, a text and a target."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from envdoctor.core import numbers
from envdoctor.core.records import dataclass
from envdoctor.core.regexes import regex
from envdoctor.knowledge.catalog.model import BadValue, Catalog, ValueGrammar, Variable
from envdoctor.knowledge.catalog.releases import Library

NUMBER = {
    "strtoll": regex(r"\s*[+-]?(?:0[xX][0-9A-Fa-f]+|0[0-7]*|[1-9][0-9]*)"),
    "atoi": regex(r"\s*[+-]?[0-9]+"),
    "python": regex(r"\s*[+-]?[0-9](?:_?[0-9])*\s*\Z"),
    "decimal": regex(r"\s*[0-9]+\s*\Z"),
}
"""What each way of reading takes for a number; C functions stop at the first character that is none."""
BYTES = ("b", "B", "bytes")
"""Text after a number that changes nothing: the unit is bytes anyway."""


def number_in(text: str, number: str) -> tuple[int | None, str]:
    """The number that is read from the start of a text, or None, and the text that is left over."""
    match = NUMBER[number].match(text) if number in NUMBER else None
    if match is None:
        return None, text
    digits = match[0].strip().lower()
    plain = digits.lstrip("+-")
    octal = number == "strtoll" and plain.startswith("0") and plain != "0"
    base = 16 if plain.startswith("0x") else 8 if octal else 10
    return numbers.number(digits, base), text[match.end() :]


def faults(
    variable: Variable,
    catalog: Catalog,
    text: str,
    comment: str = "",
    platform: str | None = None,
    versions: Mapping[str, str] | None = None,
) -> list[BadValue]:
    """What is wrong with a value on a target, the most special statement first; nothing if nothing is known.

    `platform` None means unknown: then only what holds on every platform counts. `versions` are a target's (`nccl`,
    `rocm`, `torch`, ...); what holds for some releases counts only where the release is known to be one of them.
    """
    here = _Here.of(variable, catalog, platform, versions)
    found = [bad for bad in variable.bad if here.concerns(bad) and holds(bad, variable, text, comment, here)]
    return sorted(found, key=_generality)


def unknown_words(
    variable: Variable,
    catalog: Catalog,
    text: str,
    platform: str | None = None,
    versions: Mapping[str, str] | None = None,
) -> list[str]:
    """The parts of a value that no reader on the target knows; see `faults` for the arguments."""
    return _Here.of(variable, catalog, platform, versions).unknown(text)


def _generality(bad: BadValue) -> tuple[bool, bool, bool]:
    return (not (bad.since or bad.until), not bad.library, not bad.platform)


@dataclass(frozen=True, slots=True)
class _Here:
    """A variable on a target: which libraries may read it there, and which words they know."""

    grammar: ValueGrammar | None
    readers: tuple[Library, ...]
    platform: str | None
    versions: Mapping[str, str]

    @classmethod
    def of(
        cls, variable: Variable, catalog: Catalog, platform: str | None, versions: Mapping[str, str] | None
    ) -> _Here:
        known = [catalog.libraries[reading.library] for reading in variable.readings]
        readers = tuple(library for library in known if platform is None or library.platform in ("both", platform))
        return cls(variable.value, readers, platform, versions or {})

    def concerns(self, bad: BadValue) -> bool:
        """It holds for every library that may read the value here."""
        if (bad.platform and bad.platform != self.platform) or (bad.not_on and bad.not_on == self.platform):
            return False
        if not bad.library:
            return True
        if [library.name for library in self.readers] != [bad.library]:
            return False
        if not (bad.since or bad.until):
            return True
        library = self.readers[0]
        version = library.version(self.versions)
        return version is not None and library.within(version, bad.since, bad.until)

    def unknown(self, text: str) -> list[str]:
        """The parts of a value that are not among the words; empty parts count for nothing."""
        words = self._words()
        if self.grammar is None or not words or (self.grammar.also and re.search(self.grammar.also, text)):
            return []
        fold = str.lower if self.grammar.case == "insensitive" else str
        return [part for part in self._parts(text, self.grammar) if part and fold(part) not in words]

    def _words(self) -> frozenset[str]:
        """Every word that some library may know here, in lower case if case does not matter."""
        if self.grammar is None:
            return frozenset()
        found: set[str] = set()
        for name, steps in self.grammar.words.items():
            for library in self.readers:
                if name in ("", library.name):
                    found |= _words_of(steps, library, self.versions)
        return frozenset(map(str.lower, found)) if self.grammar.case == "insensitive" else frozenset(found)

    def _parts(self, text: str, grammar: ValueGrammar) -> list[str]:
        """`^A,B` and, where functions are known, `function:A,B;...`, taken apart."""
        functions = {name.lower() for name in grammar.functions} if self._has_functions(grammar) else set()
        parts: list[str] = []
        for entry in text.split(";") if functions else [text]:
            function, colon, rest = entry.partition(":")
            content = rest if colon and function.lower() in functions else entry
            if grammar.inverter:
                content = content.removeprefix(grammar.inverter)
            parts += content.split(grammar.separator) if grammar.separator else [content]
        return parts

    def _has_functions(self, grammar: ValueGrammar) -> bool:
        """Some library may take the form with functions here."""
        for library in self.readers:
            since = grammar.functions_since.get(library.name)
            version = library.version(self.versions)
            places = library.around(version) if version else ()
            if since and (not places or places[-1] >= library.releases.index(since)):
                return True
        return False


def _words_of(
    steps: tuple[tuple[str, tuple[str, ...]], ...], library: Library, versions: Mapping[str, str]
) -> set[str]:
    """The words of one library: those of its release if that is known, else of all releases."""
    version = library.version(versions)
    places = library.around(version) if version else ()
    if not places or not steps[0][0]:
        return {word for _, words in steps for word in words}
    found: set[str] = set()
    for place in places:
        held = [words for release, words in steps if library.releases.index(release) <= place]
        found.update(held[-1] if held else ())
    return found


def holds(bad: BadValue, variable: Variable, text: str, comment: str, here: _Here) -> bool:
    """Whether a statement's condition is true of a text and the comment beside it."""
    if text.strip().lower() in bad.unless:
        return False
    if bad.beside and not re.search(bad.beside, comment):
        return False
    if bad.condition == "unknown_word":
        return bool(here.unknown(text))
    number = variable.value.number if variable.value else ""
    return TESTS[bad.condition](text, bad.argument, number)


def _integer(text: str, number: str) -> int | None:
    return number_in(text, number)[0]


def _not_integer(text: str, argument: Any, number: str) -> bool:
    del argument
    return bool(text.strip()) and _integer(text, number) is None


def _trailing_text(text: str, argument: Any, number: str) -> bool:
    del argument
    read, rest = number_in(text, number)
    return read is not None and bool(rest.strip()) and rest.strip() not in BYTES


def _outside(text: str, argument: Any, number: str) -> bool:
    read = _integer(text, number)
    return read is not None and not argument[0] <= read <= argument[1]


def _above(text: str, argument: Any, number: str) -> bool:
    read = _integer(text, number)
    return read is not None and bool(read > argument)


def _below(text: str, argument: Any, number: str) -> bool:
    read = _integer(text, number)
    return read is not None and bool(read < argument)


def _not_multiple(text: str, argument: Any, number: str) -> bool:
    read = _integer(text, number)
    return read is not None and read > 0 and bool(read % argument)


TESTS: Mapping[str, Callable[[str, Any, str], bool]] = {
    "values": lambda text, argument, _: text.lower() in [word.lower() for word in argument],
    "matches": lambda text, argument, _: re.search(argument, text) is not None,
    "not_integer": _not_integer,
    "trailing_text": _trailing_text,
    "outside": _outside,
    "above": _above,
    "below": _below,
    "not_multiple_of": _not_multiple,
    "empty": lambda text, argument, _: not text,
}
"""Condition -> test of (text, argument, way of reading numbers)."""
