"""What checks say: findings, with their places, the way out, and (live) what an experiment made of them."""

from __future__ import annotations

from typing import Any, Literal

from envdoctor.core.facts import Place
from envdoctor.core.records import dataclass, replace

Severity = Literal["error", "warning", "info"]
Confidence = Literal["high", "medium", "low"]
SEVERITIES: tuple[Severity, ...] = ("info", "warning", "error")


@dataclass(frozen=True, slots=True)
class Related:
    """Another place that has to do with a finding: set here, lost there."""

    place: Place
    message: str
    variable: str | None = None


@dataclass(frozen=True, slots=True)
class Edit:
    """Replace what stands at `place` by `text`."""

    place: Place
    text: str


@dataclass(frozen=True, slots=True)
class Fix:
    """Edits that put a finding right. A safe fix changes nothing that works today."""

    description: str
    edits: tuple[Edit, ...]
    safe: bool = True


@dataclass(frozen=True, slots=True)
class Confirmation:
    """What an experiment said: confirmed, refuted, or not testable here, with the reason."""

    state: Literal["confirmed", "refuted", "not testable here"]
    reason: str


@dataclass(frozen=True, slots=True)
class Finding:
    """A rule's verdict at a place."""

    rule: str
    name: str
    severity: Severity
    confidence: Confidence
    place: Place
    message: str
    help: str = ""
    variable: str | None = None
    evidence: tuple[str, ...] = ()
    related: tuple[Related, ...] = ()
    fix: Fix | None = None
    confirmation: Confirmation | None = None

    @property
    def key(self) -> tuple[str, int, str, str | None]:
        """One fault, one finding: findings with the same key say the same thing."""
        return (self.place.path, self.place.line, self.name, self.variable)

    def as_info(self) -> Finding:
        """The same finding, as a hint."""
        return replace(self, severity="info")


def finding_json(finding: Finding) -> dict[str, Any]:
    """The JSON form of a finding, version 1."""
    place = finding.place
    return {
        "rule": finding.rule,
        "name": finding.name,
        "severity": finding.severity,
        "confidence": finding.confidence,
        "path": place.path,
        "line": place.line,
        "column": place.column,
        "end_line": place.end_line,
        "end_column": place.end_column,
        "variable": finding.variable,
        "message": finding.message,
        "help": finding.help,
        "evidence": list(finding.evidence),
        "related": [
            {"path": r.place.path, "line": r.place.line, "variable": r.variable, "message": r.message}
            for r in finding.related
        ],
        "fix": fix_json(finding.fix),
        "confirmation": _confirmation_json(finding.confirmation),
    }


def fix_json(fix: Fix | None) -> dict[str, Any] | None:
    """The JSON form of a fix: its edits with places in the file."""
    if fix is None:
        return None
    edits = [
        {
            "path": e.place.path,
            "line": e.place.line,
            "column": e.place.column,
            "end_line": e.place.end_line,
            "end_column": e.place.end_column,
            "text": e.text,
        }
        for e in fix.edits
    ]
    return {"description": fix.description, "safe": fix.safe, "edits": edits}


def _confirmation_json(confirmation: Confirmation | None) -> dict[str, str] | None:
    if confirmation is None:
        return None
    return {"state": confirmation.state, "reason": confirmation.reason}
