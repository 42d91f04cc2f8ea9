"""Results to render: one with everything a format can carry, one with text that tries to break out of a format."""

from __future__ import annotations

from envdoctor.core.facts import Place
from envdoctor.core.findings import Confirmation, Edit, Finding, Fix, Related
from envdoctor.core.records import replace
from envdoctor.engine import ScanResult
from envdoctor.knowledge.rulebook import load_rulebook

HOSTILE = (
    "<script>alert(1)</script> &amp; %0A::error::x ]]> [a](http://b) `c` |d| @all ${{ x }}"
    " \x1b[31m\u202e\x00\r\ufffe\ud800 * {0}"
)
"""What a scanned file could hold to speak to a terminal, a runner, a browser or a parser."""


def full() -> ScanResult:
    """Findings of each severity, with related places, a fix of two edits, and each state of a confirmation."""
    place = Place("train.sh", 4, 8, 4, 26)
    fix = Fix("rename it", (Edit(place, "NCCL_ALGO"), Edit(Place("job.yaml", 2, 1, 3, 1), "")), safe=False)
    first = Finding("ED101", "ghost-variable", "error", "high", place, "nobody reads it", "name the algorithm",
                    "NCCL_DETERMINISTIC", ("owner/name@v1:file.cc",),
                    (Related(Place("job.yaml", 2, 3, 2, 9), "and set here", "NCCL_DETERMINISTIC"),), fix,
                    Confirmation("confirmed", "no communicator asked for it"))  # fmt: skip
    second = replace(first, name="bad-value", rule="ED201", severity="warning", place=Place("train.sh", 6, 1, 7, 1),
                     message="means something else", related=(), fix=None,
                     confirmation=Confirmation("refuted", "it was read and did change the sum"))  # fmt: skip
    third = replace(second, rule="ED302", name="not-forwarded", place=Place("train.sh", 9, 1, 9, 5), evidence=(),
                    variable=None, confirmation=Confirmation("not testable here", "one GPU"))  # fmt: skip
    hint = replace(third, severity="info", place=Place("z.py", 1, 1, 1, 2), confirmation=None, help="")
    problem = Finding("ED901", "unparsable-file", "info", "high", Place("b.py", 3, 1, 3, 2), "cannot be parsed")
    excerpts = {("train.sh", 4): "export NCCL_DETERMINISTIC=1", ("train.sh", 6): "export A=1  # é"}
    return _result([first, second, third, hint], [problem], excerpts)


def hostile() -> ScanResult:
    """A finding in which every text tries to break out."""
    path = f"dir/{HOSTILE}:1,2.sh"
    place = Place(path, 1, 3, 1, 400)
    fix = Fix(HOSTILE, (Edit(place, HOSTILE),))
    related = (Related(place, HOSTILE, HOSTILE),)
    found = Finding("ED101", "ghost-variable", "error", "high", place, HOSTILE, HOSTILE, HOSTILE, (HOSTILE,), related,
                    fix, Confirmation("confirmed", HOSTILE))  # fmt: skip
    return _result([found], [replace(found, rule="ED901", severity="info")], {(path, 1): HOSTILE}, [HOSTILE])


def clean() -> ScanResult:
    """A scan that found nothing."""
    return _result([], [], {})


def undone() -> ScanResult:
    """A scan that found nothing in what it could judge."""
    said = "c.lua: internal error while reading it: KeyError in readers/x.py:1"
    problem = Finding("ED901", "unparsable-file", "info", "high", Place("c.lua", 1, 1, 1, 1), "internal error")
    return _result([], [problem], {}, [said])


def _result(
    found: list[Finding], problems: list[Finding], excerpts: dict[tuple[str, int], str], errors: list[str] | None = None
) -> ScanResult:
    counts: dict[str, int] = {}
    for finding in found:
        counts[finding.severity] = counts.get(finding.severity, 0) + 1
    summary = {"files": 3, "by_severity": counts}
    return ScanResult(found, 0, problems, errors or [], excerpts, summary, list(load_rulebook()))
