"""Home-made AllReduce tests that cannot see what they test (ED603)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from envdoctor.checks import Context
from envdoctor.checks.call_data import RANK, says_rank
from envdoctor.checks.call_patterns import argument, named
from envdoctor.checks.call_wishes import trains
from envdoctor.checks.calls import finding
from envdoctor.entries import Program, Step
from envdoctor.facts import Call, Launch
from envdoctor.findings import Finding
from envdoctor.rulebook import Rule

ONLY_RANK_ZERO = re.compile(
    r"(?i)(?:rank\w*(?:\(\))?|RANK[\"'\])]*)\s*==\s*[\"']?0\b|\bis_(?:main|master|rank_?zero)\w*|^not \w*rank\w*$"
)
RANKS = re.compile(r"--(?:nproc[-_]per[-_]node|np|ntasks)$|^-(?:n|np)$")
NODES = re.compile(r"--nnodes")


def check(rule: Rule, context: Context) -> Iterator[Finding]:
    """Equal summands, one rank's result, two ranks; output that holds no result."""
    assert context.programs is not None
    facts = context.facts
    yield from _two_in_launch(rule, context, facts.launches)
    if facts.kind not in ("python", "notebook"):
        return
    program = context.programs.of(facts)
    if program is None or not _tests(rule.parameters, context, program):
        return
    found = [*_one_rank(rule, program), *_equal(rule, program), *_two_ranks(rule, program)]
    yield from found[:1]


def _tests(parameters: Mapping[str, Any], context: Context, program: Program) -> bool:
    """Whether a program sums over ranks, looks at the bits of the result, says why, and trains nothing."""
    assert context.programs is not None
    names = {s.call.name for s in program.steps}
    if not any(named(n, parameters["reduces"]) for n in names) or trains(program):
        return False
    if not any(named(n, parameters["looks"]) for n in names):
        return False
    return re.search(parameters["about"], context.programs.text(program.path)) is not None


def _looks(rule: Rule, program: Program) -> list[Step]:
    return [s for s in program.steps if named(s.call.name, rule.parameters["looks"])]


def _one_rank(rule: Rule, program: Program) -> Iterator[Finding]:
    """Every look at a result is under `rank == 0`, and nothing is gathered."""
    looks = _looks(rule, program)
    if any(named(s.call.name, rule.parameters["gathers"]) for s in program.steps):
        return
    if all(any(ONLY_RANK_ZERO.search(b.condition) and b.arm != "else" for b in s.conditions) for s in looks):
        message = "only rank 0 looks at its result: whether the other ranks have the same bits is not seen"
        yield finding(rule, looks[0].call.place, message, help="gather the hashes of all ranks and compare them")


def _equal(rule: Rule, program: Program) -> Iterator[Finding]:
    """Every rank seeds alike and draws its summands, so that all are equal."""
    parameters = rule.parameters
    seeds = [s.call for s in program.steps if named(s.call.name, parameters["seeds"]) and s.call.arguments]
    draws = [s for s in program.steps if named(s.call.name, parameters["draws"])]
    if not seeds or not draws or any(says_rank(a) for c in seeds for a in c.arguments):
        return
    if any(says_rank(a) for s in draws for a in s.call.arguments if a.keyword != "device") or not _constant(seeds):
        return
    message = (
        "every rank has this seed, so that all summands are equal and no order of summation can be told from another"
    )
    yield finding(rule, seeds[0].place, message, help="seed + rank for the inputs")


def _constant(seeds: Sequence[Call]) -> bool:
    """Whether all seeds are plainly the same on all ranks."""
    return all(
        a.is_literal or (a.text.isidentifier() and not RANK.search(a.text)) for c in seeds for a in c.arguments[:1]
    )


def _two_ranks(rule: Rule, program: Program) -> Iterator[Finding]:
    for step in program.steps:
        if named(step.call.name, rule.parameters["spawners"]):
            given = argument(step.call, "nprocs", 2)
            if given is not None and given.literal == 2:
                message = "two ranks: a + b is b + a, so that no order of summation can be told from another"
                yield finding(rule, step.call.place, message, help="at least 3 ranks")


def _two_in_launch(rule: Rule, context: Context, launches: Sequence[Launch]) -> Iterator[Finding]:
    """A launch of such a test with two ranks."""
    assert context.programs is not None
    for launch in launches:
        if _ranks(launch.words) != 2:
            continue
        for program in context.programs.launched(launch.inner or launch.words, context.facts.path):
            if _tests(rule.parameters, context, program):
                message = "two ranks: a + b is b + a, so that no order of summation can be told from another"
                yield finding(rule, launch.place, message, help="at least 3 ranks")


def _ranks(words: Sequence[str]) -> int | None:
    """The number of ranks on one node that a launch command names, if it is for one node."""
    if any(NODES.match(w) and not w.endswith("=1") for w in words) and "1" not in words:
        return None
    for index, word in enumerate(words):
        option, _, value = word.partition("=")
        if RANKS.search(option):
            given = value or (words[index + 1] if index + 1 < len(words) else "")
            return int(given) if given.isdigit() else None
    return None
