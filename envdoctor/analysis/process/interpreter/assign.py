"""Assignments: what a name holds from here on, who wrote it, and whether children see it."""

from __future__ import annotations

from collections.abc import Sequence
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
from envdoctor.analysis.process.interpreter.text import Piece, Text
from envdoctor.analysis.process.interpreter.walker import Walker
from envdoctor.core.facts import Place
from envdoctor.core.operations import Operation, Part, Word, literal
from envdoctor.core.regexes import regex

INHERITED = frozenset(("PATH", "HOME", "USER", "LOGNAME", "SHELL", "PWD", "TERM", "LANG"))
"""Always there when a script starts, so that assigning them changes the environment without `export`."""
LONGEST = 4000
"""Characters of a value that are kept."""
MOST_ELEMENTS = 300
_COMPUTED = regex(
    r"([A-Za-z_]\w*)[ \t]*(?:\[[^\]]{0,100}\][ \t]*)?(?:\+\+|--|(?:[-+*/%&|^]|<<|>>)?=(?!=))"
    r"|(?:\+\+|--)[ \t]*([A-Za-z_]\w*)"
)
_SUBSCRIPTED = regex(r"\[[^\]]*\]\+?=")
_NUMBER = regex(r"-?(?:0|[1-9][0-9]*)")


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


def assign(
    walker: Walker, operation: Operation, shell: Shell, manner: BindingManner = BARE, seen: Shell | None = None
) -> Shell:
    """`NAME=VALUE`, `NAME+=VALUE`, arrays and their elements. `seen`: the shell in which the words were expanded."""
    if operation[0] != "assign":  # a gap in front of a command
        return shell
    _, line, column, name, subscript, sign, value = operation
    if name in shell.fixed:
        return shell
    if value and value[0] == "array":
        _array(walker, name, value[1], sign, shell)
        return shell
    defaulted(walker, (value,), shell)
    text = expand.with_home(expand.text_of(walker, value, seen or shell), value)
    if subscript:
        _keep(walker, name, subscript, text, shell)
        return shell
    place = Place(shell.path, line, column, line, column + len(name))
    own = name in expand.references_in(value, deep=False)
    operand = _default_of(value, name) if own and sign == "=" else None
    if operand is not None:
        manner = manner._replace(default=True)
        if len(shell.held(name) or ()) > 1:
            text = expand.text_of(walker, operand, seen or shell)
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
    """`: ${A:=x}`: A has a value from here on, its own or x. `$((A = 1))` gives it one too."""
    for part in (part for word in words for part in word[4]):
        if part[0] == "unknown":
            computed(walker, part[1], part[2], part[3], shell)
        elif part[0] == "ref" and part[3] in (":=", "=") and part[4] is not None and not part[2]:
            _default(walker, part, shell)


def _default(walker: Walker, part: Part, shell: Shell) -> None:
    _, name, _, operator, operand, _, line, column = part
    place = Place(shell.path, line, column + len("${"), line, column + len("${") + len(name))
    held = shell.held(name)
    if held is None and not walker.is_known(name):
        likely = [piece._replace(likely=True) for piece in expand.text_of(walker, operand, shell).pieces]
        empty = [Piece("", True, shell.path, line, column, likely=True)]
        bind(walker, shell, name, Text(likely or empty, place), place, BARE)
    elif operator == ":=" or held is None or all(a.kind == "unset" for a in held):
        bind(walker, shell, name, expand.text_of(walker, operand, shell), place, BARE._replace(default=True))
    elif any(a.kind != "literal" for a in held):
        bind(walker, shell, name, None, place, BARE)


def computed(walker: Walker, text: str, line: int, column: int, shell: Shell) -> None:
    """`((A = 1))`, `$((A++))`, `let A+=1`: what arithmetic assigns has a value that nobody computes."""
    if "=" not in text and "++" not in text and "--" not in text:
        return
    for match in _COMPUTED.finditer(text):
        name = match[1] or match[2]
        bind(walker, shell, name, None, Place(shell.path, line, column, line, column + 1), BARE)


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
    defaulted(walker, words, shell)
    before = shell.arrays.get(name, ()) if sign == "+=" else ()
    fields = expand.fields_of(walker, words, shell)
    known = before is not None and not any(_SUBSCRIPTED.match(field.text) for field in fields)
    shell.arrays[name] = (*(before or ()), *fields)[:MOST_ELEMENTS] if known else None
    _no_scalar(shell, name)


def _no_scalar(shell: Shell, name: str) -> None:
    """A name that is an array: no child sees it."""
    shell.writes[name] = shell.writes.get(name, 0) + 1
    if name in shell.visible:
        shell.visible[name] = (UNSET,)


