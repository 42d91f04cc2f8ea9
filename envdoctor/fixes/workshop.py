"""What the functions that make fixes are handed: texts, settings and programs of the project, and what is known.

`registry` says which function mends the findings of which rule; each is called `(finding, facts, workshop)`.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from envdoctor.analysis.project import Project
from envdoctor.core.facts import FileFacts, Setting
from envdoctor.core.findings import Edit, Finding, Fix
from envdoctor.core.target import Target
from envdoctor.knowledge.catalog.model import Catalog
from envdoctor.readers.kinds import PYTHON

if TYPE_CHECKING:
    from envdoctor.fixes.notebook import Program
    from envdoctor.fixes.python.training import Training, Trainings
    from envdoctor.fixes.python.tree import PythonTree


class PlainProgram(NamedTuple):
    """A file that is nothing but Python: what a `notebook.Program` has to map is the same here."""

    text: str

    def finding(self, finding: Finding) -> Finding:
        """A finding with its places in the program."""
        return finding

    def setting(self, setting: Setting) -> Setting:
        """A setting with its places in the program."""
        return setting

    def fix(self, fix: Fix | None) -> Fix | None:
        """A fix of the program as one of the file."""
        return fix


class Workshop:
    """What is at hand for making the fixes of one pass."""

    def __init__(self, project: Project, catalog: Catalog, findings: Iterable[Finding]) -> None:
        self.project = project
        self.catalog = catalog
        self._helps: dict[tuple[str, str], set[str]] = {}
        for finding in findings:
            self._helps.setdefault((finding.name, finding.place.path), set()).add(finding.help)
        self._lines: dict[str, list[str]] = {}
        self._begun: set[tuple[str, str]] = set()

    def helps(self, finding: Finding) -> set[str]:
        """What the findings of the same rule in the same file advise, all together."""
        return self._helps.get((finding.name, finding.place.path), set())

    def is_first(self, finding: Finding) -> bool:
        """Whether this is asked for the first time for a rule and a file: of what a file gets once in a pass."""
        key = (finding.name, finding.place.path)
        first = key not in self._begun
        self._begun.add(key)
        return first

    def lines(self, path: str) -> list[str]:
        """The lines of a file, as places count them."""
        if path not in self._lines:
            self._lines[path] = self.project.files.text(path).split("\n")
        return self._lines[path]

    def target(self, path: str) -> Target:
        """What a file is judged against."""
        return self.project.targets.of(path)

    def setting(self, finding: Finding, facts: FileFacts) -> Setting | None:
        """The setting that a finding is about."""
        for setting in facts.settings:
            places = (setting.name_place, setting.value_place, setting.place)
            if setting.name == finding.variable and finding.place in places:
                return setting
        return None

    def program(self, facts: FileFacts) -> Program | PlainProgram | None:
        """The Python that a file is, or that a notebook holds; None for all other files."""
        if facts.kind not in PYTHON:
            return None
        text = self.project.files.text(facts.path)
        if facts.kind != "notebook":
            return PlainProgram(text)
        from envdoctor.fixes import notebook

        return notebook.program(facts.path, text)

    def tree(self, path: str) -> PythonTree | None:
        """A Python file of the project as libcst sees it; None for what is none, or cannot be parsed."""
        from envdoctor.fixes.python.tree import parse

        facts = self.project.facts.whole(path)
        program = self.program(facts) if facts is not None else None
        return parse(path, program.text) if program is not None else None

    def training(self, path: str) -> Training | None:
        """What the rule about seeds knows of the training that a file starts."""
        return self._trainings.of(path)

    @cached_property
    def _trainings(self) -> Trainings:
        from envdoctor.fixes.python.training import Trainings

        return Trainings(self.project)


def unsafe(description: str, *edits: Edit | None) -> Fix | None:
    """A fix that may change what a job does; None where one of its edits is not plain, or there is none."""
    made = tuple(edit for edit in edits if edit is not None)
    return Fix(description, made, safe=False) if made and len(made) == len(edits) else None
