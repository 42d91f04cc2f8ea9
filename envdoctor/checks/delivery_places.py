"""ED302 where no launcher is to blame: roles of a manifest, layers of an image, a driver beside its workers."""

from __future__ import annotations

from collections.abc import Iterator

from envdoctor.checks import UnitContext
from envdoctor.findings import Finding
from envdoctor.rulebook import Rule


def faults(rule: Rule, context: UnitContext) -> Iterator[Finding]:
    """Settings that stay in one place although they are meant for another."""
    return iter(())
