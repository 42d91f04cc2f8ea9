"""The environment along a launch unit: which settings may hold where a command runs. "Unknown" is a value.

An assignment replaces what was there; under a condition it only may have. What a subshell, another container or
another command sets is not seen. A function is taken to have been called before what follows its definition.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from envdoctor.analysis.process.model import Step
from envdoctor.core.branches import exclusive
from envdoctor.core.facts import Branch, Scope, Setting
from envdoctor.core.records import dataclass, field

GIVES = ("set", "default", "append")


@dataclass(slots=True)
class Binding:
    """What is known of one variable at a point: the steps that may have given it its value, in order.

    `exported` is whether children see it: yes, no or unknown. `unset`: it may have been removed since.
    """

    steps: list[Step] = field(default_factory=list)
    exported: str = "no"
    unset: bool = False

    @property
    def last(self) -> Setting:
        """The setting that holds unless a condition says otherwise."""
        fact = self.steps[-1].fact
        assert isinstance(fact, Setting)
        return fact


def at(steps: Sequence[Step], end: int, scope: Scope, branch: tuple[Branch, ...] = ()) -> dict[str, Binding]:
    """The variables that may be set in `scope` before step `end`, seen from under the conditions `branch`."""
    held: dict[str, Binding] = {}
    for step in steps[:end]:
        fact = step.fact
        if not isinstance(fact, Setting) or fact.guarded or exclusive(step.branch, branch):
            continue
        if sees(scope, step.scope):
            _apply(held, step, fact, certain=holds(step.branch, branch))
    return held


def _apply(held: dict[str, Binding], step: Step, fact: Setting, *, certain: bool) -> None:
    known = held.get(fact.name)
    if fact.op == "unset":
        if known is not None and certain:
            del held[fact.name]
        elif known is not None:
            known.unset = True
        return
    if fact.op == "export":
        if known is not None:
            known.exported = "yes" if certain else "unknown"
        return
    if fact.op not in GIVES:
        return
    if known is None or (certain and fact.op == "set"):
        exported = fact.exported if known is None or known.exported != "yes" else "yes"
        held[fact.name] = Binding([step], exported)
    elif not (fact.op == "default" and not known.unset):
        known.steps.append(step)
        if fact.exported != known.exported:
            known.exported = "yes" if fact.exported == "yes" and certain else "unknown"


def sees(scope: Scope, other: Scope) -> bool:
    """Whether what is set in scope `other` can be seen in `scope`."""
    if scope == other:
        return True
    if other.kind in ("process", "function"):
        return scope.kind in ("process", "function", "subshell", "command") or (
            other.kind == "process" and scope.kind == "manifest"
        )
    if other.kind == "container" and scope.kind in ("subshell", "container"):
        return bool(other.name) and scope.name.startswith(other.name + "/")
    return False


def holds(branch: Iterable[Branch], given: Iterable[Branch]) -> bool:
    """Whether a fact happens whenever what stands under the conditions `given` does.

    `if __name__ == "__main__"` counts as always.
    """
    there = {(b.id, b.arm) for b in given}
    return all((b.id, b.arm) in there or b.condition.startswith("__name__") for b in branch)
