"""`--format text`: grouped by file, with the line, a caret, why, what to write instead, and the evidence."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from itertools import groupby

from envdoctor.core.findings import Finding
from envdoctor.engine import ScanResult
from envdoctor.reports.base import coverage_line, printable, totals

CODES = {"error": "1;31", "warning": "1;33", "info": "1;36", "path": "1", "mark": "1;34", "dim": "2"}
WIDTH = 112
LONGEST_LINE = 160
EVIDENCE_SHOWN = 2


class TextReport:
    """The report for people."""

    def __init__(self, colour: bool = False) -> None:
        self.colour = colour

    def render(self, result: ScanResult) -> str:
        """Findings by file, then one line that sums up."""
        blocks = []
        for path, findings in groupby(result.findings, key=lambda f: f.place.path):
            blocks.append(self._paint("path", printable(path)))
            blocks += [self._finding(f, result) for f in findings]
        blocks += [self._problem(p) for p in result.problems]
        return "\n".join([*blocks, self._closing(result)]) + "\n"

    def _paint(self, what: str, text: str) -> str:
        return f"\x1b[{CODES[what]}m{text}\x1b[0m" if self.colour else text

    def _finding(self, finding: Finding, result: ScanResult) -> str:
        place = finding.place
        severity = self._paint(finding.severity, finding.severity)
        head = f"  {place.line}:{place.column}  {severity}  {finding.rule} {finding.name}"
        if finding.confirmation is not None:
            head += f"  [{finding.confirmation.state}]"
        lines = [head, *_wrapped(printable(finding.message), "      ")]
        lines += self._excerpt(finding, result.excerpts.get((place.path, place.line)))
        lines += self._notes(finding)
        return "\n".join(lines) + "\n"

    def _excerpt(self, finding: Finding, line: str | None) -> Iterator[str]:
        """The line and a caret under what is meant; long lines are shown in part."""
        if line is None or not line.strip():
            return
        place = finding.place
        start = place.column - 1
        end = place.end_column - 1 if place.end_line == place.line else len(line)
        first = max(0, start - 60) if len(line) > LONGEST_LINE else 0
        shown = printable(line[first : first + LONGEST_LINE].rstrip().replace("\t", " "))
        width = max(1, min(end, first + LONGEST_LINE) - start)
        number = str(place.line)
        bar = self._paint("mark", "|")
        yield f"      {self._paint('mark', number)} {bar} {shown}"
        carets = self._paint(finding.severity, "^" * width)
        yield f"      {' ' * len(number)} {bar} {' ' * (start - first)}{carets}"

    def _notes(self, finding: Finding) -> Iterator[str]:
        for related in finding.related:
            where = f"{printable(related.place.path)}:{related.place.line}"
            yield from _wrapped(f"see {where}: {printable(related.message)}", "      ")
        if finding.help:
            yield from _wrapped(f"instead: {printable(finding.help)}", "      ")
        if finding.confirmation is not None:
            yield from _wrapped(f"{finding.confirmation.state}: {printable(finding.confirmation.reason)}", "      ")
        for line in finding.evidence[:EVIDENCE_SHOWN]:
            for wrapped in _wrapped(f"evidence: {printable(line)}", "      "):
                yield self._paint("dim", wrapped)

    def _problem(self, problem: Finding) -> str:
        place = problem.place
        return f"{printable(place.path)}:{place.line}: {self._paint('info', 'note')}: {printable(problem.message)}"

    def _closing(self, result: ScanResult) -> str:
        launches = result.summary.get("launches")
        return f"{totals(result)}\n{coverage_line(launches)}" if launches and launches["found"] else totals(result)


def _wrapped(text: str, indent: str) -> list[str]:
    """Text broken into lines of readable length."""
    return textwrap.wrap(text, WIDTH, initial_indent=indent, subsequent_indent=indent + "  ", break_long_words=False,
                         break_on_hyphens=False)  # fmt: skip
