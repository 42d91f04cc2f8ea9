"""Who names, sources, starts or imports which file of a project: the one place that is asked.

Words become paths in `paths`; here is what the project really holds. Paths are relative to the folder that is scanned
from, as everywhere, and nothing outside of the project is looked at.
"""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from envdoctor.analysis.references.paths import ends, expanded, folder, meanings, module_files, program_files
from envdoctor.cache import dependency_log
from envdoctor.core.facts import FileFacts
from envdoctor.core.records import dataclass, field, replace
from envdoctor.core.regexes import regex
from envdoctor.project.files import Files, is_test
from envdoctor.readers.kinds import PYTHON_SUFFIXES, SCRIPTS, kind_of
from envdoctor.readers.store import FactStore

MOST_AROUND = 20
"""Files around another one that are looked at: one that everything names tells nothing."""
MOST_STEPS = 2
"""A batch script that starts a launch script that starts a program."""
_WORD = regex(rb"[\w./${}@+-]*\.(?:sh|bash|slurm|sbatch|sub|job|csh|fish|py|env)\b")
DOCUMENTS = (".md", ".rst", ".txt")
STARTING = (*SCRIPTS, "dockerfile", "yaml", "ini", "toml", "terraform")
"""Kinds of files that start scripts by their names."""


SYSTEM_FOLDERS = frozenset(("bin", "boot", "cvmfs", "dev", "etc", "lib", "lib64", "nix", "proc", "run", "sbin", "snap",
                            "sw", "sys", "tmp", "usr", "var"))  # fmt: skip
"""Folders at the root that are the system's own (hier(7)), and where clusters keep software."""
SCRIPT_ENDS = (".sh", ".bash", ".sbatch", ".slurm", ".py")
UNKNOWN_FOLDER = regex(r"[\"']?\$\{?\w+\}?((?:/[\w.-]+){2,})[\"']?")
"""A path below a folder that a variable names and nobody knows."""


