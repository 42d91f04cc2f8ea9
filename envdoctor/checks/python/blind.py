"""Home-made AllReduce tests that cannot see what they test (ED603)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, cast

from envdoctor.analysis.python.timeline import Event, Timeline, only_rank_zero
from envdoctor.checks.context import FileContext
from envdoctor.checks.findings import finding
from envdoctor.checks.python.data import RANK, says_rank
from envdoctor.checks.python.patterns import any_named, argument, events_named, named
from envdoctor.core.facts import Call, FileFacts, Place
from envdoctor.core.findings import Finding
from envdoctor.core.numbers import whole
from envdoctor.core.regexes import regex
from envdoctor.knowledge.rulebook import Rule
from envdoctor.readers.kinds import PYTHON

if TYPE_CHECKING:
    from envdoctor.knowledge.parameters.calls import BlindTests

RANKS = regex(r"--(?:nproc[-_]per[-_]node|np|ntasks)$|^-(?:n|np)$")
NODES = regex(r"--nnodes")
OTHER_OPERATION = regex(r"\b(?:MAX|MIN|BAND|BOR|BXOR)\b")
IDENTIFIER = regex(r"\b(?!(?:True|False|None|float|int)\b)[A-Za-z_]\w*")
"""A name in an expression; constants and conversions are none."""
COMPARES = regex(r"(?:^|[;&|(\s])(?:diff|cmp|md5sum|sha1sum|sha256sum|cksum)\s")
"""Commands that compare or hash what others printed."""


def check(rule: Rule, context: FileContext) -> Iterator[Finding]:
    """Equal summands, one rank's result, two ranks; output that holds no result."""
    assert context.entry_points is not None
    facts = context.facts
    if facts.kind == "shell":
        yield from _compared(rule, context)
    if facts.kind not in PYTHON:
        return
    timeline = context.entry_points.timeline(facts)
    if timeline is None or not _tests(_parameters(rule), context, timeline):
        return
    found = [*_one_rank(rule, timeline), *_equal(rule, timeline), *_two_ranks(rule, timeline)]
    yield from found[:1]
    for script in context.entry_points.starting(timeline.path):
        yield from _two_in_launch(rule, context, timeline, script)


def _parameters(rule: Rule) -> BlindTests:
    return cast("BlindTests", rule.parameters)


def _tests(parameters: BlindTests, context: FileContext, timeline: Timeline) -> bool:
    """Whether a program sums over ranks, looks at the bits of the result, says why, and trains nothing."""
    assert context.entry_points is not None
    names = timeline.by_name
    if not any_named(names, parameters["reduces"]) or context.shared.intents.trains(timeline):
        return False
    if not any_named(names, parameters["looks"]):
        return False
    return re.search(parameters["about"], context.entry_points.text(timeline.path)) is not None


def _looks(rule: Rule, timeline: Timeline) -> list[Event]:
    return events_named(timeline, _parameters(rule)["looks"])


def _one_rank(rule: Rule, timeline: Timeline) -> Iterator[Finding]:
    """Every look at a result is under `rank == 0`, and nothing is gathered."""
    looks = _looks(rule, timeline)
    if any_named(timeline.by_name, _parameters(rule)["gathers"]):
        return
    if all(only_rank_zero(s.conditions) for s in looks):
        message = "only rank 0 looks at its result: whether the other ranks have the same bits is not seen"
        yield finding(rule, looks[0].call.place, message, help="gather the hashes of all ranks and compare them")


def _equal(rule: Rule, timeline: Timeline) -> Iterator[Finding]:
    """Every rank draws the same summands, or makes them of constants."""
    parameters = _parameters(rule)
    sources = {n.split("()")[0]: s.call for s in _reductions(parameters, timeline) for n in _summands(s.call)}
    constants = [n for n in sources if named(n, parameters["constants"]) and not _varies(n, timeline)]
    if constants and not _told_by_rank(timeline, parameters["constants"]):
        call = sources[constants[0]]
        yield finding(
            rule, call.place, EQUAL.format("all ranks sum the same constant"), help="seed + rank for the inputs"
        )
        return
    if not any_named(sources, parameters["draws"]):
        return
    seeds = [s.call for s in events_named(timeline, parameters["seeds"]) if s.call.arguments]
    if not seeds or any(says_rank(a) for c in seeds for a in c.arguments) or not _constant(seeds):
        return
    if not _told_by_rank(timeline, parameters["draws"]):
        yield finding(rule, seeds[0].place, EQUAL.format("every rank has this seed"), help="seed + rank for the inputs")


