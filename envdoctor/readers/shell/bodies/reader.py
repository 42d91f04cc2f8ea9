"""Shell text to a body of operations (`core.operations`): parsed, repaired as the facts reader does, then built."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING

from envdoctor.core.operations import Body, Operation
from envdoctor.core.regexes import regex
from envdoctor.core.source import Source
from envdoctor.readers.shell.bodies import compound, gaps, simple
from envdoctor.readers.shell.bodies.builder import BodyBuilder, Handler
from envdoctor.readers.shell.bodies.headers import directives
from envdoctor.readers.shell.bodies.text import BodyText
from envdoctor.readers.shell.reader import LARGEST, MOST_REPAIRS
from envdoctor.readers.shell.syntax import parse as shell_parse
from envdoctor.readers.shell.syntax import repair
from envdoctor.readers.shell.syntax.mask import MaskedScript, mask

if TYPE_CHECKING:
    from tree_sitter import Tree

HANDLERS: dict[str, Handler] = {
    "variable_assignment": simple.assigned,
    "variable_assignments": simple.assigned,
    "declaration_command": simple.declared,
    "unset_command": simple.unset,
    "command": simple.command,
    "redirected_statement": simple.redirected,
    "file_redirect": simple.bare_redirect,
    "herestring_redirect": simple.bare_redirect,
    "list": compound.chain,
    "pipeline": compound.pipeline,
    "negated_command": compound.negated,
    "if_statement": compound.condition,
    "while_statement": compound.loop,
    "for_statement": compound.iteration,
    "c_style_for_statement": compound.counted,
    "case_statement": compound.choice,
    "function_definition": compound.function,
    "subshell": compound.subshell,
    "compound_statement": compound.braces,
    "test_command": compound.test,
    "ERROR": gaps.error,
}
MOST_REREAD = 500
"""Commands in here-documents of one text that are read."""
_PREFIX = regex(
    rb"(?:^|[;&|({\n]|\b(?:do|then|else|if|while|!)[ \t])[ \t]*(time(?:[ \t]+-p)?(?=[ \t])"
    rb"|coproc(?=[ \t])(?:[ \t]+[A-Za-z_]\w*(?=[ \t]*[{(]))?)"
)
"""Words before a command that the grammar takes for the command itself."""


def body(source: Source) -> Body:
    """The operations of shell text; what cannot be read is a gap, and nothing is raised."""
    return _body(source, 0, [MOST_REREAD])


def _body(source: Source, depth: int, budget: list[int]) -> Body:
    if len(source.text) > LARGEST:
        return (("gap", *source.point(0), "too large to be read", "cut"),)
    if not source.text.strip():
        return ()
    masked = mask(source.text)
    coprocesses = _without_prefixes(masked)
    deadline = time.monotonic() + shell_parse.LONGEST
    unclosed: list[int] = []

    def builder(tolerant: bool) -> BodyBuilder:
        text = BodyText(source, masked, depth)

        def reread(start: int, end: int) -> Body | None:
            if budget[0] <= 0:
                return None
            budget[0] -= 1
            return _body(source.part(start, end), text.depth + 1, budget)

        return BodyBuilder(text, HANDLERS, reread, coprocesses, deadline, tolerant)

    for attempt in range(MOST_REPAIRS):
        tree = _parsed(masked, deadline)
        if tree is None:
            break
        opening = repair.unclosed(source.text, tree.root_node) if tree.root_node.has_error else None
        if opening is not None and opening[0] not in unclosed:
            unclosed.append(opening[0])
            masked.data = repair.closed(source.text, masked.data, *opening)
            continue
        root = tree.root_node
        try:
            built = builder(attempt == MOST_REPAIRS - 1)
            inside = built.nested([root] if root.type == "ERROR" else root.named_children)
            return (*directives(built.text), *inside)
        except repair.MisreadError:
            masked.data = repair.with_line_ends(source.text, masked.data, tree)
    return _by_lines(builder(True))


def _parsed(masked: MaskedScript, deadline: float) -> Tree | None:
    """The tree of a script, without marked ends of lines where these were no good."""
    tree = shell_parse.parse(masked.data, deadline)
    if tree is not None and tree.root_node.has_error and masked.careful is not None:
        masked.data, masked.careful = masked.careful, None
        tree = shell_parse.parse(masked.data, deadline)
    return tree


def _by_lines(builder: BodyBuilder) -> Body:
    """The operations of a script that takes the parser too long as a whole."""
    builder.recovered = True
    out: list[Operation] = [*directives(builder.text), ("gap", *builder.text.point(0), "not readable as a whole")]
    builder.deadline = time.monotonic() + shell_parse.LONGEST
    gaps.lines(builder, 0, len(builder.source), out)
    return tuple(out)


def _without_prefixes(masked: MaskedScript) -> frozenset[int]:
    """Blank `time` and `coproc`; returns where the statements begin that `coproc` stood before."""
    if b"time " not in masked.data and b"coproc " not in masked.data:
        return frozenset()
    started: set[int] = set()
    blanks: list[tuple[int, int]] = []
    for match in _PREFIX.finditer(masked.data):
        start, end = match.span(1)
        blanks.append((start, end))
        if match[1].startswith(b"coproc"):
            following = re.compile(rb"[ \t]*").match(masked.data, end)
            started.add(following.end() if following else end)
    masked.data = _blanked(masked.data, blanks)
    if masked.careful is not None:
        masked.careful = _blanked(masked.careful, blanks)
    return frozenset(started)


def _blanked(data: bytes, spans: list[tuple[int, int]]) -> bytes:
    result = bytearray(data)
    for start, end in spans:
        result[start:end] = b" " * (end - start)
    return bytes(result)
