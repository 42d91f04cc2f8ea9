"""The nodes of JSON, TOML and HCL text: their spans, their text, and the place of each character of it."""

from __future__ import annotations

from envdoctor.core.facts import Place
from envdoctor.core.regexes import regex
from envdoctor.core.source import Source
from envdoctor.readers.json.scan import OPEN
from envdoctor.readers.shared.nodes import ScalarNode, TreeNode
from envdoctor.readers.shared.quoted_text import Text, double_quoted, plain
from envdoctor.readers.shared.template_mask import MaskedTemplate
from envdoctor.readers.yaml.nodes import Document

QUOTES = ('"', "'", '"""', "'''")
ESCAPING = ('"', '"""', OPEN)

_LINE_CONTINUED = regex(r"\\[ \t]*\n\s*")


class JsonDocument(Document):
    """A document whose nodes hold offsets of the text itself. Styles: a kind of quotes, `open`, or none."""

    def __init__(self, source: Source, masked: MaskedTemplate | None = None) -> None:
        super().__init__(source, masked or MaskedTemplate(source.text), 0)

    def span(self, node: TreeNode) -> tuple[int, int]:
        """Offsets of a node in the text."""
        return node.start_mark.index, node.end_mark.index

    def inside(self, node: TreeNode) -> tuple[int, int]:
        """Offsets of a scalar without its quotes."""
        start, end = self.span(node)
        style = node.style if isinstance(node, ScalarNode) else None
        if style == OPEN:
            return start + 1, end
        width = len(style) if style in QUOTES else 0
        return start + width, end - width

    def inner_place(self, node: TreeNode) -> Place:
        """A scalar without its quotes."""
        return self.source.place(*self.inside(node))

    def mapped_text(self, node: ScalarNode) -> Text:
        """The text of a scalar with the place of each character."""
        start, end = self.inside(node)
        if node.style in ('"""', "'''") and self.source.text.startswith("\n", start):
            start += 1
        text = plain(self.source.text[start:end], start)
        if node.style == '"""':
            text = _joined(text)
        return double_quoted(text) if node.style in ESCAPING else text


def _joined(text: Text) -> Text:
    """A multi-line string with the line ends that a backslash takes out taken out."""
    if "\\" not in text[0]:
        return text
    pieces: list[str] = []
    offsets: list[int] = []
    done = 0
    for match in _LINE_CONTINUED.finditer(text[0]):
        pieces.append(text[0][done : match.start()])
        offsets += text[1][done : match.start()]
        done = match.end()
    return "".join([*pieces, text[0][done:]]), [*offsets, *text[1][done:]]
