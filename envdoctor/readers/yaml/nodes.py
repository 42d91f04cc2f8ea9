"""YAML documents and the places of their nodes: templates masked first, each document on its own."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from envdoctor.core.facts import Place
from envdoctor.core.regexes import regex
from envdoctor.core.source import Source
from envdoctor.readers.shared.embedded import MappedSource, mapped
from envdoctor.readers.shared.nodes import MappingNode, ScalarNode, SequenceNode, TreeNode
from envdoctor.readers.shared.quoted_text import Text, double_quoted, plain, single_quoted
from envdoctor.readers.shared.template_mask import MaskedTemplate, mask

_PARTING = regex(r"^---(?=[ \t\r\n]|$)", re.MULTILINE)
_PROPERTIES = regex(r"(?:[&!]\S*\s+)*")
_UNPRINTABLE = regex("[^\t\n\r\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What YAML allows in no stream (PyYAML refuses the whole stream for one of them), and the line ends of YAML 1.1 that
are none in YAML 1.2 and for editors."""

Item = tuple[str, ScalarNode, TreeNode]
"""Text of a key, the key and its value."""


def masked_text(text: str) -> tuple[MaskedTemplate, bool]:
    """Text with templates masked and each character that YAML forbids made a question mark; whether there was one."""
    plain, count = _UNPRINTABLE.subn("?", text)
    return mask(plain), count > 0


def documents(text: str) -> Iterator[tuple[int, int]]:
    """Spans of the documents of a stream; directives and comments alone make none."""
    starts = [0, *(match.end() for match in _PARTING.finditer(text)), len(text) + 3]
    for start, following in pairwise(starts):
        end = max(start, following - 3)
        chunk = text[start:end]
        if chunk.strip() and not chunk.lstrip().startswith("%"):
            yield start, end


class Document:
    """One composed document: its root, and the text and places of its nodes.

    `source` holds the original text, `masked` the text that was composed; `base` is where the document starts.
    `altered`: characters were replaced all over the text, so that the values of nodes are not the original ones.
    `comment_sign` is what a comment begins with.
    """

    comment_sign = "#"

    def __init__(self, source: Source, masked: MaskedTemplate, base: int, altered: bool = False) -> None:
        self.source = source
        self.masked = masked
        self.base = base
        self.altered = altered

    def compose(self, end: int) -> TreeNode | None:
        """The root node of the text up to `end`. Raises NotYamlError."""
        from envdoctor.readers.yaml.compose import compose

        return compose(self.masked.text[self.base : end])

    def span(self, node: TreeNode) -> tuple[int, int]:
        """Offsets of a node in the text, without its anchor and tag."""
        start, end = self.base + node.start_mark.index, self.base + node.end_mark.index
        if self.source.text[start : start + 1] in ("&", "!"):
            match = _PROPERTIES.match(self.source.text, start, end)
            start = match.end() if match else start
        if not isinstance(node, ScalarNode):
            end = start + len(self.source.text[start:end].rstrip())
        return start, end

    def place(self, first: TreeNode, last: TreeNode) -> Place:
        """From the start of one node to the end of another."""
        return self.source.place(self.span(first)[0], self.span(last)[1])

    def inner_place(self, node: TreeNode) -> Place:
        """A scalar without its quotes."""
        start, end = self.span(node)
        quoted = isinstance(node, ScalarNode) and node.style in ("'", '"')
        return self.source.place(start + quoted, end - quoted)

    def line(self, node: TreeNode) -> int:
        """The line of the file that a node starts on."""
        return self.source.point(self.span(node)[0])[0]

    def raw(self, node: TreeNode) -> str:
        """The source text of a node."""
        start, end = self.span(node)
        return self.source.text[start:end]

    def text(self, node: TreeNode) -> str:
        """The text of a scalar, templates included; `""` for what is none."""
        if not isinstance(node, ScalarNode):
            return ""
        if not self.altered and not (self.masked.spans and self.masked.touches(*self.span(node))):
            return str(node.value)
        return self.mapped_text(node)[0]

    def mapped_text(self, node: ScalarNode) -> Text:
        """The text of a scalar with the place of each character."""
        start, end = self.span(node)
        if node.style in ("|", ">"):
            return _block(self, node, start, end)
        quoted = node.style in ("'", '"')
        inside = plain(self.source.text[start + quoted : end - quoted], start + quoted)
        if "\n" in inside[0]:
            inside = _folded(inside, node.style == '"')
        if node.style == '"':
            return double_quoted(inside)
        return single_quoted(inside) if node.style == "'" else inside

    def scalar_source(self, node: ScalarNode) -> MappedSource:
        """The text of a scalar as a source of its own."""
        return mapped(self.source, *self.mapped_text(node))

    def block_lines(self, start: int, end: int) -> list[tuple[int, int]]:
        """Spans of the lines of a block scalar, dedented; a line that held only templates is empty."""
        masked, text, lines = self.masked.text, self.source.text, []
        at = text.find("\n", start, end) + 1
        while 0 < at < end:
            stop = text.find("\n", at, end)
            stop = end if stop == -1 else stop
            lines.append((at, stop))
            at = stop + 1
        while lines and not masked[lines[-1][0] : lines[-1][1]].strip():
            lines.pop()
        filled = next((span for span in lines if masked[span[0] : span[1]].strip()), None)
        indent = filled[1] - filled[0] - len(masked[filled[0] : filled[1]].lstrip(" ")) if filled else 0
        return [_dedented(masked, first, last, indent) for first, last in lines]