EQUAL = "{}, so that all summands are equal and no order of summation can be told from another"


def _reductions(parameters: BlindTests, timeline: Timeline) -> Iterator[Event]:
    """The events that sum over ranks: the greatest or least of some values has no order."""
    for event in events_named(timeline, parameters["reduces"]):
        given = argument(event.call, "op", 1)
        if given is None or OTHER_OPERATION.search(given.text) is None:
            yield event


def _summands(call: Call) -> tuple[str, ...]:
    """What the tensor that is summed was made by, where it is used as it was made."""
    given = argument(call, "tensor", 0)
    return given.names if given is not None and len(given.names) == 1 else ()


def _varies(name: str, timeline: Timeline) -> bool:
    """Whether a tensor is made of values that stand in variables, which may differ from rank to rank."""
    at = {"torch.tensor": 0, "torch.full": 1}.get(name)
    if at is None:
        return False
    made = [[a for a in s.call.arguments if a.keyword is None] for s in timeline.by_name.get(name, ())]
    return any(IDENTIFIER.search(a.text) for given in made for a in given[at : at + 1] if not a.is_literal)


def _told_by_rank(timeline: Timeline, names: Sequence[str]) -> bool:
    """Whether the rank is part of what makes the summands."""
    calls = [s.call for s in events_named(timeline, names)]
    return any(says_rank(a) for c in calls for a in c.arguments if a.keyword != "device")


def _constant(seeds: Sequence[Call]) -> bool:
    """Whether all seeds are plainly the same on all ranks."""
    return all(
        a.is_literal or (a.text.isidentifier() and not RANK.search(a.text)) for c in seeds for a in c.arguments[:1]
    )


def _two_ranks(rule: Rule, timeline: Timeline) -> Iterator[Finding]:
    for event in events_named(timeline, _parameters(rule)["spawners"]):
        given = argument(event.call, "nprocs", 2)
        if given is not None and given.literal == 2:
            message = "two ranks: a + b is b + a, so that no order of summation can be told from another"
            yield finding(rule, event.call.place, message, help="at least 3 ranks")


def _two_in_launch(rule: Rule, context: FileContext, timeline: Timeline, script: FileFacts) -> Iterator[Finding]:
    """A launch of such a test with two ranks."""
    assert context.entry_points is not None
    for launch in script.launches:
        started = context.entry_points.launched(launch.inner or launch.words, script.path)
        if _ranks(launch.words) == 2 and any(other is timeline for other in started):
            message = "two ranks: a + b is b + a, so that no order of summation can be told from another"
            yield finding(rule, launch.place, message, help="at least 3 ranks")


def _compared(rule: Rule, context: FileContext) -> Iterator[Finding]:
    """A script that compares or hashes what nccl-tests or rccl-tests print: times, and no result."""
    assert context.entry_points is not None
    names = _parameters(rule)["benchmarks"]
    if not any(name in word for launch in context.facts.launches for word in launch.words for name in names):
        return
    path = context.facts.path
    for number, line in enumerate(context.entry_points.text(path).split("\n"), 1):
        if COMPARES.search(line) and not line.lstrip().startswith("#"):
            message = "the table of times that is compared here holds no result, and its inputs hide every order"
            yield finding(rule, Place(path, number, 1, number, len(line) + 1), message)
            return


def _ranks(words: Sequence[str]) -> int | None:
    """The number of ranks on one node that a launch command names, if it is for one node."""
    if any(NODES.match(w) and not w.endswith("=1") for w in words) and "1" not in words:
        return None
    for index, word in enumerate(words):
        option, _, value = word.partition("=")
        if RANKS.search(option):
            given = value or (words[index + 1] if index + 1 < len(words) else "")
            return whole(given)
    return None
