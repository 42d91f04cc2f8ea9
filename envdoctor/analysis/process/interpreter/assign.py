"""Assignments: what a name holds from here on, who wrote it, and whether children see it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from envdoctor.analysis.process.interpreter import expand
from envdoctor.analysis.process.interpreter.slots import (
    MOST_ORIGINS,
    UNSET,
    Alternative,
    Exported,
    Loss,
    Slot,
    ValueOrigin,
)
from envdoctor.analysis.process.interpreter.state import Shell
from envdoctor.analysis.process.interpreter.text import Text
from envdoctor.analysis.process.interpreter.walker import Walker
from envdoctor.core.facts import Place
from envdoctor.core.operations import Operation, Word

INHERITED = frozenset(("PATH", "HOME", "USER", "LOGNAME", "SHELL", "PWD", "TERM", "LANG"))
"""Always there when a script starts, so that assigning them changes the environment without `export`."""
LONGEST = 4000
"""Characters of a value that are kept."""
MOST_ELEMENTS = 300


class BindingManner(NamedTuple):
    """How a name is bound: by which operation, whether children see it, and whether it is the function's own."""

    operation: str = "assign"
    exported: Exported = "no"
    local: bool = False
    default: bool = False


BARE = BindingManner()
EXPORT = BindingManner("export", "yes")
PREFIX = BindingManner("prefix", "yes")
FLAG = BindingManner("flag", "yes")


def assign(walker: Walker, operation: Operation, shell: Shell, manner: BindingManner = BARE) -> Shell:
    """`NAME=VALUE`, `NAME+=VALUE`, arrays and their elements."""
    if operation[0] != "assign":  # a gap in front of a command
        return shell
    _, line, column, name, subscript, sign, value = operation
    if value and value[0] == "array":
        _array(walker, name, value[1], sign, shell)
        return shell
    text = expand.text_of(walker, value, shell)
    if subscript:
        _keep(walker, name, subscript, text, shell)
        return shell
    place = Place(shell.path, line, column, line, column + len(name))
    own = name in expand.references_in(value, deep=False)
    operand = _default_of(value, name) if own and sign == "=" else None
    if operand is not None:
        manner = manner._replace(default=True)
        if len(shell.held(name) or ()) > 1:
            text = expand.text_of(walker, operand, shell)
    if sign == "+=":
        text = _appended(walker, name, text, shell)
    bind(walker, shell, name, text, place, manner, grows=own or sign == "+=")
    return shell


def _default_of(value: Word, name: str) -> Word | None:
    """`A=${A:-x}`: what it is only where nothing is there."""
    part = value[4][0]
    is_default = len(value[4]) == 1 and part[1] == name and part[3] in (":-", "-", ":=", "=")
    return part[4] if is_default else None


def defaulted(walker: Walker, words: Sequence[Word], shell: Shell) -> None:
    """`: ${A:=x}`: A has a value from here on, its own or x."""
    for part in (part for word in words for part in word[4]):
        if part[0] == "ref" and part[3] in (":=", "=") and part[4] is not None and not part[2]:
            line, column = part[6], part[7] + len("${")
            place = Place(shell.path, line, column, line, column + len(part[1]))
            bind(walker, shell, part[1], expand.text_of(walker, part[4], shell), place, BARE._replace(default=True))


def _appended(walker: Walker, name: str, text: Text, shell: Shell) -> Text:
    before = expand.text_of(walker, reference(name, text.used), shell)
    if shell.held(name) is None:
        return text
    return Text((*before.pieces, *text.pieces), text.used, text.quoted)


def reference(name: str, place: Place) -> Word:
    """The word `$NAME`."""
    part = ("ref", name, "", "", None, True, place.line, place.column)
    return (place.line, place.column, place.end_line, place.end_column, (part,))


def _array(walker: Walker, name: str, words: Sequence[Word], sign: str, shell: Shell) -> None:
    before = shell.arrays.get(name, ()) if sign == "+=" else ()
    fields = expand.fields_of(walker, words, shell)
    shell.arrays[name] = None if before is None else (*before, *fields)[:MOST_ELEMENTS]
    shell.writes[name] = shell.writes.get(name, 0) + 1


