"""Bodies of operations as short text for tests, every place in it: `call 1:1 [cmd 1:1] [$X 1:5]`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from envdoctor.core.operations import Body, Operation, Part, Word
from envdoctor.core.source import Source
from envdoctor.readers.shell.bodies.reader import body


def read(text: str) -> Body:
    return body(Source("run.sh", text))


def shown(operations: Body) -> str:
    return "; ".join(map(operation, operations))


def operation(found: Operation) -> str:
    kind, line, column, *rest = found
    show = SHOWN.get(kind, lambda *bodies: "".join(f" {{{shown(inside)}}}" for inside in bodies))
    return f"{kind} {line}:{column}{show(*rest)}"


def part(found: Part) -> str:
    kind, *rest, line, column = found
    if kind == "text":
        text = rest[0].replace("\n", "\\n").replace("\t", "\\t")
        return (f"'{text}'" if "$" in text else text) + f" {line}:{column}"
    if kind == "unknown":
        return f"?{rest[0]} {line}:{column}"
    quote = '"' * rest[-1]
    if kind == "command":
        return f"{quote}$({shown(rest[0])}){quote} {line}:{column}"
    name, subscript, operator, operand, _ = rest
    inside = operator + (word(operand) if operand is not None else "")
    return f"{quote}${name}{f'<{subscript}>' if subscript else ''}{inside}{quote} {line}:{column}"


def word(found: Word) -> str:
    line, column, end_line, end_column, parts = found
    start, end = f"{line}:{column}", f"{end_line}:{end_column}"
    inside = ", ".join(map(part, parts))
    outside = "" if plainly(found) else f" {start}-{end}"
    return f"[{inside}{outside}]"


def plainly(found: Word) -> bool:
    """Whether the place of a word is that of its only part."""
    parts = found[4]
    if len(parts) != 1 or parts[0][0] != "text":
        return False
    _, text, line, column = parts[0]
    return found[:4] == (line, column, line, column + len(text))


def words(found: Any) -> str:
    return "".join(f" {word(one)}" for one in found)


def redirects(found: Any) -> str:
    return "".join(f" {descriptor}{operator}{word(target)}" for descriptor, operator, target in found)


def assign(name: str, subscript: str, sign: str, value: Any) -> str:
    given = f"({words(value[1]).strip()})" if value[0] == "array" else word(value)
    return f" {name}{f'<{subscript}>' if subscript else ''}{sign}{given}"


def call(end_line: int, end_column: int, assigns: Any, listed: Any, sent: Any) -> str:
    return f"-{end_line}:{end_column}" + "".join(f" {operation(a)}" for a in assigns) + words(listed) + redirects(sent)


def declare(keyword: str, flags: str, items: Any) -> str:
    inside = "".join(f" {operation(item) if item[0] == 'assign' else word(item)}" for item in items)
    return f" {keyword}{f' -{flags}' if flags else ''}{inside}"


def condition(arms: Any, otherwise: Body | None) -> str:
    inside = "".join(f" {{{shown(test)}}} then {{{shown(then)}}}" for test, then in arms)
    return inside + (f" else {{{shown(otherwise)}}}" if otherwise is not None else "")


def choice(subject: Word, arms: Any) -> str:
    return f" {word(subject)}" + "".join(f" {'|'.join(patterns)}) {{{shown(inside)}}}" for patterns, inside in arms)


def loop(name: str, listed: Any, inside: Body) -> str:
    return f" {name} in{' arguments' if listed is None else words(listed)} {{{shown(inside)}}}"


SHOWN: dict[str, Any] = {
    "assign": assign,
    "declare": declare,
    "call": call,
    "unset": lambda flags, listed: f"{f' -{flags}' if flags else ''}{words(listed)}",
    "redirected": lambda sent, inside: f"{redirects(sent)} {{{shown(inside)}}}",
    "test": lambda text, listed, *_: f" <{text}>{words(listed)}",
    "if": condition,
    "case": choice,
    "for": loop,
    "while": lambda test, inside, until: f"{' until' * until} {{{shown(test)}}} do {{{shown(inside)}}}",
    "pipe": lambda members: "".join(f" {{{shown(inside)}}}" for inside in members),
    "function": lambda name, inside: f" {name} {{{shown(inside)}}}",
    "gap": lambda text, *_: f" <{text}>",
    "directive": lambda sign, listed: f" {sign}{words(listed)}",
}


def parts_of(found: Any) -> Iterator[Part]:
    """Every part in a body, those in words in words too."""
    stack = [found]
    while stack:
        item = stack.pop()
        if isinstance(item, tuple):
            if len(item) > 2 and item[0] in ("text", "ref", "command", "unknown") and isinstance(item[-1], int):
                yield item
            stack += item
