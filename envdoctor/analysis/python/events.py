"""The words for what a Python program does: the events of its timeline.

Nothing is run. Today an event is a call, and they stand in the order in which the calls run, from the entry across the
project's modules. Each function counts once, where it is first called; what is called from places that cannot be told
(methods of objects, callbacks) comes at the end and is marked as having no order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property
from typing import Literal

from envdoctor.core.facts import Branch, Call, Definition, FileFacts, Place
from envdoctor.core.records import dataclass
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
class Event:
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


class Timeline:
    """An entry and all that happens when it runs, in order; `files` are those that the program is made of."""

    def __init__(self, entry: FileFacts, events: Iterable[Event] = ()) -> None:
        self.entry = entry
        self.path = entry.path
        self.events = list(events)
        self.files: dict[str, FileFacts] = {}

    @cached_property
    def by_name(self) -> dict[str, list[Event]]:
        """The events by the names of their calls: there are few names and many events."""
        found: dict[str, list[Event]] = {}
        for event in self.events:
            found.setdefault(event.call.name, []).append(event)
        return found

    def chosen(self, wanted: Callable[[str], bool]) -> list[Event]:
        """The events whose name is wanted, in the order in which they happen."""
        found = [event for name, events in self.by_name.items() if wanted(name) for event in events]
        found.sort(key=lambda event: event.index)
        return found

    @cached_property
    def imports(self) -> frozenset[str]:
        """The dotted names that the files of the program import."""
        return frozenset(i.target for facts in self.files.values() for i in facts.inclusions if i.kind == "import")


def only_rank_zero(conditions: Iterable[Branch]) -> bool:
    """Whether something happens on rank 0 only."""
    return any(ONLY_RANK_ZERO.search(b.condition) and b.arm.startswith(("if", "elif")) for b in conditions)
