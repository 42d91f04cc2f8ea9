"""Notebooks: code cells through the Python reader, as one program, with what magics and shell lines do.

The place of a fact is the line of the file and the number of its cell. A kernel of a shell gives shell text; cells of
other languages are passed over.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, Any

from envdoctor.core.facts import FileFacts, Place, Problem, Scope
from envdoctor.core.records import fields, replace
from envdoctor.core.source import Source
from envdoctor.readers.kinds import kind_of
from envdoctor.readers.notebook.cells import Cell, Notebook
from envdoctor.readers.notebook.magics import OS, Converted, convert
from envdoctor.readers.python import reader as python
from envdoctor.readers.python.names import code as python_code
from envdoctor.readers.shared.embedded import mapped, merge, moved, next_order, read_embedded

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

PYTHON = ("python", "python2", "python3", "ipython", "sage")
SHELLS = ("bash", "sh", "shell", "zsh")


def read(source: Source, kind: str) -> FileFacts:
    """Facts of one notebook."""
    facts = FileFacts(source.path, kind)
    notebook = Notebook(source.text)
    cells = notebook.cells()
    if notebook.problem:
        message, at = notebook.problem
        facts.problems.append(Problem(message, source.place(at, at)))
    if notebook.language in PYTHON:
        _python(source, cells, facts)
    elif notebook.language in SHELLS:
        text, offsets = _joined(cells)
        merge(facts, read_embedded(mapped(source, text, offsets), "shell", 0))
    _number(facts, source, notebook.starts)
    return facts


def _joined(cells: list[Cell]) -> tuple[str, list[int]]:
    pieces: list[str] = []
    offsets: list[int] = []
    for cell in cells:
        pieces += [cell.text, "\n"]
        offsets += [*cell.offsets, cell.offsets[-1] if cell.offsets else cell.start]
    return "".join(pieces), offsets


def _python(source: Source, cells: list[Cell], facts: FileFacts) -> None:
    """Read the cells as one program; one that cannot be parsed is read on its own, by lines."""
    program = Converted()
    broken: list[FileFacts] = []
    for cell in cells:
        converted, is_python = _converted(cell)
        own = mapped(source, converted.text, converted.offsets)
        if is_python:
            program.copy((converted.text, converted.offsets))
            program.add("\n", converted.offsets[-1] if converted.offsets else cell.start)
            program.needs_os |= converted.needs_os
        elif own.text.strip():
            broken.append(python.read_settings(own))
            broken[-1].problems = [python_code.parse(python_code.Code(own))[1] or Problem("", own.place(0, 0))]
        program.files += converted.files
    whole = Converted()
    if program.needs_os and program.offsets:
        whole.add(f"import os as {OS}\n", program.offsets[0])
    whole.copy((program.text, program.offsets))
    read_facts = python.read(mapped(source, whole.text, whole.offsets), "python")
    if whole.pieces and program.needs_os:
        del read_facts.inclusions[:1]
    facts.definitions += read_facts.definitions
    merge(facts, read_facts)
    order = next_order(facts, 0)
    for part in broken:
        merge(facts, moved(part, order, None, ()))
        order = next_order(facts, order)
    for name, (text, offsets) in program.files:
        written = kind_of(name, text[:200].encode("utf-8", "replace"))
        if written:
            merge(facts, read_embedded(mapped(source, text, offsets), written, order, Scope("file", name)))
            order = next_order(facts, order)


def _converted(cell: Cell) -> tuple[Converted, bool]:
    """The Python text of a cell, and whether it can be parsed.

    One that is Python as it stands has no magics, whatever its strings look like.
    """
    if _parses(cell.text):
        return Converted([cell.text], list(cell.offsets)), True
    converted = convert((cell.text, cell.offsets))
    return converted, _parses(converted.text)


def _parses(text: str) -> bool:
    return python_code.parse(python_code.Code(Source("", text)))[0] is not None


def _number(facts: FileFacts, source: Source, starts: list[int]) -> None:
    """Put the number of its cell into every place."""
    points = [source.point(start) for start in starts]

    def celled(place: Place) -> Place:
        number = bisect_right(points, (place.line, place.column))
        return replace(place, cell=number or None)

    def changed(fact: DataclassInstance) -> Any:
        changes: dict[str, Any] = {}
        for field in fields(fact):
            value = getattr(fact, field.name)
            if isinstance(value, Place):
                changes[field.name] = celled(value)
            elif field.name == "arguments":
                changes[field.name] = tuple(changed(argument) for argument in value)
        return replace(fact, **changes)

    for group in fields(facts):
        found = getattr(facts, group.name)
        if isinstance(found, list):
            found[:] = [changed(fact) for fact in found]
