"""What a path means that somebody wrote in a file: simple variables, and the usual idioms for the script's own folder.

What cannot be told is None: nothing is guessed. Only names are looked at here, never the disk.
"""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from functools import lru_cache

from envdoctor.core.regexes import regex

_SELF = regex(r"\$\{?(?:0|BASH_SOURCE|SCRIPT_PATH)\b|\$\{0\}|\$0|%x")
_BESIDE = regex(r"\)[\"']?((?:/[\w.-]+)+)/?[\"']?\s*(?:&|;|>|\)|$)")
_OWN = "\0"
_CURRENT_FOLDER = regex(r"\$\(pwd\)|`pwd`|\$\{?(?:PWD|SLURM_SUBMIT_DIR|PBS_O_WORKDIR|GITHUB_WORKSPACE)\}?")
_VARIABLE = regex(r"\$(?:\{(\w+)(?::?-([^{}$]*))?\}|(\w+))")
MOST_SUBSTITUTIONS = 8
_LEAD = regex(r"^(?:\$\{?\w+\}?/|/|\.{1,2}/)+")
"""A variable or dots in front of a path: where a script is started from is not known."""


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


def meanings(written: str, home: str) -> tuple[str, str, str]:
    """The paths that a word in a file in folder `home` can mean, whatever variable stands before it: from that
    folder, from the root, and from that folder with its dots."""
    plain = _LEAD.sub("", written)
    beside = posixpath.normpath(posixpath.join(home, plain))
    return beside, plain, posixpath.normpath(posixpath.join(home, written))


def ends(written: str, path: str) -> bool:
    """Whether a word with a folder in it is the end of a path."""
    plain = _LEAD.sub("", written)
    return "/" in plain and path.endswith("/" + plain)


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
