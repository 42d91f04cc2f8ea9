"""ED602: scripts, roles or branches of one job that give the same variable different values."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, cast

from envdoctor.analysis.process import environment
from envdoctor.analysis.process.model import Command, Unit
from envdoctor.checks.context import UnitContext
from envdoctor.checks.delivery.common import judged
from envdoctor.checks.delivery.places import FIRST_ROLES, TELLS, jobs_of
from envdoctor.checks.findings import finding, place_of
from envdoctor.checks.relations.points import value_of
from envdoctor.core.facts import Setting
from envdoctor.core.findings import Finding, Related
from envdoctor.core.numbers import number, whole
from envdoctor.core.records import dataclass
from envdoctor.core.regexes import regex
from envdoctor.knowledge.rulebook import Rule

if TYPE_CHECKING:
    from envdoctor.knowledge.parameters.delivery import Inconsistent

NODE_RANK = ("--node_rank", "--node-rank", "--machine_rank", "--machine-rank")
_MARKS = regex(r"rank|ray start", re.IGNORECASE)
NODES = ("--nnodes", "--num_machines", "--num_nodes")
MASTER = ("--master_addr", "--master-addr", "--rdzv_endpoint", "--rdzv-endpoint", "--main_process_ip")
_RANK_SET = regex(r"\b(?:NODE_)?RANK=[\"']?\d")
_RANK = regex(r"(?:^|[^A-Za-z])(?:[A-Z]*_?(?:NODE_?)?RANK|SLURM_(?:PROC|NODE)ID|NODE_?ID|rank|node_rank)\b", re.I)


@dataclass(frozen=True, slots=True)
class Member:
    """One launch of a job of several nodes: its node and the variables it gives."""

    unit: Unit
    rank: int
    given: Mapping[str, Setting]
    unknown: frozenset[str]


def check(rule: Rule, context: UnitContext) -> Iterator[Finding]:
    """Variables that the parts of one job set differently."""
    said: set[tuple[int, str]] = set()
    for found in (*_nodes(rule, context), *_roles(rule, context), *_branches(rule, context)):
        key = (found.place.line, found.variable or "")
        if key not in said:
            said.add(key)
            yield found


def _matters(rule: Rule, name: str, context: UnitContext) -> bool:
    """Whether nodes have to agree on a variable: not on devices, interfaces and what is told."""
    per_node = cast("Inconsistent", rule.parameters)["per_node"]
    return judged(name, context) is not None and name not in per_node and not TELLS.search(name)


def _nodes(rule: Rule, context: UnitContext) -> Iterator[Finding]:
    """One launch for each node, with its number on the command line."""
    for key, mine in _members(context.unit).items():
        group = [m for unit in context.units if _beside(unit, context.unit) for m in _members(unit).get(key, ())]
        ranks = [member.rank for member in group]
        if len(group) < 2 or len(set(ranks)) != len(ranks):  # two runs share the folder, or there is one node only
            continue
        for member in mine:
            yield from _against(rule, member, group, context)


def _beside(unit: Unit, other: Unit) -> bool:
    folder = unit.path.rpartition("/")[0]
    return folder == other.path.rpartition("/")[0] and _MARKS.search(unit.text) is not None


def _against(rule: Rule, member: Member, group: Sequence[Member], context: UnitContext) -> Iterator[Finding]:
    """What a launch has otherwise than that of the first node; the first one speaks of what others lack."""
    first = min(group, key=lambda m: m.rank)
    for name, setting in member.given.items():
        if not _matters(rule, name, context):
            continue
        if member.rank != first.rank:
            other = first.given.get(name)
            if other is not None and not _same(setting, other):
                yield _differs(rule, setting, other, f"node {first.rank}")
            elif other is None and name not in first.unknown:
                yield _lacks(rule, setting, f"node {first.rank}")
        else:
            lacking = [m.rank for m in group if name not in m.given and name not in m.unknown]
            if lacking:
                yield _lacks(rule, setting, f"node {lacking[0]}")


def _members(unit: Unit) -> dict[tuple[str, str, str], list[Member]]:
    """The launches of a unit that say which node they are for, by entry, number of nodes and master."""
    found: dict[tuple[str, str, str], list[Member]] = {}
    if not _MARKS.search(unit.text):
        return found
    for command in unit.commands[:200]:
        if command.launch.launcher == "ray start":
            if _value(command, ("--num-gpus",)) == "0":
                continue  # a head without GPUs schedules and runs no rank
            member = _member(unit, command, 0 if "--head" in command.launch.words else 1)
            found.setdefault(("ray start", "", ""), []).append(member)
            continue
        ranks = [value for value in _values(command, NODE_RANK) if whole(value) is not None]
        if not command.launch.inner:
            continue
        key = (_entry(command), _value(command, NODES), _value(command, MASTER))
        if not ranks and _RANK_SET.search(unit.text):
            ranks, key = _by_environment(unit, command)
        if ranks:
            found.setdefault(key, []).append(_member(unit, command, number(ranks[-1])))
    return found


def _by_environment(unit: Unit, command: Command) -> tuple[list[str], tuple[str, str, str]]:
    """The node's number, and what names the job, where the script exports them: `export RANK=0 MASTER_ADDR=n0`."""
    there = unit.steps[command.at]
    held = environment.at(unit.steps, command.at, there.scope, there.branch)
    known = {name: value for name, h in held.items() if h.exported == "yes" and (value := value_of(h))}
    ranks = [known[name] for name in ("NODE_RANK", "RANK") if whole(known.get(name, "")) is not None][:1]
    size = known.get("WORLD_SIZE") or known.get("NNODES", "")
    master = known.get("MASTER_ADDR", "")
    return (ranks if size and master else []), (_entry(command), size, master)


