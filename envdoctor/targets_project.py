"""Which files of a project speak for it, and for which of its launch units."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from envdoctor.regexes import regex
from envdoctor.targets_base import Reason, Target
from envdoctor.targets_combine import combine_stages
from envdoctor.targets_hints import reasons_of
from envdoctor.targets_table import Table, table

File = tuple[str, str]
"""Path and text."""
MOST_MENTIONS = 20
LONGEST_PATH = 200
PATH_BEFORE = regex(r"(?:(?<![\w./${}-])[\w./${}-]*/|(?<![\w-])(?<!\w\.))\Z")
NAME_GOES_ON = regex(r"[\w-]|\.\w")


def hint_files(paths: Iterable[str]) -> list[str]:
    """The files among `paths` that can speak for a whole project, by their names; the ones nearest the root first.

    Their number is bounded. Files of tests, documentation and other people's code are left out.
    """
    known = table()
    rules = known.data["project"]
    never = set(rules["never"])
    never_name = re.compile("|".join(rules["never-names"]), re.IGNORECASE)
    found = []
    for path in paths:
        folders = path.lower().split("/")
        name = folders.pop()
        if never.intersection(folders) or never_name.search(name.rsplit(".", 1)[0]):
            continue
        kind = known.kind_named(path)
        if kind is not None and kind.says("project"):
            found.append(path)
    found.sort(key=lambda p: (p.count("/"), p))
    return found[: known.data["limits"]["project-files"]]


def infer(unit_files: Sequence[File], project_files: Sequence[File], around: Sequence[Sequence[File]] = ()) -> Target:
    """What the files of one launch unit say, filled from the project where they leave something open.

    The unit's own files come first, then project files that it names, then the files `around` it, which start it or
    are started by it, then those of its folder and of the folders above it, nearest first. Scripts for two platforms
    around one file leave its platform open. Without a unit it is what the whole project says.
    """
    own = {path for path, _ in unit_files}
    others = [(path, text) for path, text in project_files if path not in own]
    if any(_is_image(path) for path in own):
        # Another image says nothing of the unit's own.
        others = [(path, text) for path, text in others if not _is_image(path)]
    stages = [_reasons(unit_files)]
    if not unit_files:
        stages.append(_reasons(others))
    else:
        named = [file for file in others if _is_named(file[0], unit_files)]
        stages.append(_reasons(named))
        stages += [_reasons(group) for group in around]
        stages += [_reasons(group) for group in _by_distance(unit_files, [f for f in others if f not in named])]
    return combine_stages(stages)


def _is_image(path: str) -> bool:
    """Whether a file describes an image or names those of services."""
    kind = table().kind_named(path)
    return kind is not None and kind.name in ("dockerfile", "compose")


def _reasons(files: Iterable[File]) -> list[Reason]:
    return [reason for path, text in files for reason in reasons_of(path, text)]


def _is_named(path: str, unit_files: Sequence[File]) -> bool:
    """Whether the unit names a project file: `-f docker/Dockerfile.rocm`, `pip install -r requirements-amd.txt`."""
    name = path.rsplit("/", 1)[-1]
    return any(
        _leads_to(written, path, home) for home, text in unit_files if name in text for written in _written(text, name)
    )


def _written(text: str, name: str) -> Iterator[str]:
    """The words of a text that end in a file's name, each with the folders before it."""
    position = text.find(name)
    for _ in range(MOST_MENTIONS):
        if position < 0:
            return
        end = position + len(name)
        before = PATH_BEFORE.search(text, max(0, position - LONGEST_PATH), position)
        if before is not None and not NAME_GOES_ON.match(text, end):
            yield text[before.start() : end]
        position = text.find(name, end)


def _leads_to(written: str, path: str, home: str) -> bool:
    """Whether a path as a file of the unit writes it can be this project file: from its folder, or from the root."""
    plain = re.sub(r"^(?:\$\{?\w+\}?/|/|\.{1,2}/)+", "", written)
    beside = "/".join([*_folders(home), plain])
    return path in (plain, beside) or ("/" in plain and path.endswith("/" + plain))


def _by_distance(unit_files: Sequence[File], files: Sequence[File]) -> list[list[File]]:
    """Project files that speak for the unit's folders, in groups from near to far."""
    known = table()
    homes = [_folders(path) for path, _ in unit_files]
    groups: dict[int, list[File]] = {}
    for file in files:
        folder = _spoken_for(file[0], known)
        distances = [len(home) - len(folder) for home in homes if home[: len(folder)] == folder]
        if distances:
            groups.setdefault(min(distances), []).append(file)
    return [groups[distance] for distance in sorted(groups)]


def _folders(path: str) -> list[str]:
    return path.split("/")[:-1]


def _spoken_for(path: str, known: Table) -> list[str]:
    """The folder that a project file speaks for: its own, or the one that a `docker/` or `requirements/` stands in."""
    folders = _folders(path)
    shared = known.data["project"]["shared"]
    for index, folder in enumerate(folders):
        if folder.lower() in shared:
            return folders[:index]
    return folders
