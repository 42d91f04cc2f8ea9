"""ED602 of one launch: more ranks than devices, nodes that nobody gives, a mask that the launcher does not use."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, cast

from envdoctor.analysis.process.interpreter.slots import Slot
from envdoctor.analysis.process.interpreter.state import Starter
from envdoctor.analysis.process.job_values import JobValue, told
from envdoctor.analysis.process.results import RankStart
from envdoctor.analysis.process.sizes import (
    allocated,
    device_limits,
    device_list,
    in_batch,
    rank_launchers,
    ranks_on_node,
)
from envdoctor.checks.context import LaunchContext
from envdoctor.checks.delivery.common import judged, place_given, sets_itself
from envdoctor.checks.findings import finding, place_of
from envdoctor.core.facts import Place, Scope
from envdoctor.core.findings import Finding, Related
from envdoctor.core.numbers import counted, whole
from envdoctor.knowledge.launch.records import Tells
from envdoctor.knowledge.rulebook import Rule

if TYPE_CHECKING:
    from envdoctor.knowledge.parameters.delivery import Inconsistent


def faults(rule: Rule, context: LaunchContext) -> Iterator[Finding]:
    """Counts of one launch that cannot fit one another."""
    for start in context.starts:
        if start.hint or start.opaque:
            continue
        yield from _devices(rule, start, context)
        yield from _node_rank(rule, start, context)
        yield from _nodes(rule, start, context)
        yield from _all_ranks(rule, start, context)
        yield from _masks(rule, start, context)
        yield from _launchers_on_node(rule, start, context)
    yield from _clusters(rule, context)


def _parameters(rule: Rule) -> Inconsistent:
    return cast("Inconsistent", rule.parameters)


def shown(value: JobValue) -> str:
    """A value as it is written: `--nnodes 2`, `WORLD_SIZE=16`."""
    return f"{value.flag} {value.text}".strip() if value.flag[:1] in ("", "-") else f"{value.flag}={value.text}"


def _also(value: JobValue) -> tuple[Related, ...]:
    return (Related(value.place, shown(value)),)


# Ranks and devices


def _devices(rule: Rule, start: RankStart, context: LaunchContext) -> Iterator[Finding]:
    """More ranks on a node than devices that they can see."""
    ranks = _argument(rule, start, "ranks-per-node") or ranks_on_node(start, context.launchers)
    if ranks is None or _without_devices(rule, start):
        return
    number = ranks.number or (0 if in_batch(start, context.launchers) else ranks.default or 0)
    confidence = rule.confidence if ranks.sure else "medium"
    for name, text, place in _seen(rule, start, context):
        count = len(device_list(text))
        if 0 < count < number:
            message = f"{name}={text} leaves {counted(count, 'device')} for {number} ranks on a node ({shown(ranks)})"
            yield finding(rule, place, message, name, help=_FEWER, related=_also(ranks), confidence=confidence)
            return
    if ranks.number is None:
        return
    for count, limit in device_limits(start):
        if 0 < count < ranks.number:
            message = f"{ranks.number} ranks on a node that gets {counted(count, 'device')} ({shown(limit)})"
            yield finding(rule, ranks.place, message, help=_FEWER, related=_also(limit))
            return


_FEWER = "start as many ranks on a node as it has devices"


def _argument(rule: Rule, start: RankStart, tells: Tells) -> JobValue | None:
    """What an argument of the program tells of the job: `trainer.num_nodes=2`."""
    for number, word in enumerate(start.arguments):
        last = number if "=" in word else number + 1
        if last >= len(start.arguments) or {number, last} & start.unsure:
            continue
        text = word if "=" in word else f"{word}={start.arguments[last]}"
        for row in _parameters(rule)["program_arguments"]:
            match = re.fullmatch(row["argument"], text) if row["tells"] == tells else None
            if match is not None:
                return JobValue(tells, text[: match.start(1) - 1], match[1], start.place)
    return None


def _without_devices(rule: Rule, start: RankStart) -> bool:
    """Whether the ranks say that they compute without a device of their own."""
    words = (*start.arguments, *(word for starter in start.chain for word in starter.words))
    return any(re.search(_parameters(rule)["no_devices"], word) for word in words)


def _seen(rule: Rule, start: RankStart, context: LaunchContext) -> Iterator[tuple[str, str, Place]]:
    """The masks that plainly reach the ranks."""
    given = start.given()
    for name in _parameters(rule)["masks"]:
        if sets_itself(name, start, context):
            yield from _own_mask(name, start, context)
        elif name in given and judged(name, context, given[name][1].path) is not None:
            yield (name, *given[name])
    contained = start.root.kind == "container" or any(told(one.job, "image") for one in start.chain)
    for name in _parameters(rule)["container_masks"] if contained else ():
        if found := start.plain(name):
            yield name, found[0], place_given(name, found[0], start, context)


def _launchers_on_node(rule: Rule, start: RankStart, context: LaunchContext) -> Iterator[Finding]:
    """Several launchers on a node, each of which starts all ranks of it: `srun --ntasks-per-node=8 torchrun ...`."""
    starters = list(rank_launchers(start, context.launchers))
    if len(starters) < 2:
        return
    ranks, outer = told(starters[0].job, "ranks-per-node"), told(starters[1].job, "ranks-per-node")
    if outer is None and not told(starters[1].job, "ranks") and context.launchers.batch_of(starters[1].name):
        outer = allocated(start, "ranks-per-node")
    if ranks is None or outer is None or (ranks.number or 0) < 2 or (outer.number or 0) < 2:
        return
    launchers = counted(outer.number or 0, starters[0].name)
    message = f"{launchers} on each node ({shown(outer)}), each of which starts {ranks.number} ranks ({shown(ranks)})"
    yield finding(rule, ranks.place, message, help=f"start one {starters[0].name} on a node", related=_also(outer))


def _clusters(rule: Rule, context: LaunchContext) -> Iterator[Finding]:
    """More devices than a mask leaves: `CUDA_VISIBLE_DEVICES=0,1 ray start --num-gpus=4` is refused."""
    for member in (one for group in context.jobs.clusters for one in group if one.place.path == context.path):
        for name in _parameters(rule)["masks"]:
            text, place = member.given.get(name, ("", member.place))
            count = len(device_list(text))
            if member.devices is not None and 0 < count < member.devices:
                message = f"{name}={text} leaves {counted(count, 'device')} for a node that offers {member.devices}"
                yield finding(rule, place, message, name, help=_FEWER, related=(Related(member.place, "started here"),))


def _own_mask(name: str, start: RankStart, context: LaunchContext) -> Iterator[tuple[str, str, Place]]:
    """A mask that the program itself gives all of its ranks, whatever the launch gave."""
    facts = context.files.get(start.path)
    own = [s for s in (facts.settings if facts is not None else ()) if s.name == name and s.op != "pass"]
    for one in own if len(own) == 1 else ():
        always = not one.branch and not one.guarded and one.scope == Scope()
        if always and one.op == "set" and one.channel == "python-environ" and one.value.kind == "literal":
            yield name, one.value.text, place_of(one)


def _masks(rule: Rule, start: RankStart, context: LaunchContext) -> Iterator[Finding]:
    """A mask in the place of which a launcher puts devices of its own."""
    for starter in start.chain:
        hosts = {flag for edge in context.launchers.edges_of(starter.name) for flag in edge.hosts_file}
        if any(word.partition("=")[0] in hosts for word in starter.words):
            continue
        for value in starter.job:
            yield from _refused(rule, starter, value)
            for name in value.overrides:
                yield from _overridden(rule, starter, value, name, starter.replaced.get(name, ()))


def _overridden(rule: Rule, starter: Starter, value: JobValue, name: str, slot: Slot) -> Iterator[Finding]:
    one = slot[0] if len(slot) == 1 else None
    if one is None or one.kind != "literal" or one.exported != "yes" or not one.origins or not value.sure:
        return
    mask, chosen = device_list(one.text), _chosen(value)
    if one.origins[0].default or one.origins[0].likely or not mask or not chosen or set(mask) == set(chosen):
        return
    message = f"{name}={one.text} is not used: {starter.name} takes devices {','.join(chosen)} ({shown(value)})"
    help_ = f"leave out {value.flag}, or {name}"
    yield finding(rule, one.origins[0].place, message, name, help=help_, related=_also(value))


def _refused(rule: Rule, starter: Starter, value: JobValue) -> Iterator[Finding]:
    """Two flags that choose devices, of which a launcher takes one."""
    for other in starter.job:
        if other.flag in value.refuses:
            message = f"{starter.name} refuses {value.flag} together with {other.flag}"
            yield finding(rule, value.place, message, help=f"leave out {other.flag}", related=_also(other))


def _chosen(value: JobValue) -> tuple[str, ...]:
    """The devices that a flag chooses: those of a list, or the first ones."""
    if value.tells == "device-list":
        return device_list(value.text)
    number = value.number
    return tuple(str(at) for at in range(min(number, 64))) if number else ()


# Nodes


def _node_rank(rule: Rule, start: RankStart, context: LaunchContext) -> Iterator[Finding]:
    """A node whose number is none of those that the job has."""
    for starter in rank_launchers(start, context.launchers):
        rank, nodes = told(starter.job, "node-rank"), told(starter.job, "nodes")
        if rank is None or nodes is None or rank.number is None or not nodes.number or rank.number < nodes.number:
            continue
        message = f"{shown(rank)} with {shown(nodes)}: nodes are numbered from 0 to {nodes.number - 1}"
        yield finding(rule, rank.place, message, help="number the nodes from 0", related=_also(nodes))


def _nodes(rule: Rule, start: RankStart, context: LaunchContext) -> Iterator[Finding]:
    """Another number of nodes than the batch system gives."""
    given = allocated(start, "nodes")
    launchers = [one for one in rank_launchers(start, context.launchers) if not context.launchers.batch_of(one.name)]
    for nodes in (*(told(one.job, "nodes") for one in launchers), _argument(rule, start, "nodes")):
        if nodes is None or given is None or not nodes.number or not given.number or nodes.number == given.number:
            continue
        if nodes.number > given.number or _on_all(start, context):
            message = f"{shown(nodes)} in a job of {counted(given.number, 'node')} ({shown(given)})"
            yield finding(rule, nodes.place, message, help=_SAME_NODES, related=_also(given))


_SAME_NODES = "take the number from the batch system (SLURM_NNODES)"


def _on_all(start: RankStart, context: LaunchContext) -> bool:
    """Whether a launch runs on all nodes of its job: started by the batch system, which was told of no part."""
    steps = [one for one in start.chain if one.ranks and context.launchers.batch_of(one.name)]
    narrowed = any(value.tells in ("nodes", "ranks", "host") for one in steps for value in one.job)
    return bool(start.root.group) or (bool(steps) and not narrowed)


def _all_ranks(rule: Rule, start: RankStart, context: LaunchContext) -> Iterator[Finding]:
    """A number of all ranks that cannot be."""
    for starter in rank_launchers(start, context.launchers):
        ranks, nodes = told(starter.job, "ranks"), told(starter.job, "nodes")
        if ranks is None or nodes is None or not ranks.number or not nodes.number or not ranks.number % nodes.number:
            continue
        message = f"{shown(ranks)} are all ranks of {counted(nodes.number, 'node')}, which cannot have equally many"
        yield finding(rule, ranks.place, message, help="give the number of ranks of all nodes", related=_also(nodes))
    yield from _slots(rule, start, context)
    yield from _world_size(rule, start, context)


def _slots(rule: Rule, start: RankStart, context: LaunchContext) -> Iterator[Finding]:
    """More ranks than an MPIJob has room for."""
    room = told(start.job, "ranks") if start.root.group.startswith("MPIJob") else None
    for starter in rank_launchers(start, context.launchers):
        ranks = told(starter.job, "ranks")
        if ranks is None or room is None or not room.number or (ranks.number or 0) <= room.number:
            continue
        message = f"{shown(ranks)} in a job that has room for {room.number} ({shown(room)})"
        yield finding(
            rule, ranks.place, message, help="give each worker as many slots as it has GPUs", related=_also(room)
        )


def _world_size(rule: Rule, start: RankStart, context: LaunchContext) -> Iterator[Finding]:
    """`WORLD_SIZE=16` for ranks of which a batch system starts another number."""
    given, tasks = start.plain("WORLD_SIZE"), _tasks(start, context)
    size = whole(given[0]) if given is not None else None
    if given is not None and size and tasks is not None and size != tasks[0]:
        message = f"WORLD_SIZE={size}, and {counted(tasks[0], 'rank')} are started ({shown(tasks[1])})"
        place = place_given("WORLD_SIZE", given[0], start, context)
        yield finding(rule, place, message, "WORLD_SIZE", help=_SAME_RANKS, related=_also(tasks[1]))


_SAME_RANKS = "take the number from the launcher (SLURM_NTASKS, OMPI_COMM_WORLD_SIZE)"


def _tasks(start: RankStart, context: LaunchContext) -> tuple[int, JobValue] | None:
    """How many ranks are started in all, where one launcher starts them and says so."""
    starters = list(rank_launchers(start, context.launchers))
    if len(starters) != 1:
        return None
    ranks = told(starters[0].job, "ranks") or (None if starters[0].job else allocated(start, "ranks"))
    if ranks is not None:
        return (ranks.number, ranks) if ranks.number else None
    nodes = told(starters[0].job, "nodes") or allocated(start, "nodes")
    each = told(starters[0].job, "ranks-per-node") or allocated(start, "ranks-per-node")
    if nodes is None or each is None or not nodes.number or not each.number:
        return None
    return nodes.number * each.number, each
