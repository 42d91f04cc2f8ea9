"""ED202: two variables of which one cancels the other, as the catalogue says of them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, cast

from envdoctor.analysis.process.environment import Binding
from envdoctor.checks.context import UnitContext
from envdoctor.checks.delivery.common import judged
from envdoctor.checks.findings import finding, place_of
from envdoctor.checks.relations.points import points, together, value_of
from envdoctor.core.facts import Setting
from envdoctor.core.findings import Finding, Related
from envdoctor.core.numbers import whole
from envdoctor.knowledge.catalog.model import Conflict, Variable
from envdoctor.knowledge.rulebook import Rule

if TYPE_CHECKING:
    from envdoctor.knowledge.parameters.relations import Pairs

Environment = Mapping[str, Binding]


def check(rule: Rule, context: UnitContext) -> Iterator[Finding]:
    """Pairs that cancel each other wherever they stand side by side."""
    said: set[tuple[str, str, int]] = set()
    for held in points(context):
        every = (_conflicts, _orders, _masks, _all_off)
        for found in (f for each in every for f in each(rule, held, context)):
            key = (found.place.path, found.variable or "", found.place.line)
            if key not in said:
                said.add(key)
                yield found


def _parameters(rule: Rule) -> Pairs:
    return cast("Pairs", rule.parameters)


def _conflicts(rule: Rule, held: Environment, context: UnitContext) -> Iterator[Finding]:
    """What the catalogue calls a conflict, where its conditions hold and one side plainly wins."""
    for name in held:
        variable = judged(name, context)
        for conflict in variable.conflicts if variable else ():
            if variable is None or conflict.with_name not in held:
                continue
            loser = _loser(variable, conflict, held, _parameters(rule))
            if loser and not _idle(loser, conflict, variable, context):
                winner = conflict.with_name if loser == name else name
                yield _cancelled(rule, held[loser].last, held[winner].last, conflict, variable)


def _loser(variable: Variable, conflict: Conflict, held: Environment, parameters: Pairs) -> str:
    """The name of the setting without effect, or an empty string where the two get along."""
    mine, other = held[variable.name], held[conflict.with_name]
    value, against = value_of(mine), value_of(other)
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
        return names[0] if mine.last.order > other.last.order else ""
    if conflict.winner not in names:
        return ""
    loser = names[1] if conflict.winner == names[0] else names[0]
    lost = value if loser == names[0] else against
    return "" if lost.strip().lower() in parameters["agrees"].get(loser, ()) else loser


def _matches(pattern: str, value: str) -> bool:
    return not pattern or re.fullmatch(pattern, value) is not None


def _idle(loser: str, conflict: Conflict, variable: Variable, context: UnitContext) -> bool:
    """The catalogue says the same as a need of the loser: that is ED203's to say."""
    other = context.catalog.variable(loser)
    winner = conflict.with_name if loser == variable.name else variable.name
    return other is not None and any(need.setting is not None and need.setting.name == winner for need in other.needs)


def _cancelled(rule: Rule, loser: Setting, winner: Setting, conflict: Conflict, variable: Variable) -> Finding:
    if conflict.winner == "error":
        message = f"{loser.name} and {winner.name} exclude each other: {conflict.why}"
    else:
        message = f"{loser.name} has no effect beside {winner.name}={winner.value.known}: {conflict.why}"
    related = (Related(place_of(winner), f"{winner.name} wins", winner.name),)
    return finding(rule, place_of(loser), message, loser.name, related=related, evidence=variable.evidence,
                   help=f"remove {loser.name} or {winner.name}")  # fmt: skip


def _orders(rule: Rule, held: Environment, context: UnitContext) -> Iterator[Finding]:
    """A minimum above its maximum."""
    for low, high in _parameters(rule)["ordered"]:
        if low not in held or high not in held or judged(low, context) is None:
            continue
        least, most = value_of(held[low]), value_of(held[high])
        numbers = _numbers(f"{least},{most}")
        if numbers and numbers[0] > numbers[1] and together(held[low], held[high]):
            message = f"{low}={least} is above {high}={most}: the maximum holds"
            related = (Related(place_of(held[high].last), "the maximum", high),)
            yield finding(rule, place_of(held[low].last), message, low, related=related,
                          help="give both the same value")  # fmt: skip


def _masks(rule: Rule, held: Environment, context: UnitContext) -> Iterator[Finding]:
    """Masks of devices inside one another: the inner one counts within what the outer one leaves."""
    outer = _parameters(rule)["outer_mask"]
    if outer not in held or judged(outer, context) is None:
        return
    devices = _numbers(value_of(held[outer]))
    for name in _parameters(rule)["inner_masks"]:
        wanted = _numbers(value_of(held[name])) if name in held else None
        if not devices or not wanted or max(wanted) < len(devices) or not together(held[name], held[outer]):
            continue
        message = (
            f"{name}={','.join(map(str, wanted))} counts within the {len(devices)} that {outer} leaves: "
            f"there is no device {max(wanted)}"
        )
        related = (Related(place_of(held[outer].last), f"leaves {len(devices)}", outer),)
        variable = context.catalog.variable(name)
        yield finding(rule, place_of(held[name].last), message, name, related=related,
                      help=f"number the devices from 0 in {name}, or set one of the two alone",
                      evidence=variable.evidence if variable else ())  # fmt: skip
        return


def _all_off(rule: Rule, held: Environment, context: UnitContext) -> Iterator[Finding]:
    """Switches of which one has to stay on."""
    for group in _parameters(rule)["one_on"]:
        names = group["names"]
        if not all(name in held and value_of(held[name]) == "0" and judged(name, context) for name in names):
            continue
        last = max((held[name].last for name in names), key=lambda setting: setting.order)
        related = tuple(Related(place_of(held[n].last), "off too", n) for n in names if n != last.name)
        if all(together(held[names[0]], held[name]) for name in names[1:]):
            yield finding(rule, place_of(last), f"{', '.join(names)} are all 0: {group['says']}", last.name,
                          related=related, help="leave one of them on")  # fmt: skip


def _numbers(value: str | None) -> list[int] | None:
    parts = [whole(part.strip()) for part in (value or "").split(",")]
    return [part for part in parts if part is not None] if None not in parts else None
