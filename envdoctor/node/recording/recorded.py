"""What a recording keeps beside its tree: facts of collectives libraries, whose files are too large to keep, and the
site-packages folders that were looked at.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from envdoctor.node.probes.libraries.library import LibraryFile, with_problem

FILE = "recorded.json"
KEPT = tuple(f.name for f in fields(LibraryFile) if f.name not in ("path", "names", "needed", "problems"))


@dataclass(frozen=True, slots=True)
class Recorded:
    """The content of `recorded.json`; empty for a live node and for recordings without it."""

    libraries: Mapping[str, LibraryFile] = field(default_factory=dict)
    site_packages: tuple[str, ...] = ()


def library_json(library: LibraryFile) -> dict[str, Any]:
    """The JSON form of a library's facts."""
    return {
        **{name: getattr(library, name) for name in KEPT},
        "needed": list(library.needed),
        "names": sorted(library.names),
        "problems": [problem.message for problem in library.problems],
    }


def library_from(path: str, data: Mapping[str, Any]) -> LibraryFile:
    """The facts again. Raises KeyError or TypeError for other JSON."""
    kept = {name: data[name] for name in KEPT}
    library = LibraryFile(path, needed=tuple(data["needed"]), names=frozenset(data["names"]), **kept)
    for message in data["problems"]:
        library = with_problem(library, str(message))
    return library


def read_recorded(root: Path) -> Recorded:
    """What lies beside the root of a recorded tree."""
    if root.name != "root":
        return Recorded()
    try:
        data = json.loads((root.parent / FILE).read_text(encoding="utf-8"))
        libraries = {path: library_from(path, facts) for path, facts in data["libraries"].items()}
        return Recorded(libraries, tuple(str(path) for path in data["site_packages"]))
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return Recorded()
