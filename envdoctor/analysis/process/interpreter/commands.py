"""Simple commands: what a shell does itself, functions, and programs that are started."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from envdoctor.analysis.process.interpreter import assign, expand, processes, variables
from envdoctor.analysis.process.interpreter.shell import written
from envdoctor.analysis.process.interpreter.shell.builtins import BUILTINS
from envdoctor.analysis.process.interpreter.slots import UNSET, Alternative, Guard, Slot
from envdoctor.analysis.process.interpreter.state import Function, Shell
from envdoctor.analysis.process.interpreter.text import Text
from envdoctor.analysis.process.interpreter.walker import HARMLESS, SHELLS, Walker
from envdoctor.core.facts import Place
from envdoctor.core.operations import Body, Operation, Part, Redirect, Word, literal

MOST_VARIANTS = 4
"""Combinations of what variables may hold that one command is run with."""
DEEPEST_CALL = 16
"""Functions that call one another."""


def call(walker: Walker, operation: Operation, shell: Shell) -> Shell | None:
    """One simple command, once for each combination of what its variables may hold where that matters."""
    _, _, _, end_line, end_column, assigns, words, redirects = operation
    if not words:
        for one in assigns:
            assign.assign(walker, one, shell)
        return shell
    place = walker.placed(Place(shell.path, words[0][0], words[0][1], end_line, end_column))
    assign.defaulted(walker, [*words, *(word for _, _, word in redirects)], shell)
    assign.defaulted(walker, [one[6] for one in assigns if one[0] == "assign" and one[6][:1] != ("array",)], shell)
    vague = literal(words[0]) == "set" and _may_set(walker, words[1:], shell)
    variants = list(_variants(walker, words, shell))
    if len(variants) == 1 and not variants[0][1]:
        _may_run(walker, words, shell)
    if len(variants) == 1:
        after = _run(walker, assigns, variants[0][1], redirects, place, variants[0][0])
    else:
        done = [_run(walker, assigns, fields, redirects, place, one) for one, fields in variants]
        after = walker.meet_all(done)
    if after is not None and vague:
        after.arguments = None
    return after


def _may_run(walker: Walker, words: Sequence[Word], shell: Shell) -> None:
    """`${X:+command}`: no word is left of it, unless somebody has set X."""
    if any(not expand.text_of(walker, word, shell).sure for word in words):
        shell.forget()


def _may_set(walker: Walker, words: Sequence[Word], shell: Shell) -> bool:
    """`set ${X:+-a}`: nobody knows whether all is exported from here on, nor how many arguments there are."""
    texts = [expand.text_of(walker, word, shell) for word in words]
    before = next((number for number, text in enumerate(texts) if text.text == "--"), len(texts))
    if any(not text.sure for text in texts[:before]):
        shell.allexport = "maybe"
    return any(not text.text and text.likely for text in texts)


def _variants(walker: Walker, words: Sequence[Word], shell: Shell) -> Iterator[tuple[Shell, list[Text]]]:
    """The command as it is under each combination; one alone where they make no difference to what is started."""
    fields = expand.fields_of(walker, words, shell)
    name = _undecided(walker, fields, shell)
    slot = _distinct(shell.held(name) or ()) if name else None
    if not slot or len(slot) > MOST_VARIANTS:
        yield shell, fields
        return
    for alternative in slot:
        other = shell.copy()
        other.visible[name] = (alternative,)
        other.guard = _with(other.guard, alternative.guard)
        again = expand.fields_of(walker, words, other)
        yield other, again


def _distinct(slot: Slot) -> Slot:
    """Alternatives that differ in what they hold; of those that hold the same, the conditions that all have."""
    found: dict[object, Alternative] = {}
    for one in slot:
        old = found.setdefault(one[:2], one)
        found[one[:2]] = old._replace(guard=tuple(atom for atom in old.guard if atom in one.guard))
    return tuple(found.values())


def _with(guard: Guard, more: Guard) -> Guard:
    return (*guard, *(atom for atom in more if atom not in guard))


def _undecided(walker: Walker, fields: Sequence[Text], shell: Shell) -> str:
    """The first variable with several known values that decides what is started, or how; empty: there is none."""
    for number, field in enumerate(fields):
        for piece in field.pieces:
            if piece.known or not piece.name or not _several(shell, piece.name):
                continue
            if number == 0 or fields[0].text in ("eval", "exec") or _decides(walker, fields, shell):
                return piece.name
            return ""
    return ""


def _decides(walker: Walker, fields: Sequence[Text], shell: Shell) -> bool:
    """Whether the words of a command decide what ranks get or do."""
    name = fields[0].text.rsplit("/", 1)[-1]
    if name in SHELLS or name in shell.functions:
        return True
    if name not in BUILTINS and name not in HARMLESS and walker.is_starter(name):
        return True
    return walker.find(fields[0], shell) is not None


def _several(shell: Shell, name: str) -> bool:
    slot = shell.held(name)
    return slot is not None and len(slot) > 1 and all(a.kind != "unknown" for a in slot)


def _run(
    walker: Walker, assigns: Sequence[Operation], fields: list[Text], redirects: Sequence[Redirect], place: Place,
    shell: Shell,
) -> Shell | None:  # fmt: skip
    if not fields:
        return shell
    first = fields[0].text
    fields = _plain_command(fields)
    program = fields[0].text
    stdin = written.input_of(walker, redirects, shell) or shell.stdin
    function = shell.functions.get(program) if first == program else None
    written.changed(program, fields, redirects, shell)
    if function is not None:
        return _with_prefix(walker, assigns, shell, lambda inner: call_function(walker, function, fields, place, inner))
    if program in written.PRINTING:
        written.note_written(walker, fields, redirects, stdin, shell)
    elif target := written.output_of(walker, redirects, shell):
        written.write(shell, target, None, appends=False)
    if program in BUILTINS:
        return _builtin(walker, assigns, fields, stdin, place, shell)
    if program not in HARMLESS:
        shell.commands += 1
    if walker.may_start(fields):
        walker.programs += 1
        _start(walker, assigns, fields, stdin, place, shell)
    if fields[0].starts_unknown and (len(fields) == 1 or walker.in_text()):
        variables.opened(shell)  # `$SETUP` may be `export A=1`
    return shell


def _plain_command(fields: list[Text]) -> list[Text]:
    """A command without `builtin` and `command` before it."""
    while len(fields) > 1 and fields[0].text in ("builtin", "command") and not fields[1].text.startswith("-"):
        fields = fields[1:]
    return fields


def _builtin(
    walker: Walker, assigns: Sequence[Operation], fields: list[Text], stdin: Text | None, place: Place, shell: Shell
) -> Shell | None:
    """What the shell does itself, with what stands before it."""
    program = fields[0].text
    run, before, shell.stdin = BUILTINS[program], shell.stdin, stdin
    named = {field.text.partition("=")[0] for field in fields[1:]} if program == "export" else set()
    own = [one for one in assigns if one[3] not in named]
    for one in assigns:
        if one not in own:  # `A=1 export A`: the prefix stays
            assign.assign(walker, one, shell, assign.PREFIX)
    after = _with_prefix(walker, own, shell, lambda inner: run(walker, fields, place, inner))
    if after is not None:
        after.stdin = before
    return after


def _start(
    walker: Walker, assigns: Sequence[Operation], fields: list[Text], stdin: Text | None, place: Place, shell: Shell
) -> None:
    """Start a program with what stands before it."""
    inner = shell
    if assigns:
        inner = shell.copy()
        for one in assigns:
            assign.assign(walker, one, inner, assign.PREFIX)
    child = walker.start(walker, inner, fields, place, stdin, True, 0)
    if child is not None:
        processes.came_back(walker, shell, child)


def _with_prefix(
    walker: Walker, assigns: Sequence[Operation], shell: Shell, run: Callable[[Shell], Shell | None]
) -> Shell | None:
    """`A=1 f`: there while the function runs, and gone behind it."""
    if not assigns:
        return run(shell)
    names = [one[3] for one in assigns if one[0] == "assign" and one[3] not in shell.fixed]
    before: dict[str, Slot | None] = {name: shell.visible.get(name) for name in names}
    for one in assigns:
        assign.assign(walker, one, shell, assign.PREFIX)
    given = {name: shell.writes.get(name, 0) for name in names}
    above, shell.above = shell.above, shell.above | set(names)
    after = run(shell)
    if after is not None:
        after.above = above
        for name, slot in before.items():
            _put_back(after, name, slot, given[name] != after.writes.get(name, 0))
    return after


def _put_back(shell: Shell, name: str, before: Slot | None, changed: bool) -> None:
    """The end of `A=1 f`: what was there before, but for what `f` may have exported: that stays."""
    now = shell.visible.get(name, ()) if changed else ()
    stays = tuple(a for a in now if a.exported != "no" and a.kind != "unset")
    if stays and stays == now and all(a.exported == "yes" and _is_exported_by(a) for a in now):
        return
    if stays:
        shell.visible[name] = tuple(dict.fromkeys((*stays, *(before or (UNSET,)))))
    elif before is None:
        shell.visible.pop(name, None)
    else:
        shell.visible[name] = before


def _is_exported_by(alternative: Alternative) -> bool:
    return bool(alternative.origins) and alternative.origins[0].operation == "export"


def call_function(
    walker: Walker, function: Function, fields: Sequence[Text], place: Place, shell: Shell
) -> Shell | None:
    """Run a function in this very shell, with its arguments."""
    if walker.depth >= DEEPEST_CALL or walker.is_active(function):
        walker.entered.add(function)
        walker.notes.bound(f"a function that calls itself at line {place.line}", shell.path)
        for name in written_by(function.body, shell.functions):
            shell.blur(name)
        return shell
    saved = shell.arguments, shell.frames, shell.in_function, shell.path
    above, shell.above = shell.above, shell.above | shell.frames.keys()
    shell.arguments, shell.frames, shell.in_function = tuple(fields[1:]), {}, True
    shell.path = function.path
    with walker.within(function) as returned:
        after = walker.run(function.body, shell)
    ended = walker.meet_all([after, *returned])
    if ended is None:
        return None
    assign.restore(ended, saved[1], place, fields[0].text)
    ended.above = above
    ended.arguments, ended.in_function, ended.path = saved[0], saved[2], saved[3]
    return ended


def written_by(body: Body, functions: Mapping[str, Function]) -> set[str]:
    """The names that a body plainly gives values, or takes away, and the functions that it calls."""
    found: set[str] = set()
    waiting: list[object] = [body]
    called: set[str] = set()
    while waiting:
        item = waiting.pop()
        if isinstance(item, str) and item in functions and item not in called:
            called.add(item)
            waiting.append(functions[item].body)
        if not isinstance(item, tuple) or not item:
            continue
        if item[0] in ("assign", "for") and len(item) > 3:
            found.add(item[3])
        if item[0] in ("declare", "unset", "call") and len(item) > 4:
            found.update(part[1] for part in _texts(item) if part[1].isidentifier())
        waiting += item
    return found


def _texts(item: Operation) -> Iterator[Part]:
    """The plain words of a declaration, an `unset` or a command."""
    words = item[5] if item[0] == "declare" else item[4] if item[0] == "unset" else item[6]
    for word in words:
        if word and word[0] != "assign":
            yield from (part for part in word[4] if part[0] == "text")
