"""What all formats share: text made safe to print, counts, what is said beside a message."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from envdoctor.cache import dependency_log
from envdoctor.core import streams
from envdoctor.core.findings import Finding
from envdoctor.core.numbers import counted
from envdoctor.core.regexes import regex
from envdoctor.engine import ScanResult

CONTROL = regex(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufeff\ufffe\uffff]")
"""What is never sent as it is: control and direction characters, and what UTF-8 or XML 1.0 cannot hold."""


def printable(text: str) -> str:
    """Text from a scanned file, with control characters shown instead of sent to the terminal or written to a file."""
    return CONTROL.sub(lambda m: f"\\x{ord(m[0]):02x}" if ord(m[0]) < 256 else f"\\u{ord(m[0]):04x}", text)


def tell(message: str) -> None:
    """One line for the user on standard error."""
    dependency_log.spoil()
    streams.say(printable(message))


def refuted(finding: Finding) -> bool:
    """Whether an experiment said that a finding does not hold; no format may call it a failure."""
    return finding.confirmation is not None and finding.confirmation.state == "refuted"


def paragraphs(finding: Finding) -> list[tuple[str, str]]:
    """What is said beside the message, as (heading, text): related places, the way out, the confirmation, evidence."""
    said = [("see", f"{r.place.path}:{r.place.line}: {r.message}") for r in finding.related]
    said += [("instead", finding.help)] if finding.help else []
    if finding.confirmation is not None:
        said.append((finding.confirmation.state, finding.confirmation.reason))
    return said + [("evidence", line) for line in finding.evidence]


def fixes(finding: Finding) -> list[tuple[str, str]]:
    """How a finding can be put right without typing, as (heading, text); empty where it cannot."""
    if finding.fix is None or not finding.fix.edits:
        return []
    how = "--fix" if finding.fix.safe else "--fix --unsafe-fixes, which may change what the job does"
    return [("fix", f"{finding.fix.description} (envdoctor scan {how})")]


def totals(result: ScanResult) -> str:
    """`3 findings (2 errors, 1 warning) in 12 files with settings; 4 hints not shown (--hints)`."""
    by_severity = result.summary.get("by_severity", {})
    parts = [counted(by_severity[s], s) if s != "info" else counted(by_severity[s], "hint")
             for s in ("error", "warning", "info") if by_severity.get(s)]  # fmt: skip
    total = len(result.findings)
    text = f"{counted(total, 'finding')} ({', '.join(parts)})" if total else "No findings"
    text += f" in {counted(result.summary.get('files', 0), 'file')} with settings"
    if result.hints:
        text += f"; {counted(result.hints, 'hint')} not shown (--hints)"
    if held := result.summary.get("baseline", {}).get("held"):
        text += f"; {held} more in the baseline"
    if result.errors:
        text += "; not everything could be done"
    return text


def coverage_line(told: Mapping[str, Any]) -> str:
    """`launches 14: 11 followed to the ranks, 3 not (command unknown 1, image not in the tree 2)`."""
    missed = told["found"] - told["followed"]
    why = ", ".join(f"{reason} {count}" for reason, count in told["not_followed"].items())
    return f"launches {told['found']}: {told['followed']} followed to the ranks" + (
        f", {missed} not ({why})" if missed else ""
    )
