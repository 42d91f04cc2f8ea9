"""Which files of a project speak for it, and for which of its launch units."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from envdoctor.analysis.references.paths import ends, meanings
from envdoctor.analysis.target.hints import reasons_of
from envdoctor.analysis.target.names import name_reasons
from envdoctor.core.regexes import regex
from envdoctor.core.target import Platform, Reason, Target
from envdoctor.knowledge.targets.combine import combine_stages, spoken_for
from envdoctor.knowledge.targets.table import TargetTable, table

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
    around one file leave its platform open, and so do scripts that start it of which only some say anything. Without a
    unit it is what the whole project says.
    """
    own = [path for path, _ in unit_files]
    others = [(path, text) for path, text in project_files if path not in own]
    if any(_is_image(path) for path in own):
        # Another image says nothing of the unit's own.
        others = [(path, text) for path, text in others if not _is_image(path)]
    elif _has_silent_image(own, others):
        homes = {path.rpartition("/")[0] for path in own}
        others = [file for file in others if not _is_image(file[0]) or file[0].rpartition("/")[0] in homes]
    alone = any(_runs_alone(path) for path in own)
    names = [] if alone else [reason for path in own for reason in name_reasons(path)]
    stages = [[*names, *_reasons(unit_files)]]
    if not unit_files:
        stages.append(_reasons(others))
    else:
        named = [file for file in others if _is_named(file[0], unit_files)]
        stages.append(_reasons(named))
        stages += [_around(group, unit_files) for group in around]
        if not alone:
            stages += [_reasons_of_folder(*g) for g in _by_distance(unit_files, [f for f in others if f not in named])]
    return combine_stages(stages)


def folders_near(folder: str) -> set[str]:
    """The folders for which files in `folder` can speak: itself, the one above, one more above `docker/<vendor>`."""
    above = folder.rpartition("/")[0]
    further, _, name = above.rpartition("/")
    return {folder, above, further} if name.lower() in table().data["project"]["shared"] else {folder, above}


def _runs_alone(path: str) -> bool:
    """Whether a file is a job of continuous integration: the project around it is not what it runs on."""
    return any(re.search(pattern, path, re.IGNORECASE) for pattern in table().data["project"]["alone"])


def _is_image(path: str) -> bool:
    """Whether a file describes an image or names those of services."""
    kind = table().kind_named(path)
    return kind is not None and kind.name in ("dockerfile", "compose")


def _has_silent_image(own: Sequence[str], files: Sequence[File]) -> bool:
    """Whether images lie beside the unit, all silent on the platform: those of other folders are not its own."""
    homes = {path.rpartition("/")[0] for path in own}
    beside = [file for file in files if _is_image(file[0]) and file[0].rpartition("/")[0] in homes]
    return bool(beside) and not any(spoken_for(_reasons([file])) for file in beside)


def _is_environment(path: str) -> bool:
    """Whether a file describes all that a program runs in, so that one takes the place of another."""
    kind = table().kind_named(path)
    return kind is not None and kind.name in ("dockerfile", "compose", "conda")


def _reasons(files: Iterable[File]) -> list[Reason]:
    return [reason for path, text in files for reason in reasons_of(path, text)]


def _around(group: Sequence[File], unit_files: Sequence[File]) -> list[Reason]:
    """What the files around a unit say; of those that start it, where there are several, what they have in common."""
    starters = [file for file in group if any(_is_named(path, [file]) for path, _ in unit_files)]
    # A name that says MI300X is of that script: what it starts may well run elsewhere too.
    said = [[*(r._replace(gpus=()) for r in name_reasons(path)), *reasons_of(path, text)] for path, text in starters]
    platforms = {tuple(spoken_for(reasons)) for reasons in said}
    started = _reasons(file for file in group if file not in starters)
    if () in platforms and len(platforms) == 2:
        return started
    return started + (_in_common(said) if len(said) > 1 else [reason for reasons in said for reason in reasons])


