"""Whether a program trains, and whether it asks for determinism: by its calls, its environment, or by seeds alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from envdoctor.analysis.python.timeline import Event, Timeline
from envdoctor.checks.python.patterns import PatternTable, any_named, events_named, names_of
from envdoctor.core.facts import Call, Place, Setting
from envdoctor.core.records import dataclass, field
from envdoctor.knowledge.apis import load_apis
from envdoctor.knowledge.intent import asking


@dataclass(slots=True)
class Intent:
    """What shows that determinism is asked for, by more than seeds."""

    events: list[Event] = field(default_factory=list)
    settings: list[Setting] = field(default_factory=list)
    switches: set[str] = field(default_factory=set)
    workspace: bool = False

    @property
    def full(self) -> bool:
        """Whether determinism is asked for by more than seeds."""
        return bool(self.events or self.settings)

    @property
    def place(self) -> Place | None:
        """Where it is asked for first."""
        places = [*(s.call.place for s in self.events), *(s.place for s in self.settings)]
        return places[0] if places else None


class Intents:
    """What programs ask for, and whether they train anything: found once for each program."""

    def __init__(self) -> None:
        self._trains: dict[Timeline, bool] = {}
        self._intents: dict[Timeline, Intent] = {}

    def trains(self, timeline: Timeline) -> bool:
        """Whether a program trains something."""
        if timeline not in self._trains:
            self._trains[timeline] = trains(timeline)
        return self._trains[timeline]

    def of(self, timeline: Timeline) -> Intent:
        """What shows that a program asks for determinism."""
        if timeline not in self._intents:
            self._intents[timeline] = timeline_intent(timeline)
        return self._intents[timeline]

    def asked_for(self, timeline: Timeline, level: str) -> str:
        """What a program asks for: `determinism`, `seeds`, or nothing."""
        if level in LEVELS:
            return "determinism" if self.trains(timeline) else ""
        if level == "hygiene":
            return ""
        if self.of(timeline).full:
            return "determinism"
        return "seeds" if self.trains(timeline) and seeded(timeline) else ""


def trains(timeline: Timeline) -> bool:
    """Whether a program trains something, by its calls."""
    apis = load_apis()
    names = {
        name for name, events in timeline.by_name.items() if any(s.call.kind == "call" and s.likely for s in events)
    }
    training, aside = names_of(apis["training"]), names_of(apis["not_training"])
    if any(training(name) and not aside(name) for name in names):
        return True
    if any_named(names, apis["fitting"]) and any(
        _prepares(s.call, apis) for s in events_named(timeline, apis["compiling"])
    ):
        return True
    return any_named(names, apis["loading"]) and any(not s.local for s in events_named(timeline, SEEDS))


def _prepares(call: Call, apis: Mapping[str, Any]) -> bool:
    """Whether a call prepares a model for training, by the keywords that only such a call has."""
    return any(a.keyword in apis["compiling_keywords"] for a in call.arguments)


LEVELS = ("run-to-run", "placement", "topology")
"""Levels that ask for determinism by themselves."""


def seeded(timeline: Timeline) -> bool:
    """Whether a program seeds torch whatever its arguments are."""
    names = load_apis()["seeding"]
    return any(
        not any(b.arm.startswith(("if", "elif", "else")) for b in s.conditions) for s in events_named(timeline, names)
    )


SEEDS = ("torch.manual_seed", "torch.use_deterministic_algorithms", "*.seed_everything", "numpy.random.seed")


@lru_cache(maxsize=1)
def _table() -> PatternTable[Mapping[str, Any]]:
    return PatternTable(load_apis()["intent"])


def call_intent(call: Call) -> Mapping[str, Any] | None:
    """The entry of the table of intent that a call is, if it is one."""
    found = _table().of(call)
    return found[0][1] if found else None


def timeline_intent(timeline: Timeline) -> Intent:
    """What shows that a program asks for determinism, by its calls and the settings of its files."""
    found = Intent()
    for event in timeline.chosen(_table().knows):
        data = call_intent(event.call)
        if data is not None and not _withdrawn(event, timeline.events):
            found.events.append(event)
            found.workspace |= data.get("workspace", False)
            if "switch" in data:
                found.switches.add(data["switch"])
    for facts in timeline.files.values():
        found.settings += asking(facts.settings)
    return found


def _withdrawn(event: Event, events: Iterable[Event]) -> bool:
    """The same attribute is given another value later on."""
    if event.call.kind != "assign":
        return False
    return any(
        other.index > event.index
        and other.call.name == event.call.name
        and other.call.arguments != event.call.arguments
        and other.call.arguments[0].is_literal
        and not other.conditions
        for other in events
    )
