"""Samplers, splits and loader workers (ED401)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from envdoctor.analysis.python.timeline import Event, Timeline
from envdoctor.checks.context import FileContext
from envdoctor.checks.findings import finding
from envdoctor.checks.python.common import entry_related, short
from envdoctor.checks.python.patterns import argument, events_named, hidden_arguments
from envdoctor.checks.python.streams import Stream
from envdoctor.core.facts import Argument, Call
from envdoctor.core.findings import Finding, Related
from envdoctor.core.regexes import regex
from envdoctor.core.versions import at_least
from envdoctor.knowledge.rulebook import Rule

if TYPE_CHECKING:
    from envdoctor.knowledge.parameters.seeds import Loader, Sampler, Seeds, SharedSeed

RANK = regex(r"(?i)(?<![a-z])(?:local_|global_|node_|dp_|data_parallel_)?rank(?![a-z])|get_rank|process_index")
EVALUATION = regex(r"(?i)(?<![a-z])(?:val|valid|validation|eval|evaluation|test|dev)(?![a-z])")
EPOCH = regex(r"(?i)epoch")


def check(
    rule: Rule, parameters: Seeds, context: FileContext, timeline: Timeline, streams: Mapping[str, Stream]
) -> Iterator[Finding]:
    """Seeds by rank where they must agree, samplers that are not told the epoch, workers that draw unseeded."""
    for group in parameters["shared"]:
        events = events_named(timeline, group["names"])
        if events and not _divided(timeline, group.get("unless", ())):
            for event in events:
                yield from _by_rank(rule, context, event.call, group)
    for loader in parameters["loader"]:
        for event in events_named(timeline, loader["names"]):
            yield from _loader(rule, context, timeline, streams.get("numpy.random"), event, loader)
    yield from _epochs(rule, parameters["sampler"], context, timeline)


def _divided(timeline: Timeline, words: Sequence[str]) -> bool:
    """Whether a program divides its data among the ranks, so that each may shuffle its own part as it likes."""
    return any(word in name for name in timeline.by_name for word in words)


def _by_rank(rule: Rule, context: FileContext, call: Call, group: SharedSeed) -> Iterator[Finding]:
    for keyword in group["keywords"]:
        given = argument(call, keyword, group.get("position"))
        if given is not None and says_rank(given):
            message = f"{short(call)} is seeded by rank: {group['says']}"
            related = entry_related(context, call.place)
            yield finding(rule, call.place, message, help="the same seed on all ranks", related=related)


def says_rank(given: Argument) -> bool:
    """Whether an argument depends on the rank."""
    return not given.is_literal and any(RANK.search(text) for text in (given.text, *given.names))


def _epochs(rule: Rule, sampler: Sampler, context: FileContext, timeline: Timeline) -> Iterator[Finding]:
    """A sampler in a loop over epochs that nobody tells the epoch."""
    roots = {name.split(".", 1)[0] for name in timeline.imports}
    if roots & set(sampler["frameworks"]):
        return
    calls = [c for facts in timeline.files.values() for c in facts.calls]
    if any(c.name.endswith(sampler["told_by"]) for c in calls):
        return
    loops = [s for s in timeline.events if any(b.arm == "loop" and EPOCH.search(b.condition) for b in s.conditions)]
    over = [s for s in timeline.events if s.call.name.endswith(".backward") and _loops(s) >= 2]
    if not loops and not over:
        return
    for event in events_named(timeline, sampler["names"]):
        if not _plain_order(event.call) and not _evaluates(event.call):
            message = f"{short(event.call)} is never told the epoch: every epoch has the order of the first"
            yield finding(rule, event.call.place, message, help="call set_epoch(epoch) at the start of each epoch")


def _loops(event: Event) -> int:
    return sum(b.arm == "loop" for b in event.conditions)


def _evaluates(call: Call) -> bool:
    """A sampler for evaluation: its order does not matter."""
    return any(EVALUATION.search(text) for text in (call.scope.name, *(a.text for a in call.arguments)))


def _plain_order(call: Call) -> bool:
    """A sampler that does not shuffle, or may not."""
    given = argument(call, "shuffle", 3)
    return (given is not None and given.literal is not True) or hidden_arguments(call)


def _loader(
    rule: Rule,
    context: FileContext,
    timeline: Timeline,
    stream: Stream | None,
    event: Event,
    group: Loader,
) -> Iterator[Finding]:
    """Workers that draw from NumPy, where torch does not seed it in them or nothing else does."""
    workers = argument(event.call, group["workers"], None)
    if workers is None or not isinstance(workers.literal, int) or workers.literal < 1 or hidden_arguments(event.call):
        return
    if stream is None or argument(event.call, group["init"], None) is not None or _seeds_workers(timeline):
        return
    drawn = [d for d in stream.draws if d.process.kind == "loader"]
    version = context.target.versions.get("torch")
    seeded = at_least(version, "1.9") if version else None
    if drawn and (seeded is False or (seeded is None and not stream.seeds)):
        yield _workers(rule, drawn[0].call, event.call)


def _workers(rule: Rule, draw: Call, loader: Call) -> Finding:
    message = f"the workers of this loader draw with {short(draw)}, which torch before 1.9 does not seed in them"
    related = (Related(draw.place, "drawn here, in each worker"),)
    help_ = "worker_init_fn that seeds NumPy from torch.initial_seed(), and a seeded generator"
    return finding(rule, loader.place, message, help=help_, related=related, confidence="medium")


def _seeds_workers(timeline: Timeline) -> bool:
    """Lightning seeds workers where it is asked to."""
    for event in timeline.chosen(lambda name: name.endswith("seed_everything")):
        given = argument(event.call, "workers", 1)
        if given is not None and given.literal is not False:
            return True
    return False
