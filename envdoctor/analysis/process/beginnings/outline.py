"""The keys of a YAML file by their indentation: which document, job, service or step a line stands in.

Facts have places and scopes, and no names of steps, kinds of documents or keys beside them. This is no parser: what
is written in flow style has no nodes of its own.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from typing import NamedTuple

from envdoctor.core.regexes import regex

_KEY = regex(r"(\"[^\"\n]*\"|'[^'\n]*'|[^\s#\-{}\[\]\"'&*!|>%@`,?:][^\n:#]*?|-[^\s:#][^\n:#]*?)[ \t]*:(?=[ \t\r\n]|$)")
_DASH = regex(r"-(?:[ \t]+|(?=\r?$))")
_BLOCK = regex(r"[^#\"']*[|>][-+0-9]*[ \t\r]*(?:#.*)?$")
_PAIR = regex(r"[{,][ \t]*[\"']?([\w.-]+)[\"']?[ \t]*:[ \t]*(\"[^\"\n]*\"|'[^'\n]*'|[^\s,{}\[\]]*)")
MOST_LINES = 100_000
MOST_ITEMS = 100


class OutlineNode(NamedTuple):
    """A key, or an item of a list (whose key is empty). `parent` is the index of what it lies in, -1 for none."""

    line: int
    column: int
    key: str
    value: str
    parent: int
    document: int


class Outline:
    """The nodes of one text, in order."""

    def __init__(self, text: str) -> None:
        self.nodes: list[OutlineNode] = []
        self.documents = 0
        self._stack: list[int] = []
        self._block = -1
        """Indentation of the key whose block scalar is being skipped."""
        for number, line in enumerate(text.split("\n")[:MOST_LINES], 1):
            self._line(number, line)
        self._lines = [node.line for node in self.nodes]
        self._children: dict[tuple[int, int], dict[str, int]] = {}
        for index, node in enumerate(self.nodes):
            self._children.setdefault((node.document, node.parent), {}).setdefault(node.key, index)

    def _line(self, number: int, line: str) -> None:
        text = line.lstrip(" ")
        at = len(line) - len(text)
        if not text.strip() or text.startswith("#"):
            return
        if line.startswith(("---", "...")) and not line[3:].strip("- \t\r\n").startswith("-"):
            self.documents += 1
            self._stack, self._block = [], -1
            return
        if 0 <= self._block < at:
            return
        self._block = -1
        self._node(number, line, at)

    def _node(self, number: int, line: str, at: int) -> None:
        while dash := _DASH.match(line, at):
            self._add(number, at, "", line[dash.end() :].strip())
            at = dash.end()
        if key := _KEY.match(line, at):
            value = line[key.end() :].strip()
            self._add(number, at, key[1].strip("\"'"), value)
            if _BLOCK.match(value):
                self._block = at
        elif _BLOCK.match(line[at:].strip()):
            self._block = self.nodes[self._stack[-1]].column if self._stack else 0

    def _add(self, line: int, column: int, key: str, value: str) -> None:
        while self._stack and self._closes(self.nodes[self._stack[-1]], column, key):
            self._stack.pop()
        parent = self._stack[-1] if self._stack else -1
        self._stack.append(len(self.nodes))
        self.nodes.append(OutlineNode(line, column, key, value, parent, self.documents))

    @staticmethod
    def _closes(open_: OutlineNode, column: int, key: str) -> bool:
        """Whether an open node ends where another begins: items may stand as far left as the key of their list."""
        return open_.column > column or (open_.column == column and (bool(key) or not open_.key))

    def at(self, line: int) -> int:
        """The last node that begins on a line or before it, -1 for none."""
        return bisect_right(self._lines, line) - 1

    def document(self, line: int) -> int:
        """The number of the document that a line stands in."""
        at = self.at(line)
        return self.nodes[at].document if at >= 0 else 0

    def around(self, line: int) -> Iterator[int]:
        """The nodes that a line lies in, innermost first."""
        at = self.at(line)
        while at >= 0:
            yield at
            at = self.nodes[at].parent

    def top(self, document: int) -> dict[str, OutlineNode]:
        """The keys at the top of a document."""
        return {key: self.nodes[at] for key, at in self._children.get((document, -1), {}).items() if key}

    def keys(self, index: int) -> dict[str, OutlineNode]:
        """The keys of a mapping; pairs in flow style count as keys."""
        if index < 0:
            return {}
        node = self.nodes[index]
        listed = self._children.get((node.document, index), {})
        return {key: self.nodes[at] for key, at in listed.items() if key} or flow(node)

    def find(self, document: int, *path: str) -> int:
        """The node at a path of keys from the top of a document, -1 where there is none."""
        at = -1
        for key in path:
            at = self._children.get((document, at), {}).get(key, -1)
            if at < 0:
                return -1
        return at

    def words(self, index: int) -> list[str]:
        """The plain items of a list."""
        return [scalar(node.value) for node in self.nodes[index + 1 :][:MOST_ITEMS] if node.parent == index]

    def item(self, line: int, *lists: str) -> int:
        """The item of one of the lists that a line lies in, -1 for none."""
        for at in self.around(line):
            node = self.nodes[at]
            if not node.key and node.parent >= 0 and self.nodes[node.parent].key in lists:
                return at
        return -1


def flow(node: OutlineNode) -> dict[str, OutlineNode]:
    """`{name: x, image: y}` on one line, without looking deeper."""
    if not node.value.startswith("{"):
        return {}
    return {
        match[1]: node._replace(key=match[1], value=match[2], parent=-1)
        for match in re.finditer(_PAIR.pattern, node.value)
    }


def scalar(text: str) -> str:
    """A value without its quotes and its comment."""
    text = text.strip()
    if text[:1] in ("'", '"'):
        end = text.find(text[0], 1)
        return text[1:end] if end > 0 else text
    return text.split(" #", 1)[0].strip()
