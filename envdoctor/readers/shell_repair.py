"""Line ends that the grammar overlooked: noticed while walking, repaired in the text for the parser.

tree-sitter-bash 0.25 takes the line after `A=1 B=2` for the command of these assignments, and now and then the line
after `> ${DIR}/file` for another target of the redirection. Neither is marked as an error.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node, Tree

REDIRECTS = ("file_redirect", "heredoc_redirect", "herestring_redirect")


class MisreadError(Exception):
    """A statement goes on where its line had ended; the script has to be parsed again."""


def check(text: str, node: Node, children: Sequence[Node]) -> None:
    """Raise MisreadError where a line end was overlooked in a command or a redirection."""
    if overlooked_end(text, node.type, children) is not None:
        raise MisreadError


def overlooked_end(text: str, kind: str, children: Sequence[Node]) -> int | None:
    """Where the part ends that a line end, overlooked by the grammar, separates from what follows it."""
    parts = [child for child in children if child.type != "comment"]
    for before, after in pairwise(parts):
        if kind == "command" and before.type not in ("variable_assignment", *REDIRECTS):
            return None
        if "\n" in text[before.end_byte : after.start_byte].replace("\\\n", ""):
            return before.end_byte
    return None


def repaired(text: str, data: bytes, tree: Tree) -> bytes:
    """The script with `;` where the grammar overlooked the end of a line."""
    result = bytearray(data)
    stack = [tree.root_node]
    while stack:
        node = stack.pop()
        children = node.named_children
        if node.type in ("command", "file_redirect"):
            end = overlooked_end(text, node.type, children)
            if end is not None:
                result[_statement_end(text, end)] = ord(";")
        stack.extend(children)
    return bytes(result)


def _statement_end(text: str, at: int) -> int:
    """The character that may become `;`: the line end, or the blank before a comment."""
    while text.startswith("\\\n", at) or text[at] in " \t\r":
        if text[at] != "\\" and text.startswith("#", at + 1):
            return at
        at += 2 if text[at] == "\\" else 1
    return at
