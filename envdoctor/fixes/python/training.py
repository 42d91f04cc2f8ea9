"""What the rule about seeds knows of the training that a file starts. Without libcst: it is asked before any edit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple, cast

from envdoctor.analysis.project import Project
from envdoctor.analysis.python.timeline import EntryPoints, Timeline
from envdoctor.checks.python.streams import Stream, Streams
from envdoctor.knowledge.rulebook import load_rulebook

if TYPE_CHECKING:
    from envdoctor.knowledge.parameters.seeds import Seeds


class Training(NamedTuple):
    """What is known of a training: the parameters of the rule, what happens in it, and its streams by name."""

    parameters: Seeds
    timeline: Timeline
    streams: Mapping[str, Stream]


class Trainings:
    """The trainings of a project; its programs are followed when the first one is asked for."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._entry_points: EntryPoints | None = None
        self._streams: Streams | None = None

    def of(self, path: str) -> Training | None:
        """The training that a file starts; None where it starts none."""
        if self._entry_points is None:
            self._entry_points = self._project.entry_points()
        facts = self._project.facts.whole(path)
        timeline = self._entry_points.timeline(facts) if facts is not None and facts.kind == "python" else None
        if timeline is None:
            return None
        if self._streams is None:
            self._streams = Streams(cast("Seeds", load_rulebook().named("unseeded-rng").parameters))
        return Training(self._streams.parameters, timeline, self._streams.of(timeline))
