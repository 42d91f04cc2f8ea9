"""Lists the environment variables that a source tree of NCCL or RCCL reads, and what the catalogue does not know.

    python tools/names_from_source.py path/to/nccl            names, each with a place
    python tools/names_from_source.py path/to/nccl --compare  against the newest release of the catalogue

Full names seldom stand in the source: macros put them together. `NCCL_PARAM(X, "BUFFSIZE", -2)` reads NCCL_BUFFSIZE,
`RCCL_PARAM` the same with RCCL_, `RCCL_PARAM_NCCL_ALIAS` both, `DEFINE_NCCL_PARAM(x, int, NCCL_DEBUG, ...)` its key as
it stands; the rest are literals or constants given to getenv and its wrappers. What `--rest` prints was taken for no
variable: look at it once when a release is new, since a new macro would show there.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from envdoctor.cli.catalog_difference import compare
from envdoctor.knowledge.catalog.load import load_catalog
from envdoctor.node.probes.libraries.library import LibraryFile

SUFFIXES = {".c", ".cc", ".cpp", ".cu", ".h", ".hpp", ".cuh"}
COMMENT_OR_STRING = re.compile(r'"(?:\\.|[^"\\\n])*"|//[^\n]*|/\*.*?\*/', re.DOTALL)
PREFIX_MACRO = re.compile(r'\b(NCCL|RCCL)_PARAM(_NCCL_ALIAS)?\s*\(\s*\w+\s*,\s*"([A-Z0-9_]+)"')
KEY_MACRO = re.compile(r"\bDEFINE_NCCL_PARAM\s*\(\s*\w+\s*,[^;()]*?,\s*(NCCL_[A-Z0-9_]+)\s*,")
ASKED = re.compile(r"\b(?:\w*[gG]et_?[eE]nv\w*|ncclGetLevel)\s*\(([^;{}]*?)\)")
LITERAL = re.compile(r'"([A-Z][A-Z0-9_]{2,})"')
CONSTANT = re.compile(
    r'(?:\bchar\s*(?:const)?\s*\*?\s*(?:const)?\s*|#define\s+)(\w+)(?:\[\])?\s*(?:=\s*)?"([A-Z][A-Z0-9_]{2,})"'
)
CANDIDATE = re.compile(r'"((?:NCCL|RCCL|MSCCL|NPKIT)_[A-Z0-9_]{2,})"')


@dataclass(frozen=True, slots=True, order=True)
class Found:
    """A variable and a place that reads it. `how` is the macro or function."""

    name: str
    path: str
    line: int
    how: str


def without_comments(text: str) -> str:
    """The same text with comments blanked, so that lines keep their numbers."""
    return COMMENT_OR_STRING.sub(lambda m: m[0] if m[0][0] == '"' else re.sub(r"[^\n]", " ", m[0]), text)


def names_in(text: str, path: str) -> Iterator[Found]:
    """The variables that one file reads."""
    code = without_comments(text)

    def at(match: re.Match[str], name: str, how: str) -> Found:
        return Found(name, path, code.count("\n", 0, match.start()) + 1, how)

    for match in PREFIX_MACRO.finditer(code):
        yield at(match, f"{match[1]}_{match[3]}", f"{match[1]}_PARAM")
        if match[2]:
            yield at(match, f"NCCL_{match[3]}", "RCCL_PARAM_NCCL_ALIAS")
    for match in KEY_MACRO.finditer(code):
        yield at(match, match[1], "DEFINE_NCCL_PARAM")
    constants = {match[1]: match[2] for match in CONSTANT.finditer(code)}
    for match in ASKED.finditer(code):
        for name in LITERAL.findall(match[1]):
            yield at(match, name, "getenv")
        for word in re.findall(r"\b\w+\b", match[1]):
            if word in constants:
                yield at(match, constants[word], "getenv")


def source_files(tree: Path) -> Iterator[Path]:
    """The files of the library itself: below src/ where there is one, without tests."""
    top = tree / "src" if (tree / "src").is_dir() else tree
    for path in sorted(top.rglob("*")):
        if path.suffix in SUFFIXES and path.is_file() and "test" not in path.relative_to(top).parts:
            yield path


def names_of(tree: Path) -> list[Found]:
    """Every variable that a tree reads, each with its first place."""
    first: dict[str, Found] = {}
    for path in source_files(tree):
        for found in names_in(path.read_text(encoding="utf-8", errors="replace"), path.relative_to(tree).as_posix()):
            first.setdefault(found.name, found)
    return sorted(first.values())


def rest_of(tree: Path, known: set[str]) -> Iterator[Found]:
    """Literals that look like a variable and were taken for none."""
    for path in source_files(tree):
        code = without_comments(path.read_text(encoding="utf-8", errors="replace"))
        for match in CANDIDATE.finditer(code):
            if match[1] not in known:
                line = code.count("\n", 0, match.start()) + 1
                yield Found(match[1], path.relative_to(tree).as_posix(), line, "literal")


def main() -> int:
    """Print the names or the difference; 1 if there is a difference, 2 if there is nothing to read."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tree", type=Path, help="a checkout of NVIDIA/nccl, or of RCCL")
    parser.add_argument(
        "--compare", choices=("nccl", "rccl"), help="compare with the catalogue's names of this library"
    )
    parser.add_argument("--release", help="the release to compare with (default: the newest of the catalogue)")
    parser.add_argument("--rest", action="store_true", help="also literals that were taken for no variable")
    arguments = parser.parse_args()
    found = names_of(arguments.tree)
    if not found:
        print(f"{arguments.tree}: no source of NCCL or RCCL", file=sys.stderr)
        return 2
    known = {item.name for item in found}
    if arguments.rest:
        for item in rest_of(arguments.tree, known):
            print(f"rest  {item.name}  {item.path}:{item.line}")
    if arguments.compare:
        return print_difference(found, arguments.compare, arguments.release)
    for item in found:
        print(f"{item.name}  {item.how}  {item.path}:{item.line}")
    return 0


def print_difference(found: list[Found], library: str, release: str | None) -> int:
    """What the tree reads that the catalogue does not know, and the reverse."""
    catalog = load_catalog()
    release = release or catalog.libraries[library].newest
    places = {item.name: item for item in found}
    as_file = LibraryFile("", "rccl" if library == "rccl" else "nccl", names=frozenset(places))
    diff = compare(as_file, catalog, (release,))
    for title, names in (("new", diff.unknown), ("other release", diff.other_release)):
        for name in names:
            print(f"{title}  {name}  {places[name].path}:{places[name].line}")
    for name in (*diff.missing, *diff.conditional):
        print(f"gone  {name}")
    print(f"{len(places)} names, {diff.agreed} as the catalogue says for {library} {release}")
    return 0 if diff.empty else 1


if __name__ == "__main__":
    sys.exit(main())
