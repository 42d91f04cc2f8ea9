"""From a rule to the function that mends its findings, in one step; what is not here is put right by people."""

from __future__ import annotations

import importlib
from collections.abc import Callable

from envdoctor.core.facts import FileFacts
from envdoctor.core.findings import Finding, Fix
from envdoctor.fixes.workshop import Workshop

FIXES = {
    "ghost-variable": "envdoctor.fixes.names:remove",
    "version-dependent": "envdoctor.fixes.names:retire",
    "misnamed-variable": "envdoctor.fixes.names:rename",
    "deprecated-variable": "envdoctor.fixes.names:rename",
    "bad-value": "envdoctor.fixes.values:correct",
    "not-exported": "envdoctor.fixes.delivery:export",
    "not-forwarded": "envdoctor.fixes.delivery:forward",
    "command-misread": "envdoctor.fixes.delivery:mend",
    "set-too-late": "envdoctor.fixes.python.moves:move",
    "missing-collective-setting": "envdoctor.fixes.levels:block",
    "unseeded-rng": "envdoctor.fixes.python.seeds:seed",
    "blind-test": "envdoctor.fixes.python.blind:by_rank",
    "missing-deterministic-flag": "envdoctor.fixes.python.switches:put_in",
    "nondeterministic-option": "envdoctor.fixes.options:put_back",
}
"""Rule -> module and function `(finding, facts, workshop) -> Fix | None`, imported when a fix is made: those that work
on Python need libcst."""
SAFE = ("ghost-variable", "misnamed-variable", "deprecated-variable")
"""Rules that have safe fixes."""
OF_SETTINGS = (
    "ghost-variable", "version-dependent", "misnamed-variable", "deprecated-variable", "bad-value", "not-forwarded",
    "not-exported", "command-misread",
)  # fmt: skip
"""Rules whose fixes change words at their places, which are exact in notebooks and JSON too."""


def function(rule: str) -> Callable[[Finding, FileFacts, Workshop], Fix | None]:
    """The function that mends the findings of a rule."""
    module, name = FIXES[rule].split(":")
    found: Callable[[Finding, FileFacts, Workshop], Fix | None] = getattr(importlib.import_module(module), name)
    return found
