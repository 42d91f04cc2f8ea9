"""ED203: real and read, but without effect here because of what another setting is, or is not."""

from __future__ import annotations

import re
from collections.abc import Iterator

from envdoctor.checks.context import LaunchContext
from envdoctor.checks.delivery.common import judged
from envdoctor.checks.findings import finding
from envdoctor.checks.relations.code import met_in_code
from envdoctor.checks.relations.points import Held, Point, points, together
from envdoctor.core.findings import Finding, Related
from envdoctor.core.numbers import signed, whole
from envdoctor.core.versions import at_least
from envdoctor.knowledge.catalog.model import NeededSetting, Variable
from envdoctor.knowledge.rulebook import Rule


def check(rule: Rule, context: LaunchContext) -> Iterator[Finding]:
    """Settings whose needs are plainly not met where they stand, or that a call of the program makes idle."""
    yield from met_in_code(rule, context)
    said: set[tuple[str, int, str]] = set()
    for point in points(context):
        for name, entry in point.held.items():
            variable = judged(name, context, point.path)
            if variable is None or not variable.needs or not entry.exported:
                continue
            if entry.given in ("0", ""):  # switched off: nothing is meant to have an effect
                continue
            found = _unmet(rule, variable, entry, point, context)
            if found is not None and (found.place.path, found.place.line, name) not in said:
                said.add((found.place.path, found.place.line, name))
                yield found


def _unmet(rule: Rule, variable: Variable, entry: Held, point: Point, context: LaunchContext) -> Finding | None:
    """The finding for the first need of a variable that is not met, or None."""
    for need in variable.needs:
        needed = need.setting
        if needed is None:
            continue
        other = point.held.get(needed.name)
        if other is None:
            if not needed.unset and needed.above is None and _complete(needed.name, point, context):
                return _finding(rule, entry, f"needs {need.text}, and {needed.name} is not set", None, variable)
        elif (value := other.text) is not None and together(entry, other) and not _meets(value, needed):
            why = f"needs {need.text}, and here {needed.name}={value}"
            return _finding(rule, entry, why, other, variable)
    return _version(rule, variable, entry, point, context)


def _meets(value: str, needed: NeededSetting) -> bool:
    """Whether a value is one that the need accepts; numbers that say the same as one are."""
    text = value.strip()
    if needed.refused:
        return text.lower() not in needed.refused
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


def _complete(name: str, point: Point, context: LaunchContext) -> bool:
    """Whether the whole environment is in sight: nothing mentions the missing name, nothing unknown is pulled in."""
    start = point.start
    if start is None or start.opaque or context.files.get(start.root.path) is None:
        return False
    paths = {start.root.path, start.place.path, *(place.path for place in start.callers)}
    if any(context.walked.missing.get(path) for path in paths):
        return False
    if any(re.search(rf"\b{name}\b", context.text(path)) for path in paths):
        return False
    if any(facts.kind in ("python", "dockerfile") for path in paths if (facts := context.files.get(path))):
        return False
    if any(call.name.startswith("torch.cuda.tunable") for facts in context.files.values() for call in facts.calls):
        return False
    return not any(s.name == name for facts in context.files.values() for s in facts.settings)


def _version(rule: Rule, variable: Variable, entry: Held, point: Point, context: LaunchContext) -> Finding | None:
    """A release of the target that is too old or too new for the setting."""
    for need in variable.needs:
        for component, bounds in need.version.items():
            have = context.target_of(point.path).versions.get(component)
            if have is not None and _outside(have, bounds):
                return _finding(rule, entry, f"needs {need.text}, and here {component} is {have}", None, variable)
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


def _finding(rule: Rule, held: Held, why: str, other: Held | None, variable: Variable) -> Finding:
    message = f"{held.name} has no effect here: it {why}"
    related = (Related(other.place, "this makes it idle", other.name),) if other is not None else ()
    return finding(rule, held.place, message, held.name, related=related, evidence=variable.evidence)
