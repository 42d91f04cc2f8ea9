"""What the names inside the loaded collectives library add to findings about names.

A name that the library holds is read by it, whatever the catalogue says; one that it does not hold is not read by it.
The absence counts only where the list of names is complete.
"""

from __future__ import annotations

from collections.abc import Iterable

from envdoctor.core.facts import Place
from envdoctor.core.findings import Finding, Related
from envdoctor.core.records import replace
from envdoctor.node.probes.libraries.library import LibraryFile

FAMILIES = ("NCCL_", "RCCL_", "MSCCL_", "NPKIT_")
"""Families whose names are told from a library's constants."""
UNREAD = ("ghost-variable", "misnamed-variable", "version-dependent")
"""Rules that say of a name that this library does not read it."""


def with_library(found: Iterable[Finding], library: LibraryFile | None, where: str) -> list[Finding]:
    """The findings without those that the library refutes, the rest with its word added. `where`: how it is called."""
    if library is None or not library.names:
        return list(found)
    kept = []
    for finding in found:
        name = finding.variable or ""
        if finding.name not in UNREAD or not name.startswith(FAMILIES):
            kept.append(finding)
        elif name not in library.names:
            kept.append(_supported(finding, library, where) if library.names_complete else finding)
    return kept


def _supported(finding: Finding, library: LibraryFile, where: str) -> Finding:
    """The finding with the library as evidence. What was "not known" is known now: this library does not read it."""
    words = f"the {where} {library.path} ({library.version_text or library.version}) does not hold the name"
    related = Related(Place(library.path, 1, 1, 1, 1), f"none of its {len(library.names)} names is {finding.variable}")
    finding = replace(finding, evidence=(words, *finding.evidence), related=(*finding.related, related))
    if finding.name == "ghost-variable" and finding.severity == "info":
        message = f"{finding.variable} is not among the {len(library.names)} names that the {where} reads"
        return replace(finding, severity="warning", confidence="medium", message=message)
    return finding
