"""What is known of Python names: what shows that a program trains or asks for determinism, and which release has what.

The knowledge is data, in `rules/apis/*.toml`.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any


def build(paths: list[Path]) -> dict[str, Any]:
    """One table from the files: lists of the same name are joined. Errors of reading and of TOML pass."""
    from envdoctor.knowledge.files import parse_toml

    table: dict[str, Any] = {}
    for path in paths:
        for key, value in parse_toml(path).items():
            if not isinstance(value, list):
                raise ValueError(f"{path.name}: {key}: expected a list")
            table[key] = [*table.get(key, []), *value]
    return table


@lru_cache(maxsize=1)
def load_apis() -> dict[str, Any]:
    """The table that comes with envdoctor."""
    from envdoctor.knowledge.files import load_compiled

    return load_compiled("apis", "apis", build)
