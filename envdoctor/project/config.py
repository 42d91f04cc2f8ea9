"""Configuration: `envdoctor.toml` or `[tool.envdoctor]` in `pyproject.toml`, nearest folder upwards."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import envdoctor
from envdoctor.cache import dependency_log
from envdoctor.core.facts import Place
from envdoctor.knowledge.files import loads_toml

LEVELS = ("auto", "hygiene", "run-to-run", "placement", "topology")
FAIL_ON = ("warning", "error", "never")


class Complaint(NamedTuple):
    """Something wrong in a configuration file. `fatal`: what was asked for cannot be done."""

    place: Place
    message: str
    rule: str = "bad-configuration"

    @property
    def fatal(self) -> bool:
        """A name that is not known is reported; anything else means that the request cannot be met."""
        return self.rule == "bad-configuration"


class Config(NamedTuple):
    """What a user asked for, from the command line over the file over the defaults."""

    root: Path = Path()
    source: Path | None = None
    target: str = ""
    level: str = "auto"
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    fail_on: str = "warning"
    complaints: tuple[Complaint, ...] = ()
    levels: Mapping[str, str] = MappingProxyType({})
    """Pattern of paths -> level, for parts of a project that ask for another one; the last that fits holds."""
    targets: Mapping[str, str] = MappingProxyType({})
    """Pattern of paths -> target, in the same way."""
    per_file_ignores: Mapping[str, Sequence[str]] = MappingProxyType({})
    """Pattern of paths -> rules that say nothing there; all that fit hold."""
    catalog: tuple[str, ...] = ()
    """Files, or folders of files, with catalogue entries of the project's own; from the folder of this file."""
    rules: tuple[str, ...] = ()
    """The same for rules."""
    gpus: int = 0
    """How many GPUs a node should have (`envdoctor live`); 0: not said."""
    required_version: str = ""
    """The releases of envdoctor that the project is made for (`>=0.2`)."""

    def over(self, **given: Any) -> Config:
        """This configuration with what the command line gives (None: not given)."""
        return self._replace(**{key: value for key, value in given.items() if value is not None})

    def complaint(self, word: str, message: str, rule: str = "bad-configuration") -> Complaint:
        """A complaint about a word of the configuration file, where it stands."""
        source = self.source or Path("envdoctor.toml")
        text, _ = _text(source)
        return Complaint(place_of(source, text or "", word), message, rule)


PATTERNS = "a table of patterns of paths and their"
EXPECTED: Mapping[str, str] = {
    "target": "a string", "level": "a string", "fail-on": "a string", "required-version": "a string",
    "select": "a list of strings", "ignore": "a list of strings", "exclude": "a list of strings",
    "catalog": "a list of strings", "rules": "a list of strings", "gpus": "a number",
    "levels": f"{PATTERNS} levels", "targets": f"{PATTERNS} targets", "per-file-ignores": f"{PATTERNS} rules",
}  # fmt: skip
"""Key -> what it takes; the first two words tell the type."""
TYPES: Mapping[str, type] = {"a number": int, "a string": str, "a list": list, "a table": dict}


def load(start: Path, named: Path | None = None) -> Config:
    """The configuration for `start`: the file that is named, else the nearest one upwards, else the defaults."""
    path = named or nearest(start)
    if path is None:
        return Config(root=project_root(start))
    text, error = _text(path)
    if text is None:
        place = Place(path.as_posix(), 1, 1, 1, 1)
        return Config(path.parent, path, complaints=(Complaint(place, f"cannot be read: {error}"),))
    return from_text(path, text)


def _text(path: Path) -> tuple[str | None, str]:
    try:
        return path.read_text(encoding="utf-8"), ""
    except OSError as error:
        return None, error.strerror or str(error)
    except UnicodeDecodeError:
        return None, "it is not UTF-8"


def nearest(start: Path) -> Path | None:
    """The nearest `envdoctor.toml`, or `pyproject.toml` with a `[tool.envdoctor]` table, in `start` or above."""
    start = start.resolve()
    for folder in (start, *start.parents):
        own, shared = folder / "envdoctor.toml", folder / "pyproject.toml"
        if _noted(own) is not None:
            return own
        if b"[tool.envdoctor" in (_noted(shared) or b""):
            return shared
        found = os.path.exists(folder / ".git")  # noqa: PTH110
        dependency_log.note("there", str(folder / ".git"), found)
        if found:
            return None
    return None


def _noted(path: Path) -> bytes | None:
    """The bytes of a file, noted as something that the scan depends on; None where it is none."""
    dependency_log.note("file", str(path), found := os.path.isfile(path))  # noqa: PTH113 (no error in a closed folder)
    try:
        return dependency_log.read(str(path)) if found else None
    except OSError:
        return b""  # it holds, and why it cannot be read is told when it is


def project_root(start: Path) -> Path:
    """The repository that `start` is in, else `start` itself."""
    start = start.resolve()
    return next((f for f in (start, *start.parents) if os.path.exists(f / ".git")), start)  # noqa: PTH110


