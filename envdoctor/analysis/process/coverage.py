"""What was followed to the ranks, and what was not."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from envdoctor.analysis.process.results import Unfollowed, Walked
from envdoctor.core.facts import Place


def followed(walked: Walked, paths: Collection[str]) -> list[Place]:
    """The launches in some files that were followed to their ranks, each place once."""
    found = (start.place for start in walked.starts if not start.opaque and not start.hint)
    return [place for place in dict.fromkeys(found) if place.path in paths]


def not_followed(walked: Walked, paths: Collection[str]) -> list[Unfollowed]:
    """The launches in some files that were not, each place once."""
    there = set(followed(walked, paths))
    found: dict[Place, Unfollowed] = {}
    for one in walked.unfollowed:
        if one.place not in there and one.place.path in paths:
            found.setdefault(one.place, one)
    return list(found.values())


def coverage(walked: Walked, paths: Collection[str]) -> dict[str, Any]:
    """How many launches there are in some files, and how many of them were followed to the ranks."""
    missed = not_followed(walked, paths)
    why: dict[str, int] = {}
    for one in missed:
        why[one.why] = why.get(one.why, 0) + 1
    count = len(followed(walked, paths))
    return {"found": count + len(missed), "followed": count, "not_followed": dict(sorted(why.items()))}
