"""`--statistics`: how often each rule speaks, and how much of it `--fix` puts right."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import NamedTuple

from envdoctor.core.findings import Finding
from envdoctor.engine import ScanResult
from envdoctor.reports.base import totals


class Count(NamedTuple):
    """One rule: its findings, those with a safe fix, and those with a fix of either kind."""

    rule: str
    name: str
    findings: int
    safe: int
    fixable: int


def counts(findings: Sequence[Finding]) -> list[Count]:
    """A row a rule, the most frequent first."""
    by_rule: dict[tuple[str, str], list[Finding]] = {}
    for finding in findings:
        by_rule.setdefault((finding.rule, finding.name), []).append(finding)
    rows = [
        Count(
            rule, name, len(mine), sum(f.fix is not None and f.fix.safe for f in mine), sum(bool(f.fix) for f in mine)
        )
        for (rule, name), mine in by_rule.items()
    ]
    return sorted(rows, key=lambda row: (-row.findings, row.rule))


class StatisticsReport:
    """A table for people: count, id, name, and how many have a fix."""

    def __init__(self, colour: bool = False) -> None:
        del colour

    def render(self, result: ScanResult) -> str:
        """One line a rule, then the line that sums up."""
        rows = counts(result.findings)
        width = max((len(str(row.findings)) for row in rows), default=1)
        names = max((len(row.name) for row in rows), default=1)
        lines = [f"{row.findings:>{width}}  {row.rule}  {row.name:<{names}}  {_fixes(row)}".rstrip() for row in rows]
        return "\n".join([*lines, totals(result)]) + "\n"


def _fixes(row: Count) -> str:
    parts = [f"{row.safe} with --fix"] if row.safe else []
    parts += [f"{row.fixable - row.safe} with --unsafe-fixes"] if row.fixable > row.safe else []
    return ", ".join(parts)


class StatisticsJsonReport:
    """The same rows for programs."""

    def __init__(self, colour: bool = False) -> None:
        del colour

    def render(self, result: ScanResult) -> str:
        """One object: version, a list of rows, and the summary of the run."""
        rows = [row._asdict() for row in counts(result.findings)]
        summary = {**result.summary, "errors": result.errors}
        return json.dumps({"version": 1, "statistics": rows, "summary": summary}, indent=2) + "\n"
