"""The words of launch units: a step on the way, a command in its place, and the unit itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from envdoctor.core.facts import Branch, Call, FileFacts, Inclusion, Launch, Scope, Setting, Use
from envdoctor.core.records import dataclass, field

Fact = Setting | Use | Launch | Inclusion | Call


class Step(NamedTuple):
    """One fact on the way of a unit. What a sourced file does happens in the scope and under the conditions of the
    `source` command; `through` are those commands, outermost first."""

    fact: Fact
    path: str
    scope: Scope
    branch: tuple[Branch, ...]
    through: tuple[Inclusion, ...] = ()


class Command(NamedTuple):
    """One launch on the way. `at` is its index in the steps of the unit.

    `around` are the launches that carry it, outermost first (`srun`, then `docker run`). `given` are the assignments
    in front of it and the variables among its arguments; steps from `at` to `end` (exclusive) are what it carries.
    """

    launch: Launch
    at: int
    end: int
    around: tuple[Launch, ...] = ()
    given: tuple[Setting, ...] = ()


@dataclass(slots=True)
class Unit:
    """One script, manifest or program, with everything that happens on its way.

    `started` gives the file that a command starts (a Python program, a shell script), by the command's index, where it
    is in the tree, and `entries` its facts, where it holds anything that matters. `unresolved` are files it pulls in
    that are not there or whose names are not known. `batch` are the words of the batch system's directives in the head
    of the script. `programs` are, for Python, what runs in which order: the file itself, then functions that others
    call. `host_files` counts the hosts in files of the tree that launches name, `env_files` gives the names in files
    that launchers read by themselves (`.deepspeed_env`). `truncated`: there was more than is looked at.
    """

    path: str
    facts: FileFacts
    text: str = ""
    steps: list[Step] = field(default_factory=list)
    commands: list[Command] = field(default_factory=list)
    started: dict[int, str] = field(default_factory=dict)
    entries: dict[int, FileFacts] = field(default_factory=dict)
    unresolved: list[Inclusion] = field(default_factory=list)
    batch: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    programs: list[list[Step]] = field(default_factory=list)
    host_files: dict[str, int] = field(default_factory=dict)
    env_files: dict[str, frozenset[str]] = field(default_factory=dict)
    truncated: bool = False

    def settings(self) -> list[Setting]:
        """All settings on the way, in order."""
        return [step.fact for step in self.steps if isinstance(step.fact, Setting)]

    def inside(self, command: Command) -> list[Step]:
        """What a command carries: the steps of text that it runs, and of the commands in it."""
        return self.steps[command.at + 1 : command.end]
