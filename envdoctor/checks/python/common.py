"""What the checks of Python programs share: how a call is named and where a fault in it is said."""

from __future__ import annotations

from typing import Any

from envdoctor.analysis.python.entries import Step
from envdoctor.checks.context import Context
from envdoctor.core.facts import Call, Place
from envdoctor.core.findings import Finding, Related
from envdoctor.knowledge.rulebook import Rule


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
