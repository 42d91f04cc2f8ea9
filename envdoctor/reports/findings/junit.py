"""`--format junit`: JUnit XML, for CI systems that show test results: a suite a file, a case a finding."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from xml.sax.saxutils import escape, quoteattr

from envdoctor.core.findings import Finding
from envdoctor.engine import ScanResult
from envdoctor.reports.base import paragraphs, printable, refuted


class JunitReport:
    """Findings that count are failures; hints and what an experiment refuted are cases that pass."""

    def __init__(self, colour: bool = False) -> None:
        del colour

    def render(self, result: ScanResult) -> str:
        """The document. Some CI systems refuse a report without a case, so that a clean scan has one."""
        suites = [(path, list(found)) for path, found in groupby(result.findings, key=lambda f: f.place.path)]
        lines = [*_suites(suites), *_errors(result.errors)] or list(_clean())
        failures = sum(failed(f) for f in result.findings)
        cases = len(result.findings) + len(result.errors) or 1
        counts = f'tests="{cases}" failures="{failures}" errors="{len(result.errors)}"'
        head = f'<testsuites name="envdoctor" {counts}>'
        return "\n".join(['<?xml version="1.0" encoding="UTF-8"?>', head, *lines, "</testsuites>"]) + "\n"


def failed(finding: Finding) -> bool:
    """Whether a finding makes its case fail."""
    return finding.severity != "info" and not refuted(finding)


def _suites(suites: list[tuple[str, list[Finding]]]) -> Iterator[str]:
    for path, found in suites:
        counts = f'tests="{len(found)}" failures="{sum(map(failed, found))}" errors="0" skipped="0"'
        yield f"  <testsuite name={_attribute(path)} {counts}>"
        for finding in found:
            yield from _case(finding)
        yield "  </testsuite>"


def _case(finding: Finding) -> Iterator[str]:
    place = finding.place
    name = f"{finding.rule} {finding.name} ({place.line}:{place.column})"
    where = f'file={_attribute(place.path)} line="{place.line}"'
    yield f"    <testcase name={_attribute(name)} classname={_attribute(place.path)} {where}>"
    lines = [f"{place.path}:{place.line}:{place.column}: {finding.message}"]
    text = escape(printable("\n".join(lines + [f"{heading}: {said}" for heading, said in paragraphs(finding)])))
    if failed(finding):
        yield f'      <failure type="{finding.severity}" message={_attribute(finding.message)}>{text}</failure>'
    else:
        yield f"      <system-out>{text}</system-out>"
    yield "    </testcase>"


def _errors(errors: Sequence[str]) -> Iterator[str]:
    """A suite of what could not be done."""
    if errors:
        yield f'  <testsuite name="envdoctor" tests="{len(errors)}" failures="0" errors="{len(errors)}" skipped="0">'
        for error in errors:
            yield '    <testcase name="not done" classname="envdoctor">'
            yield f"      <error message={_attribute(error)}/>"
            yield "    </testcase>"
        yield "  </testsuite>"


def _clean() -> Iterator[str]:
    yield '  <testsuite name="envdoctor" tests="1" failures="0" errors="0" skipped="0">'
    yield '    <testcase name="no findings" classname="envdoctor"/>'
    yield "  </testsuite>"


def _attribute(text: str) -> str:
    """A quoted attribute. Line breaks are kept as references: a parser would make spaces of them."""
    return quoteattr(printable(text), {"\n": "&#10;", "\t": "&#9;"})
