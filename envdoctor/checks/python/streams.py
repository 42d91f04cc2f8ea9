"""The global generators of a program: which of its calls draw from them, and which seed them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Literal, NamedTuple

from envdoctor.analysis.python.timeline import MAIN, Event, Process, Timeline
from envdoctor.checks.python.patterns import Named, argument, hidden_arguments, names_of
from envdoctor.core.facts import Argument, Call
from envdoctor.core.records import dataclass, field
from envdoctor.core.regexes import regex

if TYPE_CHECKING:
    from envdoctor.knowledge.parameters.seeds import ArgumentDraw, Seeds, StreamData

SMALLEST_PORT, PORTS = 1024, 2**16
Effect = Literal["seeds", "partial", "draws", "models"]
EFFECTS: tuple[Effect, ...] = ("seeds", "partial", "draws", "models")
"""What a call can do to a stream."""
WITHOUT_DATA = regex(r"\bmeta\b|init_empty_weights|FakeTensor|skip_init|no_init_weights")
"""Contexts in which a model is made without numbers."""
SEEN_THROUGH = (
    "random.", "numpy.", "torch.", "tensorflow.", "jax.", "datasets.", "sklearn.", "cupy.", "time.", "os.",
    "hashlib.",
)  # fmt: skip
"""Libraries whose functions that seed are all known."""


@dataclass(slots=True)
class Stream:
    """One global generator of a program: what draws from it and what seeds it, in order.

    `partial` are seeds that reach a part of it only.
    """

    data: StreamData
    draws: list[Event] = field(default_factory=list)
    seeds: list[Event] = field(default_factory=list)
    partial: list[Event] = field(default_factory=list)

    @property
    def name(self) -> str:
        """Its name for people."""
        return str(self.data["name"])

    def seeds_in(self, process: Process) -> list[Event]:
        """The seeds that act in a process: its own, and its parent's where they are inherited or run again."""
        if process.kind not in ("spawn", "remote"):
            return self.seeds
        again = [s for s in self.seeds if s.process.kind == "main" and process.kind == "spawn" and runs_again(s)]
        return [s for s in self.seeds if s.process == process] + again


class Role(NamedTuple):
    """What calls by one name may be: streams that they seed, draw from, or draw from unless they are given a seed."""

    seeds: tuple[str, ...] = ()
    partial: tuple[str, ...] = ()
    draws: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    arguments: tuple[ArgumentDraw, ...] = ()
    unseen: bool = False

    @property
    def any(self) -> bool:
        """Whether calls by this name matter at all."""
        return self != NOTHING


NOTHING = Role()