def _dedented(text: str, start: int, end: int, indent: int) -> tuple[int, int]:
    line = text[start:end]
    blank = len(line) - len(line.lstrip(" "))
    return (end, end) if not line.strip() else (start + min(indent, blank), end - line.endswith("\r"))


def _block(document: Document, node: ScalarNode, start: int, end: int) -> Text:
    """A block scalar. Folded ones join their lines by a blank, except around empty and more indented lines."""
    text = document.source.text
    pieces: list[str] = []
    offsets: list[int] = []
    spans = document.block_lines(start, end)
    for number, (first, last) in enumerate(spans):
        pieces.append(text[first:last])
        offsets += range(first, last)
        if number == len(spans) - 1:
            break
        following = text[spans[number + 1][0] : spans[number + 1][1]]
        joined = node.style == ">" and all(line and line[0] not in " \t" for line in (pieces[-1], following))
        pieces.append(" " if joined else "\n")
        offsets.append(last)
    return "".join(pieces), offsets


def _folded(inside: Text, escapes: bool) -> Text:
    """A flow scalar of several lines: a line end is a blank, empty lines are line ends."""
    pieces: list[str] = []
    offsets: list[int] = []
    at = 0
    for match in re.finditer(r"[ \t]*\r?\n(?:[ \t]*\r?\n)*[ \t]*", inside[0]):
        end, ends = match.start(), match.group().count("\n")
        continued = escapes and inside[0][at:end].endswith("\\")
        pieces.append(inside[0][at : end - continued])
        offsets += inside[1][at : end - continued]
        glue = "" if continued else " " if ends == 1 else "\n" * (ends - 1)
        pieces.append(glue)
        offsets += [inside[1][match.start()]] * len(glue)
        at = match.end()
    pieces.append(inside[0][at:])
    offsets += inside[1][at:]
    return "".join(pieces), offsets


def items(document: Document, node: MappingNode, budget: list[int]) -> list[Item]:
    """Pairs of a mapping with scalar keys, those of its merge keys (`<<`) after its own; own ones win.

    Each node is taken once, and `budget[0]` counts down over the file, so that aliases cannot explode.
    """
    found: dict[tuple[str, int], Item] = {}
    own: set[str] = set()
    queue: list[TreeNode] = [node]
    seen: set[int] = set()
    while queue and budget[0] > 0:
        current = queue.pop(0)
        if id(current) in seen:
            continue
        seen.add(id(current))
        if isinstance(current, SequenceNode):
            queue += current.value
            continue
        names = set()
        for key, value in current.value if isinstance(current, MappingNode) else ():
            budget[0] -= 1
            if not isinstance(key, ScalarNode):
                continue
            name = document.text(key)
            if name == "<<":
                queue.append(value)
            elif name not in own:
                names.add(name)
                found[name, key.start_mark.index] = (name, key, value)
        own |= names
    return list(found.values())
