"""A scanner for TOML that gives nodes with places; tables that are written in several parts become one mapping.

The parser of Python gives no places and refuses a file for one fault.
"""

from __future__ import annotations

import re

from envdoctor.core.regexes import regex
from envdoctor.readers.json.scan import DEEPEST, NodeBuilder, quoted
from envdoctor.readers.shared.nodes import MappingNode, Mark, ScalarNode, SequenceNode, TreeNode
from envdoctor.readers.shared.quoted_text import unescaped

_KEY_PART = regex(r"[ \t]*(?:([A-Za-z0-9_-]+)|\"((?:[^\"\\\n]|\\.)*)\"|'([^'\n]*)')[ \t]*")
_HEADER = regex(r"[ \t]*(\[\[?)")
_TOKEN = regex(
    r"(?P<long>\"\"\"|''')|(?P<string>\"(?:[^\"\\\n]|\\.)*\"?)|(?P<literal>'[^'\n]*'?)"
    r"|(?P<open>[\[{])|(?P<close>[\]}])|(?P<sign>=)|(?P<comment>#[^\n]*)|(?P<end>\n)"
    r"|(?P<word>[^\s,=\[\]{}\"'#]+)"
)
_LONG_END = {
    '"""': regex(r'[^"\\]*(?:(?:\\.|"(?!""))[^"\\]*)*"""("{0,2})', re.DOTALL),
    "'''": regex(r"'''('{0,2})"),
}
_INTEGER = regex(r"[+-]?\d[\d_]*")
_CONTINUED = regex(r"\\[ \t]*\n\s*")


class Toml:
    """The nodes of one file. `table` is the one that lines now belong to."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.root = MappingNode("", [], 0, len(text))
        self.table = self.root
        self.builder = NodeBuilder()
        self.at = 0

    def read(self) -> MappingNode:
        """The root table."""
        while self.at < len(self.text) and not self.builder.full:
            self.line()
        return self.root

    def line(self) -> None:
        """One header, pair or comment."""
        end = self.text.find("\n", self.at)
        end = len(self.text) if end == -1 else end
        start = self.at
        if match := _HEADER.match(self.text, start, end):
            keys, at = self.keys(match.end(), end)
            if keys:
                self.enter(keys, len(match[1]) == 2)
        elif self.text[start:end].strip() and not self.text[start:end].lstrip().startswith("#"):
            keys, at = self.keys(start, end)
            if keys and self.text[at : at + 1] == "=":
                self.pair(keys, at + 1)
                return
            self.builder.wrong("neither a table nor a pair", start)
        self.at = end + 1

    def keys(self, at: int, end: int) -> tuple[list[ScalarNode], int]:
        """A key, perhaps dotted, and the offset behind it."""
        found: list[ScalarNode] = []
        while len(found) <= DEEPEST and (match := _KEY_PART.match(self.text, at, end)):
            group = match.lastindex or 1
            text = unescaped(match[group]) if group == 2 else match[group]
            found.append(ScalarNode("", text, *match.span(group)))
            at = match.end()
            if self.text[at : at + 1] != ".":
                break
            at += 1
        return found, at

    def enter(self, keys: list[ScalarNode], is_list: bool) -> None:
        """`[a.b]` and `[[a.b]]`: the table that the following lines belong to."""
        self.builder.count += 1
        if len(keys) > DEEPEST:
            self.builder.wrong("nested too deeply", keys[0].start_mark.index)
            return
        table = self.inner(self.root, keys[:-1])
        if not is_list:
            self.table = self.inner(table, keys[-1:])
            return
        listed = _last(table, keys[-1].value)
        if not isinstance(listed, SequenceNode):
            listed = SequenceNode("", [], keys[0].start_mark.index, keys[-1].end_mark.index)
            table.value.append((keys[-1], listed))
        self.table = MappingNode("", [], keys[0].start_mark.index, keys[-1].end_mark.index)
        listed.value.append(self.table)

    def inner(self, table: MappingNode, keys: list[ScalarNode]) -> MappingNode:
        """The table at a dotted key, made where there is none."""
        for key in keys:
            found = _last(table, key.value)
            if isinstance(found, SequenceNode) and found.value:
                found = found.value[-1]
            if not isinstance(found, MappingNode):
                found = MappingNode("", [], key.start_mark.index, key.end_mark.index)
                table.value.append((key, found))
            table = found
        return table

    def pair(self, keys: list[ScalarNode], at: int) -> None:
        """`key = value`."""
        node = self.value(at)
        if len(keys) > DEEPEST or node is None:
            self.builder.wrong("a key without a value", keys[0].start_mark.index)
            return
        table = self.inner(self.table, keys[:-1])
        table.value.append((keys[-1], node))
        for grown in (table, self.table):
            grown.end_mark = Mark(max(grown.end_mark.index, node.end_mark.index))

    def value(self, at: int) -> TreeNode | None:
        """The value that begins at an offset; the scanner then stands behind its line."""
        self.builder.roots = []
        self.at = at
        while (match := _TOKEN.search(self.text, self.at)) and not self.builder.full:
            self.at = match.end()
            if match.lastgroup == "end" and not self.builder.stack:
                break
            self.token(match)
        else:
            self.at = len(self.text)
        self.builder.finish(self.at)
        return self.builder.roots[0] if self.builder.roots else None

    def token(self, match: re.Match[str]) -> None:
        """One token of a value."""
        kind = match.lastgroup
        if kind == "long":
            self.builder.put(self.long(match[0], match.start()))
        elif kind == "string":
            self.builder.put(quoted(self.text, *match.span()))
        elif kind == "literal":
            self.builder.put(_literal(match))
        elif kind == "open":
            self.builder.open(match[0], match.start())
        elif kind == "close":
            self.builder.close("[" if match[0] == "]" else "{", self.at)
        elif kind == "sign":
            self.builder.separate()
        elif kind == "word":
            number = _INTEGER.fullmatch(match[0])
            text = match[0].replace("_", "") if number else match[0]
            self.builder.put(ScalarNode("", text, *match.span()))

    def long(self, quotes: str, start: int) -> ScalarNode:
        """A string in three quotes, which may go over lines; one that is not closed ends with its line."""
        pattern = _LONG_END[quotes]
        match = pattern.match(self.text, self.at) if quotes == '"""' else pattern.search(self.text, self.at)
        if match is None:
            self.builder.wrong("a string is never closed", start)
            return ScalarNode("", "", start, self.at)
        self.at = match.end()
        inside = self.text[start + 3 : self.at - 3].removeprefix("\n")
        value = unescaped(_CONTINUED.sub("", inside)) if quotes == '"""' else inside
        return ScalarNode("", value, start, self.at, quotes)


def _literal(match: re.Match[str]) -> ScalarNode:
    text = match[0]
    closed = len(text) > 1 and text.endswith("'")
    return ScalarNode("", text[1 : len(text) - closed], *match.span(), "'" if closed else "open")


def _last(table: MappingNode, name: str) -> TreeNode | None:
    """The value of the last pair with a key of this name."""
    for key, value in reversed(table.value):
        if key.value == name:
            return value
    return None
