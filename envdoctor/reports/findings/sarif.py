"""`--format sarif`: SARIF 2.1.0, for code scanning and editors."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import quote

from envdoctor import __version__
from envdoctor.core.facts import Place
from envdoctor.core.findings import Edit, Finding, Fix
from envdoctor.core.regexes import regex
from envdoctor.engine import ScanResult
from envdoctor.knowledge.rulebook import Rule
from envdoctor.reports.base import printable, refuted
from envdoctor.reports.findings.fingerprints import fingerprints

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
LEVELS = {"error": "error", "warning": "warning", "info": "note"}
PROBLEM_SEVERITIES = {"error": "error", "warning": "warning", "info": "recommendation"}
"""`problem.severity` of a rule, as GitHub's code scanning reads it."""
FINGERPRINT = "envdoctorFinding/v1"
LONE = regex(r"[\ud800-\udc7f\udd00-\udfff]")


class SarifReport:
    """One run; its rules are those that said something."""

    def __init__(self, colour: bool = False) -> None:
        del colour

    def render(self, result: ScanResult) -> str:
        """The log as JSON."""
        said = {f.rule for f in [*result.findings, *result.problems]}
        rules = [rule for rule in result.rules if rule.id in said]
        index = {rule.id: i for i, rule in enumerate(rules)}
        marks = fingerprints(result)
        run = {
            "tool": {"driver": _driver(rules)},
            "columnKind": "unicodeCodePoints",
            "invocations": [_invocation(result)],
            "results": [_result(f, mark, index) for f, mark in zip(result.findings, marks, strict=True)],
        }
        return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2, ensure_ascii=False) + "\n"


def _driver(rules: Sequence[Rule]) -> dict[str, Any]:
    return {
        "name": "envdoctor",
        "version": __version__,
        "rules": [_rule(rule) for rule in rules],
    }


def _rule(rule: Rule) -> dict[str, Any]:
    """A rule with its help: why, the way out, exceptions, evidence."""
    parts = [("Why", rule.why), ("Instead", rule.fix), ("Exceptions", rule.exceptions)]
    parts = [(heading, text.strip()) for heading, text in parts if text.strip()]
    plain = [f"{heading}: {text}" for heading, text in parts]
    marked = [f"## {heading}\n\n{text}" for heading, text in parts]
    if rule.evidence:
        plain.append("Evidence: " + "; ".join(rule.evidence))
        marked.append("## Evidence\n\n" + "\n".join(f"- {line}" for line in rule.evidence))
    return {
        "id": rule.id,
        "name": rule.name,
        "shortDescription": {"text": rule.title},
        "fullDescription": {"text": rule.why.strip()},
        "help": {"text": "\n\n".join(plain), "markdown": "\n\n".join(marked)},
        "defaultConfiguration": {"level": LEVELS[rule.severity]},
        "properties": {
            "tags": [rule.level, rule.check],
            "precision": rule.confidence,
            "problem.severity": PROBLEM_SEVERITIES[rule.severity],
        },
    }


def _result(finding: Finding, fingerprint: str, index: dict[str, int]) -> dict[str, Any]:
    """One finding; one that an experiment refuted passed the test of its rule, and passes have no level."""
    result: dict[str, Any] = {
        "ruleId": finding.rule,
        "kind": "pass" if refuted(finding) else "fail",
        "level": "none" if refuted(finding) else LEVELS[finding.severity],
        "message": {"text": _message(finding)},
        "locations": [{"physicalLocation": _physical(finding.place)}],
        "partialFingerprints": {FINGERPRINT: fingerprint},
        "properties": _properties(finding),
    }
    if finding.rule in index:
        result["ruleIndex"] = index[finding.rule]
    if finding.related:
        result["relatedLocations"] = [
            {"id": i, "message": {"text": printable(r.message)}, "physicalLocation": _physical(r.place)}
            for i, r in enumerate(finding.related, 1)
        ]
    if finding.fix is not None and finding.fix.edits:
        result["fixes"] = [_fix(finding.fix)]
    return result


def _message(finding: Finding) -> str:
    """Message, way out and what an experiment said: viewers show little else. Brackets would make links of it."""
    said = finding.confirmation
    lines = [finding.message, f"Instead: {finding.help}" if finding.help else ""]
    lines.append(f"{said.state.capitalize()}: {said.reason}" if said else "")
    return printable("\n".join(line for line in lines if line)).replace("](", "] (")


def _properties(finding: Finding) -> dict[str, Any]:
    """What SARIF has no field for."""
    said = finding.confirmation
    shown = {
        "variable": finding.variable,
        "confidence": finding.confidence,
        "evidence": [printable(line) for line in finding.evidence],
        "confirmation": {"state": said.state, "reason": printable(said.reason)} if said else None,
        "node": finding.place.node,
        "cell": finding.place.cell,
        "safeFix": finding.fix.safe if finding.fix else None,
    }
    return {key: value for key, value in shown.items() if value not in (None, "", [])}


def _physical(place: Place) -> dict[str, Any]:
    return {"artifactLocation": artifact(place.path), "region": region(place)}


def artifact(path: str) -> dict[str, str]:
    """A path as a URI reference; relative ones are meant from the root of the sources."""
    # A name that is not UTF-8 comes with the surrogates of `os.fsdecode`; no other can be part of one.
    quoted = quote(LONE.sub("\ufffd", path).encode("utf-8", "surrogateescape"))
    if PurePosixPath(path).is_absolute():
        return {"uri": f"file://{quoted}"}
    return {"uri": quoted, "uriBaseId": "%SRCROOT%"}


def region(place: Place) -> dict[str, int]:
    """Lines and columns from 1, the end exclusive, as SARIF has them too."""
    line, column = max(place.line, 1), max(place.column, 1)
    last = max(place.end_line, line)
    end = place.end_column if last > line else max(place.end_column, column)
    return {"startLine": line, "startColumn": column, "endLine": last, "endColumn": max(end, 1)}


def _fix(fix: Fix) -> dict[str, Any]:
    """A fix: one change a file, with its replacements in order."""
    by_path: dict[str, list[Edit]] = {}
    for edit in fix.edits:
        by_path.setdefault(edit.place.path, []).append(edit)
    changes = [
        {"artifactLocation": artifact(path), "replacements": [_replacement(e) for e in edits]}
        for path, edits in by_path.items()
    ]
    return {"description": {"text": printable(fix.description)}, "artifactChanges": changes}


def _replacement(edit: Edit) -> dict[str, Any]:
    return {"deletedRegion": region(edit.place), "insertedContent": {"text": edit.text}}


def _invocation(result: ScanResult) -> dict[str, Any]:
    """How the scan went: what could not be read, or not opened at all."""
    told = list(_notifications(result.problems))
    told += [{"level": "error", "message": {"text": printable(error)}} for error in result.errors]
    return {"executionSuccessful": not result.errors, "toolExecutionNotifications": told}


def _notifications(problems: Iterable[Finding]) -> Iterable[dict[str, Any]]:
    for problem in problems:
        yield {
            "level": LEVELS[problem.severity],
            "message": {"text": printable(problem.message)},
            "locations": [{"physicalLocation": _physical(problem.place)}],
            "associatedRule": {"id": problem.rule},
        }
