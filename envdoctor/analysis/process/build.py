"""Makes launch units of the files that were read: what is sourced comes in place, commands find what they start."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from envdoctor.analysis.process.model import Command, Fact, Step, Unit
from envdoctor.analysis.process.program import needles, programs_of
from envdoctor.analysis.project import Project
from envdoctor.analysis.references.graph import References
from envdoctor.analysis.references.paths import folder
from envdoctor.core.facts import Branch, FileFacts, Inclusion, Launch, Place, Scope, Setting, Use
from envdoctor.core.records import dataclass, field, replace
from envdoctor.core.regexes import regex
from envdoctor.knowledge.launchers import Launchers, load_launchers
from envdoctor.project.files import is_test
from envdoctor.readers.kinds import PYTHON, kind_of

if TYPE_CHECKING:
    from envdoctor.knowledge.catalog.model import Variable

MOST_STEPS = 20_000
"""Steps of one unit that are looked at: generated scripts of any length must end."""
MOST_INCLUDED = 300_000
"""Steps of sourced files over all units: thousands of scripts may source one file."""
DEEPEST = 8
MOST_COMMANDS = 2_000
MOST_MODULES = 30
"""Modules of the project that one program is followed into."""
_ALLEXPORT = regex(r"^[ \t]*set\s+(?:(?P<on>-\w*a\w*|-o\s+allexport)|(?P<off>\+\w*a\w*|\+o\s+allexport))", re.M)
_HEAD = regex(r"(?:[ \t]*(?:#[^\n]*)?\n)*")
_DIRECTIVE = regex(r"^#(SBATCH|PBS|BSUB)[ \t]+([^\n]*)", re.M)
_SYSTEMS = {"SBATCH": "slurm", "PBS": "pbs", "BSUB": "lsf"}
_NODE = regex(r"--(?:node|machine)[_-]rank")
_HOST = regex(r"^[ \t]*[^#\s]", re.M)
_NAMED = regex(r"^[ \t]*(?:export[ \t]+)?([A-Za-z_]\w*)=", re.M)
_PYTHON_LAUNCHERS = ("python", "torchrun", "deepspeed", "deepspeed.pt", "accelerate launch", "accelerate-launch")


@dataclass(slots=True)
class UnitBuilder:
    """Builds the units of one scan. Files of the project that a unit needs are read as context."""

    project: Project
    left: int = MOST_INCLUDED
    wanted: Callable[[str], Variable | None] | None = None
    launchers: Launchers = field(default_factory=load_launchers)

    def units(self, read: Sequence[FileFacts]) -> list[Unit]:
        """One unit for each file that sets or launches something, and for each that sources one that sets something."""
        mine = {facts.path: facts for facts in read if facts.settings or facts.launches or facts.calls}
        guard = self.project.internal.guard
        with guard(self.project.files.name, "looking for scripts that belong together"):
            sourced = [facts.path for facts in mine.values() if self._is_sourced(facts)]
            for facts in self.references.sourcing(sourced) if sourced else ():
                mine.setdefault(facts.path, facts)
            for facts in self._beside_nodes(mine):
                mine.setdefault(facts.path, facts)
        built = []
        for facts in mine.values():
            with guard(facts.path, "following its launches"):
                built.append(self.unit(facts))
        return built

    def _beside_nodes(self, mine: Mapping[str, FileFacts]) -> list[FileFacts]:
        """Scripts for other nodes in the folders of scripts that start one node of several."""
        nodes = [facts for facts in mine.values() if facts.kind == "shell" and _starts_a_node(facts)]
        folders = {folder(facts.path) for facts in nodes}
        found = []
        for path in self.project.files.paths() if folders else ():
            shell = folder(path) in folders and kind_of(path) == "shell" and path not in mine
            if shell and _NODE.search(self.project.files.text(path)):
                found.append(self.project.facts.whole(path))
        return [facts for facts in found if facts is not None]

    @property
    def references(self) -> References:
        """What refers to what in the project."""
        return self.project.references

    def unit(self, facts: FileFacts) -> Unit:
        """The unit of one file."""
        unit = Unit(facts.path, facts, self.project.files.text(facts.path))
        unit.steps = list(self._steps(facts, unit, Scope(), (), ()))[: MOST_STEPS + 1]
        unit.truncated = len(unit.steps) > MOST_STEPS
        unit.commands = commands_of(unit.steps)
        unit.batch = batch_words(unit.text)
        known = self._known(unit)
        for index, command in enumerate(unit.commands):
            path = self._started(command.launch, known)
            if path is not None:
                unit.started[index] = path
                if (entry := self.project.facts.read(path)) is not None:
                    unit.entries[index] = entry
        self._beside(unit, known)
        if facts.kind in PYTHON:
            unit.programs = self._programs(facts)
        return unit

    def _programs(self, facts: FileFacts) -> list[list[Step]]:
        """What a program does, where it writes into its environment; modules are followed as far as that can matter."""
        written = [s.name for s in facts.settings if s.channel == "python-environ" and not s.guarded]
        if not written:
            return []
        if self.wanted is None:
            return programs_of(facts, self._imported, self.project.files.text)
        found = [variable for name in dict.fromkeys(written) if (variable := self.wanted(name)) is not None]
        words = needles(variable.read_at for variable in found) if not is_test(facts.path) else ()
        seen: set[str] = set()

        def followed(target: str, path: str) -> FileFacts | None:
            module = self._imported(target, path, words) if len(seen) < MOST_MODULES else None
            seen.update([module.path] if module is not None else [])
            return module

        return programs_of(facts, followed, self.project.files.text) if found else []

    def _is_sourced(self, facts: FileFacts) -> bool:
        """A shell file that launches nothing and sets something that matters: for the scripts that source it."""
        return facts.kind == "shell" and not facts.launches and any(
            s.channel == "shell" and s.op in ("set", "default", "append", "export")
            and (self.wanted is None or self.wanted(s.name))
            for s in facts.settings
        )  # fmt: skip

    def _steps(
        self, facts: FileFacts, unit: Unit, scope: Scope, branch: tuple[Branch, ...], through: tuple[Inclusion, ...]
    ) -> Iterator[Step]:
        """The facts of a file in order, with those of sourced files at the `source` command."""
        known = _values(facts)
        ordered = in_order(facts)
        inherited = through and _allexport(self.project.files.text(through[-1].place.path), through[-1].place.line)
        for at, fact in enumerate(ordered):
            if isinstance(fact, Setting) and inherited and fact.exported != "yes" and fact.channel != "argument":
                fact = replace(fact, exported="yes")
            own = getattr(fact, "scope", Scope())
            where = scope if own == Scope() else own
            yield Step(fact, facts.path, where, branch + getattr(fact, "branch", ()), through)
            if isinstance(fact, Inclusion) and fact.kind in ("source", "env-file"):
                if fact.kind == "env-file" and _is_argument(fact, ordered[at + 1 : at + 50]):
                    fact = replace(fact, scope=Scope("command", "env-file"))
                yield from self._included(fact, facts, unit, known, branch, through)

    def _included(
        self, fact: Inclusion, facts: FileFacts, unit: Unit, known: Mapping[str, str | None],
        branch: tuple[Branch, ...], through: tuple[Inclusion, ...],
    ) -> Iterator[Step]:  # fmt: skip
        path = self.references.find(fact.target, folder(facts.path), known)
        if path is None or len(through) >= DEEPEST or self.left <= 0:
            unit.unresolved.append(fact)
            return
        if path == unit.path or any(i.place.path == path for i in through) or path == facts.path:
            return
        inner = self.project.facts.read(path)
        if inner is None:
            return
        for step in self._steps(inner, unit, fact.scope, branch + fact.branch, (*through, fact)):
            self.left -= 1
            if self.left <= 0:
                return
            yield step

    def _known(self, unit: Unit) -> dict[str, str | None]:
        known: dict[str, str | None] = {}
        for setting in unit.settings():
            _note(known, setting)
        return known

    def _started(self, launch: Launch, known: Mapping[str, str | None]) -> str | None:
        """The file that a command runs, where it is in the tree."""
        home = folder(launch.place.path)
        words = launch.inner
        if launch.launcher in _PYTHON_LAUNCHERS and words[:1] == ("-m",) and len(words) > 1:
            return self.references.program(words[1], launch.place.path)
        if not words or (launch.launcher not in _PYTHON_LAUNCHERS and not _is_script(launch, words[0])):
            return None
        return self.references.find(words[0], home, known)

    def _beside(self, unit: Unit, known: Mapping[str, str | None]) -> None:
        """Files that the launchers of a unit look at themselves: lists of hosts, and lists of variables."""
        home = folder(unit.path)
        for command in unit.commands:
            for delivery in self.launchers.deliveries_of(command.launch.launcher):
                for word in _values_of(command.launch.words, delivery.hosts_file):
                    path = self.references.find(word, home, known)
                    if path is not None:
                        unit.host_files[word] = len(_HOST.findall(self.project.files.text(path)))
                for name in delivery.files:
                    if name not in unit.env_files:
                        unit.env_files[name] = self._names_in(name, home)

    def _names_in(self, name: str, home: str) -> frozenset[str]:
        places = dict.fromkeys(
            posixpath.normpath(posixpath.join(at, name)) for at in (home, self.project.files.prefix())
        )
        return frozenset(
            m for path in places if self.references.has(path) for m in _NAMED.findall(self.project.files.text(path))
        )

    def _imported(self, target: str, path: str, words: Sequence[str] = ("",)) -> FileFacts | None:
        """The facts of a module of the project that a file imports, if it holds one of some words."""
        found = self.references.module(target, path)
        if found is None or not any(word in self.project.files.text(found) for word in words):
            return None
        return self.project.facts.whole(found)


def build(
    project: Project, read: Sequence[FileFacts], wanted: Callable[[str], Variable | None] | None = None
) -> list[Unit]:
    """The launch units of the files that were read; `wanted` knows the variables that matter (None: all do)."""
    return UnitBuilder(project, wanted=wanted).units(read)


def _starts_a_node(facts: FileFacts) -> bool:
    return any(_NODE.search(word) for launch in facts.launches for word in launch.words)


def _values_of(words: Sequence[str], flags: Iterable[str]) -> Iterator[str]:
    """The values that some flags have among the words of a command."""
    wanted = frozenset(flags)
    for at, word in enumerate(words):
        flag, equals, value = word.partition("=")
        if flag in wanted and (equals or at + 1 < len(words)):
            yield value if equals else words[at + 1]


def _is_script(launch: Launch, word: str) -> bool:
    return launch.launcher in ("bash", "sh", "zsh", "ksh", "dash", "sbatch", "qsub") or word.endswith((".sh", ".bash"))


def in_order(facts: FileFacts) -> list[Fact]:
    """All facts of a file in the order in which they stand."""
    every: list[Fact] = [*facts.settings, *facts.uses, *facts.launches, *facts.inclusions, *facts.calls]
    every.sort(key=lambda fact: fact.order)
    return every


def _is_argument(inclusion: Inclusion, behind: Sequence[Fact]) -> bool:
    """Whether an env file is read for one launch alone: `docker run --env-file x`."""
    launch = next((fact for fact in behind if isinstance(fact, Launch)), None)
    return launch is not None and within(inclusion.place, launch.place)


def _values(facts: FileFacts) -> dict[str, str | None]:
    """The text of each variable that a file sets once; None for those it sets in several ways."""
    known: dict[str, str | None] = {}
    for setting in facts.settings:
        _note(known, setting)
    return known


def _note(known: dict[str, str | None], setting: Setting) -> None:
    here = setting.channel == "shell" and setting.scope.kind in ("process", "function")
    if here and setting.op in ("set", "default"):
        same = setting.name not in known or known[setting.name] == setting.value.text
        known[setting.name] = setting.value.text if same else None


def _allexport(text: str, line: int) -> bool:
    """Whether `set -a` is on at a line of a script."""
    on = False
    for match in _ALLEXPORT.finditer(text):
        if text.count("\n", 0, match.start()) + 1 >= line:
            break
        on = match["on"] is not None
    return on


def batch_words(text: str) -> dict[str, tuple[str, ...]]:
    """The words of the batch directives in the head of a script, by system: `{"slurm": ("--nodes=2", ...)}`."""
    found: dict[str, tuple[str, ...]] = {}
    if "#SBATCH" not in text and "#PBS" not in text and "#BSUB" not in text:
        return found
    head = _HEAD.match(text)
    for match in _DIRECTIVE.finditer(text, 0, head.end() if head else 0):
        system = _SYSTEMS[match[1]]
        found[system] = (*found.get(system, ()), *match[2].split(" #", 1)[0].split())
    return found


def commands_of(steps: Sequence[Step]) -> list[Command]:
    """The launches among the steps, each with what carries it and what it carries."""
    found: list[Command] = []
    around: list[Command] = []
    for at, step in enumerate(steps):
        if not isinstance(step.fact, Launch) or len(found) >= MOST_COMMANDS:
            continue
        while around and not _carries(around[-1], at, step):
            around.pop()
        outer = tuple(command.launch for command in around)
        command = Command(step.fact, at, _end(steps, at), outer, tuple(_given(steps, at)))
        found.append(command)
        around.append(command)
    return found


def _carries(outer: Command, at: int, step: Step) -> bool:
    """Whether a launch is part of what another one runs."""
    launch = step.fact
    assert isinstance(launch, Launch)
    return at < outer.end and (within(launch.place, outer.launch.place) or _is_inner(launch, outer.launch)
                               or in_scope(step.scope.name, carried_scope(outer.launch)))  # fmt: skip


def _is_inner(launch: Launch, outer: Launch) -> bool:
    return bool(launch.words) and outer.inner[: len(launch.words)] == launch.words


def carried_scope(launch: Launch) -> str:
    """The name of the scope of what a launch runs elsewhere."""
    return f"{launch.launcher} {launch.place.line}:{launch.place.column}"


def in_scope(name: str, scope: str) -> bool:
    """Whether a scope is another one or a shell of its own in it."""
    return name == scope or name.startswith(scope + "/")


def within(inner: Place, outer: Place) -> bool:
    """Whether one place lies inside another one of the same file."""
    start, end = (inner.line, inner.column), (inner.end_line, inner.end_column)
    return inner.path == outer.path and (outer.line, outer.column) <= start and end <= (
        outer.end_line, outer.end_column
    )  # fmt: skip


def _end(steps: Sequence[Step], at: int) -> int:
    """The index behind the last step that the launch at `at` carries."""
    launch = steps[at].fact
    assert isinstance(launch, Launch)
    scopes = [carried_scope(launch)]
    end = at + 1
    for index in range(at + 1, len(steps)):
        step = steps[index]
        inner = isinstance(step.fact, Launch) and _is_inner(step.fact, launch)
        if inner or within(step.fact.place, launch.place) or any(in_scope(step.scope.name, s) for s in scopes):
            end = index + 1
            if isinstance(step.fact, Launch) and len(scopes) < DEEPEST:
                scopes.append(carried_scope(step.fact))
        elif step.scope.kind != "command" and not isinstance(step.fact, Use):
            break
    return end


def _given(steps: Sequence[Step], at: int) -> Iterable[Setting]:
    """The assignments in front of a launch and the variables among its arguments."""
    found: list[Setting] = []
    for index in range(at - 1, -1, -1):
        fact = steps[index].fact
        if isinstance(fact, Setting) and steps[index].scope.kind == "command":
            found.append(fact)
        elif not isinstance(fact, (Use, Inclusion)):
            break
    return reversed(found)
