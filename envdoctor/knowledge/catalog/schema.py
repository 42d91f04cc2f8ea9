"""The shape of a catalogue file. Each check takes a value and where it stands, and raises `CatalogError`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, get_args

from envdoctor.knowledge.catalog.model import CONDITIONS, CatalogError, Status, Verdict
from envdoctor.knowledge.files import suggestion

Check = Callable[[Any, str], None]


def fail(where: str, message: str) -> None:
    """Refuse a value: `where` is file and key."""
    raise CatalogError(f"{where}: {message}")


def text(value: Any, where: str) -> None:
    """Some text that is not empty."""
    if not isinstance(value, str) or not value.strip():
        fail(where, "expected text")


def flag(value: Any, where: str) -> None:
    """true or false."""
    if not isinstance(value, bool):
        fail(where, "expected true or false")


def yes(value: Any, where: str) -> None:
    """true: the key is only written where it holds."""
    if value is not True:
        fail(where, "expected true")


def integer(value: Any, where: str) -> None:
    """A whole number."""
    if not isinstance(value, int) or isinstance(value, bool):
        fail(where, "expected an integer")


def two_integers(value: Any, where: str) -> None:
    """`[low, high]`, in this order."""
    if not (isinstance(value, list) and len(value) == 2 and all(type(bound) is int for bound in value)):
        fail(where, "expected two integers")
    if value[0] > value[1]:
        fail(where, "expected the lower integer first")


def texts(value: Any, where: str) -> None:
    """A list of texts; an empty text is one too."""
    if not isinstance(value, list) or not all(isinstance(word, str) for word in value):
        fail(where, "expected a list of texts")


def two_texts(value: Any, where: str) -> None:
    """`[first release, last release]`."""
    if not (isinstance(value, list) and len(value) == 2 and all(isinstance(word, str) for word in value)):
        fail(where, "expected two texts")


def steps(value: Any, where: str) -> None:
    """`[[release, text], ...]`."""
    if not isinstance(value, list):
        fail(where, "expected a list of [release, text]")
    for step in value:
        two_texts(step, where)


def regex(value: Any, where: str) -> None:
    """A regular expression."""
    text(value, where)
    try:
        re.compile(value)
    except re.error as error:
        fail(where, f"not a regular expression: {error}")


def choice(*words: str) -> Check:
    """One of some words."""

    def check(value: Any, where: str) -> None:
        if value not in words:
            hint = suggestion(value, words) if isinstance(value, str) else ""
            fail(where, f"expected one of {', '.join(words)}{hint}")

    return check


def table(keys: Mapping[str, Check], required: tuple[str, ...] = ()) -> Check:
    """A table with these keys and no others."""

    def check(value: Any, where: str) -> None:
        if not isinstance(value, dict):
            fail(where, "expected a table")
        for key, content in value.items():
            if key not in keys:
                fail(f"{where}.{key}", f"unknown key{suggestion(key, list(keys))}")
            keys[key](content, f"{where}.{key}")
        for key in required:
            if key not in value:
                fail(f"{where}.{key}", "missing")

    return check


def each(content: Check) -> Check:
    """A table with keys of the file's own choice."""

    def check(value: Any, where: str) -> None:
        if not isinstance(value, dict):
            fail(where, "expected a table")
        for key, entry in value.items():
            content(entry, f"{where}.{key}")

    return check


def every(content: Check) -> Check:
    """A list of tables."""

    def check(value: Any, where: str) -> None:
        if not isinstance(value, list):
            fail(where, "expected a list of tables")
        for place, entry in enumerate(value):
            content(entry, f"{where}[{place}]")

    return check


def by_library(content: Check, is_plain: Callable[[Any], bool]) -> Check:
    """One entry for all, or by library one entry or `[[release, entry], ...]`."""

    def one(value: Any, where: str) -> None:
        if is_plain(value) or not isinstance(value, list):
            return content(value, where)
        for step in value:
            if not (isinstance(step, list) and len(step) == 2 and isinstance(step[0], str)):
                fail(where, "expected [release, entry]")
            content(step[1], where)
        return None

    def check(value: Any, where: str) -> None:
        if isinstance(value, dict):
            return each(one)(value, where)
        return content(value, where)

    return check


def _is_words(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(word, str) for word in value)


