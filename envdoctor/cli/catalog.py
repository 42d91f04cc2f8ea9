"""`envdoctor catalog diff --library FILE`: what a library reads that the catalogue does not know, and the reverse."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path

from envdoctor.cli.catalog_difference import CatalogDiff, compare, releases_of
from envdoctor.core.errors import UserError
from envdoctor.core.numbers import counted
from envdoctor.core.records import fields
from envdoctor.knowledge.catalog.load import load_catalog
from envdoctor.node.probes.libraries.library import LibraryFile, library_file
from envdoctor.reports.base import printable, tell

EPILOG = """
exit status: 0 library and catalogue agree, 1 they differ, 2 the file could not be examined.
The names are read from the file; it is not loaded.
"""
PARTS = (
    ("unknown", "read by this library, and not in the catalogue"),
    ("other_release", "read by this library, and by the catalogue not in this release, or by other libraries only"),
    ("missing", "in the catalogue for this release, and not in this library"),
    ("conditional", "left out by this build, as the catalogue says some builds do"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of `catalog`."""
    parser.epilog = EPILOG
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("action", choices=("diff",), help="diff: compare a library's names with the catalogue's")
    parser.add_argument("--library", metavar="FILE", type=Path, required=True, help="a librccl.so or libnccl.so")
    parser.add_argument("--release", help="the release it is (default: what the file says; for RCCL, that of ROCm)")
    parser.add_argument("--format", choices=("text", "json"), default="text", help="how to report")
    parser.add_argument("--output", metavar="FILE", type=Path, help="write the report to a file")


def run(arguments: argparse.Namespace) -> int:
    """Compare and report."""
    library = library_file(arguments.library)
    for problem in library.problems:
        tell(f"{library.path}: {problem.message}")
    if library.kind == "neither":
        reason = "it cannot be examined" if library.problems else "it is neither NCCL nor RCCL"
        raise UserError(f"{arguments.library}: {reason}")
    catalog = load_catalog()
    releases = (arguments.release,) if arguments.release else releases_of(library, catalog)
    diff = compare(library, catalog, releases)
    text = (
        as_json(library, diff) if arguments.format == "json" else "".join(f"{line}\n" for line in lines(library, diff))
    )
    if arguments.output is None:
        sys.stdout.write(text)
    else:
        try:
            arguments.output.write_text(text, encoding="utf-8")
        except OSError as error:
            raise UserError(f"{arguments.output}: cannot be written: {error.strerror}") from error
    return 0 if diff.empty else 1


def as_json(library: LibraryFile, diff: CatalogDiff) -> str:
    """The report for programs."""
    facts = {"path": library.path, "version": library.version, "version_text": library.version_text}
    return (
        json.dumps(
            {
                "version": 1,
                "library": facts,
                **{f.name: getattr(diff, f.name) for f in fields(diff) if f.name != "library"},
            },
            indent=2,
        )
        + "\n"
    )


def lines(library: LibraryFile, diff: CatalogDiff) -> Iterator[str]:
    """The report for people."""
    releases = " or ".join(diff.releases)
    counted_by = "ROCm " if diff.library == "rccl" else ""
    yield f"{printable(library.path)}: {printable(library.version_text) or diff.library.upper()}"
    if releases:
        yield (
            f"compared with {diff.library.upper()} of {counted_by}{releases}"
            if counted_by
            else f"compared with NCCL {releases}"
        )
    else:
        yield "no release of the catalogue could be told: give --release"
    yield f"{counted(diff.found, 'name')} in the file, {diff.agreed} of them as the catalogue says"
    for part, title in PARTS:
        names: tuple[str, ...] = getattr(diff, part)
        if names:
            yield f"{title}:"
            yield from (f"  {name}" for name in names)
