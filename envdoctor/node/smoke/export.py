"""A session as plain data for JSON."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from envdoctor.node.smoke.compare.agreement import agreements, blindness
from envdoctor.node.smoke.compare.confirm import choices
from envdoctor.node.smoke.compare.matrix import matrix
from envdoctor.node.smoke.model import ExperimentResult, RankResult
from envdoctor.node.smoke.run.session import Session


def session_data(session: Session) -> dict[str, Any]:
    """Everything that a report or a later comparison may want of a session."""
    seen = blindness(session.results)
    return {
        "node": asdict(session.node) if session.node else None,
        "reason": session.reason,
        "message": session.message,
        "placement": session.label,
        "library": session.library,
        "notes": list(session.notes),
        "claim": session.claim,
        "verdicts": [asdict(verdict) for verdict in session.verdicts],
        "confirmations": [asdict(confirmation) for confirmation in session.confirmations],
        "experiments": [result_data(result) for result in session.results],
        "matrix": asdict(matrix(session.results)),
        "agreements": [{**asdict(item), "agrees": item.agrees} for item in agreements(session.results)],
        "blind": {**asdict(seen), "shown": seen.shown} if seen else None,
        "timings": session.timings,
        "left": list(session.left),
    }


def result_data(result: ExperimentResult) -> dict[str, Any]:
    """One experiment, its environment, and what its log shows."""
    log = result.log
    return {
        "id": result.id,
        "role": result.experiment.role,
        "why": result.experiment.why,
        "changes": dict(result.experiment.changes),
        "late": dict(result.experiment.late),
        "fresh": result.experiment.fresh,
        "status": result.status,
        "reason": result.reason,
        "seconds": result.seconds,
        "trace": result.trace,
        "ranks": [rank_data(rank) for rank in result.ranks],
        "choices": {str(size): what for size, what in choices(result).items()},
        "read": {read.name: read.value for read in log.reads},
        "bypassed": list(log.bypassed()),
        "paths": sorted({note.kind for note in log.bypasses}),
        "library": list(dict.fromkeys(f"{item.name} {item.version}" for item in log.components)),
        "library_paths": list(log.library_paths()),
        "warnings": [note.text for note in log.warnings[:20]],
    }


def rank_data(rank: RankResult) -> dict[str, Any]:
    """One rank, its empty parts left out."""
    return {name: value for name, value in asdict(rank).items() if name == "rank" or value not in (None, "", 0, {}, ())}
