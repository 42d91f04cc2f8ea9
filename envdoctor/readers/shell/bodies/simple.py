"""Assignments, declarations and simple commands, with their redirections and here-documents."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from envdoctor.core.operations import Operation, Part, Redirect, Word
from envdoctor.core.regexes import regex
from envdoctor.readers.shell.bodies import chains
from envdoctor.readers.shell.bodies.builder import BodyBuilder
from envdoctor.readers.shell.commands import parts_of
from envdoctor.readers.shell.syntax import repair
from envdoctor.readers.shell.syntax.repair import REDIRECTS

if TYPE_CHECKING:
    from tree_sitter import Node

Span = tuple[int, int]
MOST_WORDS = 20_000
"""Of one command."""
_TEXT = r"[\w./:+~@%^,=*?\[\]-]+"
_COMMAND = regex(
    rf"(?!\w*(?:\[[^\]]*\])?\+?=){_TEXT}(?:[ \t]+(?:{_TEXT}|\"[^\"\\$`<{{\n]*\"|'[^'<{{\n]*'"
    r"|(\"?)\$(?:[A-Za-z_]\w*|\{[A-Za-z_]\w*\})\1)(?!\S))*"
)
"""A command whose words are plainly told apart by blanks: most are."""
_WORD = regex(r"\"[^\"]*\"|'[^']*'|[^\s]+")
_ASSIGNMENT = regex(r"([A-Za-z_]\w*)(?:\[([^\]\n]{0,200})\])?(\+?=)", re.ASCII)
_ELEMENT = regex(r"([A-Za-z_]\w*)\[(.*)\]", re.ASCII | re.DOTALL)
_EXPORT = regex(r"export[ \t]+(?=[A-Za-z_]\w*\+?=(?:[^\s\"'`$\\()]+|\"[^\"\\`$]*\"|'[^']*')\Z)", re.ASCII)
_FLAGS = regex(r"([-+])([A-Za-z]+)")
_QUOTED_DELIMITER = regex(r"[\"'\\]")
_TESTS = ("test", "[")
_RESERVED = frozenset(("fi", "done", "esac", "then", "else", "elif", "do", "}"))
"""Words that are no commands: what they belong to could not be read."""


def assignment(builder: BodyBuilder, start: int, end: int, node: Node) -> Operation:
    """`NAME=VALUE`, `NAME[i]=VALUE`, `NAME+=(...)` at a span; a gap where the name is no name."""
    match = _ASSIGNMENT.match(builder.source, start, end)
    name, subscript, sign, at = (
        (match[1], match[2] or "", match[3], match.end()) if match else _subscripted(builder, node)
    )
    if not name:
        return builder.gap(start, end)
    value = _array(builder, node, at) if builder.source.startswith("(", at) else builder.word(at, end, node)
    return ("assign", *builder.text.point(start), name, subscript, sign, value)


def _subscripted(builder: BodyBuilder, node: Node) -> tuple[str, str, str, int]:
    """Name, subscript, sign and end of the sign of `A["${B[$k]}"]=1`, whose subscript holds brackets again."""
    sign = next((child for child in node.children if child.type in ("=", "+=")), None)
    match = _ELEMENT.fullmatch(builder.source, node.start_byte, sign.start_byte) if sign is not None else None
    return (match[1], match[2], sign.type, sign.end_byte) if match and sign is not None else ("", "", "", 0)


def _array(builder: BodyBuilder, node: Node, at: int) -> tuple[object, ...]:
    array = next((child for child in reversed(node.named_children) if child.type == "array"), None)
    if array is None:
        line, column = builder.text.point(at)
        end = node.end_byte
        return (line, column, *builder.text.end(at, end), (("unknown", builder.source[at:end], line, column),))
    children = array.named_children
    return ("array", tuple(builder.word(start, end, array) for start, end in touching(children)))


def touching(nodes: Sequence[Node]) -> list[Span]:
    """Spans of the nodes but comments; pieces that touch are one word, which the grammar does not always see."""
    spans: list[Span] = []
    for node in nodes:
        if node.type != "comment":
            start, end = node.start_byte, node.end_byte
            if spans and spans[-1][1] == start:
                spans[-1] = spans[-1][0], end
            else:
                spans.append((start, end))
    return spans


def assigned(builder: BodyBuilder, node: Node, out: list[Operation]) -> None:
    """`A=1`, `A=1 B=2`."""
    parts = node.named_children if node.type == "variable_assignments" else [node]
    out += [assignment(builder, part.start_byte, part.end_byte, part) for part in parts]


def declared(builder: BodyBuilder, node: Node, out: list[Operation]) -> None:
    """`export`, `declare`, `typeset`, `local`, `readonly`."""
    start, end = node.start_byte, node.end_byte
    point = builder.text.point(start)
    if match := _EXPORT.match(builder.source, start, end):
        out.append(("declare", *point, "export", "", (assignment(builder, match.end(), end, node),)))
        return
    keyword = node.children[0]
    flags: list[str] = []
    items: list[Operation | Word] = []
    children = {child.start_byte: child for child in node.named_children}
    options = True
    for first, last in touching(node.named_children):
        text = builder.source[first:last]
        options = options and text != "--" and not items
        if text == "--" and not items:
            continue
        if options and (match := _FLAGS.fullmatch(text)):
            flags += [letter if match[1] == "-" else f"+{letter}" for letter in match[2]]
        elif children[first].type == "variable_assignment":
            item = assignment(builder, first, last, children[first])
            items.append(item if item[0] == "assign" else builder.word(first, last, node))
        else:
            items.append(builder.word(first, last, node))
    name = builder.source[keyword.start_byte : keyword.end_byte]
    out.append(("declare", *point, name, "".join(flags), tuple(items)))


def unset(builder: BodyBuilder, node: Node, out: list[Operation]) -> None:
    """`unset A B`, `unset -f f`."""
    flags = ""
    words: list[Word] = []
    for start, end in touching(node.named_children):
        match = _FLAGS.fullmatch(builder.source, start, end)
        if match and not words:
            flags += match[2]
        else:
            words.append(builder.word(start, end, node))
    out.append(("unset", *builder.text.point(node.start_byte), flags, tuple(words)))


def command(builder: BodyBuilder, node: Node, out: list[Operation]) -> None:
    """A simple command."""
    start, end = node.start_byte, node.end_byte
    if _COMMAND.fullmatch(builder.source, start, end):
        spans = [match.span() for match in _WORD.finditer(builder.source, start, end)]
        _called(builder, (start, end), (), spans, node, out)
        return
    children = node.named_children
    if not builder.tolerant:
        repair.check(builder.source, children)
    parts = parts_of(children)
    parts.words = [span for span in parts.words if span[0] < span[1]]  # a word that is missing has no width
    prefix = [(child.start_byte, child.end_byte, child) for child in parts.prefix]
    if prefix and parts.words and prefix[-1][1] == parts.words[0][0]:
        prefix[-1] = prefix[-1][0], parts.words.pop(0)[1], prefix[-1][2]
    assigns = tuple(assignment(builder, *given) for given in prefix)
    redirects = redirects_of(builder, children)
    if parts.words or (redirects and not assigns):
        _called(builder, (start, end), assigns, parts.words, node, out, redirects)
    elif redirects:
        out.append(("redirected", *builder.text.point(start), redirects, assigns))
    else:
        out += assigns


def _called(
    builder: BodyBuilder,
    span: Span,
    assigns: tuple[Operation, ...],
    spans: Sequence[Span],
    node: Node,
    out: list[Operation],
    redirects: tuple[Redirect, ...] = (),
) -> None:
    point = builder.text.point(span[0])
    words = tuple([builder.word(start, end, node) for start, end in spans[:MOST_WORDS]])
    if len(spans) > MOST_WORDS:
        out.append(builder.gap(spans[MOST_WORDS][0], spans[-1][1]))
    name = builder.source[spans[0][0] : spans[0][1]] if spans else ""
    if name in _RESERVED:
        out.append(builder.gap(*span))
        return
    if name in _TESTS:
        text = builder.source[spans[1][0] : spans[-1][1]] if len(spans) > 1 else ""
        test: Operation = ("test", *point, text, words[1:])
        out.append(chains.redirected(test, redirects) if redirects else test)
        return
    out.append(("call", *point, *builder.text.end(*span), assigns, words, redirects))


def redirected(builder: BodyBuilder, node: Node, out: list[Operation]) -> None:
    """A statement with redirections, and what the grammar hangs on a here-document: `cat <<EOF | bash && x`."""
    body = node.child_by_field_name("body")
    extra: list[Span] = []
    rest: list[Node] = []
    nodes = [child for child in node.named_children if body is None or child.id != body.id]
    redirects = tuple(_redirects(builder, nodes, extra, rest))
    inside = list(builder.one(body)) if body is not None else []
    if len(inside) == 1:
        operation = chains.redirected(inside[0], redirects)
    elif inside:
        operation = ("redirected", *builder.text.point(node.start_byte), redirects, tuple(inside))
    else:
        place = (*builder.text.point(node.start_byte), *builder.text.end(node.start_byte, node.end_byte))
        operation = ("call", *place, (), (), redirects)
    if extra and operation[0] == "call":
        words = tuple(builder.word(start, end, node) for start, end in extra)
        operation = (*operation[:6], operation[6] + words, operation[7])
    out.append(_followed(builder, operation, rest))


def _followed(builder: BodyBuilder, operation: Operation, rest: Sequence[Node]) -> Operation:
    """What stands on the line of a here-document behind it: a pipe, `&&` or `||`."""
    sign = ""
    for node in rest:
        if node.type == "pipeline":
            members = tuple(builder.one(child) for child in node.named_children if child.type != "comment")
            operation = chains.piped(operation, members)
        elif node.type in ("&&", "||"):
            sign = "and" if node.type == "&&" else "or"
        elif sign:
            operation = (sign, *builder.text.point(node.start_byte), (operation,), builder.one(node))
            sign = ""
    return operation


def _redirects(builder: BodyBuilder, nodes: Sequence[Node], extra: list[Span], rest: list[Node]) -> Iterator[Redirect]:
    """The redirections among nodes; `extra` takes words of the command that the grammar gives to one."""
    for node in nodes:
        if node.type == "file_redirect":
            yield from _file(builder, node, extra)
        elif node.type == "herestring_redirect" and node.named_children:
            last = node.named_children[-1]
            yield ("", "<<<", builder.word(last.start_byte, last.end_byte, node))
        elif node.type == "heredoc_redirect":
            yield _document(builder, node)
            yield from _behind(builder, node, extra, rest)


def redirects_of(builder: BodyBuilder, nodes: Sequence[Node]) -> tuple[Redirect, ...]:
    """The redirections among nodes."""
    return tuple(_redirects(builder, nodes, [], []))


def _behind(builder: BodyBuilder, node: Node, extra: list[Span], rest: list[Node]) -> Iterator[Redirect]:
    """What stands behind `<<EOF` on its line."""
    for child in node.children:
        if child.type in REDIRECTS:
            yield from _redirects(builder, [child], extra, rest)
        elif child.type in ("&&", "||") or (child.is_named and child.type not in _OWN_PARTS):
            if child.type in _ARGUMENTS:
                extra.append((child.start_byte, child.end_byte))
            else:
                rest.append(child)


_OWN_PARTS = ("heredoc_start", "heredoc_body", "heredoc_end", "file_descriptor", "comment", "ERROR")
_ARGUMENTS = ("word", "string", "raw_string", "concatenation", "number", "simple_expansion", "expansion",
              "command_substitution")  # fmt: skip


def _file(builder: BodyBuilder, node: Node, extra: list[Span]) -> Iterator[Redirect]:
    if not builder.tolerant:
        repair.check(builder.source, node.named_children)
    children = [child for child in node.named_children if child.type not in ("comment", "ERROR")]
    descriptor = ""
    if children and children[0].type == "file_descriptor":
        descriptor = builder.source[children[0].start_byte : children.pop(0).end_byte]
    spans = touching(children)
    begin = node.start_byte + len(descriptor)
    first = spans[0][0] if spans else node.end_byte
    operator = builder.source[begin:first].strip()
    if operator == "<" and builder.source.endswith("<<", 0, begin):
        operator = "<<<"  # the grammar knows no here-string behind another redirection
    word = builder.word(*spans[0], node) if spans else builder.word(first, first)
    extra += spans[1:]
    yield (descriptor, operator, word)


def _document(builder: BodyBuilder, node: Node) -> Redirect:
    """A here-document. With a quoted delimiter nothing in it is expanded; `<<-` takes leading tabs away."""
    parts = {child.type: child for child in node.named_children}
    operator = next((child for child in node.children if child.type in ("<<", "<<-")), node)
    delimiter, body, closing = (parts.get(f"heredoc_{name}") for name in ("start", "body", "end"))
    after = delimiter.end_byte if delimiter is not None else node.end_byte
    start = end = after
    if body is not None:
        start = max(builder.source.rfind("\n", 0, body.start_byte) + 1, after)
        end = builder.source.rfind("\n", start, body.end_byte) + 1 or start if closing is not None else body.end_byte
    quoted = delimiter is not None and _QUOTED_DELIMITER.search(builder.source, delimiter.start_byte, after)
    word = builder.document(start, end, literal=bool(quoted))
    descriptor = parts.get("file_descriptor")
    number = builder.source[descriptor.start_byte : descriptor.end_byte] if descriptor is not None else ""
    return (number, "<<", _without_tabs(word) if operator.type == "<<-" else word)


def _without_tabs(word: Word) -> Word:
    parts: list[Part] = []
    fresh = True
    for part in word[4]:
        if part[0] == "text":
            kept = part[1].lstrip("\t") if fresh else part[1]
            fresh = part[1].endswith("\n")
            if kept:
                parts.append(("text", kept, part[2], part[3] + len(part[1]) - len(kept)))
        else:
            fresh = False
            parts.append(part)
    return (*word[:4], tuple(parts))


def bare_redirect(builder: BodyBuilder, node: Node, out: list[Operation]) -> None:
    """`> file` alone, and `$(< file)`."""
    place = (*builder.text.point(node.start_byte), *builder.text.end(node.start_byte, node.end_byte))
    out.append(("call", *place, (), (), redirects_of(builder, [node])))
