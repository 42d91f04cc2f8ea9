"""What a Python program does: its calls in the order in which they run, from the entry across the project's modules.

Nothing is run. Each function counts once, where it is first called; what is called from places that cannot be told
(methods of objects, callbacks) comes at the end and is marked as having no order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Literal

from envdoctor.core.facts import Branch, Call, Definition, FileFacts, Place
from envdoctor.core.records import dataclass, field
from envdoctor.core.regexes import regex

MAIN = regex(r"__name__\s*==\s*[\"']__main__[\"']")
ONLY_RANK_ZERO = regex(
    r"(?i)(?:rank\w*(?:\(\))?|RANK[\"'\])]*)\s*==\s*[\"']?0\b"
    r"|^is_(?:main|master|rank_?zero)\w*(?:\(\))?$|^not \w*rank\w*$"
)
"""A condition that holds on rank 0 only."""
ProcessKind = Literal["main", "spawn", "remote", "fork", "loader"]


@dataclass(frozen=True, slots=True)
class Process:
    """A process of the program. `spawn`: a fresh interpreter that imports the entry; `remote`: one that does not, as a
    worker of Ray; `fork`: with all that its parent had; `loader`: a worker of a data loader."""

    kind: ProcessKind = "main"
    number: int = 0


@dataclass(frozen=True, slots=True)
class Step:
    """One call as it runs: `conditions` are those around it and around the calls that lead to it."""

    call: Call
    index: int
    process: Process
    conditions: tuple[Branch, ...] = ()
    ordered: bool = True
    at_import: bool = False
    function: Definition | None = None
    local: bool = False
    """Whether the call leads into a function or class of the project."""
    site: Place | None = None
    """The place in the entry that leads here."""
    likely: bool = True
    """Whether the call plainly runs: methods that nothing is seen to call may run or not."""
    bases: frozenset[str] = frozenset()
    """Base classes of the project's class that is made here, by their dotted names."""


@dataclass(slots=True)
class Program:
    """An entry and all that it runs."""

    path: str
    facts: FileFacts
    steps: list[Step] = field(default_factory=list)
    files: dict[str, FileFacts] = field(default_factory=dict)
    memory: dict[object, object] = field(default_factory=dict)
    _by_name: dict[str, list[Step]] = field(default_factory=dict)

    def by_name(self) -> dict[str, list[Step]]:
        """The steps by the names of their calls: there are few names and many steps."""
        if not self._by_name:
            for step in self.steps:
                self._by_name.setdefault(step.call.name, []).append(step)
        return self._by_name

    def chosen(self, wanted: Callable[[str], bool]) -> list[Step]:
        """The steps whose name is wanted, in the order in which they run."""
        found = [step for name, steps in self.by_name().items() if wanted(name) for step in steps]
        found.sort(key=lambda step: step.index)
        return found

    def imports(self) -> set[str]:
        """The dotted names that the files of the program import."""
        return {i.target for facts in self.files.values() for i in facts.inclusions if i.kind == "import"}


def is_dataset(bases: Iterable[str]) -> bool:
    """Whether a class is one whose methods run in the workers of a data loader."""
    return any(base.rsplit(".", 1)[-1].endswith(("Dataset", "IterDataPipe", "MapDataPipe")) for base in bases)


def exclusive(first: tuple[Branch, ...], second: tuple[Branch, ...]) -> bool:
    """Whether two facts can never both happen: one condition, different arms."""
    arms = {b.id: b.arm for b in first}
    return any(b.id in arms and arms[b.id] != b.arm for b in second)


def only_rank_zero(conditions: Iterable[Branch]) -> bool:
    """Whether something happens on rank 0 only."""
    return any(ONLY_RANK_ZERO.search(b.condition) and b.arm.startswith(("if", "elif")) for b in conditions)
