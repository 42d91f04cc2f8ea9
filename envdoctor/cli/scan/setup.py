"""What a scan works with: configuration, rules, catalogue and project, from the command line and the files."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from envdoctor.analysis.project import Project, open_project
from envdoctor.cache import dependency_log
from envdoctor.core.errors import UserError
from envdoctor.core.internal_errors import InternalErrors, described
from envdoctor.core.target import Target, TargetError
from envdoctor.engine import selected, triggers, unknown_selectors
from envdoctor.knowledge.catalog.load import load_catalog
from envdoctor.knowledge.catalog.model import Catalog
from envdoctor.knowledge.files import suggestion
from envdoctor.knowledge.rulebook import Rule, Rulebook, load_rulebook
from envdoctor.knowledge.targets.given import parse_target
from envdoctor.project import config as configuration
from envdoctor.project.config import Complaint, Config
from envdoctor.project.config_paths import ByPath

if TYPE_CHECKING:
    import argparse

    from envdoctor.knowledge.own_files import OwnFile

T = TypeVar("T")


class ScanSetup(NamedTuple):
    """Everything that is settled before a file is judged."""

    config: Config
    rulebook: Rulebook
    catalog: Catalog
    rules: list[Rule]
    base: Path
    """The folder that is scanned from; paths are reported from there."""

    def project(self, docs: bool, internal: InternalErrors | None = None) -> Project:
        """The project, nothing of it read yet. `internal`: errors of ours that came up before."""
        config = self.config
        root = config.root.resolve()
        targets = ByPath({pattern: parse_target(text) for pattern, text in config.targets.items()}, root, self.base)
        wanted = triggers(self.rules, self.catalog)
        return open_project(
            self.base, root, wanted, exclude=config.exclude, target=_target(config.target), targets=targets, docs=docs,
            internal=internal,
        )  # fmt: skip

    def by_path(self, table: Mapping[str, T]) -> ByPath[T]:
        """A table of the configuration, to be asked with paths of the scan."""
        return ByPath(table, self.config.root.resolve(), self.base)


def prepare(arguments: argparse.Namespace) -> ScanSetup:
    """What the command line and the configuration say. `UserError`: the command line cannot be met."""
    config = _file(arguments)
    rulebook, catalog, config = _knowledge(config)
    config = _known_names(config, rulebook)
    config = _with_arguments(config, arguments)
    for word in unknown_selectors(rulebook, (*(arguments.select or ()), *(arguments.ignore or ()))):
        raise UserError(f"{_unknown(word, rulebook)} (`envdoctor rules` lists them)")
    return ScanSetup(config, rulebook, catalog, selected(rulebook, config.select, config.ignore), Path().resolve())


def _file(arguments: argparse.Namespace) -> Config:
    """The configuration file that is in force."""
    if arguments.config is not None and not os.path.isfile(arguments.config):  # noqa: PTH113 (no error for what is no name)
        raise UserError(f"{arguments.config}: no such configuration file")
    given = arguments.stdin_filename or next((p for p in arguments.paths if p != "-"), ".")
    first = Path(given)
    start = first if os.path.isdir(first) else first.parent  # noqa: PTH112
    return configuration.load(start if os.path.isdir(start) else Path(), arguments.config)  # noqa: PTH112


def _with_arguments(config: Config, arguments: argparse.Namespace) -> Config:
    """The configuration with what the command line says over it; patterns to exclude hold from the current folder."""
    config = config._replace(exclude=tuple(_from_here(p, config.root.resolve()) for p in config.exclude))
    return config.over(
        target=arguments.target,
        targets={} if arguments.target else None,
        level=arguments.level,
        levels={} if arguments.level else None,
        select=arguments.select,
        ignore=arguments.ignore,
        fail_on=arguments.fail_on,
        exclude=(*config.exclude, *arguments.exclude) if arguments.exclude else None,
    )


def _from_here(pattern: str, root: Path) -> str:
    """A pattern of a configuration file in `root`, as it holds for paths from the current folder."""
    here = Path().resolve()
    if "/" not in pattern.rstrip("/") or here == root:
        return pattern
    if root.is_relative_to(here):
        return f"{root.relative_to(here).as_posix()}/{pattern}"
    inside = f"{here.relative_to(root).as_posix()}/" if here.is_relative_to(root) else ""
    return pattern.removeprefix(inside)


def _target(text: str) -> Target | None:
    try:
        return parse_target(text) if text else None
    except TargetError as error:
        raise UserError(f"--target: {error}") from error


def _unknown(word: str, rulebook: Rulebook) -> str:
    names = [name for rule in rulebook for name in (rule.id, rule.name)]
    return f"no rule is named {word!r}{suggestion(word, names)}"


def _known_names(config: Config, rulebook: Rulebook) -> Config:
    """The configuration without names that mean no rule; each is reported where it stands."""
    ignores = [word for words in config.per_file_ignores.values() for word in words]
    unknown = unknown_selectors(rulebook, dict.fromkeys((*config.select, *config.ignore, *ignores)))
    if not unknown:
        return config
    complaints = [config.complaint(word, _unknown(word, rulebook), "unknown-name-in-configuration") for word in unknown]
    return config._replace(
        select=tuple(w for w in config.select if w not in unknown),
        ignore=tuple(w for w in config.ignore if w not in unknown),
        complaints=(*config.complaints, *complaints),
    )


def _knowledge(config: Config) -> tuple[Rulebook, Catalog, Config]:
    """Rules and catalogue, with the files of the project's own laid over them; what cannot be used is reported."""
    if not config.catalog and not config.rules:
        return load_rulebook(), load_catalog(), config
    from envdoctor.knowledge import own_files

    files: list[own_files.OwnFile] = []
    complaints: list[Complaint] = []
    for kind, words in (("catalogue", config.catalog), ("rule", config.rules)):
        for word in words:
            found = (_add_own(path, kind, files) for path in _toml_files(config.root / word))
            complaints += [config.complaint(word, wrong) for wrong in found if wrong]
    rulebook, catalog = own_files.together(files)
    return rulebook, catalog, config._replace(complaints=(*config.complaints, *complaints))


def _add_own(path: Path, kind: str, files: list[OwnFile]) -> str:
    """Add a file to those that can be used together; else what is wrong with it."""
    from envdoctor.knowledge import own_files

    try:
        file = own_files.read(path)
        if file.kind != kind:
            return f"{path}: this is a {file.kind} file, and a {kind} file is asked for here"
        own_files.together([*files, file])
    except UserError as error:
        return str(error)
    except Exception as error:
        return f"{path}: cannot be used: {described(error)}"
    files.append(file)
    return ""


def _toml_files(path: Path) -> list[Path]:
    """A file, or the files of a folder."""
    if not os.path.isdir(path):  # noqa: PTH112 (no error for what is no name of a file)
        return [path]
    dependency_log.note_folder(str(path))
    return sorted(path.glob("*.toml"))
