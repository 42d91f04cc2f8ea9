"""What checks are given."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from envdoctor.core.facts import FileFacts, Observation, Place, Setting
from envdoctor.core.records import dataclass
from envdoctor.core.target import Target

if TYPE_CHECKING:
    from envdoctor.analysis.process.jobs import NodeJobs
    from envdoctor.analysis.process.journeys import Journey
    from envdoctor.analysis.process.results import EndedRoot, LateValue, Mistaken, RankStart, Replaced, Walked
    from envdoctor.analysis.python.program import Step
    from envdoctor.analysis.python.timeline import EntryPoints
    from envdoctor.checks.shared import Shared
    from envdoctor.knowledge.catalog.model import Catalog
    from envdoctor.knowledge.launchers import Launchers


T = TypeVar("T")


def _auto(_: str) -> str:
    return "auto"


def _no_text(_: str) -> str:
    return ""


def _no_steps(_: FileFacts) -> Sequence[Sequence[Step]]:
    return ()


class _WithShared:
    """What every context hands on of what the checks of a scan share."""

    __slots__ = ()
    shared: Shared

    @property
    def catalog(self) -> Catalog:
        """The catalogue that settings are judged by."""
        return self.shared.catalog

    @property
    def entry_points(self) -> EntryPoints | None:
        """The files of the project that start a Python program."""
        return self.shared.entry_points


@dataclass(slots=True)
class FileContext(_WithShared):
    """What a check may look at: one file's facts, the target they are judged against, and what is known.

    `observations` is what is known of a node, `level` what the configuration asks for.
    """

    facts: FileFacts
    target: Target
    shared: Shared
    observations: Sequence[Observation] = ()
    level: str = "auto"


class LaunchProject(NamedTuple):
    """What all checks of launches of one scan share: what the walk told, and the facts of all files.

    `target_of` and `level_of` give the target and the level that a path is judged against, `text_of` the text of a
    file, `steps_of` what a program does in order, where it writes into its environment.
    """

    walked: Walked
    files: Mapping[str, FileFacts]
    shared: Shared
    launchers: Launchers
    target_of: Callable[[str], Target]
    level_of: Callable[[str], str] = _auto
    text_of: Callable[[str], str] = _no_text
    steps_of: Callable[[FileFacts], Sequence[Sequence[Step]]] = _no_steps


class LaunchContexts:
    """The contexts of one scan: what belongs to each file is sorted once."""

    def __init__(self, project: LaunchProject) -> None:
        from envdoctor.analysis.process.journeys import journeys

        self.project = project
        self.settings: dict[tuple[str, int, int, str], Setting] = {}
        for facts in project.files.values():
            for setting in facts.settings:
                place = setting.name_place or setting.place
                self.settings.setdefault((place.path, place.line, place.column, setting.name), setting)
        walked = project.walked
        self.starts = _by_path(walked.starts, lambda start: start.place.path)
        self.journeys = _by_path(journeys(walked.starts), lambda journey: journey.origin.place.path)
        self.replaced = _by_path(walked.replaced, lambda one: one.second.place.path)
        self.mistaken = _by_path(walked.mistaken, lambda one: one.place.path)
        self.late = _by_path(walked.late, lambda late: late.origin.place.path)
        self.ended = _by_path(walked.ended, lambda one: one.root.path)

    @cached_property
    def jobs(self) -> NodeJobs:
        """The jobs of which several nodes are started."""
        from envdoctor.analysis.process.jobs import node_jobs

        project = self.project
        return node_jobs(project.walked.starts, project.files.values(), project.launchers)

    def paths(self) -> list[str]:
        """The files about which something can be said."""
        groups = (self.starts, self.journeys, self.replaced, self.mistaken, self.late, self.ended, self.project.files)
        return list(dict.fromkeys(path for group in groups for path in group))

    def of(self, path: str) -> LaunchContext:
        """What checks may look at to judge one file."""
        return LaunchContext(path, self)


def _by_path(items: Iterable[T], path_of: Callable[[T], str]) -> dict[str, list[T]]:
    found: dict[str, list[T]] = {}
    for item in items:
        found.setdefault(path_of(item), []).append(item)
    return found


class LaunchContext(_WithShared):
    """What a check of launches may look at: one file, with all that the walk over the project told."""

    __slots__ = ("_all", "path", "shared")

    def __init__(self, path: str, contexts: LaunchContexts) -> None:
        self.path = path
        self._all = contexts
        self.shared = contexts.project.shared

    @property
    def project(self) -> LaunchProject:
        """What is known of all files."""
        return self._all.project

    @property
    def files(self) -> Mapping[str, FileFacts]:
        """The facts of all files."""
        return self._all.project.files

    @property
    def walked(self) -> Walked:
        """All that the walk told."""
        return self._all.project.walked

    @property
    def launchers(self) -> Launchers:
        """What is known of launchers."""
        return self._all.project.launchers

    @property
    def facts(self) -> Sequence[FileFacts]:
        """The facts of this file, if it has any."""
        found = self._all.project.files.get(self.path)
        return (found,) if found is not None else ()

    @property
    def starts(self) -> Sequence[RankStart]:
        """The rank starts that stand in this file."""
        return self._all.starts.get(self.path, ())

    @property
    def journeys(self) -> Sequence[Journey]:
        """What became of each value that this file gives."""
        return self._all.journeys.get(self.path, ())

    @property
    def replaced(self) -> Sequence[Replaced]:
        """Values that this file puts in place of others."""
        return self._all.replaced.get(self.path, ())

    @property
    def mistaken(self) -> Sequence[Mistaken]:
        """Flags in this file that look as if they passed a variable."""
        return self._all.mistaken.get(self.path, ())

    @property
    def late(self) -> Sequence[LateValue]:
        """What this file exports when the last of its ranks have been started."""
        return self._all.late.get(self.path, ())

    @property
    def ended(self) -> Sequence[EndedRoot]:
        """Environments at the end of processes of this file that start no ranks."""
        return self._all.ended.get(self.path, ())

    @property
    def jobs(self) -> NodeJobs:
        """The jobs of the project of which several nodes are started."""
        return self._all.jobs

    def setting_at(self, place: Place, name: str) -> Setting | None:
        """What a file says at the place of a name: its value, its comment, its channel."""
        return self._all.settings.get((place.path, place.line, place.column, name))

    def text(self, path: str) -> str:
        """The text of a file."""
        return self._all.project.text_of(path)

    def target_of(self, path: str) -> Target:
        """What a file is judged against."""
        return self._all.project.target_of(path)

    def level_of(self, path: str) -> str:
        """The level that is asked for in a file."""
        return self._all.project.level_of(path)

    def steps_of(self, facts: FileFacts) -> Sequence[Sequence[Step]]:
        """What a program does, in order."""
        return self._all.project.steps_of(facts)


def judged(settings: list[Setting]) -> Iterator[Setting]:
    """The settings that give or forward a value to some process, each fault once.

    A name that is only exported or forwarded is judged only if the file does not also set it: there it is one fault.
    """
    given = {s.name for s in settings if s.op in ("set", "default", "append") and not s.guarded}
    forwarded: set[str] = set()
    for setting in settings:
        if setting.guarded or setting.op == "unset" or (setting.channel == "argument" and setting.exported == "no"):
            continue
        if setting.op in ("export", "pass"):
            if setting.name in given or setting.name in forwarded:
                continue
            forwarded.add(setting.name)
        yield setting
