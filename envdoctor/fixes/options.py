"""Options that cost a run its repeatability put back: a variable, an argument of a launch, or an option in the code."""

from __future__ import annotations

import re
from collections.abc import Sequence

from envdoctor.core.facts import FileFacts, Setting
from envdoctor.core.findings import Edit, Finding, Fix
from envdoctor.fixes.remove import out_of_words
from envdoctor.fixes.spans import at
from envdoctor.fixes.workshop import Workshop, unsafe


def put_back(finding: Finding, facts: FileFacts, workshop: Workshop) -> Fix | None:
    """An option in the code, or a variable whose other value the help names."""
    setting = workshop.setting(finding, facts) if finding.variable else None
    if setting is not None:
        return _other_value(finding, setting, workshop.lines(facts.path))
    if finding.help.startswith("without --"):
        return unsafe(finding.help, *_without_word(finding, workshop.lines(facts.path)))
    if workshop.program(facts) is None:
        return None
    from envdoctor.fixes.python import switches

    return switches.put_back(finding, workshop.tree)


def _other_value(finding: Finding, setting: Setting, lines: Sequence[str]) -> Fix | None:
    value = re.match(rf"(?:{setting.name}=)?(\w+)\Z", finding.help)
    place = setting.value_place
    if value is None or place is None or at(lines, place) != setting.value.text:
        return None
    return unsafe(f"write {setting.name}={value[1]}", Edit(place, value[1]))


def _without_word(finding: Finding, lines: Sequence[str]) -> tuple[Edit, ...]:
    """A launch without an argument that its mode refuses; the help of the finding names it."""
    found = re.fullmatch(r"without (--[\w-]+)", finding.help)
    place = finding.place
    if found is None or not 0 < place.line <= place.end_line <= len(lines):
        return ()
    word = re.compile(rf"(?<!\S){re.escape(found[1])}(?!\S)")
    hits = [(n, m) for n in range(place.line, place.end_line + 1) for m in word.finditer(lines[n - 1])]
    if len(hits) != 1:
        return ()
    number, match = hits[0]
    edit = out_of_words(place.path, lines, number, match.start(), match.end())
    return (edit,) if edit is not None else ()
