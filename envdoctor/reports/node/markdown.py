"""`envdoctor live --format markdown`: the sheet for issues and wikis."""

from __future__ import annotations

from collections.abc import Iterator

from envdoctor.core.findings import Finding
from envdoctor.node.live.examination import Examination
from envdoctor.reports.findings.markdown import escaped, fenced
from envdoctor.reports.node.base import ReportSection, findings_lines, node_report

WORDS = {"ok": "ok", "info": "hint", "warning": "**warning**", "error": "**error**", "absent": "-", "failed": "failed"}


class MarkdownNodeReport:
    """The sheet as Markdown with tables."""

    def __init__(self, *, colour: bool = False, details: bool = False, hints: bool = False, ascii_only: bool = False
                 ) -> None:  # fmt: skip
        del colour, ascii_only
        self.details, self.hints = details, hints

    def render(self, examination: Examination) -> str:
        """Findings first, then the sections."""
        sheet = node_report(examination, details=self.details, hints=self.hints)
        lines = [f"# {escaped(sheet.title)}", "", escaped(sheet.judged), "", escaped(sheet.closing), ""]
        if sheet.findings:
            lines += ["## Findings", ""]
        for finding in sheet.findings:
            lines += self._finding(finding)
        for section in sheet.sections:
            lines += self._section(section)
        if sheet.topology:
            lines += ["## Links", "", *fenced(list(sheet.topology)), ""]
        for note in sheet.notes:
            # A picture, such as the matrix of the smoke test, keeps its lines.
            lines += ["", *(f"    {line}" for line in note.split("\n"))] if "\n" in note else [f"- {escaped(note)}"]
        return "\n".join(lines).rstrip() + "\n"

    def _finding(self, finding: Finding) -> Iterator[str]:
        yield f"- **{finding.severity}** {finding.rule} {escaped(finding.name)}: {escaped(finding.message)}"
        for heading, text in findings_lines(finding):
            yield f"  - {heading}: {escaped(text)}"
        yield ""

    def _section(self, section: ReportSection) -> Iterator[str]:
        yield from (f"## {escaped(section.title)}", "", "| | probe | found |", "| --- | --- | --- |")
        for line in section.lines:
            yield f"| {WORDS[line.mark]} | {escaped(line.label)} | {escaped(line.text)} |"
            for fact in line.facts if self.details else ():
                yield f"| | {escaped(fact.key)} | {escaped(fact.value)} ({escaped(fact.source)}) |"
        yield ""
