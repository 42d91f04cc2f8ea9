"""ED302: a setting that the launcher, the container or the scheduler does not hand on to the ranks.

What each of them hands on stands in `rules/launchers/`; here is only what is said of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from envdoctor.analysis.process.interpreter.slots import Loss
from envdoctor.analysis.process.journeys import Journey
from envdoctor.analysis.process.results import Mistaken, RankStart
from envdoctor.checks.context import LaunchContext
from envdoctor.checks.delivery import drivers as delivery_drivers
from envdoctor.checks.delivery import places as delivery_places
from envdoctor.checks.delivery.common import is_plain, is_used, judged, sets_itself
from envdoctor.checks.findings import finding
from envdoctor.core.facts import Place
from envdoctor.core.findings import Finding, Related
from envdoctor.knowledge.rulebook import Rule

EDGES = ("not-forwarded", "build")


def check(rule: Rule, context: LaunchContext) -> Iterator[Finding]:
    """Values that some launch does not hand on: one finding for each origin."""
    for journey in context.journeys:
        lost = [
            (start, loss) for start, loss in journey.lost
            if loss.kind in EDGES and not start.opaque and not sets_itself(journey.name, start, context)
        ]  # fmt: skip
        if not lost or not is_plain(journey, context):
            continue
        if not is_used(journey.name, [start for start, _ in lost], journey.origin, context):
            yield _finding(rule, journey, lost)
    for mistake in context.mistaken:
        yield from _mistaken(rule, mistake, context)
    yield from delivery_places.faults(rule, context)
    yield from delivery_drivers.faults(rule, context)


def _finding(rule: Rule, journey: Journey, lost: Sequence[tuple[RankStart, Loss]]) -> Finding:
    name = journey.name
    start, loss = lost[0]
    message, related = _words(journey, lost)
    more: dict[str, object] = {"confidence": loss.sure if start.sure else "medium"}
    if all(one.hint for one, _ in lost):
        more = {"severity": "info", "confidence": "low"}
    elif _same_start(journey, lost):
        more["confidence"] = "medium"
    return finding(
        rule, journey.origin.place, message, name, related=related,
        help=loss.remedy.format(name=name) if loss.remedy else rule.fix, evidence=loss.evidence, **more,
    )  # fmt: skip


def _words(journey: Journey, lost: Sequence[tuple[RankStart, Loss]]) -> tuple[str, tuple[Related, ...]]:
    """What is said: lost everywhere, for some callers, or at some launches only."""
    name, loss = journey.name, lost[0][1]
    places = list(dict.fromkeys(loss.place for _, loss in lost))[:5]
    related = [Related(place, "lost here", name) for place in places]
    why = loss.said or loss.what
    message = f"{name} does not reach the ranks: {why}"
    kept = _same_start(journey, lost)
    if kept is not None and lost[0][0].callers:
        caller = lost[0][0].callers[-1]
        message = f"{name} does not reach the ranks when started by {caller.path}:{caller.line}: {why}"
        if kept.callers:
            related.append(Related(kept.callers[-1], "started from here it does", name))
    elif (other := _elsewhere(journey, lost)) is not None:
        message = f"{name} reaches the launch in line {other.line}, not this one: {loss.said or loss.what}"
        related.append(Related(other, "here it arrives", name))
    return message, tuple(related)


def _same_start(journey: Journey, lost: Sequence[tuple[RankStart, Loss]]) -> RankStart | None:
    """The same launch, started by another caller, to which the value comes."""
    places = {start.place for start, _ in lost}
    return next((start for start in journey.reached if start.place in places), None)


def _elsewhere(journey: Journey, lost: Sequence[tuple[RankStart, Loss]]) -> Place | None:
    """Another launch of the same file that the value reaches."""
    places = {start.place for start, _ in lost}
    path = lost[0][0].place.path
    return next((s.place for s in journey.reached if s.place not in places and s.place.path == path), None)


def _mistaken(rule: Rule, mistake: Mistaken, context: LaunchContext) -> Iterator[Finding]:
    """Flags that look as if they passed a variable: `srun -x A=1`, `mpirun -x A,B`, `--container-env=A=1`."""
    launcher, flag, name, value = mistake.launcher, mistake.flag, mistake.name, mistake.value
    if mistake.how == "no-variable":
        if "=" not in value and context.catalog.variable(name) is None:
            return
        message = f"{launcher} {flag} {mistake.says}: {name} does not reach the ranks"
        help_ = f"export {name} before {launcher}, which passes it on"
    elif mistake.how == "several":
        first = value.split(",")[0].split("=")[0]
        effect = (
            f"{first} gets the rest as part of its value, {name} is not passed" if "=" in value else "none is passed"
        )
        message = f"{launcher} {flag} takes one variable at a time: of {value} {effect}"
        help_ = f"one {flag} for each variable"
    else:
        if judged(name, context, mistake.place.path) is None:
            return
        message = f"{launcher} {flag} takes names only: of {value} the ranks do not get the value"
        help_ = f"export {value} before {launcher}, and {flag}={name} where the image sets it too"
    place = mistake.word if mistake.how == "value" else mistake.place
    yield finding(rule, place, message, name, evidence=mistake.evidence, help=help_)
