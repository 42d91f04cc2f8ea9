"""The check of kind `relation`: settings that cancel, override or idle each other.

`parameters.fault` of a rule names the fault.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from typing import cast

from envdoctor.checks import UnitContext
from envdoctor.findings import Finding
from envdoctor.rulebook import Rule

MODULES = {
    "contradictory": ("relation_twice", "relation_pairs", "relation_code", "relation_arguments"),
    "ineffective-setting": ("relation_idle",),
}
"""Fault -> modules of this package with the function `faults(rule, context)`."""
Faults = Callable[[Rule, UnitContext], Iterator[Finding]]


def check(rule: Rule, context: UnitContext) -> Iterator[Finding]:
    """Findings of a rule in one launch unit."""
    for name in MODULES[rule.parameters["fault"]]:
        module = importlib.import_module(f"envdoctor.checks.{name}")
        yield from cast("Faults", module.faults)(rule, context)
