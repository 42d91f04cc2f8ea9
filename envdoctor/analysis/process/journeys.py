"""What became of each value that somebody wrote: the ranks it reached, and the edges at which it was lost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from envdoctor.analysis.process.interpreter.slots import Alternative, Loss, ValueOrigin, excludes
from envdoctor.analysis.process.results import RankStart
from envdoctor.core.records import dataclass, field


@dataclass(slots=True)
class Journey:
    """One origin: the value it gave, the starts that see it, and those that do not, each with the edge that lost it."""

    origin: ValueOrigin
    value: Alternative
    reached: list[RankStart] = field(default_factory=list)
    lost: list[tuple[RankStart, Loss]] = field(default_factory=list)

    @property
    def name(self) -> str:
        """The variable."""
        return self.origin.name


def journeys(starts: Sequence[RankStart]) -> list[Journey]:
    """The journeys of all origins, in the order in which they were first met."""
    found: dict[tuple[object, ...], Journey] = {}
    for start in starts:
        for name in start.visible:
            for alternative in start.slot(name):
                if alternative.arrives:
                    for origin in alternative.origins:
                        _of(found, origin, alternative).reached.append(start)
        for alternative, loss in _lost_at(start):
            for origin in alternative.origins[:1]:
                journey = _of(found, origin, alternative)
                if not any(one.number == start.number for one, _ in journey.lost):
                    journey.lost.append((start, loss))
    return list(found.values())


def _of(found: dict[tuple[object, ...], Journey], origin: ValueOrigin, value: Alternative) -> Journey:
    if origin.key not in found:
        found[origin.key] = Journey(origin, value)
    return found[origin.key]


def _lost_at(start: RankStart) -> Iterator[tuple[Alternative, Loss]]:
    """What is lost at a start for sure: nothing of the name arrives from elsewhere."""
    for name, pairs in start.lost.items():
        slot = start.slot(name)
        if any(a.arrives and (a.kind != "literal" or a.text) for a in slot):
            continue
        for alternative, loss in pairs:
            if not excludes(alternative.guard, start.guard):
                yield alternative, loss
