"""What stays the same about a finding while lines around it move: for formats that track findings over time."""

from __future__ import annotations

from collections import Counter
from hashlib import sha256

from envdoctor.core.findings import Finding
from envdoctor.engine import ScanResult

Parts = tuple[str, ...]


def fingerprints(result: ScanResult) -> list[str]:
    """One fingerprint a finding, in their order, each once; 64 hexadecimal digits.

    It is made of path, rule, variable and the text of the line without its spaces, never of a line number. Of
    several that are alike, the second and further ones are numbered in source order.
    """
    seen: Counter[Parts] = Counter()
    made = []
    for finding in result.findings:
        parts = identity(finding, result.excerpts.get((finding.place.path, finding.place.line)))
        made.append(sha256("\0".join([*parts, str(seen[parts])]).encode("utf-8", "backslashreplace")).hexdigest())
        seen[parts] += 1
    return made


def identity(finding: Finding, line: str | None) -> Parts:
    """What tells a finding from others; the message where there is no line to show."""
    shown = finding.message if line is None else "".join(line.split())
    return (finding.place.path, finding.rule, finding.variable or "", shown)
