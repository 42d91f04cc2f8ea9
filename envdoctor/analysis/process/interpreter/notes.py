"""What a walk has met so far, in order, each thing once."""

from __future__ import annotations

from envdoctor.analysis.process.interpreter.slots import Guard, Slot, ValueOrigin
from envdoctor.analysis.process.interpreter.text import Text
from envdoctor.analysis.process.results import EndedRoot, LateValue, Mistaken, RankStart, Replaced, Unfollowed, Walked

Moment = tuple[int, Guard, int]
"""How many commands ran, under which conditions, and how many shells deep: two equal ones have nothing between them."""


SHELL_WRITES = ("assign", "export", "declare")
"""Operations by which a script gives a value itself, whatever it was started with."""


class WalkNotes:
    """The notes of one walk."""

    def __init__(self) -> None:
        self.starts: list[RankStart] = []
        self.replaced: dict[tuple[object, ...], Replaced] = {}
        self.mistaken: dict[Mistaken, None] = {}
        self.unfollowed: dict[Unfollowed, None] = {}
        self.ends: list[EndedRoot] = []
        self.late: dict[LateValue, None] = {}
        self.gaps: dict[tuple[str, int, str], None] = {}
        self.bounded: dict[str, None] = {}
        self.sourced: dict[str, dict[str, None]] = {}
        self.missing: dict[str, dict[tuple[str, int], None]] = {}
        self._written_at: dict[str, tuple[object, Moment]] = {}

    def bound(self, what: str, path: str) -> None:
        """A bound was reached: what lies beyond is not known."""
        self.bounded[f"{path}: {what}"] = None

    def wrote(self, origin: ValueOrigin, text: Text | None, old: Slot | None, now: Moment, quiet: bool) -> None:
        """Note where one value plainly takes the place of another; `quiet`: only remember when this was."""
        before = self._written_at.get(origin.name)
        self._written_at[origin.name] = (origin.key, now)
        if quiet or origin.default or origin.likely or text is None or not text.known or old is None or len(old) != 1:
            return
        one = old[0]
        if one.kind != "literal" or one.text == text.text or not one.origins:
            return
        first = one.origins[0]
        how = _how(first, origin, one.guard, before == (first.key, now))
        if how and not (first.default or first.likely):
            key = (how, first.key, origin.key)
            self.replaced.setdefault(key, Replaced(how, first, one.text, origin, text.text))

    def loses(self, origin: ValueOrigin, value: Text, before: Slot, launcher: str) -> None:
        """A flag that counts only where the caller has nothing, and the caller has something."""
        if len(before) != 1 or before[0].kind != "literal" or not before[0].origins:
            return
        if value.known and before[0].text != value.text:
            other = before[0].origins[0]
            found = Replaced("nearer", origin, value.text, other, before[0].text, launcher)
            self.replaced.setdefault(("nearer", origin.key, other.key), found)

    def result(self, operations: int) -> Walked:
        """All of it."""
        return Walked(
            tuple(self.starts), tuple(self.replaced.values()), tuple(self.mistaken), tuple(self.unfollowed),
            tuple(self.ends), tuple(self.gaps), operations, tuple(self.bounded),
            {path: tuple(found) for path, found in self.sourced.items()},
            {path: tuple(found) for path, found in self.missing.items()},
            tuple(self.late),
        )  # fmt: skip


def _how(first: ValueOrigin, second: ValueOrigin, guard: Guard, at_once: bool) -> str:
    """In which way the second takes the place of the first: "nearer", "twice", or none that is a fault."""
    if first.operation in ("prefix", "flag") and first.layer < second.layer and second.operation != "prefix":
        return "nearer"
    if first.operation == "manifest" and second.operation in SHELL_WRITES and not second.guarded:
        return "nearer"
    same = first.layer == second.layer and first.operation == second.operation
    return "twice" if same and at_once and not guard else ""
