"""`envdoctor live --format text`: the doctor's sheet in a terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from envdoctor.core.findings import Finding
from envdoctor.node.live.examination import Examination
from envdoctor.reports.base import printable
from envdoctor.reports.node.base import Mark, NodeReport, ReportLine, findings_lines, node_report

WIDTH = 112
MARKS: dict[Mark, tuple[str, str, str]] = {
    "ok": ("✓", "+", "32"), "info": ("i", "i", "36"), "warning": ("!", "!", "1;33"), "error": ("✗", "x", "1;31"),
    "absent": ("·", "-", "2"), "failed": ("?", "?", "35"),
}  # fmt: skip
"""Mark -> its sign, its sign in ASCII, its colour."""
SEVERITY = {"error": "1;31", "warning": "1;33", "info": "1;36"}


class TextNodeReport:
    """The sheet for people. `ascii_only` is for terminals whose encoding has no other signs."""

    def __init__(self, *, colour: bool = False, details: bool = False, hints: bool = False, ascii_only: bool = False
                 ) -> None:  # fmt: skip
        self.colour, self.details, self.hints, self.ascii_only = colour, details, hints, ascii_only

    def render(self, examination: Examination) -> str:
        """Sections, picture, findings, notes, and one line that sums up."""
        sheet = node_report(examination, details=self.details, hints=self.hints)
        return "\n".join(self._lines(sheet, examination)) + "\n"

    def _lines(self, sheet: NodeReport, examination: Examination) -> Iterator[str]:
        yield self._paint("1", printable(sheet.title))
        yield printable(sheet.judged)
        for section in sheet.sections:
            yield ""
            yield self._paint("1", section.title)
            for line in section.lines:
                yield from self._probe(line)
        if sheet.topology:
            yield ""
            yield self._paint("1", "Links")
            yield from (f"  {printable(row)}" for row in sheet.topology)
        if sheet.findings:
            yield ""
            yield self._paint("1", "Findings")
        for finding in sheet.findings:
            yield from self._finding(finding, examination)
        yield ""
        for note in sheet.notes:
            if "\n" in note:  # a picture, such as the matrix of the smoke test: its lines stay as they are
                yield from (printable(line) for line in note.split("\n"))
            else:
                yield from wrapped(f"note: {printable(note)}", "", "  ")
        yield printable(sheet.closing)

    def _paint(self, code: str, text: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.colour else text

    def _probe(self, line: ReportLine) -> Iterator[str]:
        sign, plain, code = MARKS[line.mark]
        mark = self._paint(code, plain if self.ascii_only else sign)
        text = printable(line.text)
        first, *more = textwrap.wrap(text, WIDTH - 30, break_long_words=False, break_on_hyphens=False) or [""]
        yield f"  {mark} {line.label:<24}  {first}"
        yield from (f"{'':30}{part}" for part in more)
        if self.details:
            for fact in line.facts:
                row = f"{printable(fact.key)} = {printable(fact.value)}"
                yield self._paint("2", f"      {row}  ({printable(fact.source)})")

    def _finding(self, finding: Finding, examination: Examination) -> Iterator[str]:
        severity = self._paint(SEVERITY[finding.severity], finding.severity)
        confirmed = f"  [{finding.confirmation.state}]" if finding.confirmation else ""
        excerpt = examination.excerpts.get((finding.place.path, finding.place.line))
        # Lines of what the kernel shows, and of recorded output, mean nothing to anybody.
        place = finding.place.path if excerpt is None else f"{finding.place.path}:{finding.place.line}"
        yield f"  {severity}  {finding.rule} {finding.name}  {self._paint('2', printable(place))}{confirmed}"
        yield from wrapped(printable(finding.message), "      ", "      ")
        if excerpt:
            yield f"      | {printable(excerpt.strip())[:WIDTH]}"
        for heading, text in findings_lines(finding):
            yield from wrapped(f"{heading}: {printable(text)}", "      ", "        ")


def wrapped(text: str, first: str, rest: str) -> list[str]:
    """Text in lines of readable length."""
    return textwrap.wrap(text, WIDTH, initial_indent=first, subsequent_indent=rest, break_long_words=False,
                         break_on_hyphens=False)  # fmt: skip
