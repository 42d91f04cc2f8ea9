"""Parts of a script that the parser could not read: read again line by line, so that nothing there is lost."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from envdoctor.core.regexes import regex
from envdoctor.readers.shell.state import ShellContext, ShellState
from envdoctor.readers.shell.syntax.parse import parse_part

if TYPE_CHECKING:
    from tree_sitter import Node

Push = Callable[["Sequence[Node]", ShellContext], None]
"""Says that nodes are to be visited next."""
MOST_PROBLEMS = 20
MOST_LINES = 20_000
LONGEST_LINE = 20_000
_STATEMENTS = frozenset((
    "variable_assignment", "variable_assignments", "declaration_command", "unset_command", "command", "pipeline",
    "list", "redirected_statement", "if_statement", "while_statement", "for_statement", "c_style_for_statement",
    "case_statement", "function_definition", "subshell", "compound_statement", "test_command", "negated_command",
))  # fmt: skip
_CONTINUED = regex(r"(?:[^\n]*\\\n)*[^\n]*")


def recover(state: ShellState, push: Push, node: Node, context: ShellContext) -> None:
    """Visit what is whole inside an error; the lines in between are parsed one by one."""
    if context.recovered:
        push(node.named_children, context)
        return
    inner = ShellContext(context.scope, context.branch, context.output, context.depth, recovered=True)
    whole = [child for child in node.named_children if child.type in _STATEMENTS and not child.has_error]
    visits: list[Node] = []
    at = node.start_byte
    for child in whole:
        visits += lines(state, at, child.start_byte)
        visits.append(child)
        at = max(at, child.end_byte)
    visits += lines(state, at, node.end_byte)
    push(visits, inner)


def lines(state: ShellState, start: int, end: int) -> Iterator[Node]:
    """The trees of the lines of a gap, each parsed for itself."""
    text = state.text
    for _ in range(MOST_LINES):
        if start >= end:
            return
        match = _CONTINUED.match(text, start, end)
        stop = match.end() if match else end
        line = text[start:stop]
        if stop - start <= LONGEST_LINE and ("=" in line or "$" in line or "x" in line) and line.strip():
            yield parse_part(state.masked.data, start, stop).root_node
        start = stop + 1


def _report(state: ShellState, node: Node) -> None:
    if node.type == "heredoc_end" and node.parent is not None:
        start = node.parent.start_byte
        state.problem("a here-document is not closed; it goes on to the end", start, _line_end(state.text, start))
    elif node.is_missing:
        state.problem(f"`{node.type}` is missing", node.start_byte, node.start_byte)
    else:
        end = min(node.end_byte, _line_end(state.text, node.start_byte))
        state.problem("not readable as shell; read line by line", node.start_byte, max(end, node.start_byte))


def _line_end(text: str, start: int) -> int:
    end = text.find("\n", start)
    return len(text) if end == -1 else end


def report(state: ShellState, root: Node) -> None:
    """State a problem for each part that could not be read."""
    stack = [root]
    found = 0
    while stack and found < MOST_PROBLEMS:
        node = stack.pop()
        if node.is_error or node.is_missing:
            _report(state, node)
            found += 1
        elif node.has_error:
            stack.extend(reversed(node.children))
