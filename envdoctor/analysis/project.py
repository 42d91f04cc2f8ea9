"""A project and what is known of it: one record that hands its parts to whoever needs them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from envdoctor.analysis.python.modules import Modules
from envdoctor.analysis.python.timeline import EntryPoints
from envdoctor.analysis.references.graph import References
from envdoctor.analysis.references.private import PrivateNames
from envdoctor.analysis.target.of_files import Targets
from envdoctor.core.internal_errors import InternalErrors
from envdoctor.core.target import Target
from envdoctor.project.config_paths import ByPath
from envdoctor.project.files import Files, is_test
from envdoctor.readers.store import NO_TRIGGERS, FactStore, Triggers


class Project(NamedTuple):
    """The files of a project, their facts, what refers to what, and the target that each file is judged against."""

    files: Files
    facts: FactStore
    references: References
    targets: Targets

    @property
    def internal(self) -> InternalErrors:
        """Errors of ours, each kept to the file that it came up in."""
        return self.files.internal

    @property
    def private(self) -> PrivateNames:
        """Names that the project's own code reads."""
        return PrivateNames(self.files, self.facts)

    def edited(self, overlay: Mapping[str, bytes]) -> Project:
        """The project with some files as they would be after fixes; what was read of the others is kept."""
        if overlay == self.files.overlay:
            return self
        files = self.files.edited(overlay)
        facts = self.facts.edited(files)
        references = self.references.edited(files, facts)
        return Project(files, facts, references, self.targets.edited(files, references))

    def entry_points(self) -> EntryPoints:
        """The files of the project that start a Python program, followed when they are asked for."""
        # Paths are relative to `base`, modules to the root: a root below or beside it is one more place to look in.
        root = self.files.prefix()
        paths = frozenset(p for p in self.files.paths() if p.endswith(".py"))
        roots = ("", "src") if root in ("", ".") else (root, f"{root}/src")
        modules = Modules(paths, self.facts.whole, self.files.small, roots)
        refers = self.references
        return EntryPoints(modules, self.files.text, is_test, refers.sets, refers.mentioning, refers.mentioned)


def open_project(
    base: Path,
    root: Path,
    triggers: Triggers = NO_TRIGGERS,
    *,
    exclude: tuple[str, ...] = (),
    target: Target | None = None,
    targets: ByPath[Target] | None = None,
    docs: bool = False,
    internal: InternalErrors | None = None,
) -> Project:
    """The project under `root`, seen from `base`; nothing of it is read yet.

    `triggers` make a file worth reading, `target` and `targets` are what the user says, `docs`: documents are read too.
    `internal` are errors of ours that came up before.
    """
    files = Files(base, root, exclude, internal=internal if internal is not None else InternalErrors())
    facts = FactStore(files, triggers, docs)
    references = References(files, facts)
    given = targets if targets is not None else ByPath({})
    return Project(files, facts, references, Targets(files, references, target, given))
