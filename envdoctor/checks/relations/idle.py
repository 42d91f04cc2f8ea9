"""ED203: real and read, but without effect here because of what another setting is, or is not."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from envdoctor.analysis.process.environment import Binding
from envdoctor.checks.context import UnitContext
from envdoctor.checks.delivery.common import judged
from envdoctor.checks.findings import finding, place_of
from envdoctor.checks.relations.code import met_in_code
from envdoctor.checks.relations.points import points, together, value_of
from envdoctor.core.facts import Setting
from envdoctor.core.findings import Finding, Related
from envdoctor.core.numbers import signed, whole
from envdoctor.core.versions import at_least
from envdoctor.knowledge.catalog.model import NeededSetting, Variable
from envdoctor.knowledge.rulebook import Rule


def check(rule: Rule, context: UnitContext) -> Iterator[Finding]:
    """Settings whose needs are plainly not met where they stand, or that a call of the program makes idle."""
    yield from met_in_code(rule, context)
    said: set[tuple[str, int, str]] = set()
    for held in points(context):
        for name, entry in held.items():
            variable = judged(name, context)
            if variable is None or not variable.needs or entry.exported == "no":
                continue
            if entry.last.value.known in ("0", ""):  # switched off: nothing is meant to have an effect
                continue
            found = _unmet(rule, variable, entry, held, context)
            if found is not None and (found.place.path, found.place.line, name) not in said:
                said.add((found.place.path, found.place.line, name))
                yield found


def _unmet(
    rule: Rule, variable: Variable, entry: Binding, held: Mapping[str, Binding], context: UnitContext
) -> Finding | None:
    """The finding for the first need of a variable that is not met, or None."""
    for need in variable.needs:
        needed = need.setting
        if needed is None:
            continue
        other = held.get(needed.name)
        if other is None:
            if not needed.unset and needed.above is None and _complete(needed.name, context):
                return _finding(rule, entry.last, f"needs {need.text}, and {needed.name} is not set", None, variable)
        elif (value := value_of(other)) is not None and together(entry, other) and not _meets(value, needed):
            why = f"needs {need.text}, and here {needed.name}={value}"
            return _finding(rule, entry.last, why, other.last, variable)
    return _version(rule, variable, entry, context)


def _meets(value: str, needed: NeededSetting) -> bool:
    """Whether a value is one that the need accepts; numbers that say the same as one are."""
    text = value.strip()
    if needed.above is not None:
        given = signed(text)
        return given is None or given > needed.above
    words = [word.lower() for word in needed.words]
    if text.lower() in words:
        return True
    numbers = [whole(word) for word in words]
    if (given := whole(text)) is not None and None not in numbers:
        return given in numbers
    return not text


def _complete(name: str, context: UnitContext) -> bool:
    """Whether the whole environment is in sight: nothing mentions the missing name, nothing unknown is pulled in."""
    unit = context.unit
    if unit.unresolved or re.search(rf"\b{name}\b", unit.text) or unit.facts.kind in ("python", "dockerfile"):
        return False
    launched = [c for i, c in enumerate(unit.commands) if context.launchers.starts_ranks(c.launch.launcher)]
    if not launched:
        return False
    if any(call.name.startswith("torch.cuda.tunable") for u in context.units for call in u.facts.calls):
        return False
    return not any(s.name == name for u in context.units for s in u.facts.settings)


def _version(rule: Rule, variable: Variable, entry: Binding, context: UnitContext) -> Finding | None:
    """A release of the target that is too old or too new for the setting."""
    for need in variable.needs:
        for component, bounds in need.version.items():
            have = context.target.versions.get(component)
            if have is not None and _outside(have, bounds):
                return _finding(rule, entry.last, f"needs {need.text}, and here {component} is {have}", None, variable)
    return None


def _outside(have: str, bounds: str) -> bool:
    """Whether a release plainly lies outside of `>=2.7,<2.10`."""
    for bound in bounds.split(","):
        bound = bound.strip()
        if bound.startswith(">="):
            if at_least(have, bound[2:]) is False:
                return True
        elif bound.startswith("<=") or bound.startswith("=="):
            continue
        elif bound.startswith("<") and at_least(have, bound[1:]) is True:
            return True
    return False


def _finding(rule: Rule, setting: Setting, why: str, other: Setting | None, variable: Variable) -> Finding:
    message = f"{setting.name} has no effect here: it {why}"
    related = (Related(place_of(other), "this makes it idle", other.name),) if other is not None else ()
    return finding(rule, place_of(setting), message, setting.name, related=related, evidence=variable.evidence)
