"""Nodes of structured text (YAML, JSON, TOML, HCL): scalars, sequences and mappings, each with its offsets.

The YAML reader registers the classes of PyYAML as these, so that one walk serves all formats and a JSON file is read
without PyYAML in memory.
"""

from __future__ import annotations

from abc import ABCMeta
from typing import Any

COMPUTED = "!computed"
"""Tag of a scalar that is an expression: its text is shown, its value is known at run time only."""


class Mark:
    """A position: the offset of a character in the text of a document."""

    __slots__ = ("index",)

    def __init__(self, index: int) -> None:
        self.index = index


class TreeNode(metaclass=ABCMeta):  # noqa: B024 - abstract so that classes can be registered as it
    """A part of a document from `start_mark` to `end_mark`; `tag` is what an application calls its type."""

    __slots__ = ("end_mark", "start_mark", "tag", "value")

    def __init__(self, tag: str, value: Any, start: int, end: int) -> None:
        self.tag = tag
        self.value = value
        self.start_mark = Mark(start)
        self.end_mark = Mark(end)


class ScalarNode(TreeNode):
    """Text. `style` is how it is quoted; empty or None: not at all."""

    __slots__ = ("style",)
    value: str

    def __init__(self, tag: str, value: str, start: int, end: int, style: str | None = None) -> None:
        super().__init__(tag, value, start, end)
        self.style = style


class SequenceNode(TreeNode):
    """A list of nodes."""

    __slots__ = ()
    value: list[TreeNode]


class MappingNode(TreeNode):
    """Pairs of key and value in the order they are written; a key may stand more than once."""

    __slots__ = ()
    value: list[tuple[TreeNode, TreeNode]]
