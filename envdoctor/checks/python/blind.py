"""Home-made AllReduce tests that cannot see what they test (ED603)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, cast

from envdoctor.analysis.python.entries import Program, Step, only_rank_zero
from envdoctor.checks.context import Context
from envdoctor.checks.python.common import finding
from envdoctor.checks.python.data import RANK, says_rank
from envdoctor.checks.python.intent import trains
from envdoctor.checks.python.patterns import argument, named
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


def check(rule: Rule, context: Context) -> Iterator[Finding]:
    """Equal summands, one rank's result, two ranks; output that holds no result."""
    assert context.programs is not None
    facts = context.facts
    if facts.kind == "shell":
        yield from _compared(rule, context)
    if facts.kind not in PYTHON:
        return
    program = context.programs.of(facts)
    if program is None or not _tests(_parameters(rule), context, program):
        return
    found = [*_one_rank(rule, program), *_equal(rule, program), *_two_ranks(rule, program)]
    yield from found[:1]
    for script in context.programs.starting(program.path):
        yield from _two_in_launch(rule, context, program, script)


def _parameters(rule: Rule) -> BlindTests:
    return cast("BlindTests", rule.parameters)


def _tests(parameters: BlindTests, context: Context, program: Program) -> bool:
    """Whether a program sums over ranks, looks at the bits of the result, says why, and trains nothing."""
    assert context.programs is not None
    names = {s.call.name for s in program.steps}
    if not any(named(n, parameters["reduces"]) for n in names) or trains(program):
        return False
    if not any(named(n, parameters["looks"]) for n in names):
        return False
    return re.search(parameters["about"], context.programs.text(program.path)) is not None


def _looks(rule: Rule, program: Program) -> list[Step]:
    return [s for s in program.steps if named(s.call.name, _parameters(rule)["looks"])]


def _one_rank(rule: Rule, program: Program) -> Iterator[Finding]:
    """Every look at a result is under `rank == 0`, and nothing is gathered."""
    looks = _looks(rule, program)
    if any(named(s.call.name, _parameters(rule)["gathers"]) for s in program.steps):
        return
    if all(only_rank_zero(s.conditions) for s in looks):
        message = "only rank 0 looks at its result: whether the other ranks have the same bits is not seen"
        yield finding(rule, looks[0].call.place, message, help="gather the hashes of all ranks and compare them")


def _equal(rule: Rule, program: Program) -> Iterator[Finding]:
    """Every rank draws the same summands, or makes them of constants."""
    parameters = _parameters(rule)
    sources = {n.split("()")[0]: s.call for s in program.steps if _reduces(parameters, s) for n in _summands(s.call)}
    constants = [n for n in sources if named(n, parameters["constants"]) and not _varies(n, program)]
    if constants and not _told_by_rank(program, parameters["constants"]):
        call = sources[constants[0]]
        yield finding(
            rule, call.place, EQUAL.format("all ranks sum the same constant"), help="seed + rank for the inputs"
        )
        return
    if not any(named(n, parameters["draws"]) for n in sources):
        return
    seeds = [s.call for s in program.steps if named(s.call.name, parameters["seeds"]) and s.call.arguments]
    if not seeds or any(says_rank(a) for c in seeds for a in c.arguments) or not _constant(seeds):
        return
    if not _told_by_rank(program, parameters["draws"]):
        yield finding(rule, seeds[0].place, EQUAL.format("every rank has this seed"), help="seed + rank for the inputs")


EQUAL = "{}, so that all summands are equal and no order of summation can be told from another"


def _reduces(parameters: BlindTests, step: Step) -> bool:
    """Whether a step sums over ranks: the greatest or least of some values has no order."""
    if not named(step.call.name, parameters["reduces"]):
        return False
    given = argument(step.call, "op", 1)
    return given is None or OTHER_OPERATION.search(given.text) is None


def _summands(call: Call) -> tuple[str, ...]:
    """What the tensor that is summed was made by, where it is used as it was made."""
    given = argument(call, "tensor", 0)
    return given.names if given is not None and len(given.names) == 1 else ()


def _varies(name: str, program: Program) -> bool:
    """Whether a tensor is made of values that stand in variables, which may differ from rank to rank."""
    at = {"torch.tensor": 0, "torch.full": 1}.get(name)
    if at is None:
        return False
    made = [[a for a in s.call.arguments if a.keyword is None] for s in program.by_name().get(name, ())]
    return any(IDENTIFIER.search(a.text) for given in made for a in given[at : at + 1] if not a.is_literal)


def _told_by_rank(program: Program, names: Sequence[str]) -> bool:
    """Whether the rank is part of what makes the summands."""
    calls = [s.call for s in program.steps if named(s.call.name, names)]
    return any(says_rank(a) for c in calls for a in c.arguments if a.keyword != "device")


def _constant(seeds: Sequence[Call]) -> bool:
    """Whether all seeds are plainly the same on all ranks."""
    return all(
        a.is_literal or (a.text.isidentifier() and not RANK.search(a.text)) for c in seeds for a in c.arguments[:1]
    )


def _two_ranks(rule: Rule, program: Program) -> Iterator[Finding]:
    for step in program.steps:
        if named(step.call.name, _parameters(rule)["spawners"]):
            given = argument(step.call, "nprocs", 2)
            if given is not None and given.literal == 2:
                message = "two ranks: a + b is b + a, so that no order of summation can be told from another"
                yield finding(rule, step.call.place, message, help="at least 3 ranks")


def _two_in_launch(rule: Rule, context: Context, program: Program, script: FileFacts) -> Iterator[Finding]:
    """A launch of such a test with two ranks."""
    assert context.programs is not None
    for launch in script.launches:
        started = context.programs.launched(launch.inner or launch.words, script.path)
        if _ranks(launch.words) == 2 and any(other is program for other in started):
            message = "two ranks: a + b is b + a, so that no order of summation can be told from another"
            yield finding(rule, launch.place, message, help="at least 3 ranks")


def _compared(rule: Rule, context: Context) -> Iterator[Finding]:
    """A script that compares or hashes what nccl-tests or rccl-tests print: times, and no result."""
    assert context.programs is not None
    names = _parameters(rule)["benchmarks"]
    if not any(name in word for launch in context.facts.launches for word in launch.words for name in names):
        return
    path = context.facts.path
    for number, line in enumerate(context.programs.text(path).split("\n"), 1):
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
