"""The value that was plainly meant, where exactly one is; whatever is proposed is judged by the catalogue first."""

from __future__ import annotations

import re
from collections.abc import Iterator

from envdoctor.checks.names import slips
from envdoctor.core.facts import FileFacts, Setting
from envdoctor.core.findings import Edit, Finding, Fix
from envdoctor.core.target import Target
from envdoctor.fixes.spans import at
from envdoctor.fixes.workshop import Workshop, unsafe
from envdoctor.knowledge.catalog.model import Catalog, Variable
from envdoctor.knowledge.catalog.values import faults, unknown_words

YES = ("true", "yes", "on", "enable", "enabled", "t", "y")
NO = ("false", "no", "off", "disable", "disabled", "f", "n")


def correct(finding: Finding, facts: FileFacts, workshop: Workshop) -> Fix | None:
    """The right value in place of a wrong one; none where it is not plain, or the value not plain text there."""
    setting = workshop.setting(finding, facts)
    place = setting.value_place if setting is not None else None
    if setting is None or place is None or setting.value.kind != "literal":
        return None
    if at(workshop.lines(facts.path), place) != setting.value.text:
        return None
    value = _meant(setting, workshop.catalog, workshop.target(facts.path))
    return unsafe(f"write {setting.name}={value}", Edit(place, value)) if value is not None else None


def _meant(setting: Setting, catalog: Catalog, target: Target) -> str | None:
    """The one value that a setting can have meant."""
    variable = catalog.variable(setting.name)
    if variable is None:
        return None
    found = {value for value in _candidates(setting.value.text, variable, catalog, target)
             if not _faulty(value, setting, variable, catalog, target)}  # fmt: skip
    return found.pop() if len(found) == 1 else None


def _faulty(value: str, setting: Setting, variable: Variable, catalog: Catalog, target: Target) -> bool:
    found = faults(variable, catalog, value, setting.comment, target.platform, target.versions)
    return bool(found or unknown_words(variable, catalog, value, target.platform, target.versions))


def _candidates(text: str, variable: Variable, catalog: Catalog, target: Target) -> Iterator[str]:
    """Values that the text can have meant: a switch, a colon or quotes too few or too many, a slip in a word."""
    grammar = variable.value
    if grammar is None:
        return
    bare = text.strip().strip("\"'")
    if grammar.type == "bool-int":
        yield from ("1",) if bare.lower() in YES else ("0",) if bare.lower() in NO else ()
    if grammar.regex:
        yield from (value for value in (bare, f":{bare}") if re.fullmatch(grammar.regex, value))
    words = sorted({word for steps in grammar.words.values() for _, found in steps for word in found})
    if words and grammar.type in ("enum", "list"):
        yield from _without_slips(text, words, unknown_words(variable, catalog, text, target.platform, target.versions))


def _without_slips(text: str, words: list[str], wrong: list[str]) -> Iterator[str]:
    """The text with each unknown word replaced by the one word that is a single slip away."""
    count = slips.distance()
    for part in wrong:
        near = [word for word in words if len(word) > 3 and count(part.lower(), word.lower(), 1) <= 1]
        if len(near) != 1 or text.count(part) != 1:
            return
        text = text.replace(part, near[0])
    if wrong:
        yield text
