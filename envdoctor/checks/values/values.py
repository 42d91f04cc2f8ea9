"""The check of kind `value`: does the value do what it seems to? Only what the catalogue establishes is judged."""

from __future__ import annotations

from collections.abc import Iterator

from envdoctor.checks import context as checks
from envdoctor.checks.context import FileContext
from envdoctor.checks.findings import finding
from envdoctor.core.facts import Setting
from envdoctor.core.findings import Finding
from envdoctor.knowledge.catalog.model import BadValue, Variable
from envdoctor.knowledge.catalog.values import faults
from envdoctor.knowledge.rulebook import Rule

SAYS = {
    "refused": "is refused",
    "ignored": "is ignored",
    "replaced": "is replaced in silence",
    "misread": "does not mean what it seems to",
}


def check(rule: Rule, context: FileContext) -> Iterator[Finding]:
    """Findings for the settings whose value is known to go wrong on the target."""
    for setting in checks.judged(context.facts.settings):
        if setting.op not in ("set", "default"):
            continue
        text = setting.value.known
        variable = context.catalog.variable(setting.name)
        if text is None or variable is None or variable.status not in ("real", "deprecated"):
            continue
        target = context.target
        found = faults(variable, context.catalog, text, setting.comment, target.platform, target.versions)
        if found and not _elsewhere(variable, context):
            yield _finding(rule, setting, text, found[0], variable)


def _elsewhere(variable: Variable, context: FileContext) -> bool:
    """The variable is for another platform: there is one fault, and it is not the value."""
    platform = context.target.platform
    return platform is not None and variable.platform not in ("both", platform)


def _finding(rule: Rule, setting: Setting, text: str, bad: BadValue, variable: Variable) -> Finding:
    shown = text if len(text) <= 60 else text[:57] + "..."
    message = f"{setting.name}={shown} {SAYS[bad.verdict]}: {bad.effect}"
    more: dict[str, object] = {"evidence": variable.evidence, "help": _way_out(variable)}
    if bad.weak:
        more |= {"confidence": "low", "severity": "info"}
    return finding(rule, setting.value_place or setting.place, message, setting.name, **more)


def _way_out(variable: Variable) -> str:
    """What the variable takes, in words."""
    grammar = variable.value
    if grammar is None:
        return ""
    words = sorted({word for steps in grammar.words.values() for _, found in steps for word in found})
    if words:
        joined = f", joined by {grammar.separator!r}" if grammar.separator else ""
        return f"one of {', '.join(words)}{joined}" if len(words) < 16 else "one of the words that this release knows"
    ranges = [bounds for steps in grammar.range.values() for _, bounds in steps]
    if ranges:
        unit = f" ({grammar.unit})" if grammar.unit else ""
        return f"an integer from {ranges[-1][0]} to {ranges[-1][1]}{unit}"
    return grammar.note or (f"{grammar.type}{f' ({grammar.unit})' if grammar.unit else ''}")
