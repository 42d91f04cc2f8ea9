"""The target: what platform and which releases a launch is judged against, as given or as the project plainly says.

Everything known about images, wheels, modules, schedulers and devices is data under `rules/targets/`; it is read when
the first target is asked for. Where hints contradict each other, or none is plain, the platform is unknown and only
what all platforms share is judged.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from envdoctor.targets_base import (
    UNKNOWN,
    Confidence,
    Platform,
    Reason,
    Target,
    TargetDataError,
    TargetError,
)

if TYPE_CHECKING:
    from envdoctor.targets_table import Table

File = tuple[str, str]
"""Path and text."""

__all__ = [
    "UNKNOWN", "Confidence", "Platform", "Reason", "Target", "TargetDataError", "TargetError", "at_least", "combine",
    "folders_near", "hint_files", "hints_in", "infer", "parse_target",
]  # fmt: skip


def parse_target(text: str) -> Target:
    """The target that `--target` gives: a comma list of platform, component or GPU, each with `-` and a version.

    `rocm-6.2,torch-2.4`, `cuda`, `nccl-2.21.5`, `mi300x`. What follows by the tables is filled in. Raises
    `TargetError` for names that are not known and for parts that contradict each other.
    """
    from envdoctor import targets_given

    return targets_given.parse_target(text)


def hints_in(path: str, text: str, table: Table | None = None) -> list[Reason]:
    """The hints that a file holds, in source order; `path` decides on the kind of file and so on what can be one."""
    from envdoctor import targets_hints

    return targets_hints.hints_in(path, text, table)


def combine(reasons: Sequence[Reason]) -> Target:
    """What the reasons of one launch unit say together."""
    from envdoctor import targets_combine

    return targets_combine.combine(reasons)


def infer(unit_files: Sequence[File], project_files: Sequence[File], around: Sequence[Sequence[File]] = ()) -> Target:
    """What the files (path, text) of one launch unit say, filled from the project where they leave something open.

    `around` are files that start the unit or that it starts, in groups from near to far.
    """
    from envdoctor import targets_project

    return targets_project.infer(unit_files, project_files, around)


def folders_near(folder: str) -> set[str]:
    """The folders for which files in `folder` can speak."""
    from envdoctor import targets_project

    return targets_project.folders_near(folder)


def hint_files(paths: Iterable[str]) -> list[str]:
    """The files that can speak for a whole project, by their names alone, the ones nearest the root first."""
    from envdoctor import targets_project

    return targets_project.hint_files(paths)


def at_least(have: str, wanted: str) -> bool | None:
    """Whether release `have` is `wanted` or later; None where that cannot be told (a series, a pre-release)."""
    from envdoctor import targets_versions

    return targets_versions.at_least(have, wanted)
