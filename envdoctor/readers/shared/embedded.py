"""Text inside text: here-documents, `bash -c` strings, RUN bodies and block scalars, read with their places kept.

A reader that meets text of another kind hands it to `read_embedded`. What was unescaped or joined on the way (a
double-quoted string, an unquoted here-document) comes as a `MappedSource`, which knows for each of its characters
where it stands in the file.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, TypeVar

from envdoctor.core.facts import Branch, FileFacts, Place, Scope
from envdoctor.core.records import dataclass, field, replace
from envdoctor.core.source import Source

if TYPE_CHECKING:
    from collections.abc import Sequence

    from envdoctor.core.facts import Call, Inclusion, Launch, Setting, Use

    Fact = TypeVar("Fact", Setting, Use, Call, Launch, Inclusion)

MAXIMUM_DEPTH = 12
"""Text inside text inside text is read so many levels deep; more is no longer something a person wrote."""

_depth: ContextVar[int] = ContextVar("envdoctor_embedded_depth", default=0)


@dataclass(slots=True)
class MappedSource(Source):
    """Text each character of which has its own place: `offsets[i]` is where character i stands in `origin.text`."""

    origin: Source = field(default_factory=lambda: Source("", ""))
    offsets: Sequence[int] = ()

    def point(self, offset: int) -> tuple[int, int]:
        """Line and column in the file of the character at `offset`; past the end: right after the last one."""
        if offset < len(self.offsets):
            return self.origin.point(self.offsets[offset])
        return self.origin.point(self.offsets[-1] + 1 if self.offsets else 0)

    def is_straight(self, start: int, end: int) -> bool:
        """Whether `text[start:end]` stands in one line as it is, each character right after the one before."""
        if end <= start:
            return False
        if end > len(self.offsets) or self.offsets[end - 1] - self.offsets[start] != end - 1 - start:
            return end == start + 1
        (line, column), last = self.point(start), self.point(end - 1)
        return last == (line, column + end - 1 - start)

    def place(self, start: int, end: int) -> Place:
        """The place of `text[start:end]`; it ends right after its last character, whatever was removed after that."""
        line, column = self.point(start)
        end_line, end_column = self.point(end - 1) if end > start else (line, column - 1)
        return Place(self.path, line, column, end_line, end_column + 1, cell=self.cell)

    def part(self, start: int, end: int) -> MappedSource:
        """`text[start:end]` as a source of its own, with its places kept."""
        return mapped(self.origin, self.text[start:end], self.offsets[start:end])


def mapped(origin: Source, text: str, offsets: Sequence[int]) -> MappedSource:
    """A source for `text`, whose character i stands at `offsets[i]` of `origin.text`."""
    return MappedSource(origin.path, text, None, origin.cell, origin.inside, origin=origin, offsets=offsets)


def is_embedded(source: Source) -> bool:
    """Whether text stands inside a script, which may have replaced variables in it."""
    return source.anchors is not None or isinstance(source, MappedSource)


def read_embedded(
    source: Source, kind: str, order: int, scope: Scope | None = None, branch: tuple[Branch, ...] = ()
) -> FileFacts:
    """Facts of text of `kind` inside a file, in source order, numbered from `order`.

    `scope` stands for the whole-file scope of the text, `branch` goes before the branches inside it. An unknown
    kind and text nested too deep give no facts.
    """
    with deeper() as allowed:
        if not allowed:
            return FileFacts(source.path, kind)
        return moved(source.inside(source, kind), order, scope, branch)


@dataclass(frozen=True, slots=True)
class ShellText:
    """Shell text that a reader met, with what stands around it as facts have it (`FileFacts.scripts`)."""

    source: Source
    scope: Scope = Scope()
    branch: tuple[Branch, ...] = ()
    order: int = 0


@contextmanager
def deeper() -> Iterator[bool]:
    """One level of text inside text; False where that is too deep."""
    depth = _depth.get()
    token = _depth.set(depth + 1)
    try:
        yield depth < MAXIMUM_DEPTH
    finally:
        _depth.reset(token)


def moved(facts: FileFacts, order: int, scope: Scope | None, branch: tuple[Branch, ...]) -> FileFacts:
    """Facts renumbered from `order`, with the scope and the branches of the text around them."""

    def scoped(fact: Fact) -> Fact:
        changes: dict[str, object] = {"order": fact.order + order}
        if branch and hasattr(fact, "branch"):
            changes["branch"] = branch + fact.branch
        if scope is not None and getattr(fact, "scope", None) == Scope():
            changes["scope"] = scope
        return replace(fact, **changes)  # type: ignore[arg-type]

    facts.settings = [scoped(fact) for fact in facts.settings]
    facts.uses = [scoped(fact) for fact in facts.uses]
    facts.calls = [scoped(fact) for fact in facts.calls]
    facts.launches = [scoped(fact) for fact in facts.launches]
    facts.inclusions = [scoped(fact) for fact in facts.inclusions]
    facts.scripts = [scoped(script) for script in facts.scripts]
    return facts


def merge(into: FileFacts, facts: FileFacts) -> None:
    """Append the facts of embedded text to those of the file around it."""
    into.settings += facts.settings
    into.uses += facts.uses
    into.calls += facts.calls
    into.launches += facts.launches
    into.inclusions += facts.inclusions
    into.components += facts.components
    into.problems += facts.problems
    into.scripts += facts.scripts


def next_order(facts: FileFacts, order: int) -> int:
    """The first order number after those of `facts`, at least `order`."""
    lists = (facts.settings, facts.uses, facts.calls, facts.launches, facts.inclusions)
    return max([order, *(fact.order + 1 for group in lists for fact in group)])
