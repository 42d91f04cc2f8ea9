"""Places where the parser lost its way, repaired in the text it is given, so that the rest is read as it was meant.

Two kinds: line ends that the grammar overlooked, and quotes and substitutions that are not closed and would swallow
the rest of the script. tree-sitter-bash 0.25 takes the line after `A=1 B=2` for the command of these assignments, and
now and then the line after `> ${DIR}/file` for another target of the redirection, or the line after `a |grep ^b|c` for
more arguments; it marks none of them as an error.
Every repair replaces one character; values are read from the text itself, not from what the parser is given.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from envdoctor.core.regexes import regex

if TYPE_CHECKING:
    from tree_sitter import Node, Tree

REDIRECTS = ("file_redirect", "heredoc_redirect", "herestring_redirect")
_CLOSING = {'"': '"', ")": ")", "`": "`"}
_LINE_END = regex(r"(?<!\\)\n")
_GOES_ON = regex(r"[\w/$.]")


class MisreadError(Exception):
    """A statement goes on where its line had ended; the script has to be parsed again."""


def check(text: str, children: Sequence[Node]) -> None:
    """Raise MisreadError where a line end was overlooked in a command or a redirection."""
    if overlooked_end(text, children) is not None:
        raise MisreadError


def overlooked_end(text: str, children: Sequence[Node]) -> int | None:
    """Where the part ends that a line end, overlooked by the grammar, separates from what follows it."""
    if not children or not _LINE_END.search(text, children[0].start_byte, children[-1].end_byte):
        return None
    parts = [child for child in children if child.type != "comment"]
    for before, after in pairwise(parts):
        if "\n" in text[before.end_byte : after.start_byte].replace("\\\n", ""):
            return before.end_byte
    return None


def with_line_ends(text: str, data: bytes, tree: Tree) -> bytes:
    """The script with `;` where the grammar overlooked the end of a line."""
    result = bytearray(data)
    for node in _nodes(tree.root_node):
        if node.type in ("command", "file_redirect"):
            children = node.named_children
            end = overlooked_end(text, children)
            if end is None:
                continue
            result[_statement_end(text, end)] = ord(";")
            for child in children:  # the grammar knows no assignment with a redirection and no command
                if child.type == "file_redirect" and child.end_byte <= end:
                    result[child.start_byte : child.end_byte] = b" " * (child.end_byte - child.start_byte)
    return bytes(result)


def _nodes(root: Node) -> Iterator[Node]:
    stack = [root]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(reversed(node.named_children))


def _statement_end(text: str, at: int) -> int:
    """The character that may become `;`: the line end, or the blank before a comment."""
    while text.startswith("\\\n", at) or text[at] in " \t\r":
        if text[at] != "\\" and text.startswith("#", at + 1):
            return at
        at += 2 if text[at] == "\\" else 1
    return at


def unclosed(text: str, root: Node) -> tuple[int, str] | None:
    """Where a quote or substitution begins that is not closed, and what would close it; None: there is none."""
    missing: tuple[int, str] | None = None
    stack = [root]
    while stack and missing is None:
        node = stack.pop()
        if node.is_missing and node.type in _CLOSING and node.parent is not None:
            missing = node.parent.start_byte, node.type
        elif node.is_error and node.start_byte < len(text) and text[node.start_byte] == "'":
            missing = node.start_byte, "'"
        elif node.has_error:
            stack.extend(reversed(node.children))
    if missing is not None and missing[1] == '"':
        return _earlier(text, root, missing[0]) or missing
    return missing


def _earlier(text: str, root: Node, limit: int) -> tuple[int, str] | None:
    """A string over several lines that ends in the middle of a word, before the one that is left open at the end.

    With one quote too few, every later string is turned inside out; the first of them shows it.
    """
    for node in _nodes(root):
        if node.start_byte >= limit:
            continue
        if node.type == "string" and "\n" in text[node.start_byte : node.end_byte]:
            following = text[node.end_byte : node.end_byte + 1]
            if _GOES_ON.match(following) and text[node.end_byte - 2 : node.end_byte - 1] in ("=", " ", "\n"):
                return node.start_byte, '"'
    return None


def closed(text: str, data: bytes, start: int, closing: str) -> bytes:
    """The script with what begins at `start` closed at the end of its line."""
    end = text.find("\n", start)
    end = len(text) if end == -1 else end
    result = bytearray(data)
    if end - 1 > start + (1 if data[start : start + 2] == b"$(" else 0):
        result[end - 1] = ord(closing)
    else:
        result[start:end] = b"x" * (end - start)
    return bytes(result)
