"""Seeds that come from the clock, generators without a seed, and JAX keys (ED401)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from envdoctor.analysis.python.timeline import Event, Timeline
from envdoctor.checks.context import FileContext
from envdoctor.checks.findings import finding
from envdoctor.checks.python.common import anchored, short
from envdoctor.checks.python.patterns import Named, argument, events_named, hidden_arguments, named, names_of
from envdoctor.core.facts import Argument, Call, exclusive
from envdoctor.core.findings import Finding, Related
from envdoctor.core.regexes import regex
from envdoctor.knowledge.rulebook import Rule

if TYPE_CHECKING:
    from envdoctor.knowledge.parameters.seeds import Generator, Keys, Reseed, Seeds

GIVEN = regex(r"(?i)seed|rng|random|generator")
"""Parameters by which a caller can hand over a seed or a generator."""
GLOBAL = ("torch", "random", "numpy", "tensorflow", "jax")
"""What names of functions begin with that seed a global generator, and no object."""
ALTERNATIVE = regex(r"\bif\b|\bor\b")


def check(rule: Rule, parameters: Seeds, context: FileContext, timeline: Timeline) -> Iterator[Finding]:
    """Seeds from the clock, unseeded generators, keys used twice."""
    seeders = _seeding_names(parameters)
    makers = [name for group in parameters["generator"] for name in group["names"]]
    for event in timeline.chosen(lambda name: seeders(name) or name in makers):
        call = event.call
        if event.local or call.kind != "call" or not event.likely:
            continue
        fault = _seeding_fault(call, parameters) if seeders(call.name) else None
        if fault is not None:
            yield _found(rule, context, event, *fault)
        else:
            yield from _generator(rule, parameters["generator"], context, timeline, event)
    yield from _arguments(rule, parameters, context, timeline)
    yield from _keys(rule, parameters["keys"], context, timeline)


def _arguments(rule: Rule, parameters: Seeds, context: FileContext, timeline: Timeline) -> Iterator[Finding]:
    """Seeds that are handed over as one argument among others, and come from the clock."""
    for group in (*parameters["argument_draw"], *parameters["shared"], *parameters["seed_argument"]):
        for event in events_named(timeline, group["names"]):
            if event.local or not event.likely:
                continue
            for index, keyword in enumerate(group["keywords"]):
                given = argument(event.call, keyword, group.get("position") if index == 0 else None)
                source = _source(given, parameters["entropy"]) if given is not None else ""
                if source:
                    message = f"{short(event.call)} takes its seed from {source}: every run differs"
                    yield _found(rule, context, event, message, "a fixed seed, written to the log")


def _seeding_fault(call: Call, parameters: Seeds) -> tuple[str, str] | None:
    """What is wrong with a call that seeds, and the way out."""
    source = _entropy(call, parameters["entropy"])
    if source:
        return f"{short(call)} takes its seed from {source}: every run differs", "a fixed seed, written to the log"
    if _reseeds(call, parameters["reseed"]):
        return f"{short(call)} without a value seeds from the system: every run differs", "give it a value"
    return None


def _found(rule: Rule, context: FileContext, event: Event, message: str, way_out: str) -> Finding:
    place, related = anchored(event, context)
    return finding(rule, place, message, help=way_out, related=related)


def _seeding_names(parameters: Seeds) -> Named:
    """All names that take a seed."""
    groups = (*parameters["helper"], *parameters["generator"], *parameters["reseed"])
    every = (*(s["seeds"] for s in parameters["stream"]), *(group["names"] for group in groups))
    names = [name for names in every for name in names if not name.startswith("torch.Generator")]
    partial = [n for g in parameters["stream"] for n in g.get("partial", ())]
    return names_of((*names, *partial, *parameters["keys"]["makers"], "*.manual_seed"))


def _entropy(call: Call, sources: list[str]) -> str:
    """What a seed is taken from, if that differs from run to run."""
    return next((source for given in call.arguments if (source := _source(given, sources))), "")


def _source(given: Argument, sources: list[str]) -> str:
    """What differs from run to run in an argument; empty where it is one of several ways to the value."""
    if ALTERNATIVE.search(given.text):
        return ""
    return next((name for name in given.names if name in sources), "")


def _reseeds(call: Call, groups: Sequence[Reseed]) -> bool:
    """Seeding without a value. Restoring a state, or seeding within one call, is something else."""
    for group in groups:
        if named(call.name, group["names"]):
            if "keywords" not in group:
                return True
            return not call.arguments or all(_is_none(a) for a in call.arguments)
    return False


def _is_none(given: Argument) -> bool:
    return given.is_literal and given.literal is None


def _generator(
    rule: Rule, groups: Sequence[Generator], context: FileContext, timeline: Timeline, event: Event
) -> Iterator[Finding]:
    """A generator of its own that nobody seeds."""
    call = event.call
    for group in groups:
        if not named(call.name, group["names"]) or hidden_arguments(call):
            continue
        if "seeded_by" in group and _seeded_later(call, timeline, group["seeded_by"]):
            continue
        if "keywords" in group and any(not _is_none(a) for a in call.arguments):
            continue
        if event.at_import and not _drawn_from(call, timeline):
            continue
        if event.function is not None and any(GIVEN.search(p) for p in event.function.parameters):
            continue
        yield _found(rule, context, event, f"{short(call)}() {group['says']}", "give it a seed")


def _seeded_later(call: Call, timeline: Timeline, methods: list[str]) -> bool:
    """Whether a generator made here is seeded by one of its methods, as far as the file shows."""
    facts = timeline.files.get(call.place.path)
    if facts is None:
        return True
    for other in facts.calls:
        owner, _, method = other.name.rpartition(".")
        if method in methods and (owner.startswith(call.name) or not owner.startswith(GLOBAL)):
            return True
    return False


def _drawn_from(call: Call, timeline: Timeline) -> bool:
    """Whether the program draws from a generator that a module makes when it is imported."""
    return any(name.startswith(f"{call.name}().") for name in timeline.by_name)


def _keys(rule: Rule, keys: Keys, context: FileContext, timeline: Timeline) -> Iterator[Finding]:
    """A JAX key that serves two draws."""
    makers, splitters, draws = names_of(keys["makers"]), names_of(keys["splitters"]), names_of(keys["draws"])
    for facts in timeline.files.values():
        used: dict[tuple[str, str, str], Call] = {}
        split = {a.text for c in facts.calls if splitters(c.name) for a in c.arguments[:1]}
        for call in facts.calls:
            if makers(call.name) or splitters(call.name):
                continue
            if not draws(call.name) or not call.arguments:
                continue
            given = argument(call, "key", 0)
            if given is None or given.text in split or not _is_key(given, makers):
                continue
            key = (call.scope.name, given.text, given.names[0])
            first = used.setdefault(key, call)
            if (
                first is not call
                and not exclusive(first.branch, call.branch)
                and not _made_between(first, call, facts.calls, makers)
            ):
                message = f"the key {given.text} was used before: both draws give the same numbers"
                related = (Related(first.place, "first use of the key"),)
                yield finding(
                    rule, call.place, message, help="jax.random.split the key before each use", related=related
                )
                del used[key]
                break


def _is_key(given: Argument, makers: Named) -> bool:
    return len(given.names) == 1 and given.names[0].endswith("()") and makers(given.names[0][:-2])


def _made_between(first: Call, second: Call, calls: list[Call], makers: Named) -> bool:
    """Whether another key was made between two uses, perhaps under the same name."""
    return any(first.order < c.order < second.order and makers(c.name) for c in calls)
