"""Which edits put a finding right: pure functions of findings, facts and text. Nothing is written here.

A safe fix changes nothing that works today: it takes out what nobody reads, or writes the new name of what is read
under both. Whatever may change what a job does is unsafe, however plainly it was meant.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from envdoctor.catalog import Catalog
from envdoctor.facts import FileFacts, Place, Setting
from envdoctor.findings import Edit, Finding, Fix
from envdoctor.fixes.spans import at
from envdoctor.project import Project

_COMMENT = regex(r"[ \t]*(?:#|//)")
"""A line that is a comment in one of the languages we edit."""


@dataclass(slots=True)
class Fixer:
    """Makes the fixes of findings from what the project says of their files."""

    project: Project
    catalog: Catalog
    _lines: dict[str, list[str]] = field(default_factory=dict)

    def attach(self, findings: Iterable[Finding]) -> list[Finding]:
        """The findings, each with its fix where there is a plain one."""
        return [self._with_fix(finding) for finding in findings]

    def lines(self, path: str) -> list[str]:
        """The lines of a file, as places count them."""
        if path not in self._lines:
            self._lines[path] = self.project.text(path).split("\n")
        return self._lines[path]

    def _with_fix(self, finding: Finding) -> Finding:
        if finding.place.cell is not None:
            return replace(finding, fix=None)
        make = {
            "ghost-variable": self._remove, "misnamed-variable": self._rename, "deprecated-variable": self._rename,
            "bad-value": self._correct, "not-forwarded": self._forward,
        }.get(finding.name)  # fmt: skip
        if make is None:
            return finding
        facts = self.project.read(finding.place.path)
        return replace(finding, fix=make(finding, facts) if facts is not None else None)

    def _setting(self, finding: Finding, facts: FileFacts) -> Setting | None:
        """The setting that a finding is about."""
        for setting in facts.settings:
            places = (setting.name_place, setting.value_place, setting.place)
            if setting.name == finding.variable and finding.place in places:
                return setting
        return None

    def _remove(self, finding: Finding, facts: FileFacts) -> Fix | None:
        setting = self._setting(finding, facts)
        if setting is None or finding.severity == "info":
            return None
        edit = self._removal(setting, facts)
        if edit is None:
            return None
        safe = self._only_settings(setting.name, facts)
        return Fix(f"remove {setting.name}", (edit,), safe)

    def _removal(self, setting: Setting, facts: FileFacts) -> Edit | None:
        text = self.project.text(facts.path)
        if setting.channel in ("python-environ", "child-environment", "runtime-env") and facts.kind == "python":
            from envdoctor.fixes import remove_python

            return remove_python.removal(setting, text)
        from envdoctor.fixes import remove

        return remove.removal(setting, self.lines(facts.path), facts.kind)

    def _only_settings(self, name: str, facts: FileFacts) -> bool:
        """Every mention of a name in the file, comments aside, is in one of its settings: nothing else hangs on it."""
        word = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")
        lines = self.lines(facts.path)
        mentions = sum(len(word.findall(line)) for line in lines if not _COMMENT.match(line))
        mine = [s for s in facts.settings if s.name == name]
        places = {place for s in mine for place in (s.name_place, s.value_place) if place is not None}
        return mentions <= sum(len(word.findall(at(lines, place))) for place in places)

    def _rename(self, finding: Finding, facts: FileFacts) -> Fix | None:
        """The real name in its place, wherever else the file only hands the wrong one on, and in its own value."""
        setting = self._setting(finding, facts)
        if setting is None or finding.fix is None or not finding.fix.edits[0].text:
            return finding.fix
        real = finding.fix.edits[0].text
        if any(s.name == real for s in facts.settings):
            return self._twin(finding, setting, facts)
        others = [s for s in facts.settings if s.name == setting.name and s.op in ("export", "pass", "unset")]
        edits = []
        for one in [setting, *(s for s in others if s is not setting)]:
            made = self._named(one.name_place or one.place, setting.name, real)
            made += self._named(one.value_place, setting.name, real) if one.value.references else []
            if one.name_place is None or not made:
                return None
            edits += made
        safe = finding.name == "deprecated-variable" and self._is_read(real, setting, facts)
        return Fix(f"rename {setting.name} to {real}", tuple(dict.fromkeys(edits)), safe)

    def _twin(self, finding: Finding, setting: Setting, facts: FileFacts) -> Fix | None:
        """The real name is set as well: the one that nothing reads can go. One that is still read is left alone."""
        edit = self._removal(setting, facts) if finding.name == "misnamed-variable" else None
        if edit is None:
            return None
        prefix = self.catalog.prefix_of(setting.name)
        closed = self.catalog.variable(setting.name) is not None or (prefix is not None and prefix.closed)
        return Fix(f"remove {setting.name}", (edit,), closed and self._only_settings(setting.name, facts))

    def _named(self, place: Place | None, name: str, real: str) -> list[Edit]:
        """One edit for each time a name stands at a place."""
        if place is None:
            return []
        text = at(self.lines(place.path), place)
        found = re.finditer(rf"(?<!\w){re.escape(name)}(?!\w)", text)
        starts = [place.column + match.start() for match in found]
        return [Edit(Place(place.path, place.line, s, place.line, s + len(name)), real) for s in starts]

    def _is_read(self, real: str, setting: Setting, facts: FileFacts) -> bool:
        """The target is known to read the new name, it takes the same values, and nothing else goes by the old one."""
        old, new = self.catalog.variable(setting.name), self.catalog.variable(real)
        versions = self.project.target(facts.path).versions
        if old is None or new is None or not old.deprecated_since:
            return False
        if not any(component in versions for component in old.deprecated_since):
            return False  # the rule spoke because no release is known: then the new name may be unknown there too
        from envdoctor.catalog_values import faults

        value = setting.value.known
        if value is not None and faults(new, self.catalog, value, versions=versions):
            return False
        if not self._only_settings(setting.name, facts):
            return False
        return not self.project.mentioned(setting.name, facts.path)  # others may set it, read it or hand it on

    def _correct(self, finding: Finding, facts: FileFacts) -> Fix | None:
        from envdoctor.fixes import values

        setting = self._setting(finding, facts)
        if setting is None:
            return None
        found = values.correction(setting, self.lines(facts.path), self.catalog, self.project.target(facts.path))
        if found is None:
            return None
        return Fix(f"write {setting.name}={found[0]}", (found[1],), safe=False)

    def _forward(self, finding: Finding, facts: FileFacts) -> Fix | None:
        del facts
        from envdoctor.fixes import forward

        edits = forward.forwarding(finding, self.lines)
        return Fix(finding.help, edits, safe=False) if edits else None


def wanted(findings: Sequence[Finding], unsafe: bool) -> list[tuple[Finding, Fix]]:
    """The findings whose fixes are to be made, in order of their places."""
    return [(f, f.fix) for f in findings if f.fix is not None and f.fix.edits and (f.fix.safe or unsafe)]
