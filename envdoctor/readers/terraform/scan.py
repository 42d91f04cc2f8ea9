"""A scanner for HCL (Terraform, Packer, Nomad) that gives nodes with places.

A block is a mapping under its type and its labels. What an expression computes is a scalar with the tag COMPUTED; the
lists and maps in it (`merge({...}, ...)`, `jsonencode([...])`, `a ? {...} : {}`) are kept.
"""

from __future__ import annotations

import re

from envdoctor.core.regexes import regex
from envdoctor.readers.json.scan import DEEPEST, MOST_NODES
from envdoctor.readers.shared.nodes import COMPUTED, MappingNode, ScalarNode, SequenceNode, TreeNode
from envdoctor.readers.shared.quoted_text import unescaped
from envdoctor.readers.yaml.keys import names_environment

_TOKEN = regex(
    r"(?P<skip>[ \t\r]+|#[^\n]*|//[^\n]*)|(?P<comment>/\*)|(?P<heredoc><<-?[ \t]*\"?([A-Za-z_]\w*)\"?[ \t]*\n)"
    r"|(?P<string>\")|(?P<word>[A-Za-z_][\w.*-]*|-?\d[\w.]*)|(?P<end>\n)|(?P<sign>=(?![=>])|:)|(?P<mark>.)",
    re.DOTALL,
)
_STRING_PIECE = regex(r"[^\"\\$%\n]+|\\.|\$\$\{|%%\{|[$%]\{|\"|[$%]", re.DOTALL)
_INSIDE_PIECE = regex(r"[^\"{}\n]+|[{}\"]")
_KNOWN = regex(r"true|false|null|-?\d[\d.]*")
CLOSING = {"{": "}", "[": "]", "(": ")"}


