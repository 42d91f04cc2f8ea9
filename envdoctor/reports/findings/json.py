"""`--format json`: version 1 of the machine-readable report."""

from __future__ import annotations

import json

from envdoctor.core.findings import finding_json
from envdoctor.engine import ScanResult


class JsonReport:
    """One JSON object on standard output, nothing else."""

    def __init__(self, colour: bool = False) -> None:
        del colour

    def render(self, result: ScanResult) -> str:
        """`{"version": 1, "findings": [...], "hints": N, "summary": {...}}`."""
        findings = [finding_json(f) for f in result.findings]
        summary = {**result.summary, "errors": result.errors}
        report = {"version": 1, "findings": findings, "hints": result.hints, "summary": summary}
        return json.dumps(report, indent=2, ensure_ascii=False) + "\n"
