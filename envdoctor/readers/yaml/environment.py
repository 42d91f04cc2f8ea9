"""Environments in YAML: maps, lists of name and value, lists of `A=1`, lists of bare names, text of lines."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from envdoctor.core.facts import Op, Place, Setting, Value
from envdoctor.core.records import dataclass, field
from envdoctor.core.regexes import regex
from envdoctor.readers.shared.collector import Collector, comment_at
from envdoctor.readers.shared.embedded import mapped
from envdoctor.readers.shared.nodes import COMPUTED, MappingNode, ScalarNode, SequenceNode, TreeNode
from envdoctor.readers.shared.quoted_text import Text
from envdoctor.readers.shared.substitution import parts_of, value_of
from envdoctor.readers.yaml.keys import IDENTIFIER, VARIABLE
from envdoctor.readers.yaml.kinds import YamlContext, keys_of
from envdoctor.readers.yaml.nodes import Document, Item, items
from envdoctor.readers.yaml.scopes import below

if TYPE_CHECKING:
    from collections.abc import Callable

DEEPEST = 4
DEEPEST_PATH = 60
AGAIN = 30
"""What a further visit of a node costs of the budget of a file."""
LONGEST_SHOWN = 80
PAIR_NAMES = ("name", "Name", "key", "variable", "envName")
PAIR_VALUES = ("value", "Value", "val", "default")
REFERENCES = ("valueFrom", "value_from", "value_source")
NULLS = ("", "~", "null", "Null", "NULL")
PLAIN_TAGS = ("!", "!Sub")
"""Tags of an application under which a scalar still is its text; others (`!Ref`, `!vault`) compute a value."""
DOLLAR_ESCAPES = ("compose", "kubernetes", "gitlab")
"""Kinds in which `$$` is one dollar."""

_ASSIGNMENT = regex(r"\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)=", re.ASCII)
_ASSIGNMENTS = regex(r"(?:^|[,;\s])([A-Z_][A-Z0-9_]*)=")


@dataclass(slots=True)
class EnvironmentReader:
    """Reads the values of keys that name an environment.

    `nested` reads text that is YAML again; `other` takes the keys of a map that are no variables.
    """

    document: Document
    out: Collector
    budget: list[int]
    nested: Callable[[ScalarNode, YamlContext], None]
    other: Callable[[MappingNode, Item, YamlContext], None]
    visited: set[int] = field(default_factory=set)

    def read(self, node: TreeNode, context: YamlContext, depth: int = 0) -> None:
        """State the settings of an environment."""
        if depth > DEEPEST or len(context.path) > DEEPEST_PATH or self.budget[0] <= 0 or self.out.full:
            return
        self.budget[0] -= AGAIN if id(node) in self.visited else 1
        self.visited.add(id(node))
        if isinstance(node, MappingNode):
            self.mapping(node, context, depth)
        elif isinstance(node, SequenceNode):
            for item in node.value:
                self.budget[0] -= 1
                self.item(item, context, depth)
        elif isinstance(node, ScalarNode):
            self.text(node, context)

    def mapping(self, node: MappingNode, context: YamlContext, depth: int) -> None:
        """`KEY: value` pairs; under other keys there may be environments of their own (one for each device)."""
        for name, key, value in items(self.document, node, self.budget):
            if VARIABLE.fullmatch(name):
                self.variable(name, key, value, context)
            elif self.is_plain(value):
                self.read(value, below(self.document, context, name, value), depth + 1)
            else:
                self.other(node, (name, key, value), context)

    def is_plain(self, node: TreeNode) -> bool:
        """Whether a map or list holds nothing but variables."""
        if isinstance(node, MappingNode):
            names = [self.document.text(key) for key, _ in node.value]
            return bool(names) and all(name == "<<" or VARIABLE.fullmatch(name) for name in names)
        words = [self.document.text(item) for item in node.value] if isinstance(node, SequenceNode) else []
        return bool(words) and all(_ASSIGNMENT.match(word) for word in words)

    def variable(self, name: str, key: TreeNode, node: TreeNode, context: YamlContext) -> None:
        """One variable of a map, whose value may itself be a map with the value and what describes it."""
        if self.out.full:
            return
        keys = keys_of(self.document, node)
        inner = next((keys[mark] for mark in PAIR_VALUES if isinstance(keys.get(mark), ScalarNode)), None)
        if keys and inner is None and not {*REFERENCES, "secretKeyRef", "configMapKeyRef", "fieldRef"} & keys.keys():
            if any(VARIABLE.fullmatch(mark) for mark in keys):
                self.read(node, below(self.document, context, name, node), DEEPEST)
            return
        self.state(name, self.document.place(key, key), key, inner or node, context)

    def item(self, node: TreeNode, context: YamlContext, depth: int) -> None:
        """One item of a list."""
        if self.out.full:
            return
        if isinstance(node, ScalarNode):
            self.word(node, context, depth)
            return
        keys = keys_of(self.document, node)
        name_key = next((keys[mark] for mark in PAIR_NAMES if isinstance(keys.get(mark), ScalarNode)), None)
        if name_key is None or not ({*PAIR_VALUES, *REFERENCES} & keys.keys() or len(keys) == 1):
            self.read(node, context, depth + 1)
            return
        name = self.document.text(name_key)
        if not self.accepts(name, context):
            return
        value = next((keys[mark] for mark in (*PAIR_VALUES, *REFERENCES) if mark in keys), None)
        self.state(name, self.document.inner_place(name_key), name_key, value, context)

    def accepts(self, name: str, context: YamlContext) -> bool:
        """Whether a name of a list is a variable: any name where the format is plain, else capitals only."""
        pattern = IDENTIFIER if context.kind.name in ("kubernetes", "compose") else VARIABLE
        return bool(pattern.fullmatch(name))

    def state(self, name: str, name_place: Place, first: TreeNode, node: TreeNode | None, context: YamlContext) -> None:
        """State a setting whose name and value are nodes; without a value node the value is empty."""
        op: Op = "set"
        value = Value("literal", "")
        if isinstance(node, ScalarNode):
            op, value = self.value(node, context)
        elif node is not None:
            shown = " ".join(self.document.raw(node).split())
            value = Value("unknown", shown[:LONGEST_SHOWN])
        spans = [self.document.span(part) for part in (node, first) if part is not None]
        start, end = spans[-1][0], max(spans[0][1], spans[-1][1])
        self.emit(
            op, name, value, self.document.source.place(start, end), context, name_place,
            self.document.inner_place(node) if node is not None else None, (start, *(last for _, last in spans)),
        )  # fmt: skip

    def value(self, node: ScalarNode, context: YamlContext) -> tuple[Op, Value]:
        """What a scalar gives to a variable.

        Nothing at all: the caller has to give it (compose, tasks), or it is left out (configurations, charts).
        """
        text = self.document.text(node)
        if node.tag.startswith("!") and node.tag not in PLAIN_TAGS:
            shown = text if node.tag == COMPUTED else f"{node.tag} {text}"
            return "set", Value("unknown", shown[:LONGEST_SHOWN])
        if not node.style and text in NULLS and context.kind.name != "kubernetes" and context.kind.channel != "ci":
            return ("pass" if context.kind.channel in ("compose", "task") else "unset"), Value("unknown", text)
        return "set", self.template(text, context)

    def template(self, text: str, context: YamlContext) -> Value:
        """Text as a value."""
        return value_of(parts_of(text, context.kind.name in DOLLAR_ESCAPES), text)

    def word(self, node: ScalarNode, context: YamlContext, depth: int) -> None:
        """`A=1`, or a bare name, which is forwarded from the caller."""
        text = self.document.text(node)
        if match := _ASSIGNMENT.match(text):
            if self.accepts(match[1], context):
                self.assignment(self.document.mapped_text(node), match.span(1), match.end(), context, node)
            return
        if depth == 0 and context.kind.name != "kubernetes" and self.accepts(text, context):
            place = self.document.inner_place(node)
            self.emit("pass", text, Value("unknown"), place, context, place, None, self.document.span(node))

    def assignment(self, text: Text, name: tuple[int, int], value: int, context: YamlContext, node: TreeNode) -> None:
        """`A=1` in text whose characters have their own places; the value goes on to the end of the text."""
        source = mapped(self.document.source, *text)
        first, last = name
        place = source.place(first, len(text[0]))
        given = self.template(text[0][value:], context)
        value_place = source.place(value, len(text[0])) if value < len(text[0]) else None
        span = text[1][first], max(self.document.span(node)[1], text[1][-1])
        self.emit("set", text[0][first:last], given, place, context, source.place(first, last), value_place, span)

    def text(self, node: ScalarNode, context: YamlContext) -> None:
        """An environment given as text: YAML again, lines `A=1`, or several `A=1` on one line."""
        whole = self.document.mapped_text(node)
        if node.style in ("|", ">") and re.match(r"\s*(?:- |[\w.]+:\s)", whole[0]):
            self.nested(node, context)
            return
        for start, line in _lines(whole[0]):
            if line.lstrip().startswith("#"):
                continue
            matches = list(_ASSIGNMENTS.finditer(line)) if _ASSIGNMENT.match(line) else []
            for number, match in enumerate(matches):
                stop = matches[number + 1].start() if number + 1 < len(matches) else len(line)
                stop = len(line[:stop].rstrip(",; \t"))
                part = whole[0][start : start + stop], whole[1][start : start + stop]
                self.assignment(part, match.span(1), match.end(), context, node)

    def emit(
        self, op: Op, name: str, value: Value, place: Place, context: YamlContext, name_place: Place,
        value_place: Place | None, offsets: tuple[int, ...],
    ) -> None:  # fmt: skip
        """State one setting; `offsets` are its start and the ends behind which its comment may stand."""
        kind = context.kind
        comment = comment_at(self.document.source, *offsets, sign=self.document.comment_sign)
        self.out.add(
            Setting(
                op, name, value, place, kind.channel, self.out.order, kind.exported, context.scope,
                self.document.masked.around(offsets[0]), kind.via, comment, name_place, value_place,
            )
        )  # fmt: skip


def _lines(text: str) -> list[tuple[int, str]]:
    found, at = [], 0
    for line in text.split("\n"):
        found.append((at, line))
        at += len(line) + 1
    return found
