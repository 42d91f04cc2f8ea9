"""The programs of a project, as steps in the order in which they run, for those who ask what is written when."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from envdoctor.analysis.project import Project
from envdoctor.analysis.python.program import Step, needles, programs_of
from envdoctor.core.facts import Branch, FileFacts
from envdoctor.project.files import is_test
from envdoctor.readers.kinds import PYTHON

if TYPE_CHECKING:
    from envdoctor.knowledge.catalog.model import Variable

MOST_MODULES = 30
"""Modules of the project that one program is followed into."""


class Programs:
    """What each program does, where it writes into its environment; kept for the scan."""

    def __init__(self, project: Project, wanted: Callable[[str], Variable | None]) -> None:
        self.project = project
        self.wanted = wanted
        self._found: dict[str, list[list[Step]]] = {}

    def of(self, facts: FileFacts) -> list[list[Step]]:
        """The file itself, then functions that others call; modules are followed as far as that can matter."""
        if facts.path not in self._found:
            self._found[facts.path] = self._steps(facts) if facts.kind in PYTHON else []
        return self._found[facts.path]

    def _steps(self, facts: FileFacts) -> list[list[Step]]:
        written = [s.name for s in facts.settings if s.channel == "python-environ" and not s.guarded]
        found = [variable for name in dict.fromkeys(written) if (variable := self.wanted(name)) is not None]
        if not found:
            return []
        words = needles(variable.read_at for variable in found) if not is_test(facts.path) else ()
        seen: set[str] = set()

        def followed(target: str, path: str) -> FileFacts | None:
            module = self._imported(target, path, words) if len(seen) < MOST_MODULES else None
            seen.update([module.path] if module is not None else [])
            return module

        return programs_of(facts, followed, self.project.files.text)

    def _imported(self, target: str, path: str, words: Sequence[str]) -> FileFacts | None:
        """The facts of a module of the project that a file imports, if it holds one of some words."""
        found = self.project.references.module(target, path)
        if found is None or not any(word in self.project.files.text(found) for word in words):
            return None
        return self.project.facts.whole(found)


def holds(branch: Iterable[Branch], given: Iterable[Branch]) -> bool:
    """Whether a fact happens whenever what stands under the conditions `given` does.

    `if __name__ == "__main__"` counts as always.
    """
    there = {(b.id, b.arm) for b in given}
    return all((b.id, b.arm) in there or b.condition.startswith("__name__") for b in branch)
