"""What each launcher, container runtime and scheduler does with the variables of its caller.

The knowledge stands in `rules/launchers/*.toml`, one file per launcher. The records in `envdoctor/knowledge/launch/`
describe every key of such a file, once: how it is written, what it says, and what is read from it; `docs/launchers.md`
lists them. A file without evidence or without an example is refused, and so is one that names a command which another
file has already.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from envdoctor.knowledge.files import load_compiled, loads_toml, suggestion
from envdoctor.knowledge.launch.edges import EdgeStep, LaunchEdge, check_step
from envdoctor.knowledge.launch.records import (
    Form,
    Inner,
    JobFlag,
    LauncherCommand,
    LauncherExample,
    LauncherFile,
    LauncherOption,
)
from envdoctor.knowledge.launch.table import Launchers
from envdoctor.knowledge.launch.words import POSITIONAL
from envdoctor.knowledge.toml_records import NAMES, TableError, check, values_of

__all__ = [
    "EdgeStep", "Form", "Inner", "JobFlag", "LaunchEdge", "LauncherCommand", "LauncherError", "LauncherExample",
    "LauncherFile", "LauncherOption", "Launchers", "build", "launchers_from", "load_files", "load_launchers",
]  # fmt: skip


class LauncherError(ValueError):
    """A launcher file that cannot be used; the message names the file and the key."""


def build(paths: Sequence[Path]) -> dict[str, Any]:
    """Parse and check launcher files into one table, ready to be kept as JSON: {file: content}."""
    table: dict[str, Any] = {}
    owners: dict[str, str] = {}
    for path in paths:
        where = f"launchers/{path.name}"
        content = _parsed(path, where)
        _take_names(content, where, owners)
        table[path.stem] = content
    rows = _rows(table)
    for stem, content in table.items():
        _check_shares(content, stem, owners)
        _check_edges(content, stem, owners)
        _check_flags(content, stem, rows)
    return table


def _parsed(path: Path, where: str) -> dict[str, Any]:
    """One file, checked."""
    try:
        content = _with_shared(loads_toml(path.read_text(encoding="utf-8")))
        check(content, LauncherFile)
        for index, edge in enumerate(content.get("edge", ()), 1):
            for number, step in enumerate(edge["steps"], 1):
                check_step(step, f"edge {index}: steps {number}")
    except (ValueError, TableError) as error:
        raise LauncherError(f"{where}: {error}") from error
    return content


def _with_shared(content: dict[str, Any]) -> dict[str, Any]:
    """A file with its `[shared]` keys put into each command."""
    shared = content.pop("shared", {})
    if not isinstance(shared, dict):
        raise TableError("shared: expected a table")
    rows = content.get("command")
    if isinstance(rows, list):
        content["command"] = [{**shared, **row} if isinstance(row, dict) else row for row in rows]
    return content


def _take_names(content: Mapping[str, Any], where: str, owners: dict[str, str]) -> None:
    """Note whose the commands of a file are; a name that is taken already is refused."""
    for index, row in enumerate(_commands(content), 1):
        command = LauncherCommand(**values_of(row, LauncherCommand))
        named = [("programs", name) for name in command.names()]
        for key_name, name in [*named, *(("modules", f"python -m {module}") for module in command.modules.split())]:
            if name in owners:
                raise LauncherError(f"{where}: command {index}: {key_name}: {name} is already in {owners[name]}")
            owners[name] = where


def _check_shares(content: Mapping[str, Any], stem: str, owners: Mapping[str, str]) -> None:
    """The files that a file `shares` have commands."""
    shared = [f"launchers/{other}.toml" for other in content.get("shares", ())]
    if missing := [file for file in shared if file not in owners.values()]:
        raise LauncherError(f"launchers/{stem}.toml: shares: {missing[0]} has no commands")


def _check_edges(content: Mapping[str, Any], stem: str, owners: Mapping[str, str]) -> None:
    """An edge speaks of commands of its own file, or of those of a file that `shares` names."""
    where = f"launchers/{stem}.toml"
    shared = [f"launchers/{other}.toml" for other in content.get("shares", ())]
    for index, row in enumerate(content.get("edge", ()), 1):
        for name in sorted(NAMES.read(row["launchers"])):
            fault = _fault_of_name(name, "only_with" in row, where, shared, owners)
            if fault:
                raise LauncherError(f"{where}: edge {index}: {fault}")


def _rows(table: Mapping[str, Any]) -> dict[str, LauncherCommand]:
    """The rows of all files by the names of their commands."""
    rows = [LauncherCommand(**values_of(row, LauncherCommand)) for file in table.values() for row in _commands(file)]
    return {name: row for row in rows for name in row.names()}


def _commands(content: Mapping[str, Any]) -> Iterable[Mapping[str, Any]]:
    found: Iterable[Mapping[str, Any]] = content.get("command", ())
    return found


def _check_flags(content: Mapping[str, Any], stem: str, rows: Mapping[str, LauncherCommand]) -> None:
    """What a step gives, lists or reads is an option of each command of its edge."""
    for index, row in enumerate(content.get("edge", ()), 1):
        names = sorted(NAMES.read(row["launchers"]))
        for number, step in enumerate(row["steps"], 1):
            for verb in ("give", "list", "read_flag"):
                for flag in step.get(verb, "").split():
                    lacking = [name for name in names if not _carries(rows[name], flag)]
                    if lacking:
                        fault = f"{flag} is no option of {lacking[0]} that carries variables"
                        raise LauncherError(f"launchers/{stem}.toml: edge {index}: steps {number}: {verb}: {fault}")


def _carries(row: LauncherCommand, flag: str) -> bool:
    return row.assigns if flag == POSITIONAL else row.option(flag) is not None


def _fault_of_name(name: str, told_apart: bool, where: str, shared: Sequence[str], owners: Mapping[str, str]) -> str:
    """What is wrong with a name in an edge; empty: nothing."""
    owner = owners.get(name)
    if owner is None:
        return f"launchers: no [[command]] is called {name}{suggestion(name, list(owners))}"
    if owner == where:
        return ""
    if owner not in shared:
        stem = owner.removeprefix("launchers/").removesuffix(".toml")
        return f'launchers: {name} is in {owner}: say shares = ["{stem}"] if it is another program of that name'
    return "" if told_apart else f"only_with: missing: {name} is in {owner} too, and something has to tell them apart"


def launchers_from(table: Mapping[str, Any]) -> Launchers:
    """The launchers of a table that `build` made."""
    files = table.values()
    rows = [(LauncherCommand(**values_of(row, LauncherCommand)), file) for file in files for row in _commands(file)]
    edges = tuple(LaunchEdge(**_of(row, LaunchEdge, file)) for file in files for row in file.get("edge", ()))
    tools = frozenset(name for file in files for name in file.get("tools", "").split())
    batches = {name: file["batch"] for row, file in rows if "batch" in file for name in row.names()}
    marks = {mark: file["batch"] for file in files for mark in file.get("batch_variables", "").split()}
    return Launchers(tuple(row for row, _ in rows), edges, tools, batches, marks)


def _of(row: Mapping[str, Any], record: type, file: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of an edge, with what its file says of all of them."""
    of_file = {key: file[key] for key in ("title", "confidence") if key in file}
    return {**values_of(row, record), **of_file, "evidence": tuple(file["evidence"])}


def load_files() -> list[LauncherFile]:
    """The launcher files that come with envdoctor, with their examples."""
    table = load_compiled("launchers", "launchers", build)
    return [LauncherFile(**values_of(content, LauncherFile)) for content in table.values()]


@cache
def load_launchers() -> Launchers:
    """The launchers that come with envdoctor."""
    return launchers_from(load_compiled("launchers", "launchers", build))
