"""How checks say what they found."""

from __future__ import annotations

from typing import Any

from envdoctor.core.facts import Place, Setting
from envdoctor.core.findings import Finding
from envdoctor.knowledge.rulebook import Rule


def finding(rule: Rule, place: Place, message: str, variable: str | None = None, **more: Any) -> Finding:
    """A finding of `rule`, with the rule's severity, confidence and way out unless `more` says else.

    The rule's evidence goes with what is about no variable; what is known of a variable has evidence of its own.
    """
    fields: dict[str, Any] = {"severity": rule.severity, "confidence": rule.confidence, "help": rule.fix}
    if variable is None:
        fields["evidence"] = rule.evidence
    fields.update(more)
    return Finding(rule=rule.id, name=rule.name, place=place, message=message, variable=variable, **fields)


def place_of(setting: Setting) -> Place:
    """Where a setting is shown: at its name."""
    return setting.name_place or setting.place