def _keep(walker: Walker, name: str, subscript: str, text: Text, shell: Shell) -> None:
    """`A[k]=v`: kept by its key; as an array the rest is no longer known."""
    known = dict(shell.maps.get(name) or {})
    if len(known) < MOST_ELEMENTS:
        known[subscript] = text
    shell.maps[name] = known
    if name in shell.visible or name in shell.arrays:
        listed = shell.arrays.get(name)
        if listed is not None and subscript.isdecimal() and int(subscript[:4]) < len(listed):
            at = int(subscript[:4])
            shell.arrays[name] = (*listed[:at], text, *listed[at + 1 :]) if not expand.is_open(listed) else None
        else:
            shell.arrays[name] = None
    _no_scalar(shell, name)


def bind(
    walker: Walker, shell: Shell, name: str, text: Text | None, place: Place, manner: BindingManner, grows: bool = False
) -> None:
    """Give a name a value; None: nobody knows which."""
    if name in shell.fixed:
        return
    if name in shell.arrays:
        _element_zero(shell, name, text)
        return
    if name in shell.typed:
        if "declare -n" in shell.options:
            shell.forget()
        text = text if text is not None and text.known and _NUMBER.fullmatch(text.text) else None
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
    shell.lost.pop(name, None) if exported != "no" and not shell.guard else None


def _element_zero(shell: Shell, name: str, text: Text | None) -> None:
    """`A=1` where A is an array sets its first element, and children still do not see it."""
    listed = shell.arrays[name]
    if listed is None:
        shell.blur(name)
        return
    shell.arrays[name] = (text, *listed[1:]) if text is not None and not expand.is_open(listed) else None
    _no_scalar(shell, name)


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
    if manner.local and "maybe" not in before:
        return manner.exported
    if "yes" in before or "maybe" in before or shell.allexport == "maybe" or (grows and old is None):
        return "maybe"
    return "no"


def export(walker: Walker, shell: Shell, name: str) -> None:
    """`export NAME`: children see what it holds, and what it will hold."""
    slot = shell.held(name)
    if name in shell.above and name not in shell.frames:  # what stood before the call of a function stays
        shell.writes[name] = shell.writes.get(name, 0) + 1
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
    """`unset NAME`: gone, and nobody lost it; what it hid in a caller is there again."""
    if name in shell.fixed:
        return
    if name in shell.above and name not in shell.frames:
        shell.revealed |= {name}
        shell.blur(name)
        return
    shell.bind(name, (UNSET,))
    shell.lost.pop(name, None)
    shell.remembered.pop(name, None)
    shell.arrays.pop(name, None)
    shell.maps.pop(name, None)


def declare(walker: Walker, operation: Operation, shell: Shell) -> list[Text]:
    """`export`, `declare`, `typeset`, `local`, `readonly`; words that may export anything are given back."""
    _, _, _, keyword, flags, items = operation
    if keyword in shell.functions:
        shell.forget()
        return []
    if "f" in flags or "F" in flags:
        shell.options |= {"export -f"} if keyword == "export" else set()
        return []
    if keyword == "local" and not shell.in_function:
        return []  # an error, which changes nothing
    unknown: list[Text] = []
    seen = shell.copy() if len(items) > 1 or keyword == "local" else shell
    for item in items:
        if item[0] == "assign":
            _declared(walker, item, keyword, flags, shell, seen)
        else:
            fields = expand.fields_of(walker, (item,), seen)
            unknown += [field for field in fields if not declare_text(walker, field, keyword, flags, shell)]
    if any(_may_be_flag(walker, item, seen) for item in items):
        _unsure(walker, items, shell)
    return unknown


def _may_be_flag(walker: Walker, item: Operation | Word, shell: Shell) -> bool:
    """Whether a word that nobody knows may be `-n` or `+x`, or be local to a function."""
    if item[0] == "assign":
        return False
    text = expand.text_of(walker, item, shell)
    return not text.sure and text.assignment() is None


def _unsure(walker: Walker, items: Sequence[Operation | Word], shell: Shell) -> None:
    """What a declaration says that may have one more flag."""
    for item in items:
        name = item[3] if item[0] == "assign" else literal(item)
        slot = shell.visible.get(str(name))
        if slot is not None and name not in shell.fixed:
            shell.visible[str(name)] = tuple(a._replace(exported="maybe") for a in slot)


