"""Notebooks: each shell line or shell cell is a process that starts with what `%env` and os.environ have set so far."""

from __future__ import annotations

from collections.abc import Sequence

from envdoctor.analysis.process.beginnings.common import line_of
from envdoctor.analysis.process.beginnings.python import written_before
from envdoctor.analysis.process.beginnings.root import Root
from envdoctor.core.facts import FileFacts, Scope
from envdoctor.core.operations import Script


def roots(facts: FileFacts, scripts: Sequence[Script], text: str) -> list[Root]:
    """The shells of a notebook, in the order of its cells."""
    cells = _cells(facts)
    found: list[Root] = []
    last = -1
    for script in scripts:
        line = line_of(script)
        cell = cells.get(line)
        name = f"cell {cell}" if cell else "cell"
        if script.scope.kind == "file":
            found.append(Root(facts.path, "script", script.scope.name, line, script, exact=False))
            continue
        written = written_before(facts.settings, script) if script.scope != Scope() else ()
        found.append(Root(facts.path, "cell", name, line, script, written, before=last, inherits=True))
        last = len(found) - 1
    return found


def _cells(facts: FileFacts) -> dict[int, int | None]:
    """The cell of each line that something stands on."""
    groups = (facts.settings, facts.launches, facts.inclusions, facts.calls, facts.uses)
    return {fact.place.line: fact.place.cell for group in groups for fact in group}
