"""The formats of findings: one class each behind one interface. Reports know only findings."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Protocol, cast

from envdoctor.engine import ScanResult

FORMATS = {
    "text": "envdoctor.reports.findings.text:TextReport",
    "concise": "envdoctor.reports.findings.concise:ConciseReport",
    "json": "envdoctor.reports.findings.json:JsonReport",
    "github": "envdoctor.reports.findings.github:GithubReport",
    "gitlab": "envdoctor.reports.findings.gitlab:GitlabReport",
    "html": "envdoctor.reports.findings.html:HtmlReport",
    "junit": "envdoctor.reports.findings.junit:JunitReport",
    "markdown": "envdoctor.reports.findings.markdown:MarkdownReport",
    "sarif": "envdoctor.reports.findings.sarif:SarifReport",
}
"""Format name -> module and class; imported when the format is asked for."""
COUNTING = {"text": "statistics", "json": "statistics-json"}
"""Format -> the one that `--statistics` makes of it."""
REPORTS = {
    **FORMATS,
    "statistics": "envdoctor.reports.findings.statistics:StatisticsReport",
    "statistics-json": "envdoctor.reports.findings.statistics:StatisticsJsonReport",
}


class Report(Protocol):
    """What every format offers."""

    def render(self, result: ScanResult) -> str:
        """The whole report, ending in a line break."""
        ...


def report(name: str, colour: bool = False) -> Report:
    """The report of a format; `colour` is for formats that people read."""
    module, cls = REPORTS[name].split(":")
    make = cast("Callable[[bool], Report]", getattr(importlib.import_module(module), cls))
    return make(colour)
