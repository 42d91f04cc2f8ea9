"""Attaches to findings the fixes that the functions of `registry` make. Nothing is written here.

A safe fix changes nothing that works today: it takes out what nobody reads, or writes the new name of what is read
under both. Whatever may change what a job does is unsafe, however plainly it was meant.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from envdoctor.analysis.project import Project
from envdoctor.core.facts import FileFacts
from envdoctor.core.findings import Finding, Fix
from envdoctor.core.records import dataclass, replace
from envdoctor.fixes import registry
from envdoctor.fixes.workshop import Workshop
from envdoctor.knowledge.catalog.model import Catalog


@dataclass(slots=True)
class Fixer:
    """Attaches fixes to findings: where they may be made, and where one of a notebook's program stands in the file."""

    project: Project
    catalog: Catalog
    unsafe: bool = True
    """Whether unsafe fixes are wanted; what can only be unsafe is not looked for otherwise."""
    lacks_libcst: bool = False
    """A fix of Python code was asked for, and libcst is not installed."""

    def attach(self, findings: Iterable[Finding]) -> list[Finding]:
        """The findings, each with its fix where there is a plain one."""
        findings = list(findings)
        workshop = Workshop(self.project, self.catalog, findings)
        return [self._guarded(finding, workshop) for finding in findings]

    def _guarded(self, finding: Finding, workshop: Workshop) -> Finding:
        """A finding with its fix; without one where that fails, or where not all is known of what it is about."""
        if finding.variable and self.project.references.mentioned_unread(finding.variable):
            return replace(finding, fix=None)
        with self.project.internal.guard(finding.place.path, f"looking for a fix of {finding.name}"):
            return self._with_fix(finding, workshop)
        return replace(finding, fix=None)

    def _with_fix(self, finding: Finding, workshop: Workshop) -> Finding:
        if finding.name not in registry.FIXES:
            return finding
        if not self.unsafe and finding.name not in registry.SAFE:
            return replace(finding, fix=None)
        path = finding.place.path
        facts = self.project.facts.read(path) or self.project.facts.whole(path)
        if facts is None:
            return replace(finding, fix=None)
        try:
            return replace(finding, fix=self._made(finding, facts, workshop))
        except RecursionError:  # code that is nested so deep is left alone
            return replace(finding, fix=None)

    def _made(self, finding: Finding, facts: FileFacts, workshop: Workshop) -> Fix | None:
        """The fix, with places in the file itself where it is for code in a notebook."""
        exact = finding.name in registry.OF_SETTINGS or _is_value(finding)
        program = None if exact else workshop.program(facts)
        if program is None:
            fix = self._asked(finding, facts, workshop)
            return _escaped(fix) if facts.kind in ("json", "notebook") else fix
        mapped = program.finding(finding)
        return program.fix(self._asked(mapped, facts, workshop)) if mapped is not None else None

    def _asked(self, finding: Finding, facts: FileFacts, workshop: Workshop) -> Fix | None:
        """What the function for the rule makes; None, and it is noted, where it needs libcst and that is missing."""
        try:
            return registry.function(finding.name)(finding, facts, workshop)
        except ModuleNotFoundError as error:
            if error.name != "libcst":
                raise
            self.lacks_libcst = True
            return None


def _is_value(finding: Finding) -> bool:
    """Whether a finding is about the value of a variable, whatever its rule is about besides."""
    return finding.name == "nondeterministic-option" and finding.variable is not None


def _escaped(fix: Fix | None) -> Fix | None:
    """A fix within JSON; None where what it writes would have to be escaped, which has no one form in every string."""
    if fix is None or any(json.dumps(edit.text)[1:-1] != edit.text for edit in fix.edits):
        return None
    return fix


def wanted(findings: Sequence[Finding], unsafe: bool) -> list[tuple[Finding, Fix]]:
    """The findings whose fixes are to be made, in order of their places."""
    return [(f, f.fix) for f in findings if f.fix is not None and f.fix.edits and (f.fix.safe or unsafe)]
