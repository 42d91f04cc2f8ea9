"""ED602: counts that cannot fit, and scripts, roles or branches of one job that disagree; here, about variables."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, cast

from envdoctor.analysis.process.interpreter.slots import Slot
from envdoctor.analysis.process.jobs import Member
from envdoctor.checks.context import LaunchContext
from envdoctor.checks.delivery import counts, nodes
from envdoctor.checks.delivery.common import TELLS, is_plain, judged
from envdoctor.checks.delivery.places import FIRST_ROLES, jobs_of
from envdoctor.checks.findings import finding, place_of
from envdoctor.core.facts import FileFacts, Place, Setting
from envdoctor.core.findings import Finding, Related
from envdoctor.core.regexes import regex
from envdoctor.knowledge.rulebook import Rule

if TYPE_CHECKING:
    from envdoctor.knowledge.parameters.delivery import Inconsistent

_RANK = regex(
    r"(?:^|[^A-Za-z])(?:[A-Z]*_?(?:NODE_?)?RANK|SLURM_(?:PROC|NODE)ID|NODE_?(?:ID|INDEX|NUM)|JOB_COMPLETION_INDEX|POD_INDEX)\b",
    re.I,
)
_HOST = regex(r"\$\(hostname\b|\$\{?(?:HOSTNAME|SLURMD_NODENAME)\b|`hostname\b")


def check(rule: Rule, context: LaunchContext) -> Iterator[Finding]:
    """What the parts of one job say differently."""
    said: set[tuple[str, int, str]] = set()
    variables = (
        *_nodes(rule, context), *_roles(rule, context), *_branches(rule, context), *_one_place(rule, context),
    )  # fmt: skip
    for found in (*counts.faults(rule, context), *variables, *nodes.faults(rule, context)):
        key = (found.place.path, found.place.line, found.variable or found.message)
        if key not in said:
            said.add(key)
            yield found


def _matters(rule: Rule, name: str, path: str, context: LaunchContext) -> bool:
    """Whether nodes have to agree on a variable: not on devices, interfaces and what is told."""
    per_node = cast("Inconsistent", rule.parameters)["per_node"]
    return judged(name, context, path) is not None and name not in per_node and not TELLS.search(name)


def _nodes(rule: Rule, context: LaunchContext) -> Iterator[Finding]:
    """One launch for each node, with its number on the command line or in its environment."""
    for members in context.jobs.jobs:
        for member in members:
            yield from (f for f in _against(rule, member, members, context) if f.place.path == context.path)


def _against(rule: Rule, member: Member, group: Sequence[Member], context: LaunchContext) -> Iterator[Finding]:
    """What a launch has otherwise than that of the first node; the first one speaks of what others lack."""
    first = min(group, key=lambda m: m.rank)
    for name, (value, place) in member.given.items():
        if not _matters(rule, name, place.path, context):
            continue
        if member.rank != first.rank:
            other = first.given.get(name)
            if other is not None and not _equal(value, other[0]):
                yield _differs(rule, name, (value, place), other, f"node {first.rank}")
            elif other is None and name not in first.unknown:
                yield _lacks(rule, name, value, place, f"node {first.rank}")
        else:
            lacking = [m.rank for m in group if name not in m.given and name not in m.unknown]
            if lacking:
                yield _lacks(rule, name, value, place, f"node {lacking[0]}")


def _equal(one: str, other: str) -> bool:
    return one.strip().lower() == other.strip().lower()


def _same(one: Setting, other: Setting) -> bool:
    return _equal(one.value.text, other.value.text)


def _roles(rule: Rule, context: LaunchContext) -> Iterator[Finding]:
    """Roles of a manifest with different values."""
    for facts in context.facts:
        for job in jobs_of(facts, context.text(facts.path)) if facts.kind == "yaml" else ():
            first = next((role for role in job.settings if role in FIRST_ROLES[job.kind]), None)
            for role, settings in job.settings.items():
                if first is None or role == first:
                    continue
                for name, setting in settings.items():
                    other = job.settings[first].get(name)
                    if other is None or not _matters(rule, name, facts.path, context) or _same(setting, other):
                        continue
                    if setting.value.kind == other.value.kind == "literal":
                        yield _of_settings(rule, setting, other, first)


def _one_place(rule: Rule, context: LaunchContext) -> Iterator[Finding]:
    """`if [ "$NODE_RANK" = 0 ]; then export A=1; fi` in front of a launch that all nodes come to."""
    for journey in context.journeys:
        name, place = journey.name, journey.origin.place
        if not journey.origin.guarded or not is_plain(journey, context):
            continue
        if not _matters(rule, name, place.path, context):
            continue
        found = ((start, where) for start in journey.reached if (where := _only_where(start.slot(name))))
        for start, where in found:
            message = f"{name}={journey.value.text} where {where} holds alone: the other ranks run without it"
            related = (Related(start.place, "all come to this launch", name),)
            yield finding(rule, place, message, name, related=related, help="set it for all, or give the others theirs")
            break


def _only_where(slot: Slot) -> str:
    """The test of the rank or node on one side of which a name is there, and on the other side is not."""
    there = [a for a in slot if a.arrives]
    absent = [a for a in slot if not a.arrives]
    tests = [atom for atom in there[0].guard if _asks_where(atom.text)] if there and absent else []
    for atom in tests:
        if all(atom in a.guard for a in there) and all(atom.opposite() in a.guard for a in absent):
            return atom.text if atom.holds else f"not {atom.text}"
    return ""


def _asks_where(test: str) -> bool:
    return _RANK.search(test) is not None or _HOST.search(test) is not None


def _branches(rule: Rule, context: LaunchContext) -> Iterator[Finding]:
    """`if rank == 0` one value, else another."""
    for facts in context.facts:
        yield from _arms(rule, facts, context)


def _arms(rule: Rule, facts: FileFacts, context: LaunchContext) -> Iterator[Finding]:
    settings = [s for s in facts.settings if s.branch and s.op == "set" and s.value.kind == "literal"]
    for at, setting in enumerate(settings):
        if setting.guarded or not _matters(rule, setting.name, facts.path, context):
            continue
        for other in settings[:at]:
            if other.name == setting.name and not _same(setting, other) and _by_rank(other, setting):
                yield _of_settings(rule, setting, other, "the ranks of the other branch")


def _by_rank(one: Setting, other: Setting) -> bool:
    """Whether two settings stand in two arms of a test of the rank."""
    arms = {b.id: b for b in one.branch}
    return any(
        b.id in arms and arms[b.id].arm != b.arm and (_RANK.search(b.condition) or _RANK.search(arms[b.id].condition))
        for b in other.branch
    )


def _of_settings(rule: Rule, setting: Setting, other: Setting, where: str) -> Finding:
    one, two = ((s.value.text, place_of(s)) for s in (setting, other))
    return _differs(rule, setting.name, one, two, where)


def _differs(rule: Rule, name: str, one: tuple[str, Place], other: tuple[str, Place], where: str) -> Finding:
    message = f"{name}={one[0]} here, {other[0]} on {where}: the ranks of one job disagree"
    related = (Related(other[1], f"{other[0]} there", name),)
    return finding(rule, one[1], message, name, related=related)


def _lacks(rule: Rule, name: str, value: str, place: Place, where: str) -> Finding:
    message = f"{name}={value} here, and nothing on {where}: the ranks of one job disagree"
    return finding(rule, place, message, name, confidence="medium")