def from_text(path: Path, text: str) -> Config:
    """The configuration in one file; what is wrong in it becomes a complaint and its default holds."""
    try:
        table: Any = loads_toml(text)
        for key in ("tool", "envdoctor") if path.name == "pyproject.toml" else ():
            table = table.get(key, {}) if isinstance(table, dict) else None
    except (ValueError, RecursionError) as error:  # more digits or brackets than the parser takes, too
        return Config(path.parent, path, complaints=(_syntax_complaint(path, error),))
    if not isinstance(table, dict):
        complaint = Complaint(place_of(path, text, "envdoctor"), "tool.envdoctor: expected a table")
        return Config(path.parent, path, complaints=(complaint,))
    values: dict[str, Any] = {}
    complaints = []
    for key, value in table.items():
        problem = _problem(key, value)
        if problem is None:
            values[key.replace("-", "_")] = tuple(value) if isinstance(value, list) else value
        else:
            complaints.append(Complaint(place_of(path, text, problem.at), problem.message))
    return Config(path.parent, path, complaints=tuple(complaints), **values)


def _syntax_complaint(path: Path, error: Exception) -> Complaint:
    """A TOML error with the line that it names."""
    match = re.search(r"at line (\d+), column (\d+)", str(error))
    line, column = (int(match[1]), int(match[2])) if match else (1, 1)
    said = "nested too deep" if isinstance(error, RecursionError) else str(error)
    return Complaint(Place(path.as_posix(), line, column, line, column + 1), f"not valid TOML: {said}")


class ConfigProblem(NamedTuple):
    """What is wrong with a key, and the word of the file that it is about."""

    message: str
    at: str


def _problem(key: str, value: object) -> ConfigProblem | None:
    """What is wrong with one key, or None."""
    if key not in EXPECTED:
        from envdoctor.knowledge.files import suggestion

        return ConfigProblem(f"unknown key {key!r}{suggestion(key, list(EXPECTED))}", key)
    expected = EXPECTED[key]
    kind = TYPES[" ".join(expected.split()[:2])]
    if not isinstance(value, kind) or (kind is list and not _strings(value)):
        return ConfigProblem(f"{key}: expected {expected}", key)
    if not isinstance(value, dict):
        wrong = _wrong(key, value)
        return ConfigProblem(f"{key}: {wrong}", key) if wrong else None
    for pattern, entry in value.items():
        wrong = _wrong_entry(key, entry)
        if wrong:
            return ConfigProblem(f"{key}: {wrong}", pattern)
    return None


def _strings(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(v, str) for v in value)


def _wrong_entry(key: str, entry: object) -> str:
    """What is wrong with what a pattern of paths leads to; empty where nothing is."""
    if key == "per-file-ignores":
        return "" if _strings(entry) else "expected a list of rules for each pattern"
    return _wrong({"levels": "level", "targets": "target"}[key], entry)


def _wrong(key: str, value: object) -> str:
    """What is wrong with a value; empty where nothing is."""
    from envdoctor.knowledge.files import suggestion

    allowed: Sequence[str] = {"level": LEVELS, "fail-on": FAIL_ON}.get(key, ())
    if allowed and value not in allowed:
        return f"{value!r} is not one of {', '.join(allowed)}{suggestion(str(value), allowed)}"
    if key == "gpus" and (value is True or value is False or not isinstance(value, int) or value < 1):
        return "expected a number from 1 on"
    if key == "target":
        from envdoctor.core.target import TargetError
        from envdoctor.knowledge.targets.given import parse_target

        try:
            parse_target(str(value))
        except TargetError as error:
            return str(error)
    return _other_version(str(value)) if key == "required-version" else ""


def _other_version(wanted: str) -> str:
    """Why this is no release that the project asks for; empty where it is. `0.2.1` alone asks for exactly that one."""
    from packaging.specifiers import SpecifierSet
    from packaging.version import Version

    try:
        asked = SpecifierSet(wanted if wanted.strip().startswith(tuple("<>=!~")) else f"=={wanted}")
        # A checkout on the way to 0.2 has what 0.2 will have.
        fits = asked.contains(Version(envdoctor.__version__).base_version)
    except ValueError:  # InvalidSpecifier among them
        return f"{wanted!r} is no version and no condition on one (`>=0.2`)"
    return "" if fits else f"the project asks for {wanted}, and this is envdoctor {envdoctor.__version__}"


def place_of(path: Path, text: str, word: str) -> Place:
    """Where a key, a table or a string stands in a file; the first line where that cannot be told."""
    quoted = re.escape(word)
    shapes = (
        rf"^[ \t]*[\"']?({quoted})[\"']?[ \t]*=",
        rf"^[ \t]*\[(?:[\w.-]+\.)?({quoted})\]",
        rf"[\"']({quoted})[\"']",
    )
    found = (re.search(shape, text, re.MULTILINE) for shape in shapes)
    start = next((match.start(1) for match in found if match), 0)
    line = text.count("\n", 0, start) + 1
    column = start - (text.rfind("\n", 0, start) + 1) + 1
    return Place(path.as_posix(), line, column, line, column + len(word))
