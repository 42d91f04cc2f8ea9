"""What files are judged against, and the reasons, as text and as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from envdoctor.core.target import Reason, Target

MOST_PATHS = 12
MOST_REASONS = 12


class Group(NamedTuple):
    """Files that are judged against the same target for the same reasons."""

    target: Target
    paths: list[str]


def grouped(targets: Iterable[tuple[str, Target]]) -> list[Group]:
    """The files by their targets, in order of the first file of each."""
    groups: dict[tuple[Any, ...], Group] = {}
    for path, target in targets:
        reasons = tuple((r.place, r.hint) for r in target.reasons)
        key = (target.platform, tuple(sorted(target.versions.items())), target.gpus, reasons)
        groups.setdefault(key, Group(target, [])).paths.append(path)
    return list(groups.values())


def lines(group: Group) -> Iterator[str]:
    """What is known, why, what contradicts what, and for which files."""
    target = group.target
    yield summary(target)
    for reason in deciding(target)[:MOST_REASONS]:
        yield f"  {_reason(reason)}"
    if (more := len(deciding(target)) - MOST_REASONS) > 0:
        yield f"  and {more} more"
    for first, second in target.conflicts:
        yield f"  contradictory: {_place(first)} says {first.says}, {_place(second)} says {second.says}"
    yield "  files:"
    yield from (f"    {path}" for path in group.paths[:MOST_PATHS])
    if len(group.paths) > MOST_PATHS:
        yield f"    and {len(group.paths) - MOST_PATHS} more"
    yield ""


def summary(target: Target) -> str:
    """`target: rocm 6.2, torch 2.4.1, gfx942`, or that it is unknown and why."""
    parts: list[str] = [target.platform or "platform unknown"]
    if target.platform is not None and target.platform in target.versions:
        parts[0] += f" {target.versions[target.platform]}"
    parts += [f"{name} {version}" for name, version in target.versions.items() if name != target.platform]
    parts += [f"{name} at least {version}" for name, version in target.minimums.items()]
    why = "" if target.platform else " (hints contradict each other)" if target.conflicts else " (nothing says it)"
    return f"target: {', '.join([*parts, *target.gpus])}{why}"


def deciding(target: Target) -> list[Reason]:
    """The reasons that go the way of the target, each place once; for an unknown platform all of them."""
    mine = [r for r in target.reasons if target.platform is None or r.platform in (None, target.platform)]
    return list({(r.place.path, r.place.line, r.says): r for r in mine}.values())


def _place(reason: Reason) -> str:
    return f"{reason.place.path}:{reason.place.line}"


def _reason(reason: Reason) -> str:
    text = " ".join(reason.text.split())
    return f"{_place(reason)}: {text if len(text) <= 60 else text[:57] + '...'}: {reason.says} ({reason.confidence})"


def as_json(group: Group) -> dict[str, Any]:
    """The same for programs, with every file and every reason."""
    target = group.target
    return {
        "platform": target.platform,
        "versions": dict(target.versions),
        "minimums": dict(target.minimums),
        "gpus": list(target.gpus),
        "reasons": [_reason_json(r) for r in deciding(target)],
        "conflicts": [[_reason_json(r) for r in pair] for pair in target.conflicts],
        "paths": group.paths,
    }


def _reason_json(reason: Reason) -> dict[str, Any]:
    return {
        "path": reason.place.path,
        "line": reason.place.line,
        "text": reason.text,
        "says": reason.says,
        "confidence": reason.confidence,
    }
