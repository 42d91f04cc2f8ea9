"""How large a launch is: ranks on each node, nodes that a batch system gives it, devices that it may use."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from envdoctor.analysis.process.interpreter.state import Starter
from envdoctor.analysis.process.job_values import JobValue, told
from envdoctor.analysis.process.results import RankStart
from envdoctor.core.regexes import regex
from envdoctor.knowledge.launch.records import Tells
from envdoctor.knowledge.launch.table import Launchers

_DEVICE = regex(r"\d+|(?:GPU|MIG)-[\w/-]+")


def rank_launchers(start: RankStart, launchers: Launchers) -> Iterator[Starter]:
    """The commands of a launch that start ranks and can tell how many, the innermost first."""
    for starter in reversed(start.chain):
        row = launchers.command_of(starter.name)
        if starter.ranks and row is not None and row.job:
            yield starter


def ranks_on_node(start: RankStart, launchers: Launchers) -> JobValue | None:
    """How many ranks each node gets, where that is plainly told."""
    for starter in rank_launchers(start, launchers):
        value = told(starter.job, "ranks-per-node")
        if value is not None:
            return value
        if told(starter.job, "ranks") is not None:
            return _of_all(start, starter, launchers)
        if launchers.batch_of(starter.name):
            return allocated(start, "ranks-per-node")
    return None


def _of_all(start: RankStart, starter: Starter, launchers: Launchers) -> JobValue | None:
    """The ranks of one node, where all ranks are told and so are the nodes."""
    ranks, nodes = told(starter.job, "ranks"), told(starter.job, "nodes")
    if ranks is None or ranks.number is None or _elsewhere(start, starter, launchers):
        return None
    count = 1 if nodes is None else nodes.number
    if not count or ranks.number % count:
        return None
    return ranks if count == 1 else ranks._replace(text=str(ranks.number // count))


def _elsewhere(start: RankStart, starter: Starter, launchers: Launchers) -> bool:
    """Whether files, hosts or a batch system say on how many nodes the ranks run."""
    if in_batch(start, launchers):
        return True
    flags = {flag for edge in launchers.edges_of(starter.name) for flag in (*edge.hosts, *edge.hosts_file)}
    return told(starter.job, "hosts") is not None or any(word.partition("=")[0] in flags for word in starter.words)


def in_batch(start: RankStart, launchers: Launchers) -> bool:
    """Whether a batch system gives a launch variables of its own, which defaults stand in for elsewhere."""
    return start.root.kind == "job" or any(launchers.batch_of(one.name) for one in start.chain)


def allocated(start: RankStart, tells: Tells) -> JobValue | None:
    """What a batch system or container was asked for: on the command that submits the job, or in its head."""
    for starter in reversed(start.chain):
        value = told(starter.job, tells) if not starter.ranks else None
        if value is not None:
            return value
    return told(start.job, tells)


def device_limits(start: RankStart) -> Iterator[tuple[int, JobValue]]:
    """How many devices each node of a launch has, as batch systems, containers and manifests say it."""
    if start.root.group.startswith("MPIJob"):
        return  # the ranks run in other pods
    groups = [starter.job for starter in start.chain if not starter.ranks]
    for values in (*groups, start.job):
        devices, listed = told(values, "devices"), told(values, "device-list")
        if devices is not None and devices.number is not None:
            yield devices.number, devices
        if listed is not None and listed.sure:
            yield len(device_list(listed.text)), listed


def device_list(text: str) -> tuple[str, ...]:
    """The devices of a mask, in numbers or names; none where one is refused, stands twice, or means something else."""
    found = [part.strip() for part in text.split(",") if part.strip()]
    plain = all(_DEVICE.fullmatch(one) for one in found) and len(set(found)) == len(found)
    return tuple(found) if plain else ()


def options(words: Sequence[str]) -> Mapping[str, str]:
    """Flag -> value, as far as words tell without knowing the program; other words by their position."""
    found: dict[str, str] = {}
    operands = 0
    at = 0
    while at < len(words):
        word = words[at]
        at += 1
        if not word.startswith("-") or word in ("-", "--"):
            operands += 1
            found[f"word {operands}"] = word
            continue
        flag, equals, value = word.partition("=")
        if not equals and at < len(words) and not words[at].startswith("-"):
            value = words[at]
            at += 1
        flag = flag.replace("_", "-")
        found[flag] = f"{found[flag]} {value}" if flag in found else value
    return found
