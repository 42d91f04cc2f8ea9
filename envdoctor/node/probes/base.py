"""What a probe gets, and where it puts what it finds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from threading import Thread
from typing import Literal

from envdoctor.core.facts import Component, Observation, Place, Problem, Setting
from envdoctor.core.records import replace
from envdoctor.node.probes.files import NodeFiles
from envdoctor.node.probes.keys import Scalar, fits
from envdoctor.node.probes.libraries.library import LibraryFile, library_file
from envdoctor.node.probes.runner import CommandResult, CommandRunner

Status = Literal["ok", "absent", "failed", "skipped"]
Depth = Literal["files", "torch"]


class Absent(Exception):  # noqa: N818  (not an error: there is no such thing on this node)
    """What a probe looks for is not on this node; the message says what."""


class ProbeFailed(Exception):  # noqa: N818
    """A probe could not do its work; the message says why."""


@dataclass(frozen=True, slots=True)
class ProbeStatus:
    """How one probe ended. `why` is empty for a plain "ok"; an "ok" with a `why` lacks a part."""

    name: str
    status: Status
    why: str = ""
    seconds: float = 0.0


@dataclass(slots=True)
class Facts:
    """Facts of one probe, or of all of them."""

    node: str = ""
    components: list[Component] = field(default_factory=list)
    observations: list[Observation] = field(default_factory=list)
    settings: list[Setting] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)

    def place(self, path: str, line: int = 1) -> Place:
        """A line of a file of the node, or a command."""
        return Place(path, line, 1, line, 1, node=self.node)

    def observe(self, key: str, value: Scalar, path: str, *, detail: str = "", line: int = 1) -> None:
        """State an observation. The key and the value's type must stand in the table of keys."""
        if not fits(key, value):
            raise ProbeFailed(f"{key} = {value!r} does not fit the table of keys")
        self.observations.append(Observation(key, value, self.place(path, line), detail))

    def observe_known(self, key: str, value: Scalar, path: str, *, detail: str = "") -> None:
        """Like `observe`, where a value of None says "not known" and states nothing."""
        if value is not None:
            self.observe(key, value, path, detail=detail)

    def component(self, name: str, version: str, path: str, detail: str = "") -> None:
        """State a library, driver or device."""
        self.components.append(Component(name, version, self.place(path), detail))

    def problem(self, message: str, path: str) -> None:
        """State that a part could not be read."""
        self.problems.append(Problem(message, self.place(path)))

    def extend(self, other: Facts) -> None:
        """Take over the facts of another collection; settings keep their order and are numbered on."""
        self.components += other.components
        self.observations += other.observations
        self.settings += [replace(s, order=n) for n, s in enumerate(other.settings, len(self.settings))]
        self.problems += other.problems


class Future:
    """A helper that runs in the background."""

    def __init__(self, runner: CommandRunner, argv: Sequence[str], timeout: float) -> None:
        self._answers: list[CommandResult] = []
        self._thread = Thread(target=lambda: self._answers.append(runner.run(argv, timeout)), daemon=True)
        self._thread.start()

    def result(self) -> CommandResult:
        """The answer; the runner's timeout bounds the wait."""
        self._thread.join()
        return self._answers[0]


@dataclass(slots=True)
class NodeView:
    """What a probe sees of a node, and the facts it states."""

    files: NodeFiles
    runner: CommandRunner
    facts: Facts
    process: str = "self"
    """Folder below /proc of the process that is examined."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """All variables of that process. Never recorded as a whole: only `known` names become facts."""
    masks: Sequence[Mapping[str, str]] = ()
    """Variables of every rank, where the process is one of a job: together they say which GPUs are in use."""
    mapped: Sequence[str] = ()
    """Shared libraries that it has mapped, in the order of its memory map."""
    site_packages: Sequence[str] = ()
    """site-packages folders, the one of the examined process first."""
    known: Callable[[str], bool] = str.isidentifier
    """Whether a variable may be recorded."""
    recorded_libraries: Mapping[str, LibraryFile] = field(default_factory=dict)
    """What a recording keeps of libraries whose files it does not hold."""
    started: dict[tuple[str, ...], Future] = field(default_factory=dict)

    @property
    def proc(self) -> str:
        """Folder of the examined process."""
        return f"/proc/{self.process}"

    def library(self, path: str) -> LibraryFile:
        """What a collectives library says of itself: from its file, or as a recording keeps it."""
        return self.recorded_libraries.get(path) or library_file(self.files.real(path), shown=path)

    def start(self, *commands: Sequence[str], timeout: float = 2.0) -> None:
        """Start helpers side by side; `run` with the same words then waits for the answer."""
        for argv in commands:
            self.started[tuple(argv)] = Future(self.runner, argv, timeout)

    def run(self, *argv: str, timeout: float = 2.0) -> CommandResult:
        """Run an optional helper, or wait for one that was started."""
        future = self.started.pop(argv, None)
        return future.result() if future else self.runner.run(argv, timeout)

    def finish(self) -> None:
        """Wait for helpers that nobody asked for, so that none is left behind."""
        while self.started:
            self.started.popitem()[1].result()


def same(values: Sequence[str | None]) -> str | None:
    """The one value that all have; "mixed" where they differ; None where nothing is known."""
    distinct = {value for value in values if value is not None}
    return distinct.pop() if len(distinct) == 1 else "mixed" if distinct else None


def command(result: CommandResult) -> str:
    """How a command is named as the place of a fact."""
    return " ".join(result.argv)
