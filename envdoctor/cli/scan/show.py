"""`envdoctor scan --show-...`: what a scan would read, by what, against what, and which launches it sees."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from envdoctor.analysis.project import Project
from envdoctor.cli.scan.setup import ScanSetup
from envdoctor.core.errors import UserError
from envdoctor.core.numbers import counted, whole
from envdoctor.project.discovery import Found
from envdoctor.readers.store import HEAD
from envdoctor.reports import base as reports
from envdoctor.reports.outputs import ReportOutput, planned

FROM_FILE = (
    "target", "targets", "level", "levels", "select", "ignore", "per-file-ignores", "exclude", "fail-on", "catalog",
    "rules", "required-version",
)  # fmt: skip
ARGUMENTS = ("target", "level", "select", "ignore", "exclude", "fail-on")
"""Keys that the command line has as well."""


def show(arguments: argparse.Namespace, setup: ScanSetup, found: Found, stdin: Mapping[str, bytes]) -> int:
    """Print what was asked for; 2 where a file that was named cannot be opened."""
    project = setup.project(arguments.docs).edited(dict(stdin))
    wanted = planned(arguments.format, arguments.output)[0]
    if wanted.format not in ("text", "json") or wanted.path is not None:
        raise UserError("--show-... prints text or, with --format json, JSON")
    if arguments.diff_launch:
        return _differences(arguments, setup, project, wanted)
    if arguments.show_settings:
        _print(settings(arguments, setup))
    elif arguments.show_files:
        _print(path for path in found.files if _is_read(path, project))
    elif arguments.show_target:
        _targets(project, found, wanted)
    else:
        _launches(arguments, setup, project, found, wanted)
    errors = [*found.errors, *project.internal.messages()]
    for message in (*errors, *(f"{c.place.path}:{c.place.line}: {c.message}" for c in setup.config.complaints)):
        reports.tell(message)
    return 2 if errors or any(c.fatal for c in setup.config.complaints) else 0


def _print(lines: Iterator[str]) -> None:
    for line in lines:
        print(reports.printable(line))


def settings(arguments: argparse.Namespace, setup: ScanSetup) -> Iterator[str]:
    """The configuration in force as TOML, with a comment on where each value comes from, and the rules it selects."""
    config = setup.config
    yield f"# configuration file: {config.source or 'none'}"
    yield f"# project: {config.root.resolve()}"
    for key in FROM_FILE:
        name = key.replace("-", "_")
        value = getattr(config, name)
        given = key in ARGUMENTS and getattr(arguments, name)
        default = value == type(config)._field_defaults[name]
        origin = "command line" if given else "default" if default else "configuration file"
        if isinstance(value, Mapping):
            inside = ", ".join(f"{json.dumps(k)} = {_toml(v)}" for k, v in value.items())
            yield f"{key} = {{ {inside} }}  # {origin}" if inside else f"{key} = {{}}  # {origin}"
        else:
            yield f"{key} = {_toml(value)}  # {origin}"
    yield f"# {counted(len(setup.rules), 'rule')} selected:"
    for rule in setup.rules:
        yield f"#   {rule.id} {rule.name}"


def _toml(value: object) -> str:
    """A string or a list of strings; JSON writes both as TOML does."""
    return json.dumps(list(value) if isinstance(value, (tuple, list)) else value, ensure_ascii=False)


def _is_read(path: str, project: Project) -> bool:
    """Whether a file is of a kind that some reader reads."""
    from envdoctor.readers.kinds import kind_of

    return kind_of(path, project.files.head(path, HEAD), project.facts.docs) is not None


def _targets(project: Project, found: Found, wanted: ReportOutput) -> None:
    from envdoctor.analysis.target import show as targets_show

    read = [facts for path in found.files if (facts := project.facts.whole(path)) is not None]
    paths = [facts.path for facts in read if facts.settings or facts.launches]
    groups = targets_show.grouped((path, project.targets.of(path)) for path in paths)
    if wanted.format == "json":
        print(json.dumps({"version": 1, "targets": [targets_show.as_json(group) for group in groups]}, indent=2))
        return
    _print(line for group in groups for line in targets_show.lines(group))


def _launches(
    arguments: argparse.Namespace, setup: ScanSetup, project: Project, found: Found, wanted: ReportOutput
) -> None:
    """Print the launches in the files, or those that could not be followed."""
    from envdoctor.analysis.process import show as launch_lines
    from envdoctor.analysis.process.coverage import coverage
    from envdoctor.analysis.process.walk import walk

    read = [facts for path in found.files if (facts := project.facts.whole(path)) is not None]
    walked = walk(project, read, setup.catalog.variable)
    if wanted.format == "json":
        print(json.dumps(launch_lines.as_json(walked, setup.catalog.variable, set(found.files)), indent=2))
        return
    paths = set(found.files)
    if arguments.show_unknown:
        _print(launch_lines.unknown_lines(walked, paths))
    else:
        _print(launch_lines.lines(walked, setup.catalog.variable, found.files))
    print(reports.coverage_line(coverage(walked, paths)))


def _differences(arguments: argparse.Namespace, setup: ScanSetup, project: Project, wanted: ReportOutput) -> int:
    """Print how two launches differ; 1 where they do, as `diff` has it."""
    from envdoctor.analysis.process import difference

    try:
        one, other = (_launch(word, setup, project) for word in arguments.diff_launch)
    except UserError:
        _told(project)
        raise
    differences = difference.between(one, other, setup.catalog)
    if wanted.format == "json":
        rows: list[dict[str, Any]] = [row._asdict() for row in differences]
        print(json.dumps({"version": 1, "launches": [one.label, other.label], "differences": rows}, indent=2))
    else:
        _print(difference.lines(one, other, differences))
    return 2 if _told(project) else int(bool(differences))


def _told(project: Project) -> bool:
    """Say what could not be done because of errors of ours; whether there was any."""
    for message in project.internal.messages():
        reports.tell(message)
    return bool(project.internal)


def _launch(word: str, setup: ScanSetup, project: Project) -> Any:
    """The launch that `FILE` or `FILE:LINE` means."""
    from envdoctor.analysis.process import difference
    from envdoctor.analysis.process.walk import walk
    from envdoctor.project import discovery

    name, _, line = word.rpartition(":")
    if whole(line) is None or (setup.base / word).is_file():
        name, line = word, ""
    path = Path(name)
    if not path.is_file():
        raise UserError(f"{name}: no such file")
    facts = project.facts.whole(discovery.relative_path(path.resolve(), setup.base))
    walked = walk(project, [facts] if facts is not None else [], setup.catalog.variable)
    return difference.launch(walked, facts, facts.path if facts else name, whole(line), setup.catalog)
