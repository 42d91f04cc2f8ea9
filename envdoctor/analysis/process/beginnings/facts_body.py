"""Scripts in languages without bodies of their own (csh, fish, modulefiles): their facts in order, as operations.

The readers state what is set, sourced and run, each with the conditions around it; commands that they hand to the shell
reader come as scripts, which are put where they stand. A loop runs once, and a function where it is defined.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from envdoctor.analysis.process.beginnings import shell
from envdoctor.analysis.process.beginnings.common import Insides
from envdoctor.analysis.process.beginnings.root import Root
from envdoctor.core.facts import Branch, FileFacts, Inclusion, Place, Setting, Value
from envdoctor.core.operations import Body, Operation, Part, Script, Word, plain
from envdoctor.core.regexes import regex

DEEPEST = 100

_REFERENCE = regex(r"\$(?:\{([A-Za-z_]\w*)\}|([A-Za-z_]\w*)|env\(([A-Za-z_]\w*)\))")
_ASKS = regex(
    r"(?:if|while|else|else if)?[ \t(]*(?P<not>!|not\b)?[ \t({\[]*(?:\$\?\{?(?P<csh>\w+)\}?|set -q (?P<fish>\w+)"
    r"|info exists (?:::)?(?:env\()?(?P<tcl>\w+)\)?)[ \t)}\]]*;?"
)
"""A condition that asks whether one variable is there, and nothing else."""


class GuardedPiece(NamedTuple):
    """Operations that stand together, and the conditions around them."""

    order: int
    branch: tuple[Branch, ...]
    body: Body


def roots(facts: FileFacts, scripts: Sequence[Script], text: str) -> list[Root]:
    """The file as one script."""
    body = body_of(facts, scripts)
    whole = Script(body, shell=facts.kind)
    return [shell.of_script(facts, whole, text)] if body else []


def body_of(facts: FileFacts, scripts: Sequence[Script]) -> Body:
    """All that a file does, in order."""
    inside = Insides(scripts)
    pieces = [GuardedPiece(one.order, one.branch, one.body) for one in scripts]
    listed: list[Setting | Inclusion] = [*facts.settings, *facts.inclusions]
    for fact in listed:
        if inside.holds(fact.place.line, fact.place.column) or fact.scope.kind in ("file", "command", "subshell"):
            continue
        operation = of_setting(fact) if isinstance(fact, Setting) else _of_inclusion(fact)
        if operation:
            pieces.append(GuardedPiece(fact.order, fact.branch, (operation,)))
    return _nested(sorted(pieces, key=lambda piece: piece.order), 0)


def of_setting(setting: Setting) -> Operation | None:
    """What a shell would do for a setting; None for what none does (a name that is only handed on)."""
    place = setting.name_place or setting.place
    at = (place.line, place.column)
    if setting.op == "unset":
        return ("unset", *at, "", (plain(setting.name, *at),))
    if setting.op == "export":
        return ("declare", *at, "export", "", (plain(setting.name, *at),))
    if setting.op not in ("set", "default", "append") or setting.channel in ("batch-directive", "launcher-argument"):
        return None
    word = word_of(setting.value, setting.value_place or setting.place)
    if setting.op == "default":
        word = (*word[:4], (("ref", setting.name, "", ":-", word, False, *at),))
    assign = ("assign", *at, setting.name, "", "+=" if setting.op == "append" else "=", word)
    return assign if setting.exported == "no" else ("declare", *at, "export", "", (assign,))


def word_of(value: Value, place: Place) -> Word:
    """A value as a word: text, references where they can be told, or unknown."""
    line, column = place.line, place.column
    whole = (line, column, place.end_line, place.end_column)
    if value.kind == "unknown":
        return (*whole, (("unknown", value.text, line, column),))
    if value.kind == "literal":
        return (*whole, (("text", value.text, line, column),) if value.text else ())
    parts = tuple(_parts(value.text, line, column))
    named = {part[1] for part in parts if part[0] == "ref"}
    return (*whole, parts if named == set(value.references) else (("unknown", value.text, line, column),))


def _parts(text: str, line: int, column: int) -> Iterable[Part]:
    at = 0
    for match in _REFERENCE.finditer(text):
        if match.start() > at:
            yield ("text", text[at : match.start()], line, column + at)
        yield ("ref", match[1] or match[2] or match[3], "", "", None, True, line, column + match.start())
        at = match.end()
    if at < len(text):
        yield ("text", text[at:], line, column + at)


def _of_inclusion(inclusion: Inclusion) -> Operation | None:
    if inclusion.kind != "source":
        return None
    place = inclusion.place
    words = (plain("source", place.line, place.column), plain(inclusion.target, place.line, place.column))
    return ("call", place.line, place.column, place.end_line, place.end_column, (), words, ())


def _nested(pieces: Sequence[GuardedPiece], depth: int) -> Body:
    """Pieces under the conditions that they share, from level `depth` of their branches on."""
    body: list[Operation] = []
    at = 0
    while at < len(pieces):
        piece = pieces[at]
        if len(piece.branch) <= depth or depth >= DEEPEST:
            body += piece.body
            at += 1
            continue
        end = at
        while end < len(pieces) and _id(pieces[end], depth) == piece.branch[depth].id:
            end += 1
        body.append(_condition(pieces[at:end], depth))
        at = end
    return tuple(body)


def _id(piece: GuardedPiece, depth: int) -> str:
    return piece.branch[depth].id if len(piece.branch) > depth else ""


def _condition(pieces: Sequence[GuardedPiece], depth: int) -> Operation:
    """One `if` with its arms; an arm without a condition is what is done otherwise."""
    arms: dict[str, list[GuardedPiece]] = {}
    for piece in pieces:
        arms.setdefault(piece.branch[depth].arm, []).append(piece)
    first = pieces[0].body[0] if pieces[0].body else ("", 1, 1)
    at = (first[1], first[2])
    told: list[tuple[Body, Body]] = []
    otherwise: Body | None = None
    for listed in arms.values():
        branch, inner = listed[0].branch[depth], _nested(listed, depth + 1)
        text = branch.condition.strip()
        if text in ("else", "} else {", "case *", "default:", "default") and branch.arm.startswith(("else", "default")):
            otherwise = inner
        else:
            told.append(((_test(text, *at),), inner))
    if not told:
        told = [((("test", *at, "an earlier condition", ()),), ())]
    return ("if", *at, tuple(told), otherwise)


def _test(text: str, line: int, column: int) -> Operation:
    """A condition; one that asks for a variable asks as `[ -n "$NAME" ]` would."""
    asked = _ASKS.fullmatch(text)
    if not asked:
        return ("test", line, column, text, ())
    name = asked["csh"] or asked["fish"] or asked["tcl"]
    reference: Word = (line, column, line, column, (("ref", name, "", "", None, True, line, column),))
    return ("test", line, column, text, (plain("-z" if asked["not"] else "-n", line, column), reference))
