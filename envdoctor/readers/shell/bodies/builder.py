"""Builds the operations of one text: statements in their order, nesting bounded, words with the commands inside them.

What each kind of node becomes stands in `simple` and `compound`; what could not be parsed, in `gaps`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from envdoctor.core.operations import NOTHING, Body, Operation, Word
from envdoctor.core.regexes import regex
from envdoctor.readers.shell.bodies import templates
from envdoctor.readers.shell.bodies.text import BodyText
from envdoctor.readers.shell.bodies.words import DEEPEST, WordParts, simple_word

if TYPE_CHECKING:
    from tree_sitter import Node

Reread = Callable[[int, int], "Body | None"]
"""The body of a span that the parser did not see as shell (a command in a here-document)."""
LONGEST_GAP = 2000
MOST_OPERATIONS = 50_000
"""Of one text; a script of 100 KB has some 3,000."""
_BACKGROUND = regex(r"[ \t]*&(?![&>])")
_SILENT = frozenset((
    "comment", "heredoc_body", "heredoc_start", "heredoc_end", "heredoc_content", "file_descriptor", "word",
    "number", "string", "raw_string", "concatenation", "simple_expansion", "expansion", "variable_name",
    "test_operator", "regex", "extglob_pattern", "arithmetic_expansion", "special_variable_name", "ansi_c_string",
    "binary_expression", "unary_expression", "command_name", "process_substitution", "translated_string",
))  # fmt: skip
"""Nodes that are no statements; where one stands in a statement's place, the parser was lost."""


class BodyBuilder:
    """The operations of one text. `tolerant`: what is misread stays so; `recovered`: inside a line read for itself."""

    __slots__ = (
        "conditions", "coprocesses", "deadline", "handlers", "left", "recovered", "reread", "shape", "source", "text",
        "tolerant",
    )  # fmt: skip

    def __init__(
        self, text: BodyText, handlers: Mapping[str, Handler], reread: Reread, coprocesses: frozenset[int],
        deadline: float, tolerant: bool = False,
    ) -> None:  # fmt: skip
        self.text = text
        self.source = text.text
        self.shape = text.masked.data.decode("ascii", "replace")
        self.handlers = handlers
        self.reread = reread
        self.coprocesses = coprocesses
        self.deadline = deadline
        self.tolerant = tolerant
        self.recovered = False
        self.left = MOST_OPERATIONS
        self.conditions = 0
        """How many conditions of templates are around the statements that are read."""

    def statements(self, nodes: Iterable[Node]) -> Body:
        """The operations of nodes that stand one after another."""
        if self.text.conditions is not None:
            return self._conditioned(nodes)
        out: list[Operation] = []
        for node in nodes:
            self._statement(node, out)
        return tuple(out)

    def _statement(self, node: Node, out: list[Operation]) -> None:
        before = len(out)
        self.state(node, out)
        if before < len(out) and (
            _BACKGROUND.match(self.source, node.end_byte) or (self.coprocesses and node.start_byte in self.coprocesses)
        ):
            out[before:] = [("background", *self.text.point(node.start_byte), tuple(out[before:]))]

    def _conditioned(self, nodes: Iterable[Node]) -> Body:
        """The operations of nodes some of which stand under conditions of a template."""
        stated: list[templates.Stated] = []
        conditions, outer = self.text.conditions or templates.Conditions([]), self.conditions
        for node in nodes:
            around = conditions.around(node.start_byte)[outer:]
            self.conditions = outer + len(around)
            out: list[Operation] = []
            self._statement(node, out)
            if out:
                stated.append((around, tuple(out)))
        self.conditions = outer
        return templates.conditioned(stated)

    def state(self, node: Node, out: list[Operation]) -> None:
        """Add what a node says."""
        handler = self.handlers.get(node.type)
        self.left -= 1
        if self.left <= 0:
            if self.left == 0:
                out.append(self.cut(node.start_byte, node.end_byte))
        elif handler is not None:
            handler(self, node, out)
        elif node.type not in _SILENT:
            out.append(self.gap(node.start_byte, node.end_byte))

    def nested(self, nodes: list[Node]) -> Body:
        """The operations of nodes one level further in."""
        if not nodes:
            return NOTHING
        if self.text.depth >= DEEPEST:
            return (self.cut(nodes[0].start_byte, nodes[-1].end_byte),)
        self.text.depth += 1
        try:
            return self.statements(nodes)
        finally:
            self.text.depth -= 1

    def one(self, node: Node) -> Body:
        """The operations of a part of a statement, behind which `&` would belong to the whole."""
        if self.text.depth >= DEEPEST:
            return (self.cut(node.start_byte, node.end_byte),)
        self.text.depth += 1
        out: list[Operation] = []
        try:
            self.state(node, out)
        finally:
            self.text.depth -= 1
        return tuple(out)

    def gap(self, start: int, end: int) -> Operation:
        """Text that could not be read."""
        return ("gap", *self.text.point(start), self.source[start : min(end, start + LONGEST_GAP)])

    def cut(self, start: int, end: int) -> Operation:
        """Text beyond what is followed."""
        return (*self.gap(start, end), "cut")

    def word(self, start: int, end: int, node: Node | None = None) -> Word:
        """The word at a span; commands inside it are looked for in `node`."""
        return simple_word(self.text, start, end) or WordParts(self.text, start, end, self.commands, node).word()

    def document(self, start: int, end: int, literal: bool) -> Word:
        """The text of a here-document; with a quoted delimiter it is literal."""
        mode = "literal" if literal else "document"
        return WordParts(self.text, start, end, self.commands, None, mode=mode).word()

    def commands(self, start: int, end: int, node: Node | None) -> Body | None:
        """The body of `$(...)` or backquotes at a span."""
        if self.text.depth >= DEEPEST:
            return None
        found = _substitution(node, start) if node is not None else None
        if found is not None:
            return self.nested(found.named_children)
        opening = 1 if self.source[start] == "`" else 2
        closed = end - 1 >= start + opening and self.source[end - 1] == ("`" if opening == 1 else ")")
        if not closed or self.source.startswith("$((", start):
            return None
        return self.reread(start + opening, end - 1)


Handler = Callable[[BodyBuilder, "Node", "list[Operation]"], None]


def _substitution(node: Node, at: int) -> Node | None:
    """The command substitution that begins at an offset inside a node."""
    leaf = node.descendant_for_byte_range(at, at + 1)
    if leaf is None:
        return None
    found = leaf if leaf.type == "command_substitution" else leaf.parent
    return found if found is not None and found.type == "command_substitution" and found.start_byte == at else None
