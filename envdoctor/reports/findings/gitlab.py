"""`--format gitlab`: a code quality report, which GitLab shows in merge requests."""

from __future__ import annotations

import json
from typing import Any

from envdoctor.core.facts import Place
from envdoctor.core.findings import Finding
from envdoctor.engine import ScanResult
from envdoctor.reports.base import paragraphs, printable, refuted
from envdoctor.reports.findings.fingerprints import fingerprints

SEVERITIES = {"error": "major", "warning": "minor", "info": "info"}


class GitlabReport:
    """A JSON array of issues; GitLab compares their fingerprints between branches."""

    def __init__(self, colour: bool = False) -> None:
        del colour

    def render(self, result: ScanResult) -> str:
        """The array, empty where there is nothing to say."""
        marks = fingerprints(result)
        issues = [_issue(f, mark) for f, mark in zip(result.findings, marks, strict=True)]
        return json.dumps(issues, indent=2, ensure_ascii=False) + "\n"


def _issue(finding: Finding, fingerprint: str) -> dict[str, Any]:
    """One issue. GitLab shows only the description, so that what an experiment said stands in it."""
    said = finding.confirmation
    state = f" [{said.state}: {said.reason}]" if said else ""
    body = "\n\n".join(f"{heading}: {text}" for heading, text in paragraphs(finding))
    return {
        "type": "issue",
        "check_name": finding.name,
        "description": printable(f"{finding.rule} {finding.name}: {finding.message}{state}"),
        "content": {"body": printable(body)},
        "categories": ["Bug Risk"],
        "severity": "info" if refuted(finding) else SEVERITIES[finding.severity],
        "fingerprint": fingerprint,
        "location": _location(finding.place),
        "other_locations": [_location(r.place) for r in finding.related],
    }


def _location(place: Place) -> dict[str, Any]:
    # The end of a place is exclusive: one that ends in column 1 ends on the line before.
    last = place.end_line - 1 if place.end_column == 1 else place.end_line
    return {"path": printable(place.path), "lines": {"begin": place.line, "end": max(place.line, last)}}
