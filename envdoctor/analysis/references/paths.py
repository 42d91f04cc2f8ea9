"""Which file of the tree a path in a script means: simple variables and the usual idioms for the script's own folder.

What cannot be told is None: nothing is guessed, and nothing outside of the project is looked at.
"""

from __future__ import annotations

import os
import posixpath
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path

from envdoctor.cache import dependency_log
from envdoctor.core.regexes import regex

_SELF = regex(r"\$\{?(?:0|BASH_SOURCE|SCRIPT_PATH)\b|\$\{0\}|\$0|%x")
_BESIDE = regex(r"\)[\"']?((?:/[\w.-]+)+)/?[\"']?\s*(?:&|;|>|\)|$)")
_OWN = "\0"
_CURRENT_FOLDER = regex(r"\$\(pwd\)|`pwd`|\$\{?(?:PWD|SLURM_SUBMIT_DIR|PBS_O_WORKDIR|GITHUB_WORKSPACE)\}?")
_VARIABLE = regex(r"\$(?:\{(\w+)(?::?-([^{}$]*))?\}|(\w+))")
MOST_SUBSTITUTIONS = 8


class Tree:
    """The files of a project, asked about one at a time. Paths are relative to `base`; links out do not count."""

    def __init__(self, base: Path, root: Path) -> None:
        self.base = base
        self.root = root
        self._known: dict[str, bool] = {}
        self._folders: dict[str, bool] = {}

    def has(self, path: str) -> bool:
        """Whether there is such a file inside the project."""
        if path not in self._known:
            self._known[path] = self._look(path)
        return self._known[path]

    def _look(self, path: str) -> bool:
        try:
            whole = os.path.join(self.base, path)  # noqa: PTH118 (most candidates are not there)
            if not self._folder_there(whole.rpartition("/")[0]):
                return False
            found = os.path.isfile(whole)  # noqa: PTH113
            dependency_log.note("file", whole, found)
            return found and Path(whole).resolve().is_relative_to(self.root)
        except (OSError, RuntimeError, ValueError):
            return False

    def _folder_there(self, folder: str) -> bool:
        """Whether there is a folder; whole branches that are not there are asked for once."""
        if folder not in self._folders:
            above = folder.rpartition("/")[0]
            self._folders[folder] = not above or (self._folder_there(above) and self._noted(folder))
        return self._folders[folder]

    @staticmethod
    def _noted(folder: str) -> bool:
        found = os.path.isdir(folder)  # noqa: PTH112
        if not found:
            dependency_log.note("there", folder, os.path.exists(folder))  # noqa: PTH110
        return found

    def prefix(self) -> str:
        """The root as a path relative to `base`; empty where they are one."""
        if self.root == self.base:
            return ""
        inside = self.root.is_relative_to(self.base)
        return (self.root.relative_to(self.base) if inside else self.root).as_posix()

    def find(self, written: str, home: str, known: Mapping[str, str | None]) -> str | None:
        """The file that `written` means in a script in folder `home`; `known` are values of variables."""
        text, own = expanded(written, known)
        if text is None:
            return None
        if own:
            candidates = [posixpath.join(home, text)]
        elif text.startswith("/"):
            return None
        else:
            candidates = [posixpath.join(home, text), posixpath.join(self.prefix(), text)]
            if "/" in text.removeprefix("./"):
                candidates += [posixpath.join(above, text) for above in self._above(home)]
        found = {path for c in candidates if self.has(path := posixpath.normpath(c))}
        return found.pop() if len(found) == 1 else None

    def _above(self, home: str) -> Iterator[str]:
        """The folders between a folder and the root: a repository inside this one has its scripts started there."""
        top = self.prefix()
        while home and home != top and ".." not in home:
            home = folder(home)
            yield home


def expanded(written: str, known: Mapping[str, str | None]) -> tuple[str | None, bool]:
    """A path with its variables replaced, and whether it starts at the script's own folder; None: not known."""
    text = written.strip("\"'")
    own = False
    for _ in range(MOST_SUBSTITUTIONS):
        text = _own_folders(text)
        own = own or _OWN in text
        text = _CURRENT_FOLDER.sub(".", text)
        match = _VARIABLE.search(text)
        if match is None:
            break
        value = known.get(match[1] or match[3]) or match[2]
        if value is None:
            return None, False
        text = text[: match.start()] + value.strip("\"'") + text[match.end() :]
    text = text.replace('"', "")
    if "$" in text or "`" in text or "*" in text or text.startswith("~"):
        return None, False
    if own:
        head, _, rest = text.rpartition(_OWN)
        rest = rest.lstrip("/")
        return (None, False) if head or not rest else (rest, True)
    return text, False


def _own_folders(text: str) -> str:
    """The idioms for the script's own folder as one mark, with what is beside them.

    `$(cd "$(dirname "$0")/.." && pwd)/env.sh` becomes the mark, `/..` and `/env.sh`.
    """
    text = text.replace("${BASH_SOURCE%/*}", _OWN).replace("${BASH_SOURCE[0]%/*}", _OWN).replace("${0%/*}", _OWN)
    start = text.find("$(")
    while start != -1:
        end = _closing(text, start + 1)
        content = text[start + 2 : end]
        if "dirname" in content and _SELF.search(content):
            beside = _BESIDE.search(content)
            up = "/.." * (content.count("dirname") - 1)
            text = text[:start] + _OWN + up + (beside[1] if beside else "") + text[end + 1 :]
            start = text.find("$(", start)
        else:
            start = text.find("$(", start + 2)
    return text


def _closing(text: str, start: int) -> int:
    """The index of the parenthesis that closes the one at `start`; the end of the text where there is none."""
    depth = 0
    for index in range(start, len(text)):
        depth += (text[index] == "(") - (text[index] == ")")
        if depth == 0:
            return index
    return len(text)


def folder(path: str) -> str:
    """The folder of a path; empty at the top."""
    return "" if "/" not in path else path.rsplit("/", 1)[0]


def program_files(module: str, path: str) -> list[str]:
    """What `python -m module` may run, written in a script at `path`: a module, or the `__main__` of a package."""
    stem = module.replace(".", "/")
    homes = dict.fromkeys((folder(path), "", "src"))
    places = [posixpath.join(home, f"{stem}{end}") for home in homes for end in ("/__main__.py", ".py")]
    return [posixpath.normpath(place) for place in places]


@lru_cache(maxsize=65536)
def module_files(target: str, path: str) -> list[str]:
    """Where a module may stand that a file imports, nearest first; the last part may be a name in it.

    `target` is dotted, with dots in front for a relative import.
    """
    dots = len(target) - len(target.lstrip("."))
    parts = [part for part in target.lstrip(".").split(".") if part]
    home = folder(path)
    for _ in range(dots - 1):
        home = folder(home)
    found: list[str] = []
    for base in [home] if dots else [home, "", "src"]:
        for length in (len(parts), len(parts) - 1):
            if length > 0 or dots:
                stem = "/".join([part for part in (base, *parts[:length]) if part])
                found += [f"{stem}.py", f"{stem}/__init__.py"] if length > 0 else [f"{stem}/__init__.py".lstrip("/")]
    return list(dict.fromkeys(found))
