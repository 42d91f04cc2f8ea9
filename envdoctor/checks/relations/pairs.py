"""ED202: two variables of which one cancels the other, as the catalogue says of them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, cast

from envdoctor.checks.context import LaunchContext
from envdoctor.checks.delivery.common import judged
from envdoctor.checks.findings import finding
from envdoctor.checks.relations.points import Held, Point, points, together
from envdoctor.core.findings import Finding, Related
from envdoctor.core.numbers import whole
from envdoctor.knowledge.catalog.model import Conflict, Variable
from envdoctor.knowledge.rulebook import Rule

if TYPE_CHECKING:
    from envdoctor.knowledge.parameters.relations import Pairs

Environment = Mapping[str, Held]


def check(rule: Rule, context: LaunchContext) -> Iterator[Finding]:
    """Pairs that cancel each other wherever they stand side by side."""
    said: set[tuple[str, str, int]] = set()
    for point in points(context):
        every = (_conflicts, _orders, _masks, _all_off)
        for found in (f for each in every for f in each(rule, point, context)):
            key = (found.place.path, found.variable or "", found.place.line)
            if key not in said:
                said.add(key)
                yield found


def _parameters(rule: Rule) -> Pairs:
    return cast("Pairs", rule.parameters)


def _conflicts(rule: Rule, point: Point, context: LaunchContext) -> Iterator[Finding]:
    """What the catalogue calls a conflict, where its conditions hold and one side plainly wins."""
    held = point.held
    for name in held:
        variable = judged(name, context, point.path)
        for conflict in variable.conflicts if variable else ():
            if variable is None or conflict.with_name not in held:
                continue
            loser = _loser(variable, conflict, held, _parameters(rule))
            if loser and not _idle(loser, conflict, variable, context):
                winner = conflict.with_name if loser == name else name
                yield _cancelled(rule, held[loser], held[winner], conflict, variable)


def _loser(variable: Variable, conflict: Conflict, held: Environment, parameters: Pairs) -> str:
    """The name of the setting without effect, or an empty string where the two get along."""
    mine, other = held[variable.name], held[conflict.with_name]
    value, against = mine.text, other.text
    if value is None or against is None or not together(mine, other):
        return ""
    if not _matches(conflict.when, value) or not _matches(conflict.with_when, against):
        return ""
    names = (variable.name, conflict.with_name)
    if not (conflict.when or conflict.with_when):
        same = any(set(names) <= set(group) for group in parameters["same"])
        if not same or value.strip() == against.strip():
            return ""
    if conflict.winner == "error":
        return names[0] if mine.order > other.order else ""
    if conflict.winner not in names:
        return ""
    loser = names[1] if conflict.winner == names[0] else names[0]
    lost = value if loser == names[0] else against
    return "" if lost.strip().lower() in parameters["agrees"].get(loser, ()) else loser


def _matches(pattern: str, value: str) -> bool:
    return not pattern or re.fullmatch(pattern, value) is not None


def _idle(loser: str, conflict: Conflict, variable: Variable, context: LaunchContext) -> bool:
    """The catalogue says the same as a need of the loser: that is ED203's to say."""
    other = context.catalog.variable(loser)
    winner = conflict.with_name if loser == variable.name else variable.name
    return other is not None and any(need.setting is not None and need.setting.name == winner for need in other.needs)


def _cancelled(rule: Rule, loser: Held, winner: Held, conflict: Conflict, variable: Variable) -> Finding:
    if conflict.winner == "error":
        message = f"{loser.name} and {winner.name} exclude each other: {conflict.why}"
    else:
        message = f"{loser.name} has no effect beside {winner.name}={winner.given}: {conflict.why}"
    related = (Related(winner.place, f"{winner.name} wins", winner.name),)
    return finding(rule, loser.place, message, loser.name, related=related, evidence=variable.evidence,
                   help=f"remove {loser.name} or {winner.name}")  # fmt: skip


def _orders(rule: Rule, point: Point, context: LaunchContext) -> Iterator[Finding]:
    """A minimum above its maximum."""
    held = point.held
    for low, high in _parameters(rule)["ordered"]:
        if low not in held or high not in held or judged(low, context, point.path) is None:
            continue
        least, most = held[low].text, held[high].text
        numbers = _numbers(f"{least},{most}")
        if numbers and numbers[0] > numbers[1] and together(held[low], held[high]):
            message = f"{low}={least} is above {high}={most}: the maximum holds"
            related = (Related(held[high].place, "the maximum", high),)
            yield finding(rule, held[low].place, message, low, related=related,
                          help="give both the same value")  # fmt: skip


def _masks(rule: Rule, point: Point, context: LaunchContext) -> Iterator[Finding]:
    """Masks of devices inside one another: the inner one counts within what the outer one leaves."""
    held = point.held
    outer = _parameters(rule)["outer_mask"]
    if outer not in held or judged(outer, context, point.path) is None:
        return
    devices = _numbers(held[outer].text)
    for name in _parameters(rule)["inner_masks"]:
        wanted = _numbers(held[name].text) if name in held else None
        if not devices or not wanted or max(wanted) < len(devices) or not together(held[name], held[outer]):
            continue
        message = (
            f"{name}={','.join(map(str, wanted))} counts within the {len(devices)} that {outer} leaves: "
            f"there is no device {max(wanted)}"
        )
        related = (Related(held[outer].place, f"leaves {len(devices)}", outer),)
        variable = context.catalog.variable(name)
        yield finding(rule, held[name].place, message, name, related=related,
                      help=f"number the devices from 0 in {name}, or set one of the two alone",
                      evidence=variable.evidence if variable else ())  # fmt: skip
        return


def _all_off(rule: Rule, point: Point, context: LaunchContext) -> Iterator[Finding]:
    """Switches of which one has to stay on."""
    held = point.held
    for group in _parameters(rule)["one_on"]:
        names = group["names"]
        if not all(name in held and held[name].text == "0" and judged(name, context, point.path) for name in names):
            continue
        last = max((held[name] for name in names), key=lambda one: one.order)
        related = tuple(Related(held[n].place, "off too", n) for n in names if n != last.name)
        if all(together(held[names[0]], held[name]) for name in names[1:]):
            yield finding(rule, last.place, f"{', '.join(names)} are all 0: {group['says']}", last.name,
                          related=related, help="leave one of them on")  # fmt: skip


def _numbers(value: str | None) -> list[int] | None:
    parts = [whole(part.strip()) for part in (value or "").split(",")]
    return [part for part in parts if part is not None] if None not in parts else None
