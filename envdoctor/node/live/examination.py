"""What one examination of a node is: facts, findings, and what was asked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from envdoctor.core.facts import Setting
from envdoctor.core.findings import Finding
from envdoctor.core.target import UNKNOWN, Target
from envdoctor.node.live.job import Job
from envdoctor.node.probes.base import Depth
from envdoctor.node.probes.report import Node


@dataclass(slots=True)
class Examination:
    """A node, what is wrong with it, and how it was looked at. `findings` holds the hints too, the worst first.

    `script_settings` are those of a launch script that was named; `session` is the whole smoke test, as data.
    `probe_of` is name of a rule -> probe whose line of the sheet it belongs to. `experiments` are those of the smoke
    test, in their JSON form, and `smoke` says why there are none.
    """

    node: Node
    findings: list[Finding] = field(default_factory=list)
    target: Target = UNKNOWN
    level: str = "hygiene"
    depth: Depth = "files"
    source: str = "this machine"
    probe_of: Mapping[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    job: Job | None = None
    experiments: list[dict[str, Any]] = field(default_factory=list)
    session: dict[str, Any] = field(default_factory=dict)
    smoke: str = ""
    script_settings: list[Setting] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    excerpts: Mapping[tuple[str, int], str] = field(default_factory=dict)
    seconds: float = 0.0

    def shown(self, hints: bool) -> list[Finding]:
        """The findings to print: without hints unless they are asked for."""
        return [f for f in self.findings if hints or f.severity != "info"]
