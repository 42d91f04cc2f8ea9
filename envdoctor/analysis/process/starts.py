"""The door to the process model: what a launch unit starts, with which arguments, in which environment, how many.

Behind it stand the launch units of today (`build`, `environment`); who asks here does not have to know them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from envdoctor.analysis.process import environment
from envdoctor.analysis.process.environment import Binding
from envdoctor.analysis.process.model import Command, Unit
from envdoctor.core.facts import FileFacts, Launch, Setting
from envdoctor.knowledge.launchers import Launchers


class Start(NamedTuple):
    """One process, or several of one kind, that command `number` of a unit starts."""

    unit: Unit
    number: int

    @property
    def command(self) -> Command:
        """The command that starts it."""
        return self.unit.commands[self.number]

    @property
    def path(self) -> str:
        """The file of the tree that runs; empty where it is not there or not known."""
        return self.unit.started.get(self.number, "")

    @property
    def facts(self) -> FileFacts | None:
        """The facts of that file, where it holds anything that matters."""
        return self.unit.entries.get(self.number)

    @property
    def program(self) -> str:
        """How the program is written: `train.py`, or `-m pkg.train` for a module."""
        return " ".join(self.command.launch.inner[: self._head])

    @property
    def arguments(self) -> tuple[str, ...]:
        """What the program is given."""
        return tuple(self.command.launch.inner[self._head :])

    @property
    def _head(self) -> int:
        """How many words name the program."""
        return 2 if self.command.launch.inner[:1] == ("-m",) else 1

    def environment(self) -> dict[str, Binding]:
        """The variables that may be set where it starts, exported or not, without what the command itself gives."""
        there = self.unit.steps[self.command.at]
        return environment.at(self.unit.steps, self.command.at, there.scope, there.branch)

    def given(self) -> dict[str, Setting]:
        """What the command and those that carry it give by their own words; names that they hand on are not in it."""
        carriers = {id(one) for one in self.chain()}
        commands = self.unit.commands[: self.number + 1]
        given = [setting for one in commands if id(one.launch) in carriers for setting in one.given]
        return {setting.name: setting for setting in given if setting.op != "pass"}

    def chain(self) -> tuple[Launch, ...]:
        """The launchers that lead to it, outermost first."""
        return (*self.command.around, self.command.launch)

    def sizes(self, launchers: Launchers) -> dict[str, str]:
        """How many there are, as far as words tell: flag with its launcher -> value."""
        return {
            f"{one.launcher} {flag}": value
            for one in self.chain()
            for flag, value in options(own_words(one)).items()
            if flag in launchers.sizes_of(one.launcher)
        }


def starts(unit: Unit) -> Iterator[Start]:
    """Everything that a unit starts, in order."""
    return (Start(unit, number) for number in range(len(unit.commands)))


def runs(unit: Unit, path: str) -> bool:
    """Whether a unit starts a file."""
    return any(entry.path == path for entry in unit.entries.values())


def own_words(one: Launch) -> Sequence[str]:
    """The words of a launcher without the command that it runs."""
    end = len(one.words) - len(one.inner)
    return one.words[1:end] if one.inner and one.words[end:] == one.inner else one.words[1:]


def options(words: Sequence[str]) -> Mapping[str, str]:
    """Flag -> value, as far as words tell without knowing the program; other words by their position."""
    found: dict[str, str] = {}
    operands = 0
    at = 0
    while at < len(words):
        word = words[at]
        at += 1
        if not word.startswith("-") or word in ("-", "--"):
            operands += 1
            found[f"word {operands}"] = word
            continue
        flag, equals, value = word.partition("=")
        if not equals and at < len(words) and not words[at].startswith("-"):
            value = words[at]
            at += 1
        flag = flag.replace("_", "-")
        found[flag] = f"{found[flag]} {value}" if flag in found else value
    return found
