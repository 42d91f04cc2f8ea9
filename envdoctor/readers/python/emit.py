"""States the facts of one Python file: places, comments, order and branches are filled in here."""

from __future__ import annotations

import ast
from typing import NamedTuple

from envdoctor.core.facts import Channel, FileFacts, Op, Place, Setting, Use, Value
from envdoctor.core.regexes import regex
from envdoctor.readers.python.names.code import Code
from envdoctor.readers.python.names.names import Names
from envdoctor.readers.python.names.scopes import FileOutline, Where
from envdoctor.readers.python.names.values import Values

COMMENT_LINES = 20
ORDERS = 10
"""Bits of `order` that number the facts of one statement; the bits above are the position of the statement."""
CODE_BEFORE_COMMENT = regex(r"(?:[^#\"']|\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*')*#")
QUOTED = regex(r"[A-Za-z]{0,2}('''|\"\"\"|'|\")")


class GivenValue(NamedTuple):
    """A setting to state. `name_node` and `value_node` say where name and value are written, if they are."""

    op: Op
    name: str
    value: Value
    channel: Channel
    via: str = ""
    guarded: bool = False
    name_node: ast.AST | None = None
    value_node: ast.expr | None = None


class Emitter:
    """The facts of one file, and the parts that turn nodes into them."""

    __slots__ = ("_comments", "_counts", "code", "facts", "names", "outline", "values")

    def __init__(self, code: Code, outline: FileOutline, facts: FileFacts) -> None:
        self.code = code
        self.outline = outline
        self.facts = facts
        self.names = Names(outline)
        self.values = Values(code, self.names)
        self._counts: dict[int, int] = {}
        self._comments: set[int] | None = None

    def order(self, where: Where, count: int = 1) -> int:
        """The number of the next fact of a statement; `count` numbers are taken."""
        position = where.position
        used = self._counts.get(position, 0)
        self._counts[position] = used + count
        return position << ORDERS | min(used, (1 << ORDERS) - 1)

    def setting(self, given: GivenValue, span: tuple[int, int], where: Where, applied: Where | None = None) -> None:
        """State a setting written at `span`; `applied` is the statement that puts it into force, if another one."""
        acting = applied or where
        branches = acting.block.branches(self.code)
        if applied is not None:
            branches += tuple(b for b in where.block.branches(self.code) if b not in branches)
        name_place = self.inside(given.name_node, given.name) if given.name_node is not None else None
        value_place = self.value_place(given.value_node) if given.value_node is not None else None
        self.facts.settings.append(
            Setting(
                given.op, given.name, given.value, self.code.between(*span), given.channel, self.order(acting),
                "yes", acting.block.scope.fact(), branches, given.via, self.comment(*span),
                name_place, value_place, given.guarded,
            )
        )  # fmt: skip

    def use(self, name: str, node: ast.expr, where: Where) -> None:
        """State that the code reads a variable."""
        self.facts.uses.append(Use(name, self.code.place(node), self.order(where)))

    def value_place(self, node: ast.expr) -> Place:
        """Where a value is written: the inside of a plain string, else the whole expression."""
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            return self.inside(node, node.value) or self.code.place(node)
        return self.code.place(node)

    def inside(self, node: ast.AST, text: str) -> Place | None:
        """Where `text` stands in the source: the inside of a string without its quotes, or a keyword."""
        if isinstance(node, ast.keyword):
            start = self.code.span(node)[0]
        elif isinstance(node, ast.Constant):
            start = self.code.span(node)[0]
            quote = QUOTED.match(self.code.text, start)
            start = quote.end() if quote else start
        else:
            return None
        written = self.code.text.startswith(text, start)
        return self.code.between(start, start + len(text)) if written else None

    def comment(self, start: int, end: int) -> str:
        """The comment behind a part of the text on its last line, or else the lines of comment right above it."""
        code = self.code
        row, above = code.row(end), code.row(start) - 1
        if not self._commented(row, above):
            return ""
        line = code.line(row)
        behind = line[end - code.starts[row] :]
        if "#" in behind and (match := CODE_BEFORE_COMMENT.match(behind)):
            return behind[match.end() :].lstrip("#").strip()
        return self._comment_above(above + 1)

    def comment_of(self, node: ast.expr | ast.stmt) -> str:
        """The comment of a node, found without looking for it where there is none."""
        if not self._commented((node.end_lineno or node.lineno) - 1, node.lineno - 2):
            return ""
        return self.comment(*self.code.span(node))

    def _commented(self, row: int, above: int) -> bool:
        """Whether one of two lines may hold a comment."""
        if self._comments is None:
            text, at = self.code.text, -1
            self._comments = set()
            while (at := text.find("#", at + 1)) != -1:
                self._comments.add(self.code.row(at))
        return row in self._comments or above in self._comments

    def _comment_above(self, row: int) -> str:
        above: list[str] = []
        while row > 0 and len(above) < COMMENT_LINES:
            row -= 1
            line = self.code.line(row).strip()
            if not line.startswith("#"):
                break
            above.append(line.lstrip("#").strip())
        return "\n".join(reversed(above))
