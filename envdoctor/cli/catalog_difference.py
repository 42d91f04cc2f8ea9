"""What a collectives library reads that the catalogue does not know, and the reverse."""

from __future__ import annotations

import re
from collections.abc import Sequence

from envdoctor.core.records import dataclass
from envdoctor.core.regexes import regex
from envdoctor.knowledge.catalog.model import Catalog, Variable
from envdoctor.node.probes.libraries.library import LibraryFile

SCANNED = regex(r"(?:NCCL|RCCL|MSCCL|NPKIT)_[A-Z0-9_]{2,80}")
"""Only such names are looked for in a library's file."""


@dataclass(frozen=True, slots=True)
class CatalogDiff:
    """A library's names against the catalogue's for the same release; each list in order of names."""

    library: str
    releases: tuple[str, ...]
    """Releases of the catalogue that the file may be; empty: none could be told, so only unknown names are judged."""
    found: int
    agreed: int
    unknown: tuple[str, ...]
    """In the file, and in no entry of the catalogue."""
    other_release: tuple[str, ...]
    """In the file, and by the catalogue not read in this release, or by another library only."""
    missing: tuple[str, ...]
    """Read in this release by the catalogue, and not in the file."""
    conditional: tuple[str, ...]
    """As `missing`, where the catalogue itself says that a build may leave it out."""

    @property
    def empty(self) -> bool:
        """File and catalogue agree."""
        return not (self.unknown or self.other_release or self.missing)


def releases_of(library: LibraryFile, catalog: Catalog) -> tuple[str, ...]:
    """Releases of the catalogue that a file may be.

    NCCL is counted by its own version. RCCL is counted by ROCm: a recent file carries that version; an older one
    carries the NCCL version it is based on, which several ROCm releases may share. The HIP version beside it is
    that of the compiler: distributions build an old RCCL with a new one.
    """
    if library.kind == "neither" or not library.version:
        return ()
    if library.kind == "nccl":
        return (library.version,)
    if found := re.match(r"rocm(\d+\.\d+\.\d+)", library.built_for):
        return (found[1],)
    known = catalog.libraries.get("rccl")
    return tuple(release for release, base in known.base.items() if base == library.version) if known else ()


def compare(library: LibraryFile, catalog: Catalog, releases: Sequence[str]) -> CatalogDiff:
    """The difference between a file's names and the catalogue's for these releases."""

    def read(variable: Variable) -> bool | None:
        return _read(variable, library.kind, catalog, releases)

    names = sorted(library.names)
    known = {name: catalog.variable(name) for name in names}
    unknown = [name for name, variable in known.items() if variable is None]
    variables = [variable for variable in known.values() if variable is not None]
    other = [v.name for v in variables if library.kind not in v.read_by or read(v) is False]
    absent = [
        variable
        for name, variable in catalog.variables.items()
        if library.kind in variable.read_by and SCANNED.fullmatch(name) and name not in library.names
    ]
    expected = [v for v in absent if _core(v, library.kind) and read(v)]
    conditional = {v.name for v in expected if v.read_by[library.kind].condition}
    return CatalogDiff(
        library=library.kind,
        releases=tuple(releases),
        found=len(names),
        agreed=sum(bool(read(v)) for v in variables),
        unknown=tuple(unknown),
        other_release=tuple(other),
        missing=tuple(sorted(v.name for v in expected if v.name not in conditional)),
        conditional=tuple(sorted(conditional)),
    )


def _core(variable: Variable, library: str) -> bool:
    """Read by the library itself, not by a plug-in or another part of its source tree."""
    return variable.read_by[library].component == "core"


def _read(variable: Variable, library: str, catalog: Catalog, releases: Sequence[str]) -> bool | None:
    """Whether the catalogue says that the library reads it, where all the releases agree."""
    answers = {variable.read_in(catalog, library, release) for release in releases}
    return answers.pop() if len(answers) == 1 else None
