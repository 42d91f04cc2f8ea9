"""Where the files under `rules/` are, and how they are loaded without parsing TOML on every run.

A wheel carries one JSON per kind of rule file, made when the wheel was built (`hatch_build.py`). In a checkout or an
editable install the same JSON is kept in the user's cache directory, for as long as no rule file changes. Anything
wrong with that cache is the same as having none.
"""

from __future__ import annotations

import json
import os
import sys
import zlib
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import envdoctor

COMPILED = "compiled"
"""The folder under `rules/` that holds the JSON of a wheel."""

KNOWLEDGE = ("apis", "catalog", "intent", "launchers", "levels", "targets", COMPILED)
"""Folders of `rules/` that hold other knowledge than rules."""

Build = Callable[[list[Path]], dict[str, Any]]


def rules_dir() -> Path:
    """The folder with the rule files: inside an installed package, beside it in a checkout."""
    package = Path(__file__).parents[1]
    inside = package / "rules"
    return inside if inside.is_dir() else package.parent / "rules"


def rule_paths(folder: str, root: Path | None = None) -> list[Path]:
    """The TOML files of a folder of `rules/` (`*`: of all folders of rules), sorted."""
    above = root or rules_dir()
    names = sorted(os.listdir(above)) if folder == "*" and above.is_dir() else [folder]
    folders = [above / name for name in names if folder != "*" or name not in KNOWLEDGE]
    return [Path(one, name) for one in folders if one.is_dir() for name in sorted(os.listdir(one)) if _is_toml(name)]


def _is_toml(name: str) -> bool:
    return name.endswith(".toml") and not name.startswith(".")


def load_compiled(name: str, folder: str, build: Build) -> dict[str, Any]:
    """What `build` makes of the rule files of `folder`, from JSON where there is one.

    `name` names the JSON; `build` takes the paths and gives a table that JSON can hold. Errors of `build` pass.
    """
    root = rules_dir()
    made = _read(root / COMPILED / f"{name}.json")
    if made is not None:
        return made
    paths = rule_paths(folder, root)
    signature = _signature(paths)
    cache = _cache_file(name, signature)
    kept = _read(cache)
    if kept is not None and kept.get("signature") == signature and isinstance(kept.get("data"), dict):
        data: dict[str, Any] = kept["data"]
        return data
    table = build(paths)
    _write(cache, {"signature": signature, "data": table})
    return table


def parse_toml(path: Path) -> dict[str, Any]:
    """A TOML file as a table; `ValueError` says what is wrong with it, `OSError` that it cannot be read."""
    return loads_toml(path.read_text(encoding="utf-8"))


def loads_toml(text: str) -> dict[str, Any]:
    """TOML text as a table, by the parser of Python where it has one (from 3.11). `ValueError`: it is none."""
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib

    return tomllib.loads(text)


def suggestion(word: str, known: Sequence[str]) -> str:
    """` (did you mean X?)` if one known word is close, else nothing."""
    import difflib

    close = difflib.get_close_matches(word, known, n=1, cutoff=0.7)
    return f" (did you mean {close[0]}?)" if close else ""


def _signature(paths: list[Path]) -> list[Any]:
    """What the cached JSON depends on: the version, and path, size and time of the files and of the code."""
    return [envdoctor.__version__, *(_status(str(path)) for path in paths), *_code()]


@cache
def _code() -> list[list[Any]]:
    """Whoever makes a table stands below this folder."""
    top = os.path.dirname(__file__)
    names = [f"{folder}/{name}" for folder, _, names in os.walk(top) for name in names if name.endswith(".py")]
    return [_status(name) for name in sorted(names)]


def _status(path: str) -> list[Any]:
    status = os.stat(path)
    return [path, status.st_size, status.st_mtime_ns]


def _cache_file(name: str, signature: list[Any]) -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or str(Path("~/.cache").expanduser())
    return Path(base) / "envdoctor" / f"{name}-{zlib.crc32(dump(signature).encode()):08x}.json"


def _read(path: Path) -> dict[str, Any] | None:
    """A JSON table, or None if there is none that can be used."""
    try:
        table = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    return table if isinstance(table, dict) else None


def _write(path: Path, table: dict[str, Any]) -> None:
    """Keep a table for the next run; a cache that cannot be written is no loss."""
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part.write_text(dump(table), encoding="utf-8")
        part.replace(path)
    except OSError:
        return


def dump(table: Any) -> str:
    """A table as JSON, as short as it can be."""
    return json.dumps(table, separators=(",", ":"), ensure_ascii=False)
