"""Seeds (ED401): each stream of random numbers that a training draws from, and whether it was seeded before."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, cast

from envdoctor.analysis.python.timeline import Event, Process, Timeline, only_rank_zero
from envdoctor.checks.context import FileContext
from envdoctor.checks.findings import finding
from envdoctor.checks.python import data, generators
from envdoctor.checks.python.common import anchored, short
from envdoctor.checks.python.patterns import fits_target, named
from envdoctor.checks.python.streams import Stream
from envdoctor.core.facts import exclusive
from envdoctor.core.findings import Finding, Related
from envdoctor.core.records import replace
from envdoctor.core.regexes import regex
from envdoctor.core.versions import at_least
from envdoctor.knowledge.rulebook import Rule

if TYPE_CHECKING:
    from envdoctor.knowledge.parameters.seeds import Seeds

NO_TRAINING = regex(
    r"(?i)(?:^|[/_.-])(?:micro)?(?:bench|benchmarks?|profil\w*|perf\w*|timing|infer\w*|predict\w*|eval\w*|serv\w*|export\w*"
    r"|convert\w*|deploy\w*|optimizer_test)(?=[/_.-]|$)"
)
"""Files that measure speed or use a model: what they draw is filling."""
TRAINING = regex(r"(?i)train|tune|fit")


def check(rule: Rule, context: FileContext) -> Iterator[Finding]:
    """All that is wrong with the seeds of the training that a file starts."""
    assert context.entry_points is not None
    timeline = context.entry_points.timeline(context.facts)
    if timeline is None or not context.shared.intents.trains(timeline) or _no_training(timeline.path):
        return
    parameters = cast("Seeds", rule.parameters)
    streams = context.shared.streams(rule).of(timeline)
    yield from _unseeded(rule, context, timeline, streams)
    yield from generators.check(rule, parameters, context, timeline)
    yield from data.check(rule, parameters, context, timeline, streams)


def _no_training(path: str) -> bool:
    """Whether the name of an entry says that it measures or uses what others train."""
    return NO_TRAINING.search(path) is not None and not TRAINING.search(path.rpartition("/")[2])


def _unseeded(rule: Rule, context: FileContext, timeline: Timeline, streams: Mapping[str, Stream]) -> Iterator[Finding]:
    """Streams that are never seeded, or only after they were drawn from."""
    streams = {name: _of_release(stream, context) for name, stream in streams.items()}
    nothing = not any(s.seeds or s.partial for s in streams.values())
    bare = [s for s in streams.values() if s.draws and not s.seeds and not _excused(s, context, timeline)]
    if nothing and bare:
        yield _nothing_seeded(rule, context, bare)
        return
    for stream in streams.values():
        if not stream.draws:
            continue
        if stream in bare:
            yield _never(rule, context, stream)
        elif stream.seeds and all(only_rank_zero(seed.conditions) for seed in stream.seeds):
            yield _one_rank(rule, context, stream)
        elif stream.seeds:
            yield from _late(rule, context, _kept(stream, timeline))


def _kept(stream: Stream, timeline: Timeline) -> Stream:
    """A stream without the weights that a checkpoint replaces wherever they are drawn."""
    models = stream.data.get("models", ())
    loads = timeline.chosen(lambda name: name.endswith(".load_state_dict")) if models else []
    draws = [d for d in stream.draws if not (named(d.call.name, models) and any(_replaces(load, d) for load in loads))]
    return replace(stream, draws=draws) if loads else stream


def _replaces(load: Event, draw: Event) -> bool:
    """Whether the weights that are drawn are loaded later on under no further condition."""
    return load.index > draw.index and load.ordered and set(load.conditions) <= set(draw.conditions)


def _of_release(stream: Stream, context: FileContext) -> Stream:
    """A stream without the seeds that do not reach it in the target's release."""
    assert context.entry_points is not None
    for entry in stream.data.get("without", ()):
        if "unless_mentioned" in entry and context.entry_points.mentions(entry["unless_mentioned"]):
            continue
        if fits_target("", {entry["component"]: entry["release"]}, context.target, False):
            seeds = [event for event in stream.seeds if not named(event.call.name, entry["names"])]
            return replace(stream, seeds=seeds)
    return stream


def _excused(stream: Stream, context: FileContext, timeline: Timeline) -> bool:
    """Draws of loader workers alone: these are seeded from torch's stream."""
    workers = all(s.process.kind == "loader" for s in stream.draws)
    if not workers:
        return False
    version = context.target.versions.get("torch")
    known = at_least(version, "1.9") if version else None
    return stream.name == "random" or (stream.name == "numpy.random" and known is True)


def _first(events: Sequence[Event]) -> Event:
    ordered = [s for s in events if s.ordered]
    return min(ordered or events, key=lambda s: s.index)


def _nothing_seeded(rule: Rule, context: FileContext, bare: Sequence[Stream]) -> Finding:
    """One finding where a training seeds nothing at all, at the entry: what it runs may draw as it likes."""
    names = ", ".join(s.name for s in bare)
    event = min((_first(s.draws) for s in bare), key=lambda s: (not s.ordered, s.index))
    place, related = anchored(event, context)
    if related and place.path != context.facts.path and event.site is not None:
        place, related = event.site, (Related(place, "drawn here"),)
    message = f"this training seeds nothing, and {short(event.call)} draws ({names}): every run differs"
    help_ = "; ".join(str(s.data["call"]) for s in bare)
    return finding(rule, place, message, help=help_, confidence="medium", related=related)


def _never(rule: Rule, context: FileContext, stream: Stream) -> Finding:
    event = _first(stream.draws)
    message = f"{short(event.call)} draws from {stream.name}, which this training never seeds"
    place, related = anchored(event, context)
    if stream.partial:
        message += f"; {short(stream.partial[0].call)} reaches GPU generators only"
        related += (Related(stream.partial[0].call.place, "seeds a GPU generator only"),)
    return finding(rule, place, message, help=f"{stream.data['call']} before it", related=related)


def _one_rank(rule: Rule, context: FileContext, stream: Stream) -> Finding:
    seed = stream.seeds[0]
    place, related = anchored(seed, context)
    message = f"{short(seed.call)} runs on rank 0 only: on all other ranks {stream.name} is unseeded"
    return finding(rule, place, message, help=f"{stream.data['call']} on every rank", related=related)


def _late(rule: Rule, context: FileContext, stream: Stream) -> Iterator[Finding]:
    """The first draw of each process that comes before the first seed."""
    done: set[Process] = set()
    for draw in stream.draws:
        reach = stream.seeds_in(draw.process)
        if draw.process in done or draw.process.kind == "loader" or (reach and not draw.ordered):
            continue
        done.add(draw.process)
        if not reach:
            message = f"{short(draw.call)} draws from {stream.name} in a spawned process, where nothing seeds it"
            seed = stream.seeds[0].call.place
            place, related = anchored(draw, context)
            related = (Related(seed, "acts in the process that spawns, not in what it spawns"), *related)
            yield finding(rule, place, message, help=f"{stream.data['call']} in it", related=related)
        elif all(_comes_after(seed, draw) for seed in reach):
            message = f"{short(draw.call)} draws from {stream.name} before it is seeded"
            place, related = anchored(draw, context)
            related = (Related(reach[0].call.place, "seeded here"), *related)
            yield finding(rule, place, message, help="seed first, then build and draw", related=related)


def _comes_after(seed: Event, draw: Event) -> bool:
    if exclusive(seed.conditions, draw.conditions):
        return False
    return seed.ordered and seed.index > draw.index and seed.process in (draw.process, Process())
