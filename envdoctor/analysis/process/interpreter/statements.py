"""Compound commands: branches, loops, functions, subshells, pipes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

from envdoctor.analysis.process.interpreter import assign, commands, conditions, expand, processes, variables
from envdoctor.analysis.process.interpreter.shell import builtins, loading, written
from envdoctor.analysis.process.interpreter.slots import Atom, Guard
from envdoctor.analysis.process.interpreter.state import Function, Shell, met
from envdoctor.analysis.process.interpreter.text import Text
from envdoctor.analysis.process.interpreter.walker import Handler, Walker
from envdoctor.core.facts import Place
from envdoctor.core.operations import Body, Operation, literal
from envdoctor.core.regexes import regex

MOST_UNROLLED = 32
"""Words of a loop that are each gone through."""
MOST_TIMES = 64
"""How often the body of loops inside one another is gone through, if their words are known."""


def _assign(walker: Walker, operation: Operation, shell: Shell) -> Shell | None:
    return assign.assign(walker, operation, shell)


def _declare(walker: Walker, operation: Operation, shell: Shell) -> Shell | None:
    for field in assign.declare(walker, operation, shell):
        variables.exports(walker, field, shell)
    return shell


def _unset(walker: Walker, operation: Operation, shell: Shell) -> Shell | None:
    _, _, _, flags, words = operation
    if "unset" in shell.functions:
        shell.forget()
    else:
        builtins.unset_words(shell, expand.fields_of(walker, words, shell), flags)
    return shell


def _both(walker: Walker, operation: Operation, shell: Shell) -> Shell | None:
    """`a && b && c`, `a || b || c`. A plain command before `&&` is taken to succeed."""
    kind, line, column, *_ = operation
    first, *rest = conditions.chain(operation)
    if kind == "or" and len(first) == 1 and first[0][0] == "and":
        test, then = first[0][3], first[0][4]
        if _succeeds(then, shell):  # `test && command || rest`
            return _if(walker, ("if", line, column, ((test, then),), conditions.chained(operation, rest)), shell)
    ways: list[Aside] = []
    going: Shell | None = shell
    for part in (first, *rest[:-1]):
        if going is not None:
            going = _before(walker, kind, part, going, ways)
    after = walker.run(rest[-1], going) if going is not None else None
    for way in reversed(ways):
        after = met(after, way.shell, way.atom, way.guard)
    return after


def _place(operation: Operation, shell: Shell) -> Place:
    """Where a compound command begins."""
    _, line, column, *_ = operation
    return Place(shell.path, line, column, line, column + 1)


class Aside(NamedTuple):
    """A path that leaves the others early."""

    shell: Shell | None
    atom: Atom | None
    guard: Guard


def _before(walker: Walker, kind: str, part: Body, shell: Shell, ways: list[Aside]) -> Shell | None:
    """The shell that goes on behind a part of a chain; `ways` takes the one that does not."""
    guard = shell.guard
    if _succeeds(part, shell):
        after = walker.run(part, shell)
        ways += [Aside(after, None, guard)] if kind == "or" else []
        return after if kind == "and" else None
    plain = kind == "and" and _is_plain(part, shell)
    found = conditions.ways(walker, part, shell)
    goes, other = (found.yes, found.no) if kind == "and" else (found.no, found.yes)
    if plain and goes is not None:
        goes.guard = guard
        return goes
    atom = found.atom if kind == "and" or found.atom is None else found.atom.opposite()
    ways.append(Aside(other, atom, guard))
    return goes


def _succeeds(body: Body, shell: Shell) -> bool:
    """Whether a command cannot fail: what only binds, or prints."""
    last = body[-1] if len(body) == 1 else None
    if last is None or last[0] not in ("call", "assign", "declare", "unset", "function", "group"):
        return False
    if last[0] == "group":
        return _succeeds(last[3], shell)
    if last[0] == "call":
        program = literal(last[6][0]) if last[6] else ""
        return program in _SUCCEEDING and program not in shell.functions and not last[7]
    return last[0] != "assign" or last[6][0] == "array" or all(part[0] != "command" for part in last[6][4])


_SUCCEEDING = ("echo", "printf", ":", "true", "set", "export", "trap", "shopt")
_ASKING = ("grep", "command", "which", "type", "hash", "false", "egrep", "pgrep", "diff", "cmp", "exit", "return")


def _is_plain(body: Body, shell: Shell) -> bool:
    """Whether a condition is a command, and not a test, nor something of the script that tells by its end."""
    last = body[-1] if body else None
    while last is not None and last[0] in ("and", "or", "group", "subshell", "pipe"):
        if last[0] in ("or", "subshell"):
            return False
        inner = last[4] if last[0] == "and" else last[3] if last[0] == "group" else last[3][-1]
        last = inner[-1] if inner else None
    if last is None or last[0] not in ("call", "background", "assign", "declare", "unset", "function"):
        return False
    program = literal(last[6][0]) if last[0] == "call" and last[6] else ""
    return program not in _ASKING and program not in shell.functions


def _not(walker: Walker, operation: Operation, shell: Shell) -> Shell | None:
    return walker.run(operation[3], shell)


def _test(walker: Walker, operation: Operation, shell: Shell) -> Shell | None:
    """A test changes nothing, but for what it computes."""
    if operation[4]:
        assign.defaulted(walker, operation[4], shell)
    else:
        assign.computed(walker, operation[3], operation[1], operation[2], shell)
    return shell


def _directive(walker: Walker, operation: Operation, shell: Shell) -> Shell | None:
    """A directive is a comment to the shell."""
    return shell


def _if(walker: Walker, operation: Operation, shell: Shell) -> Shell | None:
    _, _, _, arms, otherwise = operation
    tests = [(partial(conditions.ways, walker, condition), body) for condition, body in arms]
    return _arms(walker, tests, otherwise, shell)


def _case(walker: Walker, operation: Operation, shell: Shell) -> Shell | None:
    _, _, _, subject, arms = operation
    tests = [(partial(conditions.choices, walker, subject, patterns), body) for patterns, body in arms]
    return _arms(walker, tests, None, shell)


def _arms(
    walker: Walker, arms: Sequence[tuple[Callable[[Shell], conditions.Ways], Body]], otherwise: Body | None,
    shell: Shell,
) -> Shell | None:  # fmt: skip
    """Arms that are tried one after the other; all paths meet behind the last."""
    parted: list[Aside] = []
    rest: Shell | None = shell
    for test, body in arms:
        if rest is None:
            break
        guard = rest.guard
        found = test(rest)
        parted.append(Aside(walker.run(body, found.yes), found.atom, guard))
        rest = found.no
    if otherwise is not None:
        rest = walker.run(otherwise, rest)
    for way in reversed(parted):
        rest = met(way.shell, rest, way.atom, way.guard)
    return rest


def _for(walker: Walker, operation: Operation, shell: Shell) -> Shell | None:
    *_, name, words, body = operation
    if words is not None:
        assign.defaulted(walker, words, shell)
    if words is None or not name:
        fields = list(shell.arguments) if name and shell.arguments is not None else None
    else:
        fields = expand.fields_of(walker, words, shell)
        if not fields and any(expand.text_of(walker, word, shell).likely for word in words):
            fields = None
    place = _place(operation, shell)
    too_many = fields is None or len(fields) > MOST_UNROLLED or walker.times() * len(fields) > MOST_TIMES
    if fields is None or too_many or any(not _is_item(field) for field in fields):
        return _open_loop(walker, name, fields, body, place, shell)
    return _unrolled(walker, name, fields, body, place, shell)


def _is_item(field: Text) -> bool:
    """Whether a word of a loop is one item for sure: known, or quoted."""
    if field.several:
        return False
    if not field.known:
        return field.quoted and not any(p.name == "@" or p.text.endswith("[@]}") for p in field.pieces)
    return not any(sign in field.text for sign in "{*?")


def _unrolled(
    walker: Walker, name: str, fields: Sequence[Text], body: Body, place: Place, shell: Shell
) -> Shell | None:
    after: Shell | None = shell
    with walker.loop(len(fields) or 1) as broken:
        for field in fields:
            if after is None:
                break
            if name:
                assign.bind(walker, after, name, field, place, assign.BARE)
            after = _round(walker, body, after)
    return walker.meet_all([after, *broken])


def _open_loop(
    walker: Walker, name: str, fields: Sequence[Text] | None, body: Body, place: Place, shell: Shell,
    surely: bool = False,
) -> Shell | None:  # fmt: skip
    """A loop over what nobody can list: no time (not where `surely`), once, or again with what the first has left."""
    guard = shell.guard
    atom = Atom(f"loop at {place.line}:{place.column} of {place.path}", (walker.operations,), True)
    item = fields[0] if fields and len(fields) == 1 else None
    skipped = shell.on(atom.opposite()) if shell.can(atom.opposite()) else None
    inside = shell if surely else shell.on(atom)
    with walker.loop() as broken:
        after = once = _once(walker, name, item, body, place, inside)
        if once is not None and walker.may_repeat():
            after = _once(walker, name, item, body, place, once.copy())
    if surely and broken:
        return walker.meet_all(broken)
    return met(walker.meet_all([once, after, *broken]), None if surely else skipped, atom, guard)


def _once(walker: Walker, name: str, item: Text | None, body: Body, place: Place, shell: Shell) -> Shell | None:
    if name:
        assign.bind(walker, shell, name, item if item is not None and not item.known else None, place, assign.BARE)
    return _round(walker, body, shell)


def _round(walker: Walker, body: Body, shell: Shell) -> Shell | None:
    with walker.round() as continued:
        after = walker.run(body, shell)
    return walker.meet_all([after, *continued])


def _while(walker: Walker, operation: Operation, shell: Shell) -> Shell | None:
    *_, condition, body, until = operation
    place = _place(operation, shell)
    guard = shell.guard
    found = conditions.ways(walker, condition, shell)
    inside, outside = (found.no, found.yes) if until else (found.yes, found.no)
    if inside is None:
        return outside
    after = _open_loop(walker, "", None, body, place, inside, surely=outside is None)
    atom = found.atom.opposite() if until and found.atom else found.atom
    if outside is None:
        return after
    return met(after, outside, atom, guard)


def _subshell(walker: Walker, operation: Operation, shell: Shell) -> Shell | None:
    body = operation[3]
    return processes.inside(walker, body, shell, "subshell", _place(operation, shell))


def _background(walker: Walker, operation: Operation, shell: Shell) -> Shell | None:
    body = operation[3]
    if len(body) == 1 and body[0][0] in ("call", "and"):
        kept = shell.copy()
        place = _place(operation, shell)
        processes.ended_without_start(kept, walker.run(body, shell.copy()), "subshell", place)
        return kept
    return processes.inside(walker, body, shell, "subshell", _place(operation, shell))


def _group(walker: Walker, operation: Operation, shell: Shell) -> Shell | None:
    return walker.run(operation[3], shell)


def _pipe(walker: Walker, operation: Operation, shell: Shell) -> Shell | None:
    """Each part runs in a shell of its own; what an echo or a here-document tells is the input of the next part."""
    bodies = operation[3]
    place = _place(operation, shell)
    told: Text | None = None
    for body in bodies:
        part = shell.copy()
        part.stdin = told
        told = written.told(walker, body, part)
        simple = len(body) == 1 and body[0][0] == "call"
        if simple and not _runs_here(body[0], shell):
            after = walker.run(body, part)
            if after is not None:
                shell.files = after.files
            continue
        processes.inside(walker, body, shell, "pipe", place, told_in=part.stdin)
    if "lastpipe" in shell.options:
        shell.forget()
    return shell


def _runs_here(call: Operation, shell: Shell) -> bool:
    """A function or `eval` in a pipe: a part that changes its own shell."""
    program = literal(call[6][0]) if call[6] else ""
    return program in shell.functions or program in ("eval", "source", ".", "export")


def _function(walker: Walker, operation: Operation, shell: Shell) -> Shell | None:
    _, line, _, name, body = operation
    shell.functions[name] = Function(body, shell.path, line)
    return shell


def _redirected(walker: Walker, operation: Operation, shell: Shell) -> Shell | None:
    """A compound command with its input or output redirected; `{ echo ...; } > file` writes a file."""
    _, _, _, redirects, body = operation
    assign.defaulted(walker, [word for _, _, word in redirects], shell)
    if loading.exported_lines(walker, redirects, body, shell):
        return shell
    before = shell.stdin
    shell.stdin = written.input_of(walker, redirects, shell) or before
    target = written.output_of(walker, redirects, shell)
    lines = [written.told(walker, (inner,), shell) for inner in _plain_lines(body)] if target else []
    after = walker.run(body, shell)
    if after is not None:
        after.stdin = before
        if target:
            known = [line for line in lines if line is not None]
            appends = all(operator != ">>" for _, operator, _ in redirects)
            whole = known if lines and len(known) == len(lines) and appends else None
            written.write(after, target, whole, appends=False)
    return after


def _plain_lines(body: Body) -> Body:
    return body[0][3] if len(body) == 1 and body[0][0] == "group" else body


def _gap(walker: Walker, operation: Operation, shell: Shell) -> Shell | None:
    walker.notes.gaps[shell.path, operation[1], operation[3][:80]] = None
    if operation[4:]:
        walker.notes.bound("more than the reader follows", shell.path)
        shell.forget()
    for match in _GIVEN.finditer(operation[3]):
        shell.blur(match[1] or match[2])
    return shell


_GIVEN = regex(r"(?<![\w$-])([A-Za-z_]\w*)(?:\[[^\]\s]*\])?\+?=(?!=)|\b(?:export|unset)[ \t]+([A-Za-z_]\w*)")
"""What text that could not be read may assign, or take away."""


HANDLERS: dict[str, Handler] = {
    "assign": _assign, "declare": _declare, "unset": _unset, "call": commands.call, "and": _both, "or": _both,
    "not": _not, "test": _test, "if": _if, "case": _case, "for": _for, "while": _while, "subshell": _subshell,
    "background": _background, "group": _group, "pipe": _pipe, "function": _function, "redirected": _redirected,
    "gap": _gap, "directive": _directive,
}  # fmt: skip
