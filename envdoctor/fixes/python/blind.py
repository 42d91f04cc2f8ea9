"""Inputs that differ by rank, for a test of collectives that cannot see what it tests (ED603).

Such findings stand in scripts as well, so that libcst is imported only once it is clear that this one is in Python.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from envdoctor.core.facts import FileFacts
from envdoctor.core.findings import Finding, Fix
from envdoctor.fixes.workshop import Workshop, unsafe

if TYPE_CHECKING:
    from envdoctor.fixes.python.tree import PythonTree


def by_rank(finding: Finding, facts: FileFacts, workshop: Workshop) -> Fix | None:
    """A seed that differs by rank, for a test that all ranks have to see."""
    tree = workshop.tree(finding.place.path) if workshop.program(facts) is not None else None
    return _by_rank(finding, tree) if tree is not None else None


def _by_rank(finding: Finding, tree: PythonTree) -> Fix | None:
    from envdoctor.fixes.python import arguments
    from envdoctor.fixes.python.moves import calls
    from envdoctor.fixes.python.names import reference

    call = tree.call_at(finding.place)
    if call is None or len(call.args) != 1 or finding.help != "seed + rank for the inputs":
        return None
    statement = tree.statement_at(finding.place.line)
    rank = reference(tree, "torch.distributed.get_rank")
    if statement is None or rank is None or rank.bound is None or not tree.at(call.func).endswith("seed"):
        return None
    earlier = statement.block.statements[: statement.index]
    if not any(calls(s.node, "init_process_group") for s in earlier):
        return None
    given = tree.at(call.args[0].value)
    value = f"{rank.text}()" if given == "0" else f"{given} + {rank.text}()"
    return unsafe(f"seed with {value}", arguments.value(tree, call.args[0], value))
