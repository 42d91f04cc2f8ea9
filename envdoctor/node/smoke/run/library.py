"""Which collectives library the ranks really ran, and which names it can ask for."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from envdoctor.node.smoke.model import ExperimentResult
from envdoctor.node.smoke.run.survey import library_version


def loaded_library(results: Sequence[ExperimentResult]) -> str:
    """The file of the library in use; empty where it cannot be told.

    Its own word (`Librccl path`) counts most. A file that is mapped is not always the one in use: with LD_PRELOAD
    both copies are. Of several the one whose version the banner names is taken, if it is a single one.
    """
    good = [result for result in results if result.status == "ok"]
    named = {path for result in good for path in result.log.library_paths()}
    if len(named) == 1:
        return named.pop()
    mapped = {str(item["path"]): item.get("version_code") for result in good for rank in result.ranks
              for item in rank.libraries}  # fmt: skip
    if len(mapped) == 1:
        return next(iter(mapped))
    banners = {item.version for result in good for item in result.log.components if item.name in ("nccl", "rccl")}
    fitting = [path for path, code in mapped.items() if isinstance(code, int) and version_text(code) in banners]
    return fitting[0] if len(fitting) == 1 else ""


def version_text(code: int) -> str:
    """A version code as the banner writes it."""
    return ".".join(map(str, library_version(code)))


def names_of(path: str) -> frozenset[str] | None:
    """Names that a library's file holds; None where not all of them can be read."""
    from envdoctor.node.probes.libraries.library import library_file

    found = library_file(Path(path))
    return found.names if found.names_complete else None
