"""Configuration: `envdoctor.toml` or `[tool.envdoctor]` in `pyproject.toml`, nearest folder upwards."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from envdoctor.facts import Place

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

    def over(self, **given: Any) -> Config:
        """This configuration with what the command line gives (None: not given)."""
        return self._replace(**{key: value for key, value in given.items() if value is not None})


TYPES: Mapping[str, type] = {
    "target": str, "level": str, "levels": dict, "select": list, "ignore": list, "exclude": list, "fail-on": str,
}  # fmt: skip
EXPECTED: Mapping[type, str] = {
    str: "a string", list: "a list of strings", dict: "a table of patterns of paths and their levels",
}  # fmt: skip


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
        if own.is_file():
            return own
        if shared.is_file() and b"[tool.envdoctor" in shared.read_bytes():
            return shared
        if (folder / ".git").exists():
            return None
    return None


def project_root(start: Path) -> Path:
    """The repository that `start` is in, else `start` itself."""
    start = start.resolve()
    return next((f for f in (start, *start.parents) if (f / ".git").exists()), start)


def from_text(path: Path, text: str) -> Config:
    """The configuration in one file; what is wrong in it becomes a complaint and its default holds."""
    import tomli

    try:
        data: Any = tomli.loads(text)
    except tomli.TOMLDecodeError as error:
        return Config(path.parent, path, complaints=(_syntax_complaint(path, error),))
    table = data.get("tool", {}).get("envdoctor", {}) if path.name == "pyproject.toml" else data
    values: dict[str, Any] = {}
    complaints = []
    for key, value in table.items():
        problem = _problem(key, value)
        if problem is None:
            values[key.replace("-", "_")] = tuple(value) if isinstance(value, list) else value
        else:
            complaints.append(Complaint(_key_place(path, text, key), problem))
    return Config(path.parent, path, complaints=tuple(complaints), **values)


def _syntax_complaint(path: Path, error: Exception) -> Complaint:
    """A TOML error with the line that it names."""
    match = re.search(r"at line (\d+), column (\d+)", str(error))
    line, column = (int(match[1]), int(match[2])) if match else (1, 1)
    return Complaint(Place(path.as_posix(), line, column, line, column + 1), f"not valid TOML: {error}")


def _problem(key: str, value: object) -> str | None:
    """What is wrong with one key, or None."""
    from envdoctor.rulefiles import suggestion

    if key not in TYPES:
        return f"unknown key {key!r}{suggestion(key, list(TYPES))}"
    if not isinstance(value, TYPES[key]) or (isinstance(value, list) and not all(isinstance(v, str) for v in value)):
        return f"{key}: expected {EXPECTED[TYPES[key]]}"
    if isinstance(value, dict):
        wrong = next((v for v in value.values() if v not in LEVELS), None)
        return None if wrong is None else f"{key}: {wrong!r} is not one of {', '.join(LEVELS)}"
    allowed: Sequence[str] = {"level": LEVELS, "fail-on": FAIL_ON}.get(key, ())
    if allowed and value not in allowed:
        return f"{key}: {value!r} is not one of {', '.join(allowed)}{suggestion(str(value), allowed)}"
    if key == "target":
        from envdoctor.targets import TargetError, parse_target

        try:
            parse_target(str(value))
        except TargetError as error:
            return f"target: {error}"
    return None


def _key_place(path: Path, text: str, key: str) -> Place:
    """Where a key stands; the first line where that cannot be told."""
    match = re.search(rf"^[ \t]*[\"']?{re.escape(key)}[\"']?[ \t]*=", text, re.MULTILINE)
    start = match.start() if match else 0
    line = text.count("\n", 0, start) + 1
    column = start - (text.rfind("\n", 0, start) + 1) + 1
    return Place(path.as_posix(), line, column, line, column + len(key))
