"""What checks are given."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from envdoctor.core.facts import FileFacts, Observation, Setting
from envdoctor.core.records import dataclass
from envdoctor.core.target import Target

if TYPE_CHECKING:
    from envdoctor.analysis.process.interpreter.records import RankStart, Walked
    from envdoctor.analysis.process.journeys import Journey
    from envdoctor.analysis.python.program import Step
    from envdoctor.analysis.python.timeline import EntryPoints
    from envdoctor.checks.shared import Shared
    from envdoctor.knowledge.catalog.model import Catalog
    from envdoctor.knowledge.launchers import Launchers


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


class LaunchContext(_WithShared):
    """What a check of launches may look at: all that the walk over a project told, the facts of its files, what is known.

    `target_of` and `level_of` give the target and the level that a path is judged against, `text_of` the text of a file,
    `steps_of` what a program does in order, where it writes into its environment.
    """

    def __init__(
        self,
        walked: Walked,
        files: Mapping[str, FileFacts],
        shared: Shared,
        launchers: Launchers,
        target_of: Callable[[str], Target],
        level_of: Callable[[str], str] = _auto,
        text_of: Callable[[str], str] = _no_text,
        steps_of: Callable[[FileFacts], Sequence[Sequence[Step]]] = _no_steps,
    ) -> None:
        self.walked = walked
        self.files = files
        self.shared = shared
        self.launchers = launchers
        self.target_of = target_of
        self.level_of = level_of
        self.text = text_of
        self.steps_of = steps_of

    @property
    def starts(self) -> Sequence[RankStart]:
        """All rank starts of the project."""
        return self.walked.starts

    @cached_property
    def journeys(self) -> Sequence[Journey]:
        """What became of each value that somebody wrote."""
        from envdoctor.analysis.process.journeys import journeys

        return journeys(self.walked.starts)

    @cached_property
    def settings(self) -> Mapping[tuple[str, int, int, str], Setting]:
        """The settings of all files by the place of their name: path, line, column, name."""
        found: dict[tuple[str, int, int, str], Setting] = {}
        for facts in self.files.values():
            for setting in facts.settings:
                place = setting.name_place or setting.place
                found.setdefault((place.path, place.line, place.column, setting.name), setting)
        return found


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
