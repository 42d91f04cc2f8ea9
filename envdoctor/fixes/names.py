"""Names that nothing reads: the setting goes, or gets the name that was meant."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from envdoctor.core.facts import FileFacts, Place, Setting
from envdoctor.core.findings import Edit, Finding, Fix
from envdoctor.core.regexes import regex
from envdoctor.fixes.remove import removal
from envdoctor.fixes.spans import at
from envdoctor.fixes.workshop import PlainProgram, Workshop, unsafe
from envdoctor.knowledge.catalog.values import faults

if TYPE_CHECKING:
    from envdoctor.fixes.notebook import Program

_COMMENT = regex(r"[ \t]*(?:#|//)")
"""A line that is a comment in one of the languages we edit."""
IN_PYTHON = ("python-environ", "child-environment", "runtime-env")
"""Channels of what Python code gives."""


def remove(finding: Finding, facts: FileFacts, workshop: Workshop) -> Fix | None:
    """Away with what nobody reads."""
    setting = workshop.setting(finding, facts)
    if setting is None or finding.severity == "info":
        return None
    edits = _without(setting, facts, workshop)
    if not edits:
        return None
    return Fix(f"remove {setting.name}", edits, _only_settings(setting.name, facts, workshop))


def retire(finding: Finding, facts: FileFacts, workshop: Workshop) -> Fix | None:
    """Away with what no release reads any more. Which one runs is not known for sure, so it is not safe."""
    setting, variable = workshop.setting(finding, facts), workshop.catalog.variable(finding.variable or "")
    if finding.fix is not None or setting is None or variable is None or not variable.readings:
        return finding.fix
    libraries = workshop.catalog.libraries
    ended = all(reading.ended(libraries[reading.library]) for reading in variable.readings)
    return unsafe(f"remove {setting.name}", *_without(setting, facts, workshop)) if ended else None


def rename(finding: Finding, facts: FileFacts, workshop: Workshop) -> Fix | None:
    """The real name in its place, wherever else the file only hands the wrong one on, and in its own value."""
    setting = workshop.setting(finding, facts)
    if setting is None or finding.fix is None or not finding.fix.edits[0].text:
        return finding.fix
    real = finding.fix.edits[0].text
    if any(s.name == real for s in facts.settings):
        return _twin(finding, setting, facts, workshop)
    others = [s for s in facts.settings if s.name == setting.name and s.op in ("export", "pass", "unset")]
    edits = []
    for one in [setting, *(s for s in others if s is not setting)]:
        made = _named(one.name_place or one.place, setting.name, real, workshop)
        made += _named(one.value_place, setting.name, real, workshop) if one.value.references else []
        if one.name_place is None or not made:
            return None
        edits += made
    safe = finding.name == "deprecated-variable" and _is_read(real, setting, facts, workshop)
    return Fix(f"rename {setting.name} to {real}", tuple(dict.fromkeys(edits)), safe)


def _twin(finding: Finding, setting: Setting, facts: FileFacts, workshop: Workshop) -> Fix | None:
    """The real name is set as well: the one that nothing reads can go. One that is still read is left alone."""
    edits = _without(setting, facts, workshop) if finding.name == "misnamed-variable" else ()
    if not edits:
        return None
    prefix = workshop.catalog.prefix_of(setting.name)
    closed = workshop.catalog.variable(setting.name) is not None or (prefix is not None and prefix.closed)
    return Fix(f"remove {setting.name}", edits, closed and _only_settings(setting.name, facts, workshop))


def _named(place: Place | None, name: str, real: str, workshop: Workshop) -> list[Edit]:
    """One edit for each time a name stands at a place."""
    if place is None:
        return []
    found = _word(name).finditer(at(workshop.lines(place.path), place))
    starts = [place.column + match.start() for match in found]
    return [Edit(Place(place.path, place.line, s, place.line, s + len(name)), real) for s in starts]


def _is_read(real: str, setting: Setting, facts: FileFacts, workshop: Workshop) -> bool:
    """The target is known to read the new name, it takes the same values, and nothing else goes by the old one."""
    old, new = workshop.catalog.variable(setting.name), workshop.catalog.variable(real)
    versions = workshop.target(facts.path).versions
    if old is None or new is None or not old.deprecated_since:
        return False
    if not any(component in versions for component in old.deprecated_since):
        return False  # the rule spoke because no release is known: then the new name may be unknown there too
    value = setting.value.known
    if value is not None and faults(new, workshop.catalog, value, versions=versions):
        return False
    if not _only_settings(setting.name, facts, workshop):
        return False
    # Other files may set it, read it or hand it on.
    return not workshop.project.references.mentioned(setting.name, facts.path)


def _only_settings(name: str, facts: FileFacts, workshop: Workshop) -> bool:
    """Every mention of a name in the file, comments aside, is in one of its settings: nothing else hangs on it."""
    word = _word(name)
    lines = workshop.lines(facts.path)
    mentions = sum(len(word.findall(line)) for line in lines if not _COMMENT.match(line))
    mine = [s for s in facts.settings if s.name == name]
    places = {place for s in mine for place in (s.name_place, s.value_place) if place is not None}
    return mentions <= sum(len(word.findall(at(lines, place))) for place in places)


def _word(name: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")


def _without(setting: Setting, facts: FileFacts, workshop: Workshop) -> tuple[Edit, ...]:
    """The edits that take a setting out; none where that is not plain."""
    program = workshop.program(facts) if setting.channel in IN_PYTHON else None
    if program is not None:
        return _out_of_program(setting, program)
    edit = removal(setting, workshop.lines(facts.path), facts.kind)
    return (edit,) if edit is not None else ()


def _out_of_program(setting: Setting, program: Program | PlainProgram) -> tuple[Edit, ...]:
    from envdoctor.fixes.python import remove as remove_python

    mapped = program.setting(setting)
    edit = remove_python.removal(mapped, program.text) if mapped is not None else None
    made = program.fix(Fix("", (edit,))) if edit is not None else None
    return made.edits if made is not None else ()
