"""Walks everything in a project that starts processes: its roots in order, callers before what they call."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from envdoctor.analysis.process.beginnings.root import Root
from envdoctor.analysis.process.interpreter.beginning import begin
from envdoctor.analysis.process.interpreter.processes import start
from envdoctor.analysis.process.interpreter.state import Shell
from envdoctor.analysis.process.interpreter.statements import HANDLERS
from envdoctor.analysis.process.interpreter.walker import Walker
from envdoctor.analysis.process.results import Walked
from envdoctor.analysis.process.roots import roots_of
from envdoctor.analysis.project import Project
from envdoctor.core.facts import FileFacts
from envdoctor.knowledge.launchers import load_launchers
from envdoctor.project.files import is_test
from envdoctor.readers.kinds import PYTHON

if TYPE_CHECKING:
    from envdoctor.knowledge.catalog.model import Variable

MOST_CALLERS = 300
"""Files that start others and hold nothing themselves that matters."""
DEEPEST_CALLERS = 6
"""Scripts that start one another, from the one that holds something upwards."""


class ProjectWalk:
    """The files of one project that start processes, and the walk through them."""

    def __init__(self, project: Project, wanted: Callable[[str], Variable | None]) -> None:
        self.project = project
        self.walker = Walker(project, load_launchers(), wanted, self.roots, HANDLERS, start)
        self._roots: dict[str, Sequence[Root]] = {}

    def roots(self, path: str) -> Sequence[Root]:
        """The processes that begin in a file."""
        if path not in self._roots:
            facts = self.project.facts.whole(path)
            if facts is None:
                return ()
            with self.project.internal.guard(path, "looking for what it starts"):
                scripts = self.project.facts.scripts(path) if _has_scripts(facts) else ()
                self._roots[path] = roots_of(facts, scripts, self.project.files.text(path))
        return self._roots.get(path, ())

    def run(self, read: Sequence[FileFacts]) -> Walked:
        """Walk the files that were read, those that source or start them, and all they start."""
        files = self._files(read)
        kinds = {facts.path: facts.kind for facts in files}
        called = {path for path in kinds if any(other in kinds for other in self.project.references.starters(path))}
        first = [path for path, kind in kinds.items() if kind not in PYTHON and path not in called]
        rest = [path for path, kind in kinds.items() if kind not in PYTHON and path in called]
        programs = [path for path, kind in kinds.items() if kind in PYTHON]
        for path in sorted((*first, *rest, *programs), key=is_test):
            if path not in self.walker.contexts:
                self._begin(path)
        looked = {facts.path: facts for facts in files}
        for path in self.walker.contexts:
            facts = self.project.facts.whole(path)
            if facts is not None:
                looked.setdefault(path, facts)
        return self.walker.notes.result(self.walker.operations)._replace(files=tuple(looked.values()))

    def _begin(self, path: str) -> None:
        ends: list[Shell | None] = []
        for root in self.roots(path):
            before = ends[root.before] if 0 <= root.before < len(ends) else None
            after: Shell | None = None
            with self.project.internal.guard(path, "following its launches"):
                count = self.walker.count
                after = begin(self.walker, root, before)
                if self.walker.count != count:
                    after = None  # what a step sets for its own launches was for these
            ends.append(after)

    def _files(self, read: Sequence[FileFacts]) -> list[FileFacts]:
        mine = {facts.path: facts for facts in read if facts.settings or facts.launches or facts.calls}
        shells = [facts.path for facts in mine.values() if facts.kind == "shell" and facts.settings]
        with self.project.internal.guard(self.project.files.name, "looking for scripts that belong together"):
            for facts in self.project.references.sourcing(shells) if shells else ():
                mine.setdefault(facts.path, facts)
            for facts in self._callers(mine):
                mine.setdefault(facts.path, facts)
        return list(mine.values())

    def _callers(self, mine: Iterable[str]) -> list[FileFacts]:
        """Files that start a file, and those that start these."""
        found: dict[str, FileFacts] = {}
        seen = set(mine)
        waiting = list(seen)
        for _ in range(DEEPEST_CALLERS):
            above = dict.fromkeys(p for path in waiting for p in self.project.references.starters(path))
            waiting = [path for path in above if path not in seen][: MOST_CALLERS - len(found)]
            seen.update(waiting)
            for path in waiting:
                facts = self.project.facts.whole(path)
                if facts is not None:
                    found[path] = facts
        return list(found.values())


def _has_scripts(facts: FileFacts) -> bool:
    """Whether text for a shell stands in a file: reading it once more costs as much as the first time."""
    if facts.kind not in PYTHON:
        return True
    return bool(facts.launches) or any(setting.channel == "shell" for setting in facts.settings)


def walk(project: Project, read: Sequence[FileFacts], wanted: Callable[[str], Variable | None]) -> Walked:
    """What all processes that a project starts see; `wanted` knows the variables that matter."""
    return ProjectWalk(project, wanted).run(read)
