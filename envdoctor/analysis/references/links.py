"""Which scripts of a project name which of its other files: who starts or sources what, by the text alone.

Launch units follow commands one by one and know more. This is for files that say nothing of the machine they run on:
the scripts that start them often do.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterable, Iterator

from envdoctor.core.regexes import regex
from envdoctor.readers.kinds import SCRIPTS

MOST = 20
"""Files around another one that are looked at: one that everything names tells nothing."""
MOST_STEPS = 2
"""A batch script that starts a launch script that starts a program."""
_WORD = regex(rb"[\w./${}@+-]*\.(?:sh|bash|slurm|sbatch|sub|job|csh|fish|py|env)\b")
_LEAD = regex(r"^(?:\$\{?\w+\}?/|/|\.{1,2}/)+")


class Links:
    """The links between the files of one project. `data` gives the bytes of a file, `kind` what it is by its name."""

    def __init__(
        self, files: Iterable[str], data: Callable[[str], bytes | None], kind: Callable[[str], str | None]
    ) -> None:
        self._files = files
        self._data = data
        self._kind = kind
        self._named: dict[str, list[str]] | None = None
        self._namers: dict[str, list[str]] = {}

    def around(self, path: str) -> list[list[str]]:
        """The files that start or source `path` and those that it names itself, then those that start these."""
        self._look()
        first = dict.fromkeys((*self._namers.get(path, ()), *(self._named or {}).get(path, ())))
        groups = [[other for other in first if other != path]]
        for _ in range(MOST_STEPS - 1):
            seen = {path, *(p for group in groups for p in group)}
            above = dict.fromkeys(p for other in self._namers.get(path, ()) for p in self._namers.get(other, ()))
            groups.append([other for other in above if other not in seen])
        return [group[:MOST] for group in groups if group]

    def _look(self) -> None:
        """Read the scripts of the project, once."""
        if self._named is not None:
            return
        self._named = {}
        by_name: dict[str, list[str]] = {}
        for path in self._files:
            by_name.setdefault(path.rpartition("/")[2], []).append(path)
        for path in self._files:
            if self._kind(path) in SCRIPTS:
                found = dict.fromkeys(p for word in self._words(path) for p in _meant(word, path, by_name) if p != path)
                self._named[path] = list(found)
                for other in found:
                    self._namers.setdefault(other, []).append(path)

    def _words(self, path: str) -> Iterator[str]:
        """The words of a script that end as names of scripts and programs do, outside of whole-line comments."""
        for line in (self._data(path) or b"").split(b"\n"):
            if not line.lstrip().startswith(b"#"):
                for match in _WORD.finditer(line):
                    yield match[0].decode("utf-8", "replace")


def _meant(word: str, path: str, by_name: dict[str, list[str]]) -> list[str]:
    """The files that a word in a script can mean: from its folder, from the root, or by a path that fits one file."""
    plain = _LEAD.sub("", word)
    same = by_name.get(plain.rpartition("/")[2], [])
    beside = posixpath.normpath(posixpath.join(posixpath.dirname(path), plain))
    up = posixpath.normpath(posixpath.join(posixpath.dirname(path), word))
    exact = [p for p in same if p in (beside, plain, up)]
    if exact or "/" not in plain:
        return exact[:1]
    fitting = [p for p in same if p.endswith("/" + plain)]
    return fitting if len(fitting) == 1 else []
