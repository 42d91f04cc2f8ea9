"""The global generators of a program: which of its calls draw from them, and which seed them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

from envdoctor.analysis.python.entries import MAIN, Process, Program, Step
from envdoctor.checks.python.patterns import argument, hidden_arguments, named
from envdoctor.core.facts import Argument, Call
from envdoctor.core.records import dataclass, field
from envdoctor.core.regexes import regex

if TYPE_CHECKING:
    from envdoctor.knowledge.parameters.seeds import ArgumentDraw, Seeds, StreamData

SMALLEST_PORT, PORTS = 1024, 2**16
Effect = Literal["seeds", "partial", "draws", "models"]
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
    draws: list[Step] = field(default_factory=list)
    seeds: list[Step] = field(default_factory=list)
    partial: list[Step] = field(default_factory=list)

    @property
    def name(self) -> str:
        """Its name for people."""
        return str(self.data["name"])

    def seeds_in(self, process: Process) -> list[Step]:
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

    __slots__ = ("_elsewhere", "_known", "_unseen", "parameters")

    def __init__(self, parameters: Seeds) -> None:
        self.parameters = parameters
        self._unseen = re.compile(parameters["seeds_unseen"])
        self._elsewhere = re.compile(parameters["not_drawn_in"])
        self._known: dict[str, Role] = {}

    def of(self, name: str) -> Role:
        """The role of one name."""
        role = self._known.get(name)
        if role is None:
            role = self._known[name] = self._role(name)
        return role

    def matters(self, name: str, program: Program) -> bool:
        """Whether steps of this name may do something to a stream."""
        if self.of(name).any:
            return True
        steps = program.by_name()[name]
        return any(step.bases for step in steps) or any(self._handed_a_seed(step.call) for step in steps)

    def _role(self, name: str) -> Role:
        streams = self.parameters["stream"]
        helped = [s for h in self.parameters["helper"] if named(name, h["names"]) for s in h["streams"]]
        return Role(
            (*helped, *_listed(streams, "seeds", name)),
            _listed(streams, "partial", name),
            _listed(streams, "draws", name),
            _listed(streams, "models", name),
            tuple(data for data in self.parameters["argument_draw"] if named(name, data["names"])),
            self._speaks_of_seeds(name),
        )

    def _speaks_of_seeds(self, name: str) -> bool:
        last = name.rpartition(".")[2]
        return not name.startswith(SEEN_THROUGH) and bool(self._unseen.search(last)) and not last.startswith("get_")

    def sort(self, step: Step, streams: Mapping[str, Stream]) -> None:
        """Note what a step does to the streams."""
        call, role = step.call, self.of(step.call.name)
        for name in (*role.seeds, *(s for base in step.bases for s in self.of(base).seeds)):
            streams[name].seeds.append(step)
        for name in role.partial:
            streams[name].partial.append(step)
        if not step.local and call.kind == "call":
            if step.likely and (role.models or role.draws) and self._for_training(call):
                for name in (*role.models, *role.draws):
                    streams[name].draws.append(step)
            if role.unseen or self._handed_a_seed(call):
                for stream in streams.values():
                    stream.seeds.append(step)
        for data in role.arguments:
            if step.likely and draws_unseeded(call, data):
                streams[data["stream"]].draws.append(step)

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
        if named(call.name, self.parameters["seeds_nothing"]):
            return False
        return any(a.keyword and self._unseen.search(a.keyword) for a in call.arguments)


def _gives_seed(given: Argument) -> bool:
    """Whether a layer, an initializer or an operation is handed a seed of its own."""
    by_name = given.keyword == "seed" and not (given.is_literal and given.literal is None)
    return by_name or ((given.keyword or "").endswith("_initializer") and "seed=" in given.text)


def _listed(streams: Sequence[StreamData], key: Effect, name: str) -> tuple[str, ...]:
    return tuple(s["name"] for s in streams if key in s and named(name, s[key]))


_ROLES: list[Roles] = []


def roles(parameters: Seeds) -> Roles:
    """The roles that a rule gives, made once."""
    if not _ROLES or _ROLES[0].parameters is not parameters:
        _ROLES[:] = [Roles(parameters)]
    return _ROLES[0]


def program_streams(parameters: Seeds, program: Program) -> dict[str, Stream]:
    """The streams of a program, with the steps that draw from them and that seed them."""
    kept = program.memory.get("streams")
    if isinstance(kept, tuple) and kept[0] is parameters:
        streams: dict[str, Stream] = kept[1]
        return streams
    found = {data["name"]: Stream(data) for data in parameters["stream"]}
    sorter = roles(parameters)
    for step in program.chosen(lambda name: sorter.matters(name, program)):
        sorter.sort(step, found)
    program.memory["streams"] = (parameters, found)
    return found


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


def runs_again(step: Step) -> bool:
    """What stands at the top of a file runs again when a spawned process imports it, `__main__` blocks do not."""
    return step.call.scope.kind != "function" and not any(MAIN.search(b.condition) for b in step.call.branch)
