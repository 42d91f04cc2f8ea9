"""`envdoctor live --format json`: everything that is known, for programs; reports of several nodes can be compared."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from envdoctor.core.findings import finding_json
from envdoctor.node.live.examination import Examination
from envdoctor.node.live.job import Job, differing
from envdoctor.node.probes.libraries.library import LibraryFile


class JsonNodeReport:
    """One JSON object. Hints are among the findings, with severity info."""

    def __init__(self, *, colour: bool = False, details: bool = False, hints: bool = False, ascii_only: bool = False
                 ) -> None:  # fmt: skip
        del colour, details, hints, ascii_only

    def render(self, examination: Examination) -> str:
        """`{"version": 1, "node": {...}, "findings": [...], "experiments": [...], ...}`."""
        return json.dumps(examination_json(examination), indent=2, ensure_ascii=False) + "\n"


def examination_json(examination: Examination) -> dict[str, Any]:
    """The JSON form of an examination, version 1."""
    node, target = examination.node, examination.target
    report: dict[str, Any] = {
        "version": 1,
        "node": node.as_json(),
        "findings": [finding_json(f) for f in examination.findings],
        "experiments": examination.experiments,
        "smoke": examination.smoke,
        "source": examination.source,
        "depth": examination.depth,
        "level": examination.level,
        "target": {"platform": target.platform, "versions": dict(target.versions), "gpus": list(target.gpus)},
        "notes": examination.notes,
        "summary": {
            "by_rule": dict(sorted(Counter(f.name for f in examination.findings).items())),
            "by_severity": dict(Counter(f.severity for f in examination.findings)),
        },
        "details": {**node.details_json(), "libraries": [library_json(lib) for lib in node.libraries.values()]},
    }
    if examination.session:
        report["smoke_test"] = {key: value for key, value in examination.session.items() if key != "experiments"}
    if examination.job is not None:
        report["job"] = job_json(examination.job)
    return report


TOLD = ("path", "kind", "version", "version_text", "built_for", "soname", "architecture", "build", "size", "sha256")
"""What is told of a library file."""


def library_json(library: LibraryFile) -> dict[str, Any]:
    """A collectives library: what tells one build from another. The names it reads are counted, not listed."""
    return {
        **{name: getattr(library, name) for name in TOLD},
        "names": len(library.names),
        "names_complete": library.names_complete,
        "problems": [problem.message for problem in library.problems],
    }


def job_json(job: Job) -> dict[str, Any]:
    """The ranks of a running job; their environments are those at exec."""
    ranks = [
        {"rank": rank.number, "pid": rank.pid, "library": rank.library or None, "settings": dict(rank.settings)}
        for rank in job.ranks
    ]
    return {"asked": job.asked, "examined": job.examined, "ranks": ranks, "differs": differing(job.ranks)}
