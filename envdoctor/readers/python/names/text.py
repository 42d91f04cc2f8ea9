"""Text that Python code builds: string literals, f-strings, `+`, `%`, `join`, with the place of each character."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator

from envdoctor.core.regexes import regex
from envdoctor.readers.python.names.code import Code
from envdoctor.readers.python.names.scopes import Where
from envdoctor.readers.python.names.values import Values
from envdoctor.readers.shared.embedded import MappedSource, mapped

MARK = "_value_from_python_"
UNKNOWN = f"${{{MARK}}}"
"""What stands in shell text for a value that is only known at run time."""
OPENING = regex(r"([A-Za-z]{0,2})('''|\"\"\"|'|\")")
PLAIN = regex(r"[^\\{}'\"\r]+")
ESCAPE = regex(r"\\(?:(\r\n|[\r\n])|x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|N\{[^}]*\}|([0-7]{1,3})|(.))")
ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v", "\\": "\\", "'": "'", '"': '"'}
PERCENT = regex(r"%(?:%|(?:\(\w+\))?[-#0 +]*[0-9]*(?:\.[0-9]+)?[sdrifxg])")
UNCHANGED = {"strip", "rstrip", "lstrip", "encode", "dedent", "cleandoc", "lower", "replace", "expandvars", "Template"}
DEPTH = 6

Text = tuple[str, list[int]]
"""Text and the offset in the file of each of its characters."""


class Texts:
    """Builds text of one file."""

    __slots__ = ("code", "values")

    def __init__(self, code: Code, values: Values) -> None:
        self.code = code
        self.values = values

    def source(self, text: Text) -> MappedSource:
        """The text as a source, each character with its place in the file."""
        return mapped(self.code.source, text[0], [self.code.in_source(offset) for offset in text[1]])

    def text(self, node: ast.AST, where: Where, depth: int = DEPTH) -> Text | None:
        """The text of an expression; None where it is not plainly text. What is not known is `UNKNOWN`."""
        if isinstance(node, ast.Constant):
            return self.literal(node, (), where) if isinstance(node.value, str) else None
        if isinstance(node, ast.JoinedStr):
            return self.literal(node, fields(node), where)
        if isinstance(node, ast.BinOp):
            return self._operation(node, where, depth)
        if isinstance(node, ast.Call):
            return self._call(node, where, depth)
        if isinstance(node, ast.IfExp):
            empty = isinstance(node.orelse, ast.Constant) and not node.orelse.value
            return self.text(node.body, where, depth) if empty else None
        if isinstance(node, ast.Name) and depth > 0:
            return self._named(node, where, depth - 1)
        return None

    def literal(self, node: ast.expr, values: Iterable[ast.expr], where: Where, formatted: bool = False) -> Text:
        """The text of adjacent string literals; `values` are the expressions of f-strings in them, in order."""
        at, end = self.code.span(node)
        pieces: list[str] = []
        offsets: list[int] = []
        given = iter(values)
        while at < end:
            opening = OPENING.match(self.code.text, at)
            if opening is None:
                line_end = self.code.text.find("\n", at)
                at = line_end if self.code.text[at] == "#" and line_end != -1 else at + 1
                continue
            at = self._body(opening, end, (pieces, offsets), given, where, formatted)
        return "".join(pieces), offsets

    def _body(
        self,
        opening: re.Match[str],
        end: int,
        into: tuple[list[str], list[int]],
        given: Iterator[ast.expr],
        where: Where,
        formatted: bool,
    ) -> int:
        """Read the inside of one literal; returns the offset after it."""
        prefix, quote = opening[1].lower(), opening[2]
        formatted = formatted or "f" in prefix or "t" in prefix
        text, at = self.code.text, opening.end()
        while at < end and not text.startswith(quote, at):
            if plain := PLAIN.match(text, at, end):
                value, after, spread = plain[0], plain.end(), True
            elif text[at] == "\\":
                value, after = _escape(text, at, "r" in prefix)
                spread = False
            elif formatted and text[at] in "{}":
                value, after = self._braces(at, end, given, where)
                spread = False
            else:
                after = at + (2 if text.startswith("\r\n", at) else 1)
                value, spread = text[at:after].replace("\r\n", "\n").replace("\r", "\n"), False
            into[0].append(value)
            into[1].extend(range(at, after) if spread else [at] * len(value))
            at = after
        return min(at + len(quote), end)

    def _braces(self, at: int, end: int, given: Iterator[ast.expr], where: Where) -> tuple[str, int]:
        """What `{expression}` or a doubled brace stands for, and the offset after it."""
        text = self.code.text
        if text.startswith(("{{", "}}"), at):
            return text[at], at + 2
        if text[at] == "}":
            return "}", at + 1
        depth, after = 1, at + 1
        while after < end and depth:
            depth += (text[after] == "{") - (text[after] == "}")
            after += 1
        node = next(given, None)
        known = self.values.text(node, where) if node is not None else None
        return (known if known is not None and known.isprintable() else UNKNOWN), after

    def _operation(self, node: ast.BinOp, where: Where, depth: int) -> Text | None:
        if isinstance(node.op, ast.Mod):
            left = self.text(node.left, where, depth)
            return _filled(left) if left is not None else None
        if not isinstance(node.op, ast.Add):
            return None
        sides = [self.text(side, where, depth) for side in (node.left, node.right)]
        if sides[0] is None and sides[1] is None:
            return None
        return joined([side or self.unknown(n) for side, n in zip(sides, (node.left, node.right), strict=True)])

    def unknown(self, node: ast.AST) -> Text:
        """Text for an expression that cannot be told."""
        start = self.code.offset(node.lineno, node.col_offset) if isinstance(node, ast.expr) else 0
        return UNKNOWN, [start] * len(UNKNOWN)

    def _call(self, node: ast.Call, where: Where, depth: int) -> Text | None:
        function = node.func
        name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
        if name == "format" and isinstance(function, ast.Attribute) and isinstance(function.value, ast.Constant):
            return self.literal(function.value, (), where, formatted=True)
        if name == "join" and isinstance(function, ast.Attribute) and len(node.args) == 1:
            separator = self.text(function.value, where, depth)
            return self.lines(node.args[0], where, separator[0], depth) if separator else None
        if name in UNCHANGED:
            inner = node.args[0] if node.args and name in ("dedent", "cleandoc", "expandvars", "Template") else None
            inner = inner or (function.value if isinstance(function, ast.Attribute) else None)
            return self.text(inner, where, depth) if inner is not None else None
        return None

    def lines(self, node: ast.AST, where: Where, separator: str = "\n", depth: int = DEPTH) -> Text | None:
        """The strings of a list as one text."""
        if isinstance(node, ast.Name) and depth > 0:
            constant = self.values.constant(node, where)
            return self.lines(constant, where, separator, depth - 1) if constant is not None else None
        if not isinstance(node, (ast.List, ast.Tuple)):
            return None
        parts: list[Text] = []
        for element in node.elts:
            part = self.text(element, where, depth) or self.unknown(element)
            if parts:
                parts.append((separator, [part[1][0] if part[1] else 0] * len(separator)))
            parts.append(part)
        return joined(parts)

    def _named(self, node: ast.Name, where: Where, depth: int) -> Text | None:
        """What a name was given: its last value before, and all that was added by `+=` since."""
        parts: list[Text] = []
        for binding in self.values.bindings(node, where):
            if binding.where.position >= where.position and binding.where.block.scope is where.block.scope:
                break
            if binding.kind == "value" and binding.node is not None:
                found = self.text(binding.node, binding.where, depth)
                parts = [found] if found is not None else []
            elif isinstance(binding.node, ast.AugAssign) and parts:
                added = binding.node.value
                parts.append(self.text(added, binding.where, depth) or self.unknown(added))
        return joined(parts) if parts else None


def fields(node: ast.JoinedStr) -> list[ast.expr]:
    """The expressions in the braces of an f-string, in order."""
    return [part.value for part in node.values if isinstance(part, ast.FormattedValue)]


def joined(parts: list[Text]) -> Text:
    """One text after the other."""
    return "".join(text for text, _ in parts), [offset for _, offsets in parts for offset in offsets]


def _filled(text: Text) -> Text:
    """Text with the fields of `%` formatting replaced."""
    parts: list[Text] = []
    done = 0
    for match in PERCENT.finditer(text[0]):
        start, end = match.span()
        parts.append((text[0][done:start], text[1][done:start]))
        value = "%" if match[0] == "%%" else UNKNOWN
        parts.append((value, [text[1][start]] * len(value)))
        done = end
    return joined([*parts, (text[0][done:], text[1][done:])])


def _escape(text: str, at: int, raw: bool) -> tuple[str, int]:
    """What a backslash and what follows stand for, and the offset after it."""
    if raw:
        return text[at : at + 2], at + 2
    match = ESCAPE.match(text, at)
    if match is None:
        return "\\", at + 1
    if match[1]:
        return "", match.end()
    digits = match[2] or match[3] or match[4]
    if digits:
        code = int(digits, 16)
        return (chr(code) if code < 0x110000 else "?"), match.end()
    if match[5]:
        return chr(int(match[5], 8)), match.end()
    if match[6]:
        return ESCAPED.get(match[6], "\\" + match[6]), match.end()
    return "?", match.end()