@dataclass(slots=True)
class References:
    """The references between the files of one project."""

    files: Files
    facts: FactStore
    _there: dict[str, bool] = field(default_factory=dict)
    _folders: dict[str, bool] = field(default_factory=dict)
    _named: dict[str, list[str]] | None = None
    _namers: dict[str, list[str]] = field(default_factory=dict)
    _starters: dict[str, list[str]] | None = None
    _names: dict[str, list[str]] | None = None

    def edited(self, files: Files, facts: FactStore) -> References:
        """The same for files as they would be after fixes, which keep what they name."""
        return replace(self, files=files, facts=facts, _starters=None, _names=None)

    # What a written path means

    def has(self, path: str) -> bool:
        """Whether there is such a file inside the project; links out do not count."""
        if path not in self._there:
            self._there[path] = self._look(path)
        return self._there[path]

    def _look(self, path: str) -> bool:
        try:
            whole = os.path.join(self.files.base, path)  # noqa: PTH118 (most candidates are not there)
            if not self._folder_there(whole.rpartition("/")[0]):
                return False
            found = os.path.isfile(whole)  # noqa: PTH113
            dependency_log.note("file", whole, found)
            return found and Path(whole).resolve().is_relative_to(self.files.root)
        except (OSError, RuntimeError, ValueError):
            return False

    def _folder_there(self, path: str) -> bool:
        """Whether there is a folder; whole branches that are not there are asked for once."""
        if path not in self._folders:
            above = path.rpartition("/")[0]
            self._folders[path] = not above or (self._folder_there(above) and _noted(path))
        return self._folders[path]

    def find(self, written: str, home: str, known: Mapping[str, str | None]) -> str | None:
        """The file that `written` means in a script in folder `home`; `known` are values of variables."""
        text, own = expanded(written, known)
        if text is None:
            rest = UNKNOWN_FOLDER.fullmatch(written)
            return self._by_tail(rest[1].lstrip("/"), home) if rest else None
        if text.startswith("/") and not own:
            return self._by_tail(text, home)
        candidates = [posixpath.join(home, text)]
        if not own:
            candidates.append(posixpath.join(self.files.prefix(), text))
            if "/" in text.removeprefix("./"):
                candidates += [posixpath.join(above, text) for above in self._above(home)]
        found = {path for c in candidates if self.has(path := posixpath.normpath(c))}
        return found.pop() if len(found) == 1 else None

    def _by_tail(self, text: str, home: str) -> str | None:
        """The file that a path elsewhere (in an image, a mount, a checkout) ends in: by a folder and its name, or for a
        script at the top (`/workspace/train.py`) by its name alone."""
        parts = [part for part in text.split("/") if part]
        if not parts or parts[0] in SYSTEM_FOLDERS:
            return None
        places = dict.fromkeys((self.files.prefix(), home, *self._above(home)))
        whole = text.startswith("/")
        for start in range(whole, len(parts) - 1 + (whole and text.endswith(SCRIPT_ENDS))):
            tail = "/".join(parts[start:])
            found = {path for place in places if self.has(path := posixpath.normpath(posixpath.join(place, tail)))}
            if found:
                return found.pop() if len(found) == 1 else None
        return None

    def _above(self, home: str) -> Iterator[str]:
        """The folders between a folder and the root: a repository inside this one has its scripts started there."""
        top = self.files.prefix()
        while home and home != top and ".." not in home:
            home = folder(home)
            yield home

    # Starting and importing

    def program(self, module: str, path: str) -> str | None:
        """The file that `python -m module` runs, written in a script at `path`."""
        return next((p for p in program_files(module, path) if self.has(p)), None)

    def module(self, target: str, path: str) -> str | None:
        """The file of a module that the file at `path` imports."""
        return next((p for p in module_files(target, path) if self.has(p)), None)

    # Sourcing

    def sourcing(self, paths: Sequence[str]) -> Iterator[FileFacts]:
        """Shell scripts of the project that source one of some files, by the names of these alone."""
        names = {path.rpartition("/")[2] for path in paths}
        for path in self.files.paths():
            if kind_of(path) == "shell" and path not in paths:
                text = self.files.text(path)
                if any(name in text and _sources(text, name) for name in names):
                    facts = self.facts.whole(path)
                    if facts is not None:
                        yield facts

    # Copying into images

    def copied(self, image: FileFacts) -> dict[str, str]:
        """Path in an image -> the file of the project that is copied there, from its own folder or from the root."""
        found: dict[str, str] = {}
        for inclusion in image.inclusions if image.kind == "dockerfile" else ():
            path = self.find(inclusion.target, folder(image.path), {}) if inclusion.kind == "copy" else None
            if path is not None:
                into = inclusion.bound.endswith("/") or inclusion.bound in (".", "..")
                found[posixpath.join(inclusion.bound, path.rpartition("/")[2]) if into else inclusion.bound] = path
        return found

    # Naming

    def named(self, path: str) -> list[str]:
        """The scripts and programs of the project that a script names."""
        self._look_at_scripts()
        return (self._named or {}).get(path, [])

    def namers(self, path: str) -> list[str]:
        """The scripts that name a file."""
        self._look_at_scripts()
        return self._namers.get(path, [])

    def starters(self, path: str) -> list[str]:
        """The files, other than programs in Python, that name a script or a program: they may start it."""
        if self._starters is None:
            self._starters = {}
            by_name = self._by_name()
            for other in self.files.paths():
                if kind_of(other) in STARTING:
                    words = _words(self.files.small(other) or b"")
                    for named in dict.fromkeys(p for word in words for p in _meant(word, other, by_name) if p != other):
                        self._starters.setdefault(named, []).append(other)
        return self._starters.get(path, [])

    def _by_name(self) -> dict[str, list[str]]:
        """The paths of the project by their last part."""
        if self._names is None:
            self._names = {}
            for path in self.files.paths():
                self._names.setdefault(path.rpartition("/")[2], []).append(path)
        return self._names

    def around(self, path: str) -> list[list[str]]:
        """The files that start or source `path` and those that it names itself, then those that start these."""
        first = dict.fromkeys((*self.namers(path), *self.named(path)))
        groups = [[other for other in first if other != path]]
        for _ in range(MOST_STEPS - 1):
            seen = {path, *(p for group in groups for p in group)}
            above = dict.fromkeys(p for other in self.namers(path) for p in self.namers(other))
            groups.append([other for other in above if other not in seen])
        return [group[:MOST_AROUND] for group in groups if group]

    def _look_at_scripts(self) -> None:
        """Read the scripts of the project, once."""
        if self._named is not None:
            return
        self._named = {}
        by_name: dict[str, list[str]] = {}
        paths = [p for p in self.files.paths() if not is_test(p)]
        for path in paths:
            by_name.setdefault(path.rpartition("/")[2], []).append(path)
        for path in paths:
            if kind_of(path) in SCRIPTS:
                words = _words(self.files.small(path) or b"")
                found = dict.fromkeys(p for word in words for p in _meant(word, path, by_name) if p != path)
                self._named[path] = list(found)
                for other in found:
                    self._namers.setdefault(other, []).append(path)

    def mentioning(self, path: str) -> Iterator[FileFacts]:
        """Facts of the files, other than Python, that hold the name of a file."""
        token = path.rpartition("/")[2].encode()
        for other in self.files.paths():
            if not other.endswith(PYTHON_SUFFIXES) and kind_of(other) and token in (self.files.small(other) or b""):
                facts = self.facts.whole(other)
                if facts is not None:
                    yield facts

    def sets(self, name: str) -> bool:
        """Whether any file of the project mentions a variable outside of code that only reads about it."""
        token = name.encode()
        return any(token in data for path in self.files.paths() if (data := self.files.small(path)) is not None)

    def mentioned(self, name: str, besides: str) -> bool:
        """Whether a file other than `besides` mentions a variable; documents do not count."""
        word = re.compile(rb"(?<!\w)%b(?!\w)" % re.escape(name).encode())
        others = (p for p in self.files.paths() if p != besides and not p.lower().endswith(DOCUMENTS))
        return any(word.search(data) for path in others if (data := self.files.small(path)) is not None)

    def mentioned_unread(self, name: str) -> bool:
        """Whether a file mentions a name and could not be read: it may be what the name is for."""
        return any(name.encode() in (self.files.small(path) or b"") for path in self.files.internal.unread())


def _noted(path: str) -> bool:
    found = os.path.isdir(path)  # noqa: PTH112
    if not found:
        dependency_log.note("there", path, os.path.exists(path))  # noqa: PTH110
    return found


def _sources(text: str, name: str) -> bool:
    return bool(re.search(r"^\s*(?:source|\.)\s[^\n#]*" + re.escape(name), text, re.M))


def _words(data: bytes) -> Iterator[str]:
    """The words of a script that end as names of scripts and programs do, outside of whole-line comments."""
    for line in data.split(b"\n"):
        if not line.lstrip().startswith(b"#"):
            for match in _WORD.finditer(line):
                yield match[0].decode("utf-8", "replace")


def _meant(word: str, path: str, by_name: Mapping[str, list[str]]) -> list[str]:
    """The files that a word in a script can mean: from its folder, from the root, or by a path that fits one file."""
    beside, plain, dotted = meanings(word, posixpath.dirname(path))
    same = by_name.get(plain.rpartition("/")[2], [])
    exact = [p for p in same if p in (beside, plain, dotted)]
    fitting = [p for p in same if ends(word, p)]
    if exact or len(fitting) != 1:
        return exact[:1]
    return fitting
