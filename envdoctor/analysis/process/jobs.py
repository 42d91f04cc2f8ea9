"""Launches that belong to one job of several nodes: one for each node, with its number in its words or environment."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from envdoctor.analysis.process.results import RankStart
from envdoctor.analysis.references.paths import folder
from envdoctor.core.facts import FileFacts, Place
from envdoctor.core.numbers import number, whole
from envdoctor.knowledge.launchers import Launchers

NODE_RANK = ("--node_rank", "--node-rank", "--machine_rank", "--machine-rank")
NODES = ("--nnodes", "--num_machines", "--num_nodes")
MASTER = ("--master_addr", "--master-addr", "--rdzv_endpoint", "--rdzv-endpoint", "--main_process_ip")
Given = Mapping[str, tuple[str, Place]]


class Member(NamedTuple):
    """One launch of a job of several nodes: where, its node, what it plainly gives, and names that it may give."""

    place: Place
    rank: int
    given: Given
    unknown: frozenset[str]


Job = tuple[str, str, str, str]
"""What names a job: the folder of the scripts, the entry, the number of nodes, the master."""


def node_jobs(starts: Sequence[RankStart], files: Iterable[FileFacts], launchers: Launchers) -> list[list[Member]]:
    """The jobs of which several nodes are started, each node once."""
    jobs: dict[Job, dict[Place, Member]] = {}
    for start in starts:
        for key, member in _member(start):
            jobs.setdefault(key, {}).setdefault(member.place, member)
    for key, member in _clusters(files, launchers):
        jobs.setdefault(key, {}).setdefault(member.place, member)
    found = []
    for group in jobs.values():
        members = list(group.values())
        ranks = {member.rank for member in members}
        if len(members) > 1 and len(ranks) == len(members):  # else two runs share the folder
            found.append(members)
    return found


def _member(start: RankStart) -> Iterator[tuple[Job, Member]]:
    """A launch that says which node it is for."""
    words = [word for starter in start.chain for word in starter.words]
    entry = start.program
    ranks = [value for value in _values(words, NODE_RANK) if whole(value) is not None]
    key = (folder(start.place.path), entry, _value(words, NODES), _value(words, MASTER))
    if not ranks:
        ranks, key = _by_environment(start)
    if ranks and entry:
        yield key, Member(start.place, number(ranks[-1]), start.given(), _unknown(start))


def _by_environment(start: RankStart) -> tuple[list[str], Job]:
    """The node's number, and what names the job, where the script exports them: `export RANK=0 MASTER_ADDR=n0`."""
    ranks = [value for name in ("NODE_RANK", "RANK") if (value := start.value(name)) and whole(value) is not None][:1]
    size = start.value("WORLD_SIZE") or start.value("NNODES") or ""
    master = start.value("MASTER_ADDR") or ""
    return (ranks if size and master else []), (folder(start.place.path), start.program, size, master)


def _unknown(start: RankStart) -> frozenset[str]:
    return frozenset(start.visible) - frozenset(start.given())


def _clusters(files: Iterable[FileFacts], launchers: Launchers) -> Iterator[tuple[Job, Member]]:
    """Head and workers of one cluster: each `ray start` with what its script has exported before it."""
    for facts in files:
        for launch in facts.launches if facts.kind == "shell" else ():
            if not launchers.begins_cluster(launch.launcher) or _value(launch.words, ("--num-gpus",)) == "0":
                continue  # a head without GPUs schedules and runs no rank
            given = {
                s.name: (s.value.text, s.name_place or s.place) for s in facts.settings
                if s.order < launch.order and s.op == "set" and s.exported == "yes" and s.value.kind == "literal"
                and s.scope in (launch.scope, type(launch.scope)()) and not s.branch
            }  # fmt: skip
            unknown = frozenset(s.name for s in facts.settings) - frozenset(given)
            rank = 0 if "--head" in launch.words else 1
            yield (folder(facts.path), launch.launcher, "", ""), Member(launch.place, rank, given, unknown)


def _values(words: Sequence[str], names: Sequence[str]) -> Iterator[str]:
    for at, word in enumerate(words):
        flag, equals, value = word.partition("=")
        if flag in names:
            yield value if equals else (words[at + 1] if at + 1 < len(words) else "")


def _value(words: Sequence[str], names: Sequence[str]) -> str:
    return next(iter(_values(words, names)), "")