def _values(command: Command, names: Sequence[str]) -> Iterator[str]:
    words = command.launch.words
    for at, word in enumerate(words):
        flag, equals, value = word.partition("=")
        if flag in names:
            yield value if equals else (words[at + 1] if at + 1 < len(words) else "")


def _value(command: Command, names: Sequence[str]) -> str:
    return next(iter(_values(command, names)), "")


def _entry(command: Command) -> str:
    return next((w for w in command.launch.inner if w.endswith(".py") or "." in w), command.launch.inner[0])


def _member(unit: Unit, command: Command, rank: int) -> Member:
    there = unit.steps[command.at]
    held = environment.at(unit.steps, command.at, there.scope, there.branch)
    given = {name: h.last for name, h in held.items() if value_of(h) is not None and h.exported == "yes"}
    given |= {s.name: s for s in command.given if s.op == "set" and s.value.kind == "literal"}
    sourced = unit.unresolved and not given
    return Member(unit, rank, given, frozenset(held) - frozenset(given) if not sourced else frozenset(held))


def _same(one: Setting, other: Setting) -> bool:
    return one.value.text.strip().lower() == other.value.text.strip().lower()


def _roles(rule: Rule, context: UnitContext) -> Iterator[Finding]:
    """Roles of a manifest with different values."""
    for job in jobs_of(context.unit):
        first = next((role for role in job.settings if role in FIRST_ROLES[job.kind]), None)
        for role, settings in job.settings.items():
            if first is None or role == first or job.kind == "MPIJob":
                continue
            for name, setting in settings.items():
                other = job.settings[first].get(name)
                if other is None or not _matters(rule, name, context) or _same(setting, other):
                    continue
                if setting.value.kind == other.value.kind == "literal":
                    yield _differs(rule, setting, other, first)


def _branches(rule: Rule, context: UnitContext) -> Iterator[Finding]:
    """`if rank == 0` one value, else another."""
    settings = [s for s in context.unit.facts.settings if s.branch and s.op == "set" and s.value.kind == "literal"]
    for at, setting in enumerate(settings):
        if not _matters(rule, setting.name, context) or setting.guarded:
            continue
        for other in settings[:at]:
            if other.name == setting.name and not _same(setting, other) and _by_rank(other, setting):
                yield _differs(rule, setting, other, "the ranks of the other branch")


def _by_rank(one: Setting, other: Setting) -> bool:
    """Whether two settings stand in two arms of a test of the rank."""
    arms = {b.id: b for b in one.branch}
    return any(
        b.id in arms and arms[b.id].arm != b.arm and (_RANK.search(b.condition) or _RANK.search(arms[b.id].condition))
        for b in other.branch
    )


def _differs(rule: Rule, setting: Setting, other: Setting, where: str) -> Finding:
    message = f"{setting.name}={setting.value.text} here, {other.value.text} on {where}: the ranks of one job disagree"
    related = (Related(place_of(other), f"{other.value.text} there", other.name),)
    return finding(rule, place_of(setting), message, setting.name, related=related)


def _lacks(rule: Rule, setting: Setting, where: str) -> Finding:
    message = f"{setting.name}={setting.value.text} here, and nothing on {where}: the ranks of one job disagree"
    return finding(rule, place_of(setting), message, setting.name, confidence="medium")