def _in_common(said: Sequence[Sequence[Reason]], more: Sequence[Sequence[Reason]] = ()) -> list[Reason]:
    """The reasons of several files, each with the releases and architectures that all of these, and `more`, name."""
    files = [*said, *more]
    versions = set.intersection(*({item for r in reasons for item in r.versions.items()} for reasons in files))
    gpus = set.intersection(*({gpu for r in reasons for gpu in r.gpus} for reasons in files))
    return [
        r._replace(
            versions={key: value for key, value in r.versions.items() if (key, value) in versions},
            gpus=tuple(gpu for gpu in r.gpus if gpu in gpus),
        )
        for reasons in said
        for r in reasons
    ]


def _reasons_of_folder(near: Sequence[File], deep: Sequence[File]) -> list[Reason]:
    """What project files of one folder say. Those further down decide nothing, but can contradict.

    Of several images or conda environments for one platform nobody says which is used: what they have in common is
    known.
    """
    images = [file for file in near if _is_environment(file[0])]
    reasons = _reasons(file for file in near if file not in images)
    by_platform: dict[tuple[Platform, ...], list[list[Reason]]] = {}
    for file in images:
        said = _reasons([file])
        by_platform.setdefault(tuple(spoken_for(said)), []).append(said)
    further = [_reasons([file]) for file in deep if _is_environment(file[0])]
    for platforms, alike in by_platform.items():
        more = [said for said in further if platforms and tuple(spoken_for(said)) == platforms]
        several = platforms and len(alike) + len(more) > 1
        reasons += _in_common(alike, more) if several else [reason for said in alike for reason in said]
    if decided := spoken_for(reasons):
        others = [r for r in _reasons(deep) if r.platform not in (None, *decided)]
        reasons += [r for r in others if r.plain and r.confidence != "weak"]
    return reasons


def _is_named(path: str, unit_files: Sequence[File]) -> bool:
    """Whether the unit names a project file: `-f docker/Dockerfile.rocm`, `pip install -r requirements-amd.txt`."""
    name = path.rsplit("/", 1)[-1]
    return any(
        _leads_to(written, path, home) for home, text in unit_files if name in text for written in _written(text, name)
    )


def _written(text: str, name: str) -> Iterator[str]:
    """The words of a text, outside of whole-line comments, that end in a file's name, each with its folders."""
    position = text.find(name)
    for _ in range(MOST_MENTIONS):
        if position < 0:
            return
        end = position + len(name)
        before = PATH_BEFORE.search(text, max(0, position - LONGEST_PATH), position)
        commented = text[text.rfind("\n", 0, position) + 1 : position].lstrip().startswith("#")
        if before is not None and not commented and not NAME_GOES_ON.match(text, end):
            yield text[before.start() : end]
        position = text.find(name, end)


def _leads_to(written: str, path: str, home: str) -> bool:
    """Whether a path as a file of the unit writes it can be this project file: from its folder, or from the root."""
    return path in meanings(written, "/".join(_folders(home))) or ends(written, path)


def _by_distance(unit_files: Sequence[File], files: Sequence[File]) -> list[tuple[list[File], list[File]]]:
    """Project files that speak for the unit's folders, in groups from near to far; in each those further down apart."""
    known = table()
    homes = [_folders(path) for path, _ in unit_files]
    groups: dict[int, tuple[list[File], list[File]]] = {}
    for file in files:
        folder, above = _spoken_for(file[0], known), _folders(file[0])[:-1]
        distances = [len(home) - len(folder) for home in homes if home[: len(folder)] == folder]
        if distances:
            near, deep = groups.setdefault(min(distances), ([], []))
            (near if any(home[: len(above)] == above for home in homes) else deep).append(file)
    return [groups[distance] for distance in sorted(groups)]


def _folders(path: str) -> list[str]:
    return path.split("/")[:-1]


def _spoken_for(path: str, known: TargetTable) -> list[str]:
    """The folder that a project file speaks for: its own, or the one that a `docker/` or `requirements/` stands in."""
    folders = _folders(path)
    shared = known.data["project"]["shared"]
    for index, folder in enumerate(folders):
        if folder.lower() in shared:
            return folders[:index]
    return folders
