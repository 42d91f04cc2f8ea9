"""A Python file as libcst sees it: its statements with their blocks and lines, its calls, and what its names stand for.

Nothing is written through the tree: it says where things are, and edits replace text at places, so that all else stays
as it is. Lines count from 1 and columns from 1, in characters, as places do.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

import libcst as cst
from libcst.metadata import CodeRange, MetadataWrapper, PositionProvider

from envdoctor.core.facts import Place
from envdoctor.core.findings import Edit
from envdoctor.core.records import dataclass, field

STRANGE = frozenset("\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029")
"""Characters that some take for the end of a line: files with them are left alone."""


@dataclass(slots=True)
class StatementBlock:
    """Statements one below the other, with one indent; `owner` is the compound statement they belong to."""

    indent: str
    owner: TreeStatement | None
    statements: list[TreeStatement] = field(default_factory=list)


@dataclass(slots=True)
class TreeStatement:
    """A statement from `first` to `last` line; `lead` is the first line of the comments right above it."""

    node: cst.BaseStatement
    block: StatementBlock
    index: int
    lead: int
    first: int
    last: int
    blocks: list[StatementBlock] = field(default_factory=list)

    def covers(self, line: int) -> bool:
        """Whether a line is one of its own."""
        return self.first <= line <= self.last

    def small(self) -> cst.BaseSmallStatement | None:
        """The one simple statement that it is; None for a compound one, and for several on a line."""
        if isinstance(self.node, cst.SimpleStatementLine) and len(self.node.body) == 1:
            return self.node.body[0]
        return None


class PythonTree:
    """A file that libcst can parse."""

    def __init__(self, path: str, text: str, module: cst.Module, ranges: dict[cst.CSTNode, CodeRange]) -> None:
        self.path = path
        self.text = text
        self.lines = text.split("\n")
        self.module = module
        self.top = StatementBlock("", None)
        self._ranges = ranges
        self._fill(self.top, module.body)
        self._calls: dict[tuple[int, int], list[cst.Call]] = {}

    def _fill(self, block: StatementBlock, body: Sequence[cst.CSTNode]) -> None:
        for node in body:
            if not isinstance(node, (cst.SimpleStatementLine, cst.BaseCompoundStatement)):
                continue
            span = self._ranges[node]
            decorators = getattr(node, "decorators", ())
            first = min([span.start.line, *(self._ranges[d].start.line for d in decorators)])
            lead = first - _comments_above(self.lines, first, block.indent)
            statement = TreeStatement(node, block, len(block.statements), lead, first, span.end.line)
            block.statements.append(statement)
            for inner in _suites(node):
                start = self._ranges[inner.body[0]].start if inner.body else None
                indent = self.lines[start.line - 1][: start.column] if start else ""
                below = StatementBlock(indent, statement)
                statement.blocks.append(below)
                self._fill(below, inner.body)

    def place(self, node: cst.CSTNode) -> Place:
        """Where a node stands."""
        span = self._ranges[node]
        return Place(self.path, span.start.line, span.start.column + 1, span.end.line, span.end.column + 1)

    def at(self, node: cst.CSTNode) -> str:
        """The text of a node, as it stands in the file."""
        return self.module.code_for_node(node)

    def statements(self, block: StatementBlock | None = None) -> Iterator[TreeStatement]:
        """All statements of a block and of what stands in it, in source order."""
        for statement in (block or self.top).statements:
            yield statement
            for inner in statement.blocks:
                yield from self.statements(inner)

    def statement_at(self, line: int) -> TreeStatement | None:
        """The innermost statement that covers a line."""
        found = None
        for statement in self.statements():
            if statement.covers(line):
                found = statement
        return found

    def outer(self, statement: TreeStatement) -> TreeStatement:
        """The statement of the module that a statement stands in."""
        while statement.block.owner is not None:
            statement = statement.block.owner
        return statement

    def function_of(self, statement: TreeStatement) -> TreeStatement | None:
        """The innermost function that a statement stands in."""
        owner = statement.block.owner
        while owner is not None and not isinstance(owner.node, cst.FunctionDef):
            owner = owner.block.owner
        return owner

    def call_at(self, place: Place) -> cst.Call | None:
        """The call at a place; of several that start there, the one that ends there too."""
        if not self._calls:
            for node in _nodes(self.module):
                if isinstance(node, cst.Call):
                    start = self._ranges[node].start
                    self._calls.setdefault((start.line, start.column + 1), []).append(node)
        found = self._calls.get((place.line, place.column), [])
        return next((c for c in found if self.place(c) == place), found[0] if len(found) == 1 else None)

    def before(self, statement: TreeStatement, code: str) -> Edit:
        """Lines above a statement and its comments, with its indent."""
        place = Place(self.path, statement.lead, 1, statement.lead, 1)
        return Edit(place, "".join(f"{statement.block.indent}{line}\n" for line in code.split("\n")))

    def after(self, statement: TreeStatement, code: str) -> Edit:
        """Lines below a statement, with its indent."""
        end = len(self.lines[statement.last - 1]) + 1
        place = Place(self.path, statement.last, end, statement.last, end)
        return Edit(place, "".join(f"\n{statement.block.indent}{line}" for line in code.split("\n")))

    def at_end(self, code: str) -> Edit:
        """Lines at the end of a file that has no statements."""
        line, column = len(self.lines), len(self.lines[-1]) + 1
        return Edit(Place(self.path, line, column, line, column), f"{code}\n")


def _comments_above(lines: Sequence[str], first: int, indent: str) -> int:
    """How many lines of comments stand right above a line, with the same indent. The head of a file is none of them."""
    number = first - 1
    while number > 0 and lines[number - 1].startswith(f"{indent}#"):
        number -= 1
    return first - 1 - number if number else 0


def _suites(node: cst.CSTNode) -> Iterator[cst.IndentedBlock]:
    """The indented blocks of a compound statement, those of its `else`, `except` and the like as well."""
    for child in node.children:
        if isinstance(child, cst.IndentedBlock):
            yield child
        elif isinstance(child, PARTS):
            yield from _suites(child)


PARTS = (
    cst.Else, cst.ExceptHandler, cst.ExceptStarHandler, cst.Finally, cst.MatchCase, cst.If,
)  # fmt: skip
"""Parts of compound statements that have blocks of their own; an `If` within an `If` is an `elif`."""


def _nodes(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    waiting = [node]
    while waiting:
        here = waiting.pop()
        yield here
        waiting += reversed(here.children)


@lru_cache(maxsize=8)
def parse(path: str, text: str) -> PythonTree | None:
    """A file; None where it cannot be parsed, or where its lines cannot be told for sure."""
    if not STRANGE.isdisjoint(text) or "\0" in text:
        return None
    try:
        wrapper = MetadataWrapper(cst.parse_module(text), unsafe_skip_copy=True)
        ranges = wrapper.resolve(PositionProvider)
    except (cst.ParserSyntaxError, cst.CSTValidationError, RecursionError, ValueError):
        return None
    return PythonTree(path, text, wrapper.module, dict(ranges))
