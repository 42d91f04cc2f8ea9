"""Whether a program trains, and whether it asks for determinism: by its calls, its environment, or by seeds alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Any

from envdoctor.analysis.python.entries import Program, Step
from envdoctor.checks.python.patterns import Table, any_named, named, steps_named
from envdoctor.core.facts import Call, Place, Setting
from envdoctor.core.records import dataclass, field
from envdoctor.knowledge.apis import load_apis


@dataclass(slots=True)
class Wishes:
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
    if wishes(program).full:
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
def _table() -> Table[Mapping[str, Any]]:
    return Table(load_apis()["wish"])


def wish_of(call: Call) -> Mapping[str, Any] | None:
    """The entry of the table of wishes that a call is, if it is one."""
    found = _table().of(call)
    return found[0][1] if found else None


def shows_wish(setting: Setting) -> bool:
    """Whether a setting of the environment asks for determinism."""
    if setting.guarded or setting.op not in ("set", "default"):
        return False
    value = setting.value.known
    for data in load_apis()["wish_environment"]:
        if not fnmatchcase(setting.name, data["name"]) or setting.name in data.get("except", ()):
            continue
        if "values" in data and value not in data["values"]:
            continue
        if "contains" in data and not any(part in (value or "") for part in data["contains"]):
            continue
        if value not in data.get("not_values", ()):
            return True
    return False


def wishes(program: Program) -> Wishes:
    """What a program asks for."""
    key = "wishes"
    if key not in program.memory:
        program.memory[key] = _wishes(program)
    found = program.memory[key]
    assert isinstance(found, Wishes)
    return found


def _wishes(program: Program) -> Wishes:
    found = Wishes()
    for step in program.chosen(_table().knows):
        data = wish_of(step.call)
        if data is not None and not _withdrawn(step, program.steps):
            found.steps.append(step)
            found.workspace |= data.get("workspace", False)
            if "switch" in data:
                found.switches.add(data["switch"])
    for facts in program.files.values():
        found.settings += [s for s in facts.settings if shows_wish(s)]
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


def launch_settings(settings: Iterable[Setting]) -> Iterator[Setting]:
    """The settings of a launching file that ask for determinism."""
    return (s for s in settings if shows_wish(s))
