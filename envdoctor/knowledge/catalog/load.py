"""The catalogue that comes with envdoctor, and files of users over it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from envdoctor.knowledge.catalog.model import Catalog
from envdoctor.knowledge.catalog.read import catalog_from
from envdoctor.knowledge.files import load_compiled


def load_catalog(extra: Sequence[Path] = ()) -> Catalog:
    """The catalogue that comes with envdoctor, with further files of the same shape laid over it.

    A variable, library or prefix that a further file names replaces ours. `CatalogError`: a file cannot be used.
    """
    table = load_compiled("catalog", "catalog", _build)
    if extra:
        from envdoctor.knowledge.catalog.build import laid_over

        table = laid_over(table, extra)
    return catalog_from(table)


def _build(paths: list[Path]) -> dict[str, Any]:
    from envdoctor.knowledge.catalog.build import build_catalog

    return build_catalog(paths)
