"""`envdoctor live --format html`: the sheet as one file, without a script and without anything from elsewhere."""

from __future__ import annotations

from collections.abc import Iterator

from envdoctor.core.findings import Finding
from envdoctor.core.numbers import counted
from envdoctor.node.live.examination import Examination
from envdoctor.reports.findings.html import POLICY, shown
from envdoctor.reports.node.base import NodeReport, ReportLine, ReportSection, findings_lines, node_report

STYLE = """
:root { color-scheme: light dark; }
body { font: 15px/1.45 system-ui, sans-serif; max-width: 72rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; width: 100%; }
td, th { text-align: left; vertical-align: top; padding: .25rem .6rem; border-bottom: 1px solid #8884; }
td:first-child { width: 5rem; } td:nth-child(2) { width: 14rem; }
pre { overflow-x: auto; padding: .6rem; border: 1px solid #8884; }
.error, .failed { color: #d22; font-weight: 600; } .warning { color: #b60; font-weight: 600; }
.info { color: #27a; } .ok { color: #283; } .absent { opacity: .6; }
details td { font-size: .85em; opacity: .85; } li { margin: .5rem 0; } code { overflow-wrap: anywhere; }
"""
WORDS = {"ok": "ok", "info": "hint", "warning": "warning", "error": "error", "absent": "none", "failed": "failed"}


class HtmlNodeReport:
    """The sheet as a page."""

    def __init__(self, *, colour: bool = False, details: bool = False, hints: bool = False, ascii_only: bool = False
                 ) -> None:  # fmt: skip
        del colour, ascii_only
        self.details, self.hints = details, hints

    def render(self, examination: Examination) -> str:
        """The page. Facts and hints are always in it: facts are folded."""
        return "\n".join(self._lines(node_report(examination, details=self.details, hints=True))) + "\n"

    def _lines(self, sheet: NodeReport) -> Iterator[str]:
        yield "<!doctype html>"
        yield f'<html lang="en"><head><meta charset="utf-8"><title>{shown(sheet.title)}</title>'
        yield f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        yield f"<style>{STYLE}</style></head><body>"
        yield f"<h1>{shown(sheet.title)}</h1><p>{shown(sheet.judged)}<br>{shown(sheet.closing)}</p>"
        if sheet.findings:
            yield "<h2>Findings</h2><ul>"
            for finding in sheet.findings:
                yield from self._finding(finding)
            yield "</ul>"
        for section in sheet.sections:
            yield from self._section(section)
        if sheet.topology:
            yield "<h2>Links</h2><pre>" + "\n".join(shown(row) for row in sheet.topology) + "</pre>"
        yield from (f"<pre>{shown(note)}</pre>" if "\n" in note else f"<p>{shown(note)}</p>" for note in sheet.notes)
        yield "</body></html>"

    def _finding(self, finding: Finding) -> Iterator[str]:
        yield f'<li><span class="{finding.severity}">{finding.severity}</span> {shown(finding.rule)} '
        yield f"<b>{shown(finding.name)}</b>: {shown(finding.message)} <code>{shown(finding.place.path)}</code>"
        for heading, text in findings_lines(finding):
            yield f"<br>{shown(heading)}: {shown(text)}"
        yield "</li>"

    def _section(self, section: ReportSection) -> Iterator[str]:
        yield f"<h2>{shown(section.title)}</h2><table>"
        for line in section.lines:
            yield f'<tr><td class="{line.mark}">{WORDS[line.mark]}</td><td>{shown(line.label)}</td>'
            yield f"<td>{shown(line.text)}{self._facts(line)}</td></tr>"
        yield "</table>"

    def _facts(self, line: ReportLine) -> str:
        rows = "".join(
            f"<tr><td><code>{shown(f.key)}</code></td><td>{shown(f.value)}</td><td><code>{shown(f.source)}</code></td></tr>"
            for f in line.facts
        )
        if not rows:
            return ""
        opened = " open" if self.details else ""
        return f"<details{opened}><summary>{counted(len(line.facts), 'fact')}</summary><table>{rows}</table></details>"
