"""What is known of Python names: what trains, draws, seeds or asks for determinism, and which release has what.

The knowledge is data, in `rules/apis/*.toml`: tables by topic, whose keys are explained at the top of each file. A rule
takes one over by naming it in its parameters: `stream = "apis:streams"`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

REFERENCE = "apis:"
"""How the value of a parameter begins that names a table of `rules/apis/`."""


class UnknownTableError(ValueError):
    """A parameter that names a table which is not there; the message names the nearest one."""

    def __init__(self, key: str, said: str) -> None:
        super().__init__(said)
        self.key = key


def build(paths: list[Path]) -> dict[str, Any]:
    """One table from the files: lists of the same name are joined. Errors of reading and of TOML pass."""
    from envdoctor.knowledge.files import parse_toml

    table: dict[str, Any] = {}
    for path in paths:
        for key, value in parse_toml(path).items():
            table[key] = _joined(table.get(key), value, f"{path.name}: {key}")
    return table


def _joined(known: Any, value: Any, where: str) -> Any:
    """A table of this name, after those of earlier files."""
    if not isinstance(value, list | dict):
        raise ValueError(f"{where}: expected a list or a table")
    if known is None:
        return value
    if not (isinstance(known, list) and isinstance(value, list)):
        raise ValueError(f"{where}: is in another file already, and only lists are joined")
    return [*known, *value]


def with_tables(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters of a rule, with the tables in place of their names. `UnknownTableError`: one has no table."""
    return {key: table_of(key, value) if _names_table(value) else value for key, value in parameters.items()}


def _names_table(value: Any) -> bool:
    return isinstance(value, str) and value.startswith(REFERENCE)


def table_of(key: str, value: str) -> Any:
    """The table that a parameter names."""
    name = value.removeprefix(REFERENCE)
    tables = load_apis()
    if name not in tables:
        from envdoctor.knowledge.files import suggestion

        raise UnknownTableError(key, f"no table of rules/apis/ is called {name}{suggestion(name, list(tables))}")
    return tables[name]


@lru_cache(maxsize=1)
def load_apis() -> dict[str, Any]:
    """The table that comes with envdoctor."""
    from envdoctor.knowledge.files import load_compiled

    return load_compiled("apis", "apis", build)
