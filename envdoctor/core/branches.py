"""What the conditions around two facts say of both together."""

from __future__ import annotations

from collections.abc import Iterable

from envdoctor.core.facts import Branch


def exclusive(one: Iterable[Branch], other: Iterable[Branch]) -> bool:
    """Whether two facts can never both happen: one condition, different arms."""
    arms = {branch.id: branch.arm for branch in one}
    return bool(arms) and any(branch.id in arms and arms[branch.id] != branch.arm for branch in other)
