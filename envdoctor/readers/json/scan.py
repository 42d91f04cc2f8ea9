"""A tolerant scanner for JSON: comments, trailing commas, duplicate keys and cut-off text give nodes with places.

The parser of the standard library gives no places, keeps the last of equal keys and refuses a file for one comma.
`Builder` puts the nodes together; the scanners of TOML and HCL use it too.
"""

from __future__ import annotations

import re

from envdoctor.core.records import dataclass, field
from envdoctor.core.regexes import regex
from envdoctor.readers.shared.nodes import MappingNode, ScalarNode, SequenceNode, TreeNode
from envdoctor.readers.shared.quoted_text import unescaped

MOST_NODES = 300_000
"""Nodes kept of one file; a file with more is data."""
DEEPEST = 100
"""Levels of brackets; what is nested deeper is left out."""

OPEN = "open"

_TOKEN = regex(
    r'(?P<string>"[^"\\\n]*(?:\\.[^"\\\n]*)*"?)'
    r"|(?P<single>'[^'\\\n]*(?:\\.[^'\\\n]*)*'?)"
    r"|(?P<open>[\[{])|(?P<close>[\]}])|(?P<colon>:)"
    r"|(?P<line_comment>//[^\n]*|#[^\n]*)|(?P<block_comment>/\*)"
    r"|(?P<word>[^\s,:\[\]{}\"'#/]+|/)"
)
_NUMBER = regex(r"-?\d[\d.eE+-]*")


@dataclass(slots=True)
class Frame:
    """An open mapping or sequence: where it starts, what is in it, and the key that waits for its value."""

    kind: str
    start: int
    pairs: list[tuple[TreeNode, TreeNode]] = field(default_factory=list)
    items: list[TreeNode] = field(default_factory=list)
    key: ScalarNode | None = None
    separated: bool = False


class NodeBuilder:
    """Puts scalars and brackets together into nodes. What does not fit is left out, and said once in `problem`."""

    def __init__(self) -> None:
        self.roots: list[TreeNode] = []
        self.stack: list[Frame] = []
        self.count = 0
        self.problem: tuple[str, int] | None = None

    @property
    def full(self) -> bool:
        """Whether so many nodes were kept that the rest is left out."""
        return self.count >= MOST_NODES

    def wrong(self, message: str, at: int) -> None:
        """Keep the first thing that was wrong."""
        self.problem = self.problem or (message, at)

    def put(self, node: TreeNode) -> None:
        """A value, or a key where a mapping waits for one."""
        self.count += 1
        if not self.stack:
            self.roots.append(node)
            return
        frame = self.stack[-1]
        if frame.kind == "[":
            frame.items.append(node)
        elif frame.key is not None and frame.separated:
            frame.pairs.append((frame.key, node))
            frame.key, frame.separated = None, False
        elif isinstance(node, ScalarNode):
            if frame.key is not None:
                self.wrong(f"no value for the key {frame.key.value[:40]!r}", frame.key.start_mark.index)
            frame.key = node

    def separate(self) -> None:
        """The sign between key and value."""
        if self.stack and self.stack[-1].key is not None:
            self.stack[-1].separated = True

    def open(self, kind: str, at: int) -> None:
        """A bracket that opens."""
        self.count += 1
        self.stack.append(Frame(kind, at))

    def close(self, kind: str, end: int) -> None:
        """A bracket that closes; those left open inside are closed with it."""
        if not any(frame.kind == kind for frame in self.stack):
            self.wrong("a bracket closes that was never opened", end - 1)
            return
        while self.stack[-1].kind != kind:
            self.wrong("a bracket is never closed", self.stack[-1].start)
            self.pop(end)
        self.pop(end)

    def pop(self, end: int) -> None:
        """End the innermost mapping or sequence."""
        frame = self.stack.pop()
        if len(self.stack) >= DEEPEST:
            self.wrong("nested too deeply: the rest was left out", frame.start)
        elif frame.kind == "[":
            self.put(SequenceNode("", frame.items, frame.start, end))
        else:
            self.put(MappingNode("", frame.pairs, frame.start, end))

    def finish(self, end: int) -> list[TreeNode]:
        """The roots; what is still open ends here."""
        if self.stack:
            self.wrong("a bracket is never closed", self.stack[-1].start)
        while self.stack:
            self.pop(end)
        return self.roots


def scan(text: str, start: int = 0, only_one: bool = False) -> NodeBuilder:
    """The nodes of JSON text from `start` on; `only_one`: up to the end of the first value.

    Numbers in lists are left out: no setting is one, and data is full of them.
    """
    builder = NodeBuilder()
    at = start
    while (match := _TOKEN.search(text, at)) and not builder.full:
        at = match.end()
        kind = match.lastgroup
        if kind == "string" or kind == "single":
            builder.put(quoted(text, *match.span()))
        elif kind == "open":
            builder.open(match[0], match.start())
        elif kind == "close":
            builder.close("[" if match[0] == "]" else "{", at)
        elif kind == "colon":
            builder.separate()
        elif kind == "word":
            _word(builder, match)
        elif kind == "block_comment":
            end = text.find("*/", at)
            at = end + 2 if end != -1 else len(text)
        if only_one and builder.roots:
            break
    if builder.full:
        builder.wrong(f"more than {MOST_NODES} values: the rest was left out", at)
    builder.finish(min(at, len(text)))
    return builder


def _word(builder: NodeBuilder, match: re.Match[str]) -> None:
    in_list = bool(builder.stack) and builder.stack[-1].kind == "["
    if not (in_list and _NUMBER.fullmatch(match[0])):
        builder.put(ScalarNode("", match[0], *match.span()))


def quoted(text: str, start: int, end: int) -> ScalarNode:
    """A scalar in quotes; one that is not closed on its line ends there (style `open`)."""
    closed = end - start > 1 and text[end - 1] == text[start] and not _escaped(text, end - 1)
    value = unescaped(text[start + 1 : end - closed])
    return ScalarNode("", value, start, end, text[start] if closed else OPEN)


def _escaped(text: str, at: int) -> bool:
    """Whether a backslash takes the character at `at` its meaning."""
    before = text[:at] if at < 100 else text[at - 100 : at]
    return (len(before) - len(before.rstrip("\\"))) % 2 == 1
