"""What the Python programs of a project do when they run: the one door to this package.

`timeline` follows one entry; `EntryPoints` knows which files of a project start a program, and which a command starts.
What stands behind them is nobody else's business.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import PurePosixPath

from envdoctor.analysis.python.events import MAIN, Event, Process, Timeline, only_rank_zero
from envdoctor.analysis.python.modules import Modules
from envdoctor.analysis.python.walk import TimelineWalker
from envdoctor.core.facts import FileFacts
from envdoctor.core.records import dataclass, field
from envdoctor.readers.kinds import PYTHON

__all__ = ["MAIN", "EntryPoints", "Event", "Process", "Timeline", "only_rank_zero", "timeline"]

MOST_USERS = 300
"""Files that are looked at to see which programs use another one."""


def timeline(entry: FileFacts, modules: Modules) -> Timeline:
    """What happens when a file is run, in order."""
    return TimelineWalker(modules, entry).walk()


@dataclass(slots=True)
class EntryPoints:
    """The files of a project that start a program; the timeline of each is found once.

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
    _timelines: dict[str, Timeline | None] = field(default_factory=dict)

    def timeline(self, facts: FileFacts) -> Timeline | None:
        """The timeline of the program that a file starts; None where it starts none (a library module, a test)."""
        path = facts.path
        if path not in self._timelines:
            entry = facts.kind in PYTHON and not self.is_test(path) and self._starts(facts)
            self._timelines[path] = timeline(facts, self.modules) if entry else None
        return self._timelines[path]

    def _starts(self, facts: FileFacts) -> bool:
        """A `__main__` block, a notebook, or calls that run when the file is run and are no mere definitions."""
        if facts.kind == "notebook" or MAIN.search(self.text(facts.path)):
            return True
        return any(c.kind == "call" and c.scope.kind != "function" for c in facts.calls)

    def launched(self, words: Iterable[str], path: str) -> Iterator[Timeline]:
        """The timelines of the programs that the words of a command in the file `path` start."""
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
            if found:
                yield from self._at(found)

    def _at(self, path: str) -> Iterator[Timeline]:
        """The timeline of the program that a file starts, if it starts one."""
        facts = self.modules.read(path, near=True)
        found = self.timeline(facts) if facts is not None else None
        if found is not None:
            yield found

    def holding(self, pattern: re.Pattern[str]) -> set[str]:
        """The modules of the project whose text holds a pattern."""
        return {path for path in self.modules.paths if pattern.search(self.text(path))}

    def using(self, paths: Iterable[str]) -> Iterator[Timeline]:
        """The timelines of the programs that start in some files, or import them, directly or through others."""
        for path in sorted(self._importing(set(paths)))[:MOST_USERS]:
            yield from self._at(path)

    def _importing(self, paths: set[str]) -> set[str]:
        """Some files and all that import them, directly or through others."""
        importers: dict[str, set[str]] = {}
        for path in self.modules.paths if paths else ():
            for target in self.modules.imports.edges(path):
                importers.setdefault(target, set()).add(path)
        found = set(paths)
        pending = list(paths)
        while pending:
            new = importers.get(pending.pop(), set()) - found
            found |= new
            pending += new
        return found


def _plain(path: str) -> str:
    """A path without `.` and `..` where they can be taken out."""
    parts: list[str] = []
    for part in path.split("/"):
        if part == ".." and parts and parts[-1] != "..":
            parts.pop()
        elif part not in (".", ""):
            parts.append(part)
    return "/".join(parts)
