"""`--format html`: one file to keep or to send on, without a script and without anything from elsewhere."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from html import escape
from itertools import groupby

from envdoctor.core.findings import SEVERITIES, Confirmation, Finding
from envdoctor.core.regexes import regex
from envdoctor.engine import ScanResult
from envdoctor.knowledge.rulebook import Rule
from envdoctor.reports.base import fixes, paragraphs, printable, refuted, totals
from envdoctor.reports.findings.html_style import STYLE

POLICY = "default-src 'none'; style-src 'unsafe-inline'"
LONGEST_LINE = 300
OPTIONS = regex(r"(?<=scan )--fix(?: --unsafe-fixes)?")
CODE = regex(r"`([^`\n]+)`")
WORDS = {"error": "error", "warning": "warning", "info": "hint"}
STATES = {"confirmed": "confirmed", "refuted": "refuted", "not testable here": "untested"}
"""State of a confirmation -> its class in the style."""


def shown(text: str) -> str:
    """Text as HTML shows it: nothing in it becomes markup."""
    return escape(printable(text), quote=True)


class HtmlReport:
    """The report as a page."""

    def __init__(self, colour: bool = False) -> None:
        del colour

    def render(self, result: ScanResult) -> str:
        """The page: totals, files, findings by file, and the rules that spoke."""
        return "\n".join(self._lines(result)) + "\n"

    def _lines(self, result: ScanResult) -> Iterator[str]:
        said = {f.rule for f in result.findings}
        rules = [rule for rule in result.rules if rule.id in said]
        yield "<!doctype html>"
        yield '<html lang="en"><head><meta charset="utf-8"><title>envdoctor report</title>'
        yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
        yield f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        yield f"<style>{STYLE}</style></head><body>"
        yield f"<header><h1>envdoctor report</h1><p>{shown(totals(result))}</p></header><main>"
        yield from _filter(result.findings)
        files = [(path, list(found)) for path, found in groupby(result.findings, key=lambda f: f.place.path)]
        if len(files) > 1:
            yield from _files(files)
        linked = {rule.id for rule in rules}
        for number, (path, found) in enumerate(files, 1):
            yield f'<section><h2 class="path" id="file-{number}">{shown(path)}</h2>'
            for finding in found:
                yield from _finding(finding, result.excerpts.get((path, finding.place.line)), finding.rule in linked)
            yield "</section>"
        yield from _problems(result.problems)
        yield from _errors(result.errors)
        yield from _rules(rules)
        yield "</main></body></html>"


def _filter(findings: Sequence[Finding]) -> Iterator[str]:
    """Boxes that hide findings of a severity, by the style alone; none where there is only one severity."""
    counts = Counter(f.severity for f in findings)
    if len(counts) < 2:
        return
    yield '<div class="filter">'
    for severity in reversed(SEVERITIES):
        if counts[severity]:
            box = f'<input type="checkbox" id="show-{severity}" checked>'
            yield f"<label>{box} {WORDS[severity]}s ({counts[severity]})</label>"
    yield "</div>"


def _files(files: Sequence[tuple[str, Sequence[Finding]]]) -> Iterator[str]:
    """A table of the files, with a link to each."""
    kinds = [s for s in reversed(SEVERITIES) if any(f.severity == s for _, found in files for f in found)]
    heads = "".join(f'<th scope="col" class="number">{WORDS[kind]}s</th>' for kind in kinds)
    yield f'<table><thead><tr><th scope="col">file</th>{heads}</tr></thead><tbody>'
    for number, (path, found) in enumerate(files, 1):
        counts = Counter(f.severity for f in found)
        cells = "".join(f'<td class="number">{counts[kind] or ""}</td>' for kind in kinds)
        yield f'<tr><td><a href="#file-{number}"><code>{shown(path)}</code></a></td>{cells}</tr>'
    yield "</tbody></table>"


def _finding(finding: Finding, line: str | None, linked: bool) -> Iterator[str]:
    place = finding.place
    rule = f"{shown(finding.rule)} {shown(finding.name)}"
    rule = f'<a href="#rule-{shown(finding.rule)}">{rule}</a>' if linked else rule
    kind = f"{finding.severity} dropped" if refuted(finding) else finding.severity
    yield f'<article class="{kind}"><h3><span class="severity">{WORDS[finding.severity]}</span> {rule}'
    yield f'<span class="soft">line {place.line}, column {place.column}</span> {_state(finding.confirmation)}</h3>'
    yield f"<p>{shown(finding.message)}</p>"
    yield from _excerpt(finding, line)
    said = [(heading, text) for heading, text in paragraphs(finding) if heading != "evidence"] + fixes(finding)
    if said:
        rows = "".join(f"<dt>{shown(heading)}</dt><dd>{_said(heading, text)}</dd>" for heading, text in said)
        yield f"<dl>{rows}</dl>"
    yield from _evidence(finding.evidence)
    yield "</article>"


def _said(heading: str, text: str) -> str:
    """What is said beside the message; the options of a fix are not broken apart."""
    return OPTIONS.sub(r'<code class="whole">\g<0></code>', shown(text)) if heading == "fix" else shown(text)


def _state(confirmation: Confirmation | None) -> str:
    if confirmation is None:
        return ""
    return f'<span class="state {STATES[confirmation.state]}">{shown(confirmation.state)}</span>'


def _excerpt(finding: Finding, line: str | None) -> Iterator[str]:
    """The line with what is meant marked; long lines are shown in part."""
    if line is None or not line.strip():
        return
    place = finding.place
    start = min(place.column - 1, len(line))
    end = place.end_column - 1 if place.end_line == place.line else len(line)
    first = max(0, start - 100) if len(line) > LONGEST_LINE else 0
    last = min(len(line.rstrip()), first + LONGEST_LINE)
    end = max(start, min(end, last))
    before, meant, after = shown(line[first:start]), shown(line[start:end]), shown(line[end:last])
    number = f'<span class="soft">{place.line}</span>'
    yield f"<pre>{number}{'…' if first else ''}{before}<mark>{meant}</mark>{after}</pre>"


def _evidence(evidence: Sequence[str]) -> Iterator[str]:
    if evidence:
        rows = "".join(f"<li><code>{shown(line)}</code></li>" for line in evidence)
        yield f"<details><summary>evidence ({len(evidence)})</summary><ul>{rows}</ul></details>"


def _problems(problems: Sequence[Finding]) -> Iterator[str]:
    if problems:
        yield "<section><h2>Not read in full</h2><ul>"
        for problem in problems:
            where = f"{problem.place.path}:{problem.place.line}"
            yield f"<li><code>{shown(where)}</code> {shown(problem.message)}</li>"
        yield "</ul></section>"


def _errors(errors: Sequence[str]) -> Iterator[str]:
    """What could not be done at all."""
    if errors:
        yield "<section><h2>Not done</h2><ul>"
        yield from (f"<li>{shown(error)}</li>" for error in errors)
        yield "</ul></section>"


def _rules(rules: Sequence[Rule]) -> Iterator[str]:
    """What the rules that spoke say."""
    if not rules:
        return
    yield "<section><h2>Rules</h2>"
    for rule in rules:
        yield f'<section class="rule"><h3 id="rule-{rule.id}">{rule.id} {shown(rule.name)}</h3>'
        yield f"<p>{shown(rule.title)}</p>"
        parts = (("why", rule.why), ("instead", rule.fix), ("exceptions", rule.exceptions))
        rows = "".join(f"<dt>{heading}</dt><dd>{_prose(text)}</dd>" for heading, text in parts if text.strip())
        yield f"<dl>{rows}</dl></section>"
    yield "</section>"


def _prose(text: str) -> str:
    """Text of a rule, with what stands in backticks as code."""
    return CODE.sub(r"<code>\1</code>", shown(text.strip()))
