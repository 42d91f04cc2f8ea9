"""Launches that belong to one job of several nodes: one for each node, with its number in its words or environment.

What names a job: the folder of the scripts, the entry program, the number of nodes and where the ranks meet. Of scripts
that are named after their nodes (`node0.sh` and `node1.sh`, `head.sh` and `worker.sh`), and of launches of one script,
one of these may differ: that is a fault of the job.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from envdoctor.analysis.process.job_values import JobValue, told
from envdoctor.analysis.process.results import RankStart
from envdoctor.analysis.references.paths import folder
from envdoctor.core.facts import FileFacts, Place
from envdoctor.core.numbers import number, whole
from envdoctor.core.regexes import regex
from envdoctor.knowledge.launch.records import LauncherCommand, Tells
from envdoctor.knowledge.launchers import Launchers

MEETING: tuple[Tells, ...] = ("nodes", "address", "port", "endpoint", "job")
"""What the launches of one job tell alike."""
_VARIABLES: Mapping[Tells, tuple[str, ...]] = {
    "nodes": ("NNODES",), "ranks": ("WORLD_SIZE",), "address": ("MASTER_ADDR",), "port": ("MASTER_PORT",),
    "node-rank": ("NODE_RANK", "RANK"),
}  # fmt: skip
Given = Mapping[str, tuple[str, Place]]
_NODE = regex(
    r"(?<![A-Za-z])(?:master|head|leader|main|primary|worker|slave|secondary|follower|first|second|others?)(?![A-Za-z])"
    r"|\d+", re.IGNORECASE,
)  # fmt: skip
"""The part of a file's name that says which node it is for."""


_OF_NODE = regex(r"(?:node|rank|host|machine|server|worker)[-_]?\d+", re.IGNORECASE)
"""The same where nothing else can be meant: `run_7b.sh` is for a model, `node7.sh` for a node."""


class Member(NamedTuple):
    """One launch of a job of several nodes: where, its node, what it plainly gives, names that it may give, and what
    its words tell of the job."""

    place: Place
    rank: int
    given: Given
    unknown: frozenset[str]
    start: RankStart | None = None
    devices: int | None = None
    """How many devices the node of a cluster offers."""

    def told(self, tells: Tells) -> JobValue | None:
        """What the launch tells of its job, by its words or by a variable that it exports."""
        value = told(_told(self.start), tells) if self.start is not None else None
        if value is not None or self.start is None:
            return value
        plain = ((name, self.start.plain(name)) for name in _VARIABLES.get(tells, ()))
        return next((JobValue(tells, name, *found) for name, found in plain if found), None)


Job = tuple[str, ...]
"""What names a job: the folder of the scripts, the entry, the number of nodes, the master."""


class NodeJobs(NamedTuple):
    """Jobs of which several nodes are started, each node once; and launches of one job that are for the same node."""

    jobs: Sequence[Sequence[Member]] = ()
    doubled: Sequence[Sequence[Member]] = ()
    clusters: Sequence[Sequence[Member]] = ()
    """The nodes of clusters, of a folder together."""
    roles: Sequence[Sequence[Member]] = ()
    """Launches in the roles of one manifest, which number their nodes themselves."""


def node_jobs(starts: Sequence[RankStart], files: Iterable[FileFacts], launchers: Launchers) -> NodeJobs:
    """The launches of the nodes of each job."""
    exact: dict[Job, dict[object, Member]] = {}
    alike: dict[Job, dict[object, Member]] = {}
    for start in starts:
        for key, member in _member(start):
            one = (member.place, start.callers, member.rank)
            exact.setdefault(key, {}).setdefault(one, member)
            alike.setdefault((_family(start), start.program), {}).setdefault(one, member)
    clusters: dict[Job, list[Member]] = {}
    for key, member in _clusters(files, launchers):
        exact.setdefault(key, {}).setdefault(member.place, member)
        clusters.setdefault(key, []).append(member)
    groups = [list(group.values()) for group in exact.values()]
    related = [group for one in alike.values() if _meet(group := list(one.values())) and group not in groups]
    return NodeJobs(
        [group for group in (*groups, *related) if len(group) > 1 and _distinct(group)],
        [group for one in alike.values() if _are_doubled(group := list(one.values()))],
        list(clusters.values()),
        list(_roles(starts)),
    )


def _roles(starts: Sequence[RankStart]) -> Iterator[list[Member]]:
    """The launches of one program in the roles of a manifest, one for each role."""
    found: dict[Job, dict[str, Member]] = {}
    for start in starts:
        if start.root.role and start.program:
            group = found.setdefault((start.root.path, start.root.group, start.program), {})
            member = Member(start.place, len(group), start.given(), _unknown(start), start)
            group.setdefault(start.root.role, member)
    yield from (list(group.values()) for group in found.values() if len(group) > 1)