def _keep(walker: Walker, name: str, subscript: str, text: Text, shell: Shell) -> None:
    """`A[k]=v`: kept by its key; as an array the rest is no longer known."""
    known = dict(shell.maps.get(name) or {})
    if len(known) < MOST_ELEMENTS:
        known[subscript] = text
    shell.maps[name] = known
    shell.writes[name] = shell.writes.get(name, 0) + 1


def bind(
    walker: Walker, shell: Shell, name: str, text: Text | None, place: Place, manner: BindingManner, grows: bool = False
) -> None:
    """Give a name a value; None: nobody knows which."""
    old = shell.held(name)
    exported = _exported(name, old, shell, manner, grows)
    default = manner.default or (name in shell.defaulting and all(map(_is_empty, old or ())))
    origins: tuple[ValueOrigin, ...] = ()
    if walker.is_known(name):
        likely = text is not None and text.likely
        origin = ValueOrigin(name, place, manner.operation, shell.process.layer, default, likely, bool(shell.guard))
        if not walker.in_loop():
            walker.bound_at[origin.key] = walker.count, walker.programs
        walker.notes.wrote(origin, None if grows else text, old, shell.moment(), shell.open or walker.in_loop())
        origins = (origin, *_origins(old, origin))[:MOST_ORIGINS] if grows or default else (origin,)
    value = _alternative(walker, name, text, exported, origins)
    if manner.default and old is not None and not all(map(_is_empty, old)):
        gone = (value._replace(guard=a.guard, likely=value.likely or a.likely) for a in old if _is_empty(a))
        shell.bind(name, tuple(dict.fromkeys((*(a for a in old if not _is_empty(a)), *gone))))
        if manner.exported == "yes":
            export(walker, shell, name)
    else:
        shell.bind(name, (value,))
    if name in shell.arrays:
        del shell.arrays[name]
    shell.lost.pop(name, None) if exported != "no" and not shell.guard else None


def _is_empty(alternative: Alternative) -> bool:
    return alternative.kind == "unset" or (alternative.kind == "literal" and not alternative.text)


def _origins(old: Slot | None, new: ValueOrigin) -> tuple[ValueOrigin, ...]:
    return tuple(o for a in old or () for o in a.origins if o.key != new.key)


def _alternative(
    walker: Walker, name: str, text: Text | None, exported: Exported, origins: tuple[ValueOrigin, ...]
) -> Alternative:
    if text is None:
        return Alternative("unknown", "", exported, origins)
    whole = text.text
    if len(whole) > LONGEST:
        return Alternative("unknown", whole[:LONGEST], exported, origins)
    if not text.known:
        if any(piece.known for piece in text.pieces):
            walker.texts[name, whole] = text.pieces
        return Alternative("unknown", whole, exported, origins)
    if len(text.pieces) != 1 or text.pieces[0].text:
        walker.texts[name, whole] = text.pieces
    return Alternative("literal", whole, exported, origins, likely=text.likely)


def _exported(name: str, old: Slot | None, shell: Shell, manner: BindingManner, grows: bool) -> Exported:
    """Whether children see it: once exported, a name stays so."""
    if manner.exported == "yes" or name in INHERITED or shell.allexport == "yes":
        return "yes"
    before = {alternative.exported for alternative in old or ()}
    if before == {"yes"}:
        return "yes"
    if manner.local:
        return manner.exported
    if "yes" in before or "maybe" in before or shell.allexport == "maybe" or (grows and old is None):
        return "maybe"
    return "no"


def export(walker: Walker, shell: Shell, name: str) -> None:
    """`export NAME`: children see what it holds, and what it will hold."""
    slot = shell.held(name)
    if slot is None:
        shell.visible[name] = (UNSET._replace(exported="yes"),)
        return
    shell.visible[name] = tuple(a._replace(exported="yes") for a in slot)


def withdraw(shell: Shell, name: str) -> None:
    """`export -n NAME`: children see it no more, on purpose."""
    slot = shell.held(name)
    if slot is not None:
        shell.visible[name] = tuple(a._replace(exported="no", origins=()) for a in slot)


