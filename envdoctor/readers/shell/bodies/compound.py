"""Conditions, loops, functions, lists and groups."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from envdoctor.core.operations import Body, Operation, Word
from envdoctor.core.regexes import regex
from envdoctor.readers.shell.bodies import chains
from envdoctor.readers.shell.bodies.builder import BodyBuilder
from envdoctor.readers.shell.bodies.simple import redirects_of, touching
from envdoctor.readers.shell.syntax.branches import clause
from envdoctor.readers.shell.syntax.repair import REDIRECTS
from envdoctor.readers.shell.syntax.words import expansion_end

if TYPE_CHECKING:
    from tree_sitter import Node

_SIGNS = {"&&": "and", "||": "or"}
_BRACKETS = (("[[", "]]"), ("((", "))"), ("[", "]"))
_PIECE = regex(r"(?:[^\s\\'\"$`]|\\.|'[^']*'|\"[^\"\\$`]*\"|\$(?![({]))+", re.DOTALL)


def chain(builder: BodyBuilder, node: Node, out: list[Operation]) -> None:
    """`a && b || c`."""
    links: list[tuple[str, Node, Node]] = []
    while node.type == "list":
        operator = next((child for child in node.children if child.type in _SIGNS), None)
        members = [child for child in node.named_children if child.type != "comment"]
        if operator is None or len(members) < 2:
            break
        links.append((_SIGNS[operator.type], operator, members[-1]))
        node = members[0]
    if node.type == "list":
        out.append(builder.gap(node.start_byte, node.end_byte))
        return
    first = builder.one(node)
    given = [(sign, *builder.text.point(at.start_byte), builder.one(right)) for sign, at, right in reversed(links)]
    out.append(chains.chained(first, given))


def pipeline(builder: BodyBuilder, node: Node, out: list[Operation]) -> None:
    """`a | b`; `!` before the first member is about the whole."""
    members = [child for child in node.named_children if child.type != "comment"]
    negated = bool(members) and members[0].type == "negated_command" and len(members) > 1
    if negated:
        members[:1] = members[0].named_children[-1:]
    point = builder.text.point(node.start_byte)
    operation: Operation = ("pipe", *point, tuple(builder.one(member) for member in members))
    out.append(("not", *point, (operation,)) if negated else operation)


def negated(builder: BodyBuilder, node: Node, out: list[Operation]) -> None:
    """`! cmd`."""
    body = builder.one(node.named_children[-1]) if node.named_children else ()
    out.append(("not", *builder.text.point(node.start_byte), body))


def condition(builder: BodyBuilder, node: Node, out: list[Operation]) -> None:
    """`if`, with any number of `elif`."""
    arms: list[tuple[Body, Body]] = []
    otherwise: Body | None = None
    clauses = [node, *[child for child in node.children if child.type in ("elif_clause", "else_clause")]]
    for part in clauses:
        tests, body = clause(part)
        if part.type == "else_clause":
            otherwise = builder.nested(body)
        else:
            arms.append((builder.nested(tests), builder.nested(body)))
    out.append(("if", *builder.text.point(node.start_byte), tuple(arms), otherwise))


def loop(builder: BodyBuilder, node: Node, out: list[Operation]) -> None:
    """`while`, `until`."""
    body = node.child_by_field_name("body")
    tests = [child for child in node.named_children if child.type != "comment" and (not body or child.id != body.id)]
    until = bool(node.children) and node.children[0].type == "until"
    inside = _inside(builder, body)
    out.append(("while", *builder.text.point(node.start_byte), builder.nested(tests), inside, until))


def iteration(builder: BodyBuilder, node: Node, out: list[Operation]) -> None:
    """`for x in a b`, `for x`, `select`."""
    variable = node.child_by_field_name("variable")
    name = builder.source[variable.start_byte : variable.end_byte] if variable is not None else ""
    listed = any(child.type == "in" for child in node.children)
    values = [child for child in node.children_by_field_name("value") if child.is_named]
    words = tuple(builder.word(start, end, node) for start, end in touching(values)) if listed else None
    if builder.source.startswith("select", node.start_byte):  # somebody chooses one, or none
        words = (_head(builder, node, node.child_by_field_name("body")),)
    body = _inside(builder, node.child_by_field_name("body"))
    out.append(("for", *builder.text.point(node.start_byte), name, words, body))


def counted(builder: BodyBuilder, node: Node, out: list[Operation]) -> None:
    """`for ((i = 0; i < n; i++))`."""
    inside = node.child_by_field_name("body")
    body = _inside(builder, inside)
    out.append(("for", *builder.text.point(node.start_byte), "", (_head(builder, node, inside),), body))


def _head(builder: BodyBuilder, node: Node, body: Node | None) -> Word:
    """What stands before the body of a loop, as a word that nobody expands."""
    point = builder.text.point(node.start_byte)
    text = builder.source[node.start_byte : body.start_byte if body is not None else node.end_byte]
    return (*point, *point, (("unknown", text.strip(), *point),))


def _inside(builder: BodyBuilder, body: Node | None) -> Body:
    """The operations of a `do` group or of braces."""
    return builder.nested(body.named_children) if body is not None else ()


def choice(builder: BodyBuilder, node: Node, out: list[Operation]) -> None:
    """`case`."""
    value = node.child_by_field_name("value")
    start, end = (value.start_byte, value.end_byte) if value is not None else (node.start_byte, node.start_byte)
    arms: list[tuple[tuple[str, ...], Body]] = []
    falls = False
    for item in node.named_children:
        if item.type == "case_item":
            closing = next((child.start_byte for child in item.children if child.type == ")"), item.start_byte)
            patterns = [child for child in item.named_children if child.end_byte <= closing]
            body = [child for child in item.named_children if child.start_byte >= closing]
            texts = tuple(builder.source[first:last] for first, last in touching(patterns))
            arms.append((texts, builder.nested(body)))
            falls = falls or any(child.type in (";&", ";;&") for child in item.children)
    word = builder.word(start, end, node)
    if falls:  # an arm may run for what another one is for
        point = builder.text.point(node.start_byte)
        tests = ((("test", *point, f"{builder.source[start:end]} in {'|'.join(texts)}", ()),) for texts, _ in arms)
        out += [("if", *point, ((test, body),), None) for test, (_, body) in zip(tests, arms, strict=True)]
        return
    out.append(("case", *builder.text.point(node.start_byte), word, tuple(arms)))


def function(builder: BodyBuilder, node: Node, out: list[Operation]) -> None:
    """`f() { ...; }`."""
    name = node.child_by_field_name("name")
    body = node.child_by_field_name("body")
    label = builder.source[name.start_byte : name.end_byte] if name is not None else ""
    inside: Body = ()
    if body is not None:
        braces = body.type == "compound_statement" and not builder.source.startswith("((", body.start_byte)
        inside = builder.nested(body.named_children) if braces else builder.one(body)
    redirects = [child for child in node.named_children if child.type in REDIRECTS]
    if redirects:
        inside = (
            ("redirected", *builder.text.point(redirects[0].start_byte), redirects_of(builder, redirects), inside),
        )
    out.append(("function", *builder.text.point(node.start_byte), label, inside))


def subshell(builder: BodyBuilder, node: Node, out: list[Operation]) -> None:
    """`( ... )`."""
    out.append(("subshell", *builder.text.point(node.start_byte), builder.nested(node.named_children)))


def braces(builder: BodyBuilder, node: Node, out: list[Operation]) -> None:
    """`{ ...; }`, and `(( ... ))`, which the grammar takes for the same."""
    if builder.source.startswith("((", node.start_byte):
        test(builder, node, out)
    else:
        out.append(("group", *builder.text.point(node.start_byte), builder.nested(node.named_children)))


def test(builder: BodyBuilder, node: Node, out: list[Operation]) -> None:
    """`[ ... ]`, `[[ ... ]]`, `(( ... ))`."""
    start, end = node.start_byte, node.end_byte
    point = builder.text.point(start)
    opening, closing = next(pair for pair in _BRACKETS if builder.source.startswith(pair[0], start) or pair[0] == "[")
    start += len(opening)
    end -= len(closing) if builder.source.endswith(closing, start, end) else 0
    words = () if opening == "((" else tuple(builder.word(*span, node) for span in pieces(builder.shape, start, end))
    text = builder.source[start:end].strip()
    out.append(("test", *point, text, words, opening) if opening == "[[" else ("test", *point, text, words))


def pieces(shape: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Spans of the words in a text, told apart by blanks outside of quotes and expansions."""
    at = start
    while at < end:
        if shape[at] in " \t\n\r" or shape.startswith("\\\n", at):
            at += 2 if shape[at] == "\\" else 1
            continue
        begin = at
        while at < end and shape[at] not in " \t\n\r":
            at = _after(shape, at, end)
        yield begin, at


def _after(shape: str, at: int, end: int) -> int:
    """Where a piece of a word ends: a run of text, a string, an expansion."""
    if match := _PIECE.match(shape, at, end):
        return match.end()
    if shape[at] == '"':
        at += 1
        while at < end and shape[at] != '"':
            at = _in_string(shape, at, end)
        return min(at + 1, end)
    if shape[at] == "`" or shape.startswith(("$(", "${"), at):
        return max(min(expansion_end(shape, at, end), end), at + 1)
    return at + 1


def _in_string(shape: str, at: int, end: int) -> int:
    if shape[at] == "\\":
        return min(at + 2, end)
    if shape[at] == "`" or shape.startswith(("$(", "${"), at):
        return max(min(expansion_end(shape, at, end), end), at + 1)
    return at + 1
