"""Findings and experiments joined: what to ask of the smoke test, and what its answers make of the findings. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from envdoctor.core.facts import Place, Setting
from envdoctor.core.findings import Confirmation, Finding
from envdoctor.core.records import replace
from envdoctor.knowledge.catalog.model import Catalog
from envdoctor.knowledge.rulebook import Rulebook
from envdoctor.node.smoke.model import Kind, Level, SmokeRequest, Suspect
from envdoctor.node.smoke.model import SmokeConfirmation as Answer
from envdoctor.node.smoke.run.session import Session

KINDS: Mapping[str, Kind] = {
    "ghost-variable": "ghost",
    "misnamed-variable": "misnamed",
    "version-dependent": "ghost",
    "wrong-platform": "ghost",
    "set-too-late": "late",
    "bad-value": "bad-value",
    "contradictory": "contradictory",
    "ineffective-setting": "ineffective",
    "missing-collective-setting": "unpinned",
}
"""Rule -> what the smoke test can find out about it."""
AT_LOAD = ("library-load", "process-start")
"""`read_at` of variables that a forked process can no longer change."""
LEVELS: Mapping[str, Level] = {"auto": "run-to-run"}
UNPINNED = "NCCL_ALGO"
"""The variable that an unpinned algorithm is asked about."""


def suspects(findings: Iterable[Finding], settings: Sequence[Setting]) -> tuple[Suspect, ...]:
    """One suspect for each variable and kind that the findings speak of."""
    values = {s.name: s.value.known or "" for s in settings if s.op in ("set", "default")}
    found: dict[tuple[str, Kind], Suspect] = {}
    for finding in findings:
        kind = KINDS.get(finding.name)
        name = finding.variable or (UNPINNED if kind == "unpinned" else None)
        if kind is None or name is None:
            continue
        other = next((r.variable for r in finding.related if r.variable and r.variable != name), "")
        found.setdefault((name, kind), Suspect(name, kind, values.get(name, ""), meant(finding), other or ""))
    return tuple(found.values())


def meant(finding: Finding) -> str:
    """The real name that a finding says was meant: what its fix would write."""
    if finding.name != "misnamed-variable" or finding.fix is None:
        return ""
    return finding.fix.edits[0].text


def applied(settings: Sequence[Setting]) -> dict[str, str]:
    """The values that a launch with these settings gives its ranks, where they are known; the last one holds."""
    found: dict[str, str] = {}
    for setting in settings:
        value = setting.value.known
        if setting.op == "unset":
            found.pop(setting.name, None)
        elif setting.exported == "no" or value is None:
            continue
        elif setting.op == "set":
            found[setting.name] = value
        elif setting.op == "default":
            found.setdefault(setting.name, value)
    return found


def request(
    findings: Iterable[Finding],
    settings: Sequence[Setting],
    catalog: Catalog,
    level: str,
    *,
    thorough: bool = False,
    trace: bool = False,
    facts: Mapping[str, str] | None = None,
) -> SmokeRequest:
    """What to ask of the smoke test. Only settings that the catalogue or its families know are passed on."""
    mine = {name: value for name, value in applied(settings).items() if catalog.prefix_of(name) is not None}
    early = frozenset(
        name for name in mine if (variable := catalog.variable(name)) is not None and variable.read_at in AT_LOAD
    )
    wanted = LEVELS.get(level, level)
    return SmokeRequest(mine, suspects(findings, settings), wanted, thorough, (), early, trace, False, facts or {})  # type: ignore[arg-type]


def confirmed(findings: Sequence[Finding], answers: Iterable[Answer]) -> list[Finding]:
    """The findings with what the experiments made of them beside each."""
    by_suspect = {(a.suspect.name, a.suspect.kind): Confirmation(a.state, a.reason) for a in answers}
    joined = []
    for finding in findings:
        kind = KINDS.get(finding.name)
        name = finding.variable or (UNPINNED if kind == "unpinned" else None)
        confirmation = by_suspect.get((name, kind)) if name and kind else None
        joined.append(replace(finding, confirmation=confirmation) if confirmation else finding)
    return joined


def verdict_findings(session: Session, rulebook: Rulebook, node: str = "") -> list[Finding]:
    """The verdicts of a session as findings of ED801 to ED808. An inconclusive test changes no exit status."""
    place = Place("smoke test", 0, 0, 0, 0, node=node)
    found = []
    for verdict in session.verdicts:
        rule = rulebook.named(verdict.rule)
        finding = Finding(rule.id, rule.name, rule.severity, rule.confidence, place, verdict.message, rule.fix)
        shown = f"experiments: {', '.join(verdict.experiments)}"
        found.append(finding if not verdict.experiments else replace(finding, evidence=(shown,)))
    return found