def unset(shell: Shell, name: str) -> None:
    """`unset NAME`: gone, and nobody lost it."""
    shell.bind(name, (UNSET,))
    shell.lost.pop(name, None)
    shell.remembered.pop(name, None)
    shell.arrays.pop(name, None)
    shell.maps.pop(name, None)


def unset_all(shell: Shell, fields: Iterable[Text]) -> None:
    """`unset A B`, for the words that are names for sure."""
    for field in fields:
        if field.known and field.text.isidentifier():
            unset(shell, field.text)


def declare(walker: Walker, operation: Operation, shell: Shell) -> list[Text]:
    """`export`, `declare`, `typeset`, `local`, `readonly`; words that may export anything are given back."""
    _, _, _, keyword, flags, items = operation
    if "f" in flags or "F" in flags or (keyword == "export" and "p" in flags):
        return []
    if keyword == "local" and not shell.in_function:
        return []  # an error, which changes nothing
    unknown: list[Text] = []
    for item in items:
        if item[0] == "assign":
            _declared(walker, item, keyword, flags, shell)
        else:
            fields = expand.fields_of(walker, (item,), shell)
            unknown += [field for field in fields if not declare_text(walker, field, keyword, flags, shell)]
    return unknown


def _manner(keyword: str, flags: str, shell: Shell) -> BindingManner:
    exported: Exported = "no"
    if (keyword == "export" and "n" not in flags) or ("x" in flags and "+x" not in flags):
        exported = "yes"
    local = keyword == "local" or (keyword in ("declare", "typeset") and shell.in_function and "g" not in flags)
    return BindingManner("export" if exported == "yes" else "declare", exported, local)


def _declared(walker: Walker, item: Operation, keyword: str, flags: str, shell: Shell) -> None:
    manner = _manner(keyword, flags, shell)
    name = item[3]
    if manner.local:
        _own(shell, name)
    if keyword == "export" and "n" in flags:
        assign(walker, item, shell)
        withdraw(shell, name)
    else:
        assign(walker, item, shell, manner)


def _own(shell: Shell, name: str) -> None:
    """The function's own from here on, exported if what it hides is: what was there comes back at its end."""
    if name not in shell.frames:
        hidden = shell.frames[name] = shell.visible.pop(name, None)
        if hidden is not None and all(a.exported == "yes" for a in hidden):
            shell.visible[name] = (UNSET._replace(exported="yes"),)


def declare_text(walker: Walker, field: Text, keyword: str, flags: str, shell: Shell) -> bool:
    """One word of a declaration after expansion: `A`, `A=1`; False: nobody knows what it exports."""
    manner = _manner(keyword, flags, shell)
    parts = field.assignment()
    if parts is not None:
        name, sign, value = parts
        if manner.local:
            _own(shell, name.text)
        whole = value if sign == "=" else _appended(walker, name.text, value, shell)
        bind(walker, shell, name.text, whole, name.written(), manner)
    elif field.text.isidentifier() and field.known:
        _named(walker, field, keyword, flags, manner, shell)
    else:
        return field.known or manner.exported != "yes"
    return True


def _named(walker: Walker, field: Text, keyword: str, flags: str, manner: BindingManner, shell: Shell) -> None:
    name = field.text
    if manner.local:
        _own(shell, name)
    if keyword == "export" and "n" in flags:
        withdraw(shell, name)
    elif manner.exported == "yes":
        export(walker, shell, name)
    elif "+x" in flags and keyword != "local":
        withdraw(shell, name)


def restore(shell: Shell, frames: dict[str, Slot | None], place: Place, function: str) -> None:
    """The end of a function: its own names are gone, and what they hid is there again."""
    for name, before in shell.frames.items():
        gone = shell.visible.pop(name, ())
        exported = [a for a in gone if a.exported == "yes"]
        loss = Loss("function", place, f"the function {function}, to which it is local")
        if before is not None:
            shell.visible[name] = before
        elif exported:
            shell.lose(name, exported, loss)
    shell.frames = frames
