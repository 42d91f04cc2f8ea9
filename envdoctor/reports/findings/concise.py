"""`--format concise`: one line a finding, as editors and grep like it."""

from __future__ import annotations

from envdoctor.engine import ScanResult
from envdoctor.reports.base import printable


class ConciseReport:
    """`path:line:column: ED101 ghost-variable: message`."""

    def __init__(self, colour: bool = False) -> None:
        del colour

    def render(self, result: ScanResult) -> str:
        """One line for each finding, none where there is nothing to say."""
        lines = [
            f"{printable(f.place.path)}:{f.place.line}:{f.place.column}: {f.rule} {f.name}: {printable(f.message)}"
            for f in result.findings
        ]
        return "".join(line + "\n" for line in lines)
