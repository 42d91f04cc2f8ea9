"""The target that each file of a project is judged against: what the user said, else what the project plainly says."""

from __future__ import annotations

from collections.abc import Iterator

from envdoctor.analysis.references.graph import References
from envdoctor.analysis.target.hints import hints_in
from envdoctor.analysis.target.infer import folders_near, hint_files, infer
from envdoctor.core.records import dataclass, field, replace
from envdoctor.core.target import Target
from envdoctor.project.config_paths import ByPath
from envdoctor.project.files import Files

Texts = list[tuple[str, str]]
"""Paths with their texts."""


@dataclass(slots=True)
class Targets:
    """The targets of one project. `given` is what the user says for parts of it; it goes before `fixed`, for all."""

    files: Files
    references: References
    fixed: Target | None = None
    given: ByPath[Target] = field(default_factory=lambda: ByPath({}))
    _known: dict[str, Target] = field(default_factory=dict)
    _hints: dict[str, Texts] = field(default_factory=dict)
    _folders: dict[str, list[str]] | None = None

    def edited(self, files: Files, references: References) -> Targets:
        """The same for files as they would be after fixes."""
        return replace(self, files=files, references=references, _known={}, _hints={})

    def of(self, path: str) -> Target:
        """What a file is judged against: what the user said, else what it and its project plainly say."""
        given = self.given.last(path) or self.fixed
        if given is not None:
            return given
        if path not in self._known:
            folder = path.rpartition("/")[0]
            if folder not in self._hints:
                self._hints[folder] = [(p, self.files.text(p)) for p in self._hints_around(folder)]
            around = [[(p, self.files.text(p)) for p in group] for group in self.references.around(path)]
            self._known[path] = self._inferred([(path, self.files.text(path))], self._hints[folder], around)
        return self._known[path]

    def _inferred(self, own: Texts, hints: Texts, around: list[Texts]) -> Target:
        """What these files (paths with texts) say; one that upsets us says nothing, and the others still do."""
        with self.files.internal.guard(own[0][0], "looking for what it runs on"):
            return infer(own, hints, around)
        return infer(self._telling(own), self._telling(hints), [self._telling(group) for group in around])

    def _telling(self, files: Texts) -> Texts:
        """The files, without the text of those whose hints cannot be looked for."""
        found = []
        for path, text in files:
            told = (path, "")
            with self.files.internal.guard(path, "looking for hints at a machine"):
                hints_in(path, text)
                told = (path, text)
            found.append(told)
        return found

    def _hints_around(self, folder: str) -> list[str]:
        """Files that can speak for a project: in a folder, in those above it, and in those directly below each.

        What makes a file one of tests or of documentation is judged by the way to it from there, so that a benchmark
        has the image that lies beside it.
        """
        found: dict[str, None] = {}
        for above in _upwards(folder):
            start = len(above) + 1 if above else 0
            ways = {path[start:]: path for path in self._below(above)}
            found.update(dict.fromkeys(ways[way] for way in hint_files(ways)))
        return list(found)

    def _below(self, folder: str) -> list[str]:
        """The files in a folder and in those directly below it, and further down those of images."""
        if self._folders is None:
            self._folders = {}
            for path in self.files.paths():
                for key in folders_near(path.rpartition("/")[0]):
                    self._folders.setdefault(key, []).append(path)
        return self._folders.get(folder, [])


def _upwards(folder: str) -> Iterator[str]:
    """A folder and those above it, up to the root."""
    while folder:
        yield folder
        folder = folder.rpartition("/")[0]
    yield ""
