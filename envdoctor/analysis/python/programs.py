"""The programs of a project: which files start one, and which a command starts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import PurePosixPath

from envdoctor.analysis.python.entries import MAIN, Program
from envdoctor.analysis.python.modules import Modules
from envdoctor.analysis.python.walk import Walker
from envdoctor.core.facts import FileFacts
from envdoctor.core.records import dataclass, field
from envdoctor.readers.kinds import PYTHON


@dataclass(slots=True)
class Programs:
    """The programs of a project, by the file that starts them; each is followed once.

    `text` gives the text of a file, to see whether it is an entry; `is_test` names files that test the project.
    """

    modules: Modules
    text: Callable[[str], str]
    is_test: Callable[[str], bool]
    mentions: Callable[[str], bool] = lambda name: False
    """Whether any file of the project sets a variable of this name."""
    starting: Callable[[str], Iterable[FileFacts]] = lambda path: ()
    """The scripts of the project that name a file."""
    mentioned: Callable[[str, str], bool] = lambda name, besides: False
    """Whether a file of the project other than `besides` holds a word."""
    _programs: dict[str, Program | None] = field(default_factory=dict)

    def of(self, facts: FileFacts) -> Program | None:
        """The program that a file starts; None where it starts none (a library module, a test)."""
        path = facts.path
        if path not in self._programs:
            entry = facts.kind in PYTHON and not self.is_test(path) and self._starts(facts)
            self._programs[path] = Walker(self.modules, facts).walk() if entry else None
        return self._programs[path]

    def _starts(self, facts: FileFacts) -> bool:
        """A `__main__` block, a notebook, or calls that run when the file is run and are no mere definitions."""
        if facts.kind == "notebook" or MAIN.search(self.text(facts.path)):
            return True
        return any(c.kind == "call" and c.scope.kind != "function" for c in facts.calls)

    def launched(self, words: Iterable[str], path: str) -> Iterator[Program]:
        """The programs that the words of a command in the file `path` start."""
        listed = list(words)
        folder = str(PurePosixPath(path).parent)
        for index, word in enumerate(listed):
            found: str | None = None
            if word.endswith(".py"):
                options = (f"{folder}/{word}" if folder != "." else word, word)
                found = next((p for o in options if (p := _plain(o)) in self.modules.paths), None)
            elif index and listed[index - 1] == "-m":
                module = self.modules.module(word, path, folder)
                found = module[0] if module is not None and not module[1] else None
            facts = self.modules.read(found, near=True) if found else None
            program = self.of(facts) if facts is not None else None
            if program is not None:
                yield program


def _plain(path: str) -> str:
    """A path without `.` and `..` where they can be taken out."""
    parts: list[str] = []
    for part in path.split("/"):
        if part == ".." and parts and parts[-1] != "..":
            parts.pop()
        elif part not in (".", ""):
            parts.append(part)
    return "/".join(parts)