def _manner(keyword: str, flags: str, shell: Shell) -> BindingManner:
    exported: Exported = "no"
    if (keyword == "export" and "n" not in flags) or ("x" in flags and "+x" not in flags):
        exported = "yes"
    local = keyword == "local" or (keyword in ("declare", "typeset") and shell.in_function and "g" not in flags)
    return BindingManner("export" if exported == "yes" else "declare", exported, local)


def _declared(walker: Walker, item: Operation, keyword: str, flags: str, shell: Shell, seen: Shell) -> None:
    manner = _manner(keyword, flags, shell)
    name = item[3]
    if manner.local:
        _own(shell, name)
    elif "g" in flags and (name in shell.frames or name in shell.above):
        shell.revealed |= {name}  # the one that is hidden by that of a function
        if name not in shell.frames:
            shell.blur(name)
        return
    _typed(keyword, flags, name, shell)
    if name in shell.fixed and manner.exported == "yes":
        export(walker, shell, name)
    elif (keyword == "export" and "n" in flags) or ("+x" in flags and keyword != "local"):
        assign(walker, item, shell, seen=seen)
        withdraw(shell, name)
    else:
        value = item[6]
        if value[0] != "array" and expand.has_braces(value):  # `export A={1,2}` is `export A=1 A=2`
            item = (*item[:6], expand.unknown_word(value))
        assign(walker, item, shell, manner, seen)
    _fixed(keyword, flags, name, shell)


def _typed(keyword: str, flags: str, name: str, shell: Shell) -> None:
    """`declare -i`, `-l`, `-u`, `-c`, `-n`: what is assigned is not what the name holds; `-a`, `-A`: an array."""
    if keyword in ("export", "readonly"):
        return
    if any(letter in flags for letter in "iluc"):
        shell.typed |= {name}
    if "n" in flags:
        shell.typed |= {name}
        shell.options |= {"declare -n"}
    if ("a" in flags or "A" in flags) and name not in shell.arrays:
        shell.arrays[name] = () if "a" in flags else None
        _no_scalar(shell, name)


def _fixed(keyword: str, flags: str, name: str, shell: Shell) -> None:
    if keyword == "readonly" or ("r" in flags and keyword != "export"):
        shell.fixed |= {name}


def _own(shell: Shell, name: str) -> None:
    """The function's own from here on, exported if what it hides is: what was there comes back at its end."""
    if name not in shell.frames:
        hidden = shell.frames[name] = shell.visible.pop(name, None)
        exported = {a.exported for a in hidden or ()} - {"no"}
        if hidden is not None and exported:
            sure = all(a.exported == "yes" for a in hidden)
            shell.visible[name] = (UNSET._replace(exported="yes" if sure else "maybe"),)


def declare_text(walker: Walker, field: Text, keyword: str, flags: str, shell: Shell) -> bool:
    """One word of a declaration after expansion: `A`, `A=1`; False: nobody knows what it exports."""
    manner = _manner(keyword, flags, shell)
    parts = field.assignment() if not (field.several and field.known) else None
    if parts is not None:
        name, sign, value = parts
        if manner.local:
            _own(shell, name.text)
        whole = value if sign == "=" else _appended(walker, name.text, value, shell)
        bind(walker, shell, name.text, whole, name.written(), manner)
    elif field.text.isidentifier() and field.known:
        _named(walker, field, keyword, flags, manner, shell)
    else:
        if manner.local and not field.known:
            shell.frames["*"] = None
            shell.forget()
        return (field.known and not field.several) or manner.exported != "yes"
    return True


def _named(walker: Walker, field: Text, keyword: str, flags: str, manner: BindingManner, shell: Shell) -> None:
    name = field.text
    if manner.local:
        _own(shell, name)
    _typed(keyword, flags, name, shell)
    _fixed(keyword, flags, name, shell)
    if keyword == "export" and "n" in flags:
        withdraw(shell, name)
    elif manner.exported == "yes":
        export(walker, shell, name)
    elif "+x" in flags and keyword != "local":
        withdraw(shell, name)


def restore(shell: Shell, frames: dict[str, Slot | None], place: Place, function: str) -> None:
    """The end of a function: its own names are gone, and what they hid is there again."""
    shell.fixed -= shell.frames.keys()
    if "*" in shell.frames:
        shell.forget()
    for name, before in shell.frames.items():
        gone = shell.visible.pop(name, ())
        if name in shell.revealed:
            shell.revealed -= {name}
            shell.blur(name)
            continue
        exported = [a for a in gone if a.exported == "yes"]
        loss = Loss("function", place, f"the function {function}, to which it is local")
        if before is not None:
            shell.visible[name] = before
        elif exported:
            shell.lose(name, exported, loss)
    shell.frames = frames
