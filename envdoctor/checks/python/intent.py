"""Whether a program trains, and whether it asks for determinism: by its calls, its environment, or by seeds alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from envdoctor.analysis.python.entries import Program, Step
from envdoctor.checks.python.patterns import Table, any_named, named, steps_named
from envdoctor.core.facts import Call, Place, Setting
from envdoctor.core.records import dataclass, field
from envdoctor.knowledge.apis import load_apis
from envdoctor.knowledge.intent import asking


@dataclass(slots=True)
class Intent:
    """What shows that determinism is asked for, by more than seeds."""

    steps: list[Step] = field(default_factory=list)
    settings: list[Setting] = field(default_factory=list)
    switches: set[str] = field(default_factory=set)
    workspace: bool = False

    @property
    def full(self) -> bool:
        """Whether determinism is asked for by more than seeds."""
        return bool(self.steps or self.settings)

    @property
    def place(self) -> Place | None:
        """Where it is asked for first."""
        places = [*(s.call.place for s in self.steps), *(s.place for s in self.settings)]
        return places[0] if places else None


def trains(program: Program) -> bool:
    """Whether a program trains something."""
    if "trains" not in program.memory:
        program.memory["trains"] = _trains(program)
    return bool(program.memory["trains"])


def _trains(program: Program) -> bool:
    apis = load_apis()
    names = {
        name for name, steps in program.by_name().items() if any(s.call.kind == "call" and s.likely for s in steps)
    }
    if any(named(n, apis["training"]) and not named(n, apis["not_training"]) for n in names):
        return True
    if any_named(names, apis["fitting"]) and any(
        _prepares(s.call, apis) for s in steps_named(program, apis["compiling"])
    ):
        return True
    return any_named(names, apis["loading"]) and any(not s.local for s in steps_named(program, SEEDS))


def _prepares(call: Call, apis: Mapping[str, Any]) -> bool:
    """Whether a call prepares a model for training, by the keywords that only such a call has."""
    return any(a.keyword in apis["compiling_keywords"] for a in call.arguments)


LEVELS = ("run-to-run", "placement", "topology")
"""Levels that ask for determinism by themselves."""


def asked_for(program: Program, level: str) -> str:
    """What a program asks for: `determinism`, `seeds`, or nothing."""
    if level in LEVELS:
        return "determinism" if trains(program) else ""
    if level == "hygiene":
        return ""
    if program_intent(program).full:
        return "determinism"
    return "seeds" if trains(program) and seeded(program) else ""


def seeded(program: Program) -> bool:
    """Whether a program seeds torch whatever its arguments are."""
    names = load_apis()["seeding"]
    return any(
        not any(b.arm.startswith(("if", "elif", "else")) for b in s.conditions) for s in steps_named(program, names)
    )


SEEDS = ("torch.manual_seed", "torch.use_deterministic_algorithms", "*.seed_everything", "numpy.random.seed")


@lru_cache(maxsize=1)
def _table() -> Table:
    return Table(load_apis()["intent"])


def call_intent(call: Call) -> Mapping[str, Any] | None:
    """The entry of the table of intent that a call is, if it is one."""
    found = _table().of(call)
    return found[0][1] if found else None


def program_intent(program: Program) -> Intent:
    """What shows that a program asks for determinism."""
    key = "intent"
    if key not in program.memory:
        program.memory[key] = _program_intent(program)
    found = program.memory[key]
    assert isinstance(found, Intent)
    return found


def _program_intent(program: Program) -> Intent:
    found = Intent()
    for step in program.chosen(_table().knows):
        data = call_intent(step.call)
        if data is not None and not _withdrawn(step, program.steps):
            found.steps.append(step)
            found.workspace |= data.get("workspace", False)
            if "switch" in data:
                found.switches.add(data["switch"])
    for facts in program.files.values():
        found.settings += asking(facts.settings)
    return found


def _withdrawn(step: Step, steps: Iterable[Step]) -> bool:
    """The same attribute is given another value later on."""
    if step.call.kind != "assign":
        return False
    return any(
        other.index > step.index
        and other.call.name == step.call.name
        and other.call.arguments != step.call.arguments
        and other.call.arguments[0].is_literal
        and not other.conditions
        for other in steps
    )
