"""What is printed and kept of a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from inject.edits import Planting
from inject.trial import Outcome

COUNTED = ("found", "missed")


def table(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """Found and planted by kind, by the rule that is expected, and below by the shape of the place."""
    yield f"{'kind and shape':<50} {'rule':<12} {'found':>6} {'planted':>8}"
    for kind in dict.fromkeys(outcome.planting.kind for outcome in outcomes):
        rows = [outcome for outcome in outcomes if outcome.planting.kind == kind and outcome.verdict in COUNTED]
        rules = "/".join(dict.fromkeys(rule for outcome in rows for rule in outcome.planting.rules))
        yield _row(kind, rules, rows)
        shapes = sorted({outcome.planting.shape for outcome in rows})
        for shape in shapes if len(shapes) > 1 else ():
            yield _row(f"    {shape}", "", [outcome for outcome in rows if outcome.planting.shape == shape])
    yield _row("all", "", [outcome for outcome in outcomes if outcome.verdict in COUNTED])


def _row(title: str, rules: str, rows: Sequence[Outcome]) -> str:
    found = sum(outcome.verdict == "found" for outcome in rows)
    return f"{title:<50} {rules:<12} {found:>6} {len(rows):>8}"


def others(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """What the scan newly says of other variables, by kind of fault."""
    for kind in dict.fromkeys(outcome.planting.kind for outcome in outcomes):
        counts = Counter(rule for outcome in outcomes if outcome.planting.kind == kind for rule in outcome.others)
        if counts:
            yield f"{kind}: {', '.join(f'{rule} {number}' for rule, number in sorted(counts.items()))}"


def planting_of(row: Mapping[str, Any]) -> Planting:
    """The planting of a record."""
    same = {key: row[key] for key in ("kind", "shape", "repository", "path", "line", "base", "fault")}
    places = tuple((path, first, last) for path, first, last in row["places"])
    return Planting(**same, name=row["variable"], rules=tuple(row["rules"]), places=places)


def misses(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """Every fault that was not found, with what was changed and what is said of the variable instead."""
    for outcome in outcomes:
        if outcome.verdict == "missed":
            planting = outcome.planting
            place = f"{planting.repository}:{planting.path}:{planting.line}"
            yield f"{planting.kind} [{planting.shape}] {place} {planting.name}"
            yield from (f"    {row}" for row in planting.changed())
            yield from (f"    says {row}" for row in outcome.said)


def record(outcome: Outcome) -> dict[str, Any]:
    """An outcome for a file, with all that is needed to try its planting again."""
    planting = outcome.planting
    return {
        "kind": planting.kind,
        "shape": planting.shape,
        "repository": planting.repository,
        "path": planting.path,
        "line": planting.line,
        "variable": planting.name,
        "rules": list(planting.rules),
        "verdict": outcome.verdict,
        "changed": planting.changed(),
        "places": planting.places,
        "base": dict(planting.base),
        "fault": dict(planting.fault),
        "said": list(outcome.said),
        "others": list(outcome.others),
    }
