"""The check of kind `call`: what a Python program calls, in the order in which it runs.

A rule's parameter `of` says which module looks; all that those modules look for is in the rule files and in
`rules/apis/`.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Any

from envdoctor.checks import Context
from envdoctor.entries import Step
from envdoctor.facts import Call, Place
from envdoctor.findings import Finding, Related
from envdoctor.rulebook import Rule

MODULES = {
    "seeds": "call_seeds", "missing": "call_missing", "options": "call_options", "blind": "call_blind",
}  # fmt: skip


def check(rule: Rule, context: Context) -> Iterator[Finding]:
    """Findings about the program that a file starts, or about the calls of the file alone."""
    if context.programs is None:
        return iter(())
    module = importlib.import_module(f"envdoctor.checks.{MODULES[rule.parameters['of']]}")
    found: Iterator[Finding] = module.check(rule, context)
    return found


def finding(rule: Rule, place: Place, message: str, **more: Any) -> Finding:
    """A finding of `rule` at a place, with the rule's severity, confidence and way out unless `more` says else."""
    fields: dict[str, Any] = {"severity": rule.severity, "confidence": rule.confidence, "help": rule.fix}
    fields["evidence"] = rule.evidence
    fields.update(more)
    return Finding(rule=rule.id, name=rule.name, place=place, message=message, **fields)


def short(call: Call) -> str:
    """The name of a call for people: without the objects that it goes through."""
    name = call.name
    if "()" in name:
        owner, _, method = name.rpartition("().")
        name = f"{owner.rpartition('.')[2].rpartition('()')[2]}.{method}" if method else owner
    return name.lstrip("?.")


def entry_related(context: Context, place: Place, message: str = "the training that runs this") -> tuple[Related, ...]:
    """The entry of a program, where a finding stands in another file."""
    if place.path == context.facts.path:
        return ()
    return (Related(Place(context.facts.path, 1, 1, 1, 1), message),)


def anchored(step: Step, context: Context) -> tuple[Place, tuple[Related, ...]]:
    """Where a fault in a step is said: at the call where it is part of the program, and at the place in the entry that
    leads to it where it stands in a library, which may do as it likes."""
    place = step.call.place
    folder = context.facts.path.rpartition("/")[0]
    own = place.path == context.facts.path or not folder or place.path.startswith(f"{folder}/")
    if own or step.site is None:
        return place, entry_related(context, place)
    return step.site, (Related(place, f"{short(step.call)} is called here"),)