def _distinct(group: Sequence[Member]) -> bool:
    """Whether each node is started once; else two runs share the folder."""
    return len({member.rank for member in group}) == len(group)


def _meet(group: Sequence[Member]) -> bool:
    """Whether launches are of one job although one thing that names it differs."""
    alike = [len({value.text for value in values}) == 1 for values in _meetings(group)]
    return alike.count(False) <= 1 and any(alike)


def _meetings(group: Sequence[Member]) -> Iterator[list[JobValue]]:
    for tells in MEETING:
        values = [member.told(tells) for member in group]
        if all(values):
            yield [value for value in values if value is not None]


def _are_doubled(group: Sequence[Member]) -> bool:
    """Whether two launches of one job are for the same node: they run on two hosts, or in files named after nodes."""
    if len(group) < 2 or _distinct(group) or not all(all(_same(values)) for values in _meetings(group)):
        return False
    nodes = group[0].told("nodes") or group[0].told("ranks")
    if nodes is None or nodes.number is None or nodes.number != len(group):
        return False
    wheres = {_where(member) for member in group}
    return len(wheres) == len(group) and "" not in wheres


def _same(values: Sequence[JobValue]) -> Iterator[bool]:
    return (value.text == values[0].text for value in values)


def _where(member: Member) -> str:
    """The host that a launch runs on, or the file that is named after its node."""
    host = told((value for one in (member.start.chain if member.start else ()) for value in one.job), "host")
    if host is not None:
        return f"host {host.text}" if host.sure else ""
    path = _script(member.start) if member.start is not None else ""
    return path if _OF_NODE.search(path) else ""


def _script(start: RankStart) -> str:
    """The script that was started for a node: the outermost one that is followed."""
    return start.callers[0].path if start.callers else start.place.path


def _family(start: RankStart) -> str:
    """The script of a launch without the part of its name that says which node it is for."""
    home, _, name = _script(start).rpartition("/")
    return f"{_OF_NODE.sub('#', home)}/{_NODE.sub('#', name)}"


def _told(start: RankStart) -> list[JobValue]:
    return [value for starter in start.chain if starter.ranks for value in starter.job]


def _member(start: RankStart) -> Iterator[tuple[Job, Member]]:
    """A launch that says which node it is for."""
    rank = told(_told(start), "node-rank")
    found = rank.number if rank is not None else None
    key = (
        folder(start.place.path),
        start.program,
        *(_text(start, tells) for tells in ("nodes", "address", "endpoint")),
    )
    if rank is None or found is None:
        found, key = _by_environment(start)
    if found is not None and start.program:
        yield key, Member(start.place, found, start.given(), _unknown(start), start)


def _text(start: RankStart, tells: Tells) -> str:
    value = told(_told(start), tells)
    return value.text if value is not None else ""


def _by_environment(start: RankStart) -> tuple[int | None, Job]:
    """The node's number, and what names the job, where the script exports them: `export RANK=0 MASTER_ADDR=n0`."""
    ranks = [value for name in ("NODE_RANK", "RANK") if (value := start.value(name)) and whole(value) is not None]
    size = start.value("WORLD_SIZE") or start.value("NNODES") or ""
    master = start.value("MASTER_ADDR") or ""
    known = ranks and size and master
    return (number(ranks[0]) if known else None), (folder(start.place.path), start.program, size, master)


def _unknown(start: RankStart) -> frozenset[str]:
    return frozenset(start.visible) - frozenset(start.given())


def _clusters(files: Iterable[FileFacts], launchers: Launchers) -> Iterator[tuple[Job, Member]]:
    """Head and workers of one cluster: each `ray start` with what its script has exported before it."""
    for facts in files:
        for launch in facts.launches if facts.kind == "shell" else ():
            if not launchers.begins_cluster(launch.launcher):
                continue
            devices = _devices(launch.words, launchers.command_of(launch.launcher))
            if devices == 0:
                continue  # a head without GPUs schedules and runs no rank
            given = {
                s.name: (s.value.text, s.name_place or s.place) for s in facts.settings
                if s.order < launch.order and s.op == "set" and s.exported == "yes" and s.value.kind == "literal"
                and s.scope in (launch.scope, type(launch.scope)()) and not s.branch
            }  # fmt: skip
            unknown = frozenset(s.name for s in facts.settings) - frozenset(given)
            rank = 0 if "--head" in launch.words else 1
            yield (
                (folder(facts.path), launch.launcher, "", ""),
                Member(launch.place, rank, given, unknown, None, devices),
            )


def _devices(words: Sequence[str], row: LauncherCommand | None) -> int | None:
    """How many devices a node offers, where its command says so."""
    telling = [job.flags.split() for job in (row.job if row is not None else ()) if job.tells == "devices"]
    for at, word in enumerate(words):
        flag, equals, value = word.partition("=")
        if any(flag in flags for flags in telling):
            return whole(value if equals else "".join(words[at + 1 : at + 2]))
    return None