class Roles:
    """The roles of names, as a rule's parameters give them."""

    def __init__(self, parameters: Seeds) -> None:
        streams = parameters["stream"]
        self._lists = {key: _lists(streams, key) for key in EFFECTS}
        self._helpers = [(names_of(helper["names"]), tuple(helper["streams"])) for helper in parameters["helper"]]
        self._arguments = [(names_of(data["names"]), data) for data in parameters["argument_draw"]]
        self._nothing = names_of(parameters["seeds_nothing"])
        self._unseen = re.compile(parameters["seeds_unseen"])
        self._elsewhere = re.compile(parameters["not_drawn_in"])
        self._known: dict[str, Role] = {}

    def of(self, name: str) -> Role:
        """The role of one name."""
        role = self._known.get(name)
        if role is None:
            role = self._known[name] = self._role(name)
        return role

    def matters(self, name: str, timeline: Timeline) -> bool:
        """Whether events of this name may do something to a stream."""
        if self.of(name).any:
            return True
        events = timeline.by_name[name]
        return any(event.bases for event in events) or any(self._handed_a_seed(event.call) for event in events)

    def _role(self, name: str) -> Role:
        helped = [stream for known, streams in self._helpers if known(name) for stream in streams]
        listed = {key: tuple(s for known, s in lists if known(name)) for key, lists in self._lists.items()}
        return Role(
            (*helped, *listed["seeds"]),
            listed["partial"],
            listed["draws"],
            listed["models"],
            tuple(data for known, data in self._arguments if known(name)),
            self._speaks_of_seeds(name),
        )

    def _speaks_of_seeds(self, name: str) -> bool:
        last = name.rpartition(".")[2]
        return not name.startswith(SEEN_THROUGH) and bool(self._unseen.search(last)) and not last.startswith("get_")

    def sort(self, event: Event, streams: Mapping[str, Stream]) -> None:
        """Note what an event does to the streams."""
        call, role = event.call, self.of(event.call.name)
        for name in (*role.seeds, *(s for base in event.bases for s in self.of(base).seeds)):
            streams[name].seeds.append(event)
        for name in role.partial:
            streams[name].partial.append(event)
        if not event.local and call.kind == "call":
            if event.likely and (role.models or role.draws) and self._for_training(call):
                for name in (*role.models, *role.draws):
                    streams[name].draws.append(event)
            if role.unseen or self._handed_a_seed(call):
                for stream in streams.values():
                    stream.seeds.append(event)
        for data in role.arguments:
            if event.likely and draws_unseeded(call, data):
                streams[data["stream"]].draws.append(event)

    def _for_training(self, call: Call) -> bool:
        """Whether a draw is for the training, and not for a port or a name, and from the global generator."""
        if any(a.keyword in ("generator", "rng") or _gives_seed(a) for a in call.arguments):
            return False
        if any(self._unseen.search(branch.condition) for branch in call.branch):
            return False  # chooses a seed where none was given
        if any(WITHOUT_DATA.search(branch.condition) for branch in call.branch):
            return False
        if self._elsewhere.search(call.scope.name.rpartition(".")[2]):
            return False
        numbers = [a.literal for a in call.arguments if type(a.literal) is int]
        return not (len(numbers) == 2 and min(numbers) >= SMALLEST_PORT and max(numbers) < PORTS)

    def _handed_a_seed(self, call: Call) -> bool:
        """A function outside of the project that is given a seed: what it does with it cannot be told."""
        if call.name[0] in "?.:" or "()" in call.name or call.name.startswith(SEEN_THROUGH):
            return False
        if self._nothing(call.name):
            return False
        return any(a.keyword and self._unseen.search(a.keyword) for a in call.arguments)


def _gives_seed(given: Argument) -> bool:
    """Whether a layer, an initializer or an operation is handed a seed of its own."""
    by_name = given.keyword == "seed" and not (given.is_literal and given.literal is None)
    return by_name or ((given.keyword or "").endswith("_initializer") and "seed=" in given.text)


def _lists(streams: Iterable[StreamData], key: Effect) -> list[tuple[Named, str]]:
    """The names that each stream has under a key, with the name of the stream."""
    return [(names_of(stream[key]), stream["name"]) for stream in streams if key in stream]


class Streams:
    """The streams of programs, as the parameters of a rule describe them: found once for each program."""

    def __init__(self, parameters: Seeds) -> None:
        self.parameters = parameters
        self._roles = Roles(parameters)
        self._found: dict[Timeline, dict[str, Stream]] = {}

    def of(self, timeline: Timeline) -> dict[str, Stream]:
        """The streams of a program by name, with the events that draw from them and that seed them."""
        if timeline not in self._found:
            found = {data["name"]: Stream(data) for data in self.parameters["stream"]}
            for event in timeline.chosen(lambda name: self._roles.matters(name, timeline)):
                self._roles.sort(event, found)
            self._found[timeline] = found
        return self._found[timeline]


def draws_unseeded(call: Call, data: ArgumentDraw) -> bool:
    """Whether a call that takes a seed is given none, and draws at all."""
    given = [argument(call, k, data.get("position") if i == 0 else None) for i, k in enumerate(data["keywords"])]
    if any(a is not None and not (a.is_literal and a.literal is None) for a in given) or hidden_arguments(call):
        return False
    for keyword, value in data.get("unless", {}).items():
        found = argument(call, keyword, None)
        if found is not None and found.literal == value:
            return False
    for keyword, value in data.get("only", {}).items():
        found = argument(call, keyword, None)
        if found is None or found.literal != value:
            return False
    return True


def runs_again(event: Event) -> bool:
    """What stands at the top of a file runs again when a spawned process imports it, `__main__` blocks do not."""
    return event.call.scope.kind != "function" and not any(MAIN.search(b.condition) for b in event.call.branch)