def _is_range(value: Any) -> bool:
    return isinstance(value, list) and not any(isinstance(bound, list) for bound in value)


PLATFORM = choice("cuda", "rocm", "both", "ascend")
WHEN: dict[str, Check] = {
    "values": texts, "matches": regex, "unknown_word": yes, "not_integer": yes, "trailing_text": yes,
    "outside": two_integers, "above": integer, "below": integer, "not_multiple_of": integer, "empty": yes,
    "beside": regex, "unless": texts,
}  # fmt: skip


def when(value: Any, where: str) -> None:
    """Exactly one condition, with or without what stands beside it and what is fine."""
    table(WHEN)(value, where)
    if len([key for key in value if key in CONDITIONS]) != 1:
        fail(where, f"expected exactly one of {', '.join(CONDITIONS)}")


BAD = table(
    {"when": when, "effect": text, "verdict": choice(*get_args(Verdict)), "platform": PLATFORM, "not_on": PLATFORM,
     "library": text, "since": text, "until": text, "weak": yes},
    required=("when", "effect", "verdict"),
)  # fmt: skip
READING = table(
    {"since": text, "until": text, "older": yes, "pinned": yes, "probable": yes, "gaps": texts, "unsure": texts,
     "component": text, "condition": text, "default": steps, "note": text, "evidence": text},
)  # fmt: skip
NUMBERS = ("strtoll", "atoi", "python", "decimal")
"""How a number is read: `strtoll` with base 0 (or `strtoul`), `atoi` (or `std::stoi`), `int()`, digits only."""
VALUE = table(
    {"type": choice("bool-int", "bool-word", "int", "float", "size", "enum", "list", "path", "template", "string"),
     "parser": text, "separator": text, "case": choice("sensitive", "insensitive"), "inverter": text,
     "words": by_library(texts, _is_words), "also": regex, "functions": texts, "functions_since": each(text),
     "range": by_library(two_integers, _is_range), "unit": text, "escapes": each(text), "forms": each(text),
     "regex": regex, "note": text},
    required=("type",),
)  # fmt: skip
SETTING = table({"name": text, "words": texts, "refused": texts, "above": integer, "unset": yes}, required=("name",))
NEED = table({"text": text, "setting": SETTING, "version": each(text)}, required=("text",))
CONFLICT = table(
    {"with": text, "against": text, "when": regex, "with_when": regex, "winner": text, "why": text}, required=("why",)
)
VARIABLE = table(
    {"status": choice(*get_args(Status)), "platform": PLATFORM, "neutral": texts, "kind": text, "summary": text,
     "note": text, "evidence": texts, "read_by": each(READING), "value": VALUE, "bad": every(BAD),
     "needs": every(NEED), "conflicts": every(CONFLICT), "cached": flag, "replaced_by": text, "instead": text,
     "meant": text, "deprecated_since": each(text), "changes_bits": choice("yes", "no", "unknown"),
     "read_at": choice("process-start", "library-load", "runtime-init", "allocator-init", "first-communicator",
                       "each-communicator", "process-group", "first-gemm", "first-conv", "backend-start",
                       "never-cached")},
)  # fmt: skip
LIBRARY = table(
    {"title": text, "platform": PLATFORM, "counts": text, "releases": texts, "documented": texts, "current": text,
     "base": each(text), "note": text, "evidence": texts},
    required=("title",),
)  # fmt: skip
PREFIX = table(
    {"name": text, "closed": flag, "complete": each(two_texts), "private": texts, "build": texts, "foreign": text,
     "triggers": texts, "note": text, "evidence": texts},
    required=("name",),
)  # fmt: skip
PARSER = table(
    {"text": text, "number": choice(*NUMBERS), "words": texts, "case": choice("sensitive", "insensitive"),
     "bad": every(BAD)},
    required=("text",),
)  # fmt: skip
SECTIONS: dict[str, Check] = {
    "library": each(LIBRARY), "prefix": every(PREFIX), "parser": each(PARSER), "variable": each(VARIABLE),
}  # fmt: skip


def check_file(content: Mapping[str, Any], where: str) -> None:
    """Check one parsed file; `where` is how its errors name it."""
    for section, entry in content.items():
        if section not in SECTIONS:
            fail(f"{where}: {section}", f"unknown key{suggestion(section, list(SECTIONS))}")
        SECTIONS[section](entry, f"{where}: {section}")
