"""ED602: scripts, roles or branches of one job that give the same variable different values."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, cast

from envdoctor.analysis.process.interpreter.records import RankStart
from envdoctor.analysis.process.interpreter.slots import Alternative
from envdoctor.analysis.references.paths import folder
from envdoctor.checks.context import LaunchContext
from envdoctor.checks.delivery.common import judged
from envdoctor.checks.delivery.places import FIRST_ROLES, TELLS, jobs_of
from envdoctor.checks.findings import finding, place_of
from envdoctor.core.facts import FileFacts, Place, Setting
from envdoctor.core.findings import Finding, Related
from envdoctor.core.numbers import number, whole
from envdoctor.core.regexes import regex
from envdoctor.knowledge.rulebook import Rule

if TYPE_CHECKING:
    from envdoctor.knowledge.parameters.delivery import Inconsistent

NODE_RANK = ("--node_rank", "--node-rank", "--machine_rank", "--machine-rank")
NODES = ("--nnodes", "--num_machines", "--num_nodes")
MASTER = ("--master_addr", "--master-addr", "--rdzv_endpoint", "--rdzv-endpoint", "--main_process_ip")
CLUSTER = "ray start"
_RANK = regex(r"(?:^|[^A-Za-z])(?:[A-Z]*_?(?:NODE_?)?RANK|SLURM_(?:PROC|NODE)ID|NODE_?ID|rank|node_rank)\b", re.I)
Given = Mapping[str, tuple[str, Place]]


class Member(NamedTuple):
    """One launch of a job of several nodes: where, its node, what it plainly gives, and names that it may give."""

    place: Place
    rank: int
    given: Given
    unknown: frozenset[str]


Job = tuple[str, str, str, str]
"""What names a job: the folder of the scripts, the entry, the number of nodes, the master."""


def check(rule: Rule, context: LaunchContext) -> Iterator[Finding]:
    """Variables that the parts of one job set differently."""
    said: set[tuple[str, int, str]] = set()
    for found in (*_nodes(rule, context), *_roles(rule, context), *_branches(rule, context)):
        key = (found.place.path, found.place.line, found.variable or "")
        if key not in said:
            said.add(key)
            yield found


def _matters(rule: Rule, name: str, path: str, context: LaunchContext) -> bool:
    """Whether nodes have to agree on a variable: not on devices, interfaces and what is told."""
    per_node = cast("Inconsistent", rule.parameters)["per_node"]
    return judged(name, context, path) is not None and name not in per_node and not TELLS.search(name)


def _nodes(rule: Rule, context: LaunchContext) -> Iterator[Finding]:
    """One launch for each node, with its number on the command line or in its environment."""
    jobs: dict[Job, dict[Place, Member]] = {}
    for start in context.starts:
        for key, member in _member(start):
            jobs.setdefault(key, {}).setdefault(member.place, member)
    for key, member in _clusters(context):
        jobs.setdefault(key, {}).setdefault(member.place, member)
    for group in jobs.values():
        members = list(group.values())
        ranks = [member.rank for member in members]
        if len(members) < 2 or len(set(ranks)) != len(ranks):  # two runs share the folder, or there is one node only
            continue
        for member in members:
            yield from _against(rule, member, members, context)


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


def _member(start: RankStart) -> Iterator[tuple[Job, Member]]:
    """A launch that says which node it is for."""
    words = [word for starter in start.chain for word in starter.words]
    entry = start.program
    ranks = [value for value in _values(words, NODE_RANK) if whole(value) is not None]
    key = (folder(start.place.path), entry, _value(words, NODES), _value(words, MASTER))
    if not ranks:
        ranks, key = _by_environment(start)
    if ranks and entry:
        yield key, Member(start.place, number(ranks[-1]), _given(start), _unknown(start))


def _by_environment(start: RankStart) -> tuple[list[str], Job]:
    """The node's number, and what names the job, where the script exports them: `export RANK=0 MASTER_ADDR=n0`."""
    ranks = [value for name in ("NODE_RANK", "RANK") if (value := start.value(name)) and whole(value) is not None][:1]
    size = start.value("WORLD_SIZE") or start.value("NNODES") or ""
    master = start.value("MASTER_ADDR") or ""
    return (ranks if size and master else []), (folder(start.place.path), start.program, size, master)


def _given(start: RankStart) -> Given:
    found: dict[str, tuple[str, Place]] = {}
    for name in start.visible:
        alternative = start.alternative(name)
        if alternative is not None and _plain(alternative):
            found[name] = (alternative.text, alternative.origins[0].place)
    return found


def _plain(alternative: Alternative) -> bool:
    return (
        alternative.kind == "literal" and alternative.exported == "yes" and bool(alternative.origins)
        and not (alternative.origins[0].default or alternative.origins[0].likely)
    )  # fmt: skip


def _unknown(start: RankStart) -> frozenset[str]:
    return frozenset(start.visible) - frozenset(_given(start))


def _clusters(context: LaunchContext) -> Iterator[tuple[Job, Member]]:
    """Head and workers of one cluster: each `ray start` with what its script has exported before it."""
    for facts in context.files.values():
        for launch in facts.launches if facts.kind == "shell" else ():
            if launch.launcher != CLUSTER or _value(launch.words, ("--num-gpus",)) == "0":
                continue  # a head without GPUs schedules and runs no rank
            given = {
                s.name: (s.value.text, place_of(s)) for s in facts.settings
                if s.order < launch.order and s.op == "set" and s.exported == "yes" and s.value.kind == "literal"
                and s.scope in (launch.scope, type(launch.scope)()) and not s.branch
            }  # fmt: skip
            unknown = frozenset(s.name for s in facts.settings) - frozenset(given)
            rank = 0 if "--head" in launch.words else 1
            yield (folder(facts.path), CLUSTER, "", ""), Member(launch.place, rank, given, unknown)


def _values(words: Sequence[str], names: Sequence[str]) -> Iterator[str]:
    for at, word in enumerate(words):
        flag, equals, value = word.partition("=")
        if flag in names:
            yield value if equals else (words[at + 1] if at + 1 < len(words) else "")


def _value(words: Sequence[str], names: Sequence[str]) -> str:
    return next(iter(_values(words, names)), "")


def _equal(one: str, other: str) -> bool:
    return one.strip().lower() == other.strip().lower()


def _same(one: Setting, other: Setting) -> bool:
    return _equal(one.value.text, other.value.text)


def _roles(rule: Rule, context: LaunchContext) -> Iterator[Finding]:
    """Roles of a manifest with different values."""
    for facts in context.files.values():
        for job in jobs_of(facts, context.text(facts.path)) if facts.kind == "yaml" else ():
            first = next((role for role in job.settings if role in FIRST_ROLES[job.kind]), None)
            for role, settings in job.settings.items():
                if first is None or role == first or job.kind == "MPIJob":
                    continue
                for name, setting in settings.items():
                    other = job.settings[first].get(name)
                    if other is None or not _matters(rule, name, facts.path, context) or _same(setting, other):
                        continue
                    if setting.value.kind == other.value.kind == "literal":
                        yield _of_settings(rule, setting, other, first)


def _branches(rule: Rule, context: LaunchContext) -> Iterator[Finding]:
    """`if rank == 0` one value, else another."""
    for facts in context.files.values():
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