class Hcl:
    """The nodes of one file. `token` is the kind and the span of the token at hand; `""` is the end of the text."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.kind = ""
        self.start = 0
        self.count = 0
        self.problem: tuple[str, int] | None = None
        self.scalar: ScalarNode | None = None
        self.closed_at = 0
        self.advance()

    def read(self) -> MappingNode:
        """The root body."""
        pairs: list[tuple[TreeNode, TreeNode]] = []
        while self.kind:
            pairs += self.body(0)
            if self.kind:
                self.wrong("a bracket closes that was never opened")
                self.advance()
        return MappingNode("", pairs, 0, len(self.text))

    def wrong(self, message: str) -> None:
        """Keep the first thing that was wrong."""
        self.problem = self.problem or (message, self.start)

    def advance(self) -> None:
        """Go to the next token; that of a string or here-document is in `scalar`."""
        self.kind, self.scalar = "", None
        while match := _TOKEN.match(self.text, self.at):
            self.start, self.at = match.span()
            self.kind = match.lastgroup or ""
            if self.kind == "skip":
                continue
            if self.kind == "comment":
                end = self.text.find("*/", self.at)
                self.at = end + 2 if end != -1 else len(self.text)
                continue
            self.complete(match)
            return
        self.kind, self.start = "", len(self.text)

    def complete(self, match: re.Match[str]) -> None:
        """Take the whole of a token."""
        self.count += 1
        if self.count > MOST_NODES:
            self.wrong(f"more than {MOST_NODES} words: the rest was left out")
            self.kind = ""
        elif match[4] is not None:
            self.kind = "heredoc"
            self.heredoc(match[4])
        elif self.kind == "string":
            self.string()
        elif self.kind == "word":
            tag = "" if _KNOWN.fullmatch(match[0]) else COMPUTED
            self.scalar = ScalarNode(tag, match[0], *match.span())
        elif self.kind == "mark":
            self.kind = match[0]

    def heredoc(self, delimiter: str) -> None:
        """`<<EOF`: text up to a line that is the delimiter alone."""
        first = self.at
        match = re.compile(rf"^[ \t]*{delimiter}[ \t]*$", re.MULTILINE).search(self.text, first)
        if match is None:
            self.wrong("a here-document is never closed")
        end, self.at = match.span() if match else (len(self.text), len(self.text))
        self.scalar = ScalarNode("", self.text[first:end], first, max(end, first), "|")

    def string(self) -> None:
        """A string; `${...}` in it may hold strings of its own."""
        computed = False
        while match := _STRING_PIECE.match(self.text, self.at):
            self.at = match.end()
            if match[0] == '"':
                break
            if match[0] in ("${", "%{"):
                computed = computed or match[0] == "%{"
                self.interpolation()
        closed = self.text[self.at - 1] == '"' and self.at - self.start > 1
        text = unescaped(self.text[self.start + 1 : self.at - closed])
        self.scalar = ScalarNode(COMPUTED if computed else "", text, self.start, self.at, '"' if closed else "open")

    def interpolation(self) -> None:
        """Pass over `${...}` up to its closing bracket, on the same line."""
        depth, quoted = 1, False
        while depth and (match := _INSIDE_PIECE.match(self.text, self.at)):
            self.at = match.end()
            quoted ^= match[0] == '"'
            if not quoted:
                depth += (match[0] == "{") - (match[0] == "}")

    def body(self, depth: int) -> list[tuple[TreeNode, TreeNode]]:
        """The pairs and blocks up to a closing bracket or the end of the text."""
        pairs: list[tuple[TreeNode, TreeNode]] = []
        while self.kind and self.kind not in "}])":
            if self.scalar is None or self.kind == "heredoc":
                self.advance() if self.kind not in "{[(" else self.expression(depth)
                continue
            keys = [self.scalar]
            self.advance()
            while self.scalar is not None and self.kind != "heredoc":
                keys.append(self.scalar)
                self.advance()
            if self.kind == "sign":
                self.advance()
                pairs.append((keys[-1], self.expression(depth)))
            elif self.kind == "{":
                pairs.append(_labelled(keys, self.container(depth)))
        return pairs

    def expression(self, depth: int) -> TreeNode:
        """A value up to the comma, bracket or line end behind it."""
        first, start = self.scalar, self.start
        containers: list[TreeNode] = []
        words = 0
        while self.kind and self.kind not in ("end", ",", "}", "]", ")"):
            words += 1
            end = self.at
            if self.kind in "{[":
                containers.append(self.container(depth))
                end = containers[-1].end_mark.index
            elif self.kind == "(":
                containers += self.arguments(depth)
                end = self.closed_at
                words += 1
            else:
                self.advance()
        if words == 0:
            return ScalarNode(COMPUTED, "", start, start)
        if containers:
            return containers[0] if len(containers) == 1 else SequenceNode("", containers, start, end)
        if words == 1 and first is not None:
            return first
        return ScalarNode(COMPUTED, " ".join(self.text[start:end].split()), start, end)

    def arguments(self, depth: int) -> list[TreeNode]:
        """The lists and maps among the arguments of a call."""
        found = self.items(")", depth)
        return [node for node in found if not isinstance(node, ScalarNode)]

    def container(self, depth: int) -> TreeNode:
        """A list, or the body of a block or map."""
        start, closing = self.start, CLOSING[self.kind]
        if depth >= DEEPEST:
            self.wrong("nested too deeply")
            self.advance()
            return ScalarNode(COMPUTED, "", start, self.start)
        if closing == "]":
            items = self.items("]", depth)
            return SequenceNode("", items, start, self.previous_end(start))
        self.advance()
        pairs = self.body(depth + 1)
        self.close("}")
        return MappingNode("", pairs, start, self.previous_end(start))

    def items(self, closing: str, depth: int) -> list[TreeNode]:
        """Values between brackets; line ends mean nothing there."""
        found: list[TreeNode] = []
        self.advance()
        while self.kind and self.kind not in ("}", "]", ")"):
            if self.kind in ("end", ",", "sign"):
                self.advance()
            elif depth >= DEEPEST:
                self.wrong("nested too deeply")
                self.advance()
            else:
                found.append(self.expression(depth + 1))
        self.close(closing)
        return found

    def close(self, closing: str) -> None:
        """Pass over the bracket that closes; another one is left for what is around."""
        self.closed_at = self.at
        if self.kind == closing:
            self.advance()
        else:
            self.wrong("a bracket is never closed")
            self.closed_at = self.start

    def previous_end(self, start: int) -> int:
        """Where the bracket that was just closed ends."""
        return max(self.closed_at, start)


def _labelled(keys: list[ScalarNode], block: TreeNode) -> tuple[TreeNode, TreeNode]:
    """A block under its type and its labels; one with `name` and `value` is an item of a list of them."""
    if isinstance(block, MappingNode) and names_environment(keys[0].value):
        names = {key.value for key, _ in block.value if isinstance(key, ScalarNode)}
        if "name" in names and names & {"value", "value_from", "value_source"}:
            block = SequenceNode("", [block], block.start_mark.index, block.end_mark.index)
    for key in reversed(keys[1:]):
        block = MappingNode("", [(key, block)], key.start_mark.index, block.end_mark.index)
    return keys[0], block
