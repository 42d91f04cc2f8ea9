"""What the model says of a cell: whether each name arrives at the rank, and by which edge it is lost."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from matrix_cells import NAMES, Cell, Tree, tree_of

from envdoctor.analysis.process.results import RankStart
from envdoctor.analysis.process.walk import walk
from envdoctor.analysis.project import open_project
from envdoctor.knowledge.catalog.load import load_catalog
from envdoctor.knowledge.catalog.model import Catalog

UNKNOWN = "?"
"""It may arrive or not, or with a value that nobody knows."""
UNSEEN = "no launch"
"""The model sees no launch of the program."""


class Edge(NamedTuple):
    """Where a value was lost, and by what."""

    kind: str
    path: str
    line: int
    what: str


class Told(NamedTuple):
    """What the model says of one name: the value, an empty text for "does not arrive", `?`, or that it sees no launch."""

    value: str
    lost: tuple[Edge, ...] = ()


@cache
def _catalog() -> Catalog:
    return load_catalog()


def write_tree(tree: Tree, folder: Path, at: Path) -> None:
    """Write the files of a cell; `{tree}` in them is where they will lie."""
    for name, text in tree.files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.replace("{tree}", str(at)))
        path.chmod(0o755)


def told(cell: Cell) -> Mapping[str, Told]:
    """What the model says of each name at the rank of a cell."""
    tree = tree_of(cell)
    assert tree is not None
    with tempfile.TemporaryDirectory() as name:
        write_tree(tree, Path(name), Path(name))
        return _ask(Path(name), tree.root, cell.row.program)


def _ask(base: Path, root: str, program: str) -> Mapping[str, Told]:
    project = open_project(base, base)
    read = [facts for path in project.files.paths() if (facts := project.facts.whole(path)) is not None]
    walked = walk(project, read, _catalog().variable)
    if project.internal:
        raise AssertionError("\n".join(project.internal.messages()))
    ranks = [s for s in walked.starts if s.root.path == root and (s.path or s.program).endswith(program)]
    return {name: _joined([_of(start, name) for start in ranks]) for name in NAMES}


def _of(start: RankStart, name: str) -> Told:
    lost = tuple(Edge(loss.kind, loss.place.path, loss.place.line, loss.what) for _, loss in start.lost.get(name, ()))
    slot = start.slot(name)
    there = [a for a in slot if a.kind != "unset" and a.exported != "no"]
    if not there:
        return Told("", lost)
    sure = len(there) == len(slot) == 1 and there[0].kind == "literal" and there[0].exported == "yes"
    return Told(there[0].text if sure else UNKNOWN, lost)


def _joined(all_told: Sequence[Told]) -> Told:
    if not all_told:
        return Told(UNSEEN)
    values = {one.value for one in all_told}
    lost = tuple(dict.fromkeys(edge for one in all_told for edge in one.lost))
    return Told(values.pop() if len(values) == 1 else UNKNOWN, lost)
