"""What a shell does itself: its builtins, each as a function of its words."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from envdoctor.analysis.process.interpreter import assign, expand, processes, variables
from envdoctor.analysis.process.interpreter.shell.written import formatted
from envdoctor.analysis.process.interpreter.state import Function, Shell
from envdoctor.analysis.process.interpreter.text import Text, joined
from envdoctor.analysis.process.interpreter.walker import Walker
from envdoctor.core.facts import Place
from envdoctor.core.regexes import regex

_ELEMENT = regex(r"([A-Za-z_]\w*)\[.*\]", re.DOTALL)


def unset_words(shell: Shell, fields: Sequence[Text], flags: str) -> None:
    """`unset` with its words."""
    for field in fields:
        element = _ELEMENT.fullmatch(field.text) if field.known else None
        if not field.sure and "f" not in flags:
            shell.may_lack(list(shell.visible))
        elif element is not None:
            _unset_element(shell, element[1])
        elif "f" in flags or (not _has_value(shell, field.text) and "v" not in flags):
            shell.functions.pop(field.text, None)
            if "f" not in flags and field.text.isidentifier():
                assign.unset(shell, field.text)
        elif field.text.isidentifier():
            assign.unset(shell, field.text)


def _has_value(shell: Shell, name: str) -> bool:
    return name not in shell.functions or any(a.kind != "unset" for a in shell.visible.get(name, ()))


def _unset_element(shell: Shell, name: str) -> None:
    if name in shell.arrays:
        shell.arrays[name] = None
    elif name in shell.visible:
        shell.blur(name)


def _nothing(walker: Walker, fields: Sequence[Text], place: Place, shell: Shell) -> Shell | None:
    return shell


def _export(walker: Walker, fields: Sequence[Text], place: Place, shell: Shell) -> Shell | None:
    """A declaration whose word came out of a variable."""
    keyword = fields[0].text
    flags = "".join(f.text[1:] for f in fields[1:] if re.fullmatch(r"-[A-Za-z]+", f.text))
    for field in fields[1:]:
        if not field.text.startswith("-") and not assign.declare_text(walker, field, keyword, flags, shell):
            variables.exports(walker, field, shell)
    return shell


def _unset(walker: Walker, fields: Sequence[Text], place: Place, shell: Shell) -> Shell | None:
    flags = "".join(f.text[1:] for f in fields[1:] if re.fullmatch(r"-[A-Za-z]+", f.text))
    unset_words(shell, [f for f in fields[1:] if not f.text.startswith("-")], flags)
    return shell


def _source(walker: Walker, fields: Sequence[Text], place: Place, shell: Shell) -> Shell | None:
    if len(fields) < 2:
        return shell
    return processes.source(walker, fields[1], fields[2:], place, shell)


def _eval(walker: Walker, fields: Sequence[Text], place: Place, shell: Shell) -> Shell | None:
    """`eval` runs its words in this very shell."""
    whole = joined(fields[1:], place)
    if not whole.pieces:
        return shell
    if whole.starts_unknown:
        variables.opened(shell)
        return shell
    return walker.run_text(whole, shell)


def _exec(walker: Walker, fields: Sequence[Text], place: Place, shell: Shell) -> Shell | None:
    """`exec PROGRAM` takes the place of the shell; without a program it only redirects."""
    words = [*fields[1:]]
    while words and words[0].text in ("-a", "-l", "-c"):
        words = words[2 if words[0].text == "-a" else 1 :]
    if not words:
        return shell
    if words[0].text.startswith("{"):  # `exec {FD}>file`
        shell.blur(words[0].text.strip("{}"))
        return shell
    if walker.may_start(words):
        walker.start(walker, shell, words, place, None, True, 0)
    return walker.exits(shell)


def _set(walker: Walker, fields: Sequence[Text], place: Place, shell: Shell) -> Shell | None:
    """`set -a`, `set -o allexport`, `set -- words`."""
    texts = [field.text for field in fields[1:]]
    for number, text in enumerate(texts):
        if text == "--":
            shell.arguments = tuple(fields[number + 2 :])
            return shell
        named = text in ("-o", "+o") and texts[number + 1 : number + 2] == ["allexport"]
        if named or re.fullmatch(r"[-+][b-zA-Z]*a[a-zA-Z]*", text):
            shell.allexport = "yes" if text.startswith("-") else "no"
        if not fields[number + 1].known and not number:
            shell.allexport = "maybe"
        if not text.startswith(("-", "+")) and not (number and texts[number - 1] in ("-o", "+o")):
            shell.arguments = tuple(fields[number + 1 :])
            return shell
    return shell


def _shift(walker: Walker, fields: Sequence[Text], place: Place, shell: Shell) -> Shell | None:
    count = int(fields[1].text[:4]) if len(fields) > 1 and fields[1].text.isdecimal() else 1
    known = shell.arguments is not None and (len(fields) < 2 or (fields[1].sure and not fields[1].several))
    if not known or expand.is_open((shell.arguments or ())[:count]):
        shell.arguments = None
    elif shell.arguments is not None and count <= len(shell.arguments):
        shell.arguments = shell.arguments[count:]
    return shell


def _return(walker: Walker, fields: Sequence[Text], place: Place, shell: Shell) -> Shell | None:
    return walker.returns(shell)


def _exit(walker: Walker, fields: Sequence[Text], place: Place, shell: Shell) -> Shell | None:
    return walker.exits(shell)


def _break(walker: Walker, fields: Sequence[Text], place: Place, shell: Shell) -> Shell | None:
    """`break`, `continue`, and the number of loops that they leave."""
    count = int(fields[1].text) if len(fields) > 1 and fields[1].text.isdecimal() else 1
    return walker.leaves("loop" if fields[0].text == "break" else "round", shell, count)


def _read(walker: Walker, fields: Sequence[Text], place: Place, shell: Shell) -> Shell | None:
    """`read A B`, `mapfile -t A`: nobody knows what they hold, but for a here-document that is read whole."""
    names = [f.text for f in fields[1:] if f.text.isidentifier()]
    whole = (
        shell.stdin if len(names) == 1 and any(f.text in ("-d", "-d''") or f.text == "" for f in fields[1:]) else None
    )
    if fields[0].text != "read" or any(re.fullmatch(r"-\w*a", f.text) for f in fields[1:]):
        for name in names:
            shell.arrays[name] = None
            shell.visible.pop(name, None)
            shell.blur(name)
        return shell
    for name in names:
        if whole is not None:
            text = _stripped(Text(whole.pieces, place, quoted=True), shell)
            assign.bind(walker, shell, name, text, place, assign.BARE)
        elif walker.is_known(name):
            assign.bind(walker, shell, name, None, place, assign.BARE)
        else:
            shell.visible.pop(name, None)
            shell.arrays.pop(name, None)
            shell.writes[name] = shell.writes.get(name, 0) + 1
    return shell


def _stripped(text: Text, shell: Shell) -> Text | None:
    """What `read` makes of its whole input: without the blanks around it, where IFS holds blanks."""
    if not expand.splits_plainly(shell):
        return text if all(not a.text and a.kind == "literal" for a in shell.visible["IFS"]) else None
    whole = text.text
    start = len(whole) - len(whole.lstrip(" \t\n"))
    return text.part(start, max(len(whole.rstrip(" \t\n")), start))


def _printf(walker: Walker, fields: Sequence[Text], place: Place, shell: Shell) -> Shell | None:
    """`printf -v NAME format words`; else it prints."""
    if len(fields) > 2 and fields[1].text.startswith("-v") and len(fields[1].text) > 2:
        rest = fields[1].part(2)
        fields = [fields[0], fields[1].part(0, 2), rest, *fields[2:]]
    if len(fields) > 3 and fields[1].text == "-v":
        name = fields[2].text
        if fields[2].sure and name.isidentifier():
            assign.bind(walker, shell, name, formatted(fields[3:], place), place, assign.BARE)
        else:
            shell.forget()
    return shell


def _let(walker: Walker, fields: Sequence[Text], place: Place, shell: Shell) -> Shell | None:
    for field in fields[1:]:
        assign.computed(walker, field.text, place.line, place.column, shell)
    return shell


def _trap(walker: Walker, fields: Sequence[Text], place: Place, shell: Shell) -> Shell | None:
    """`trap TEXT SIGNAL`: nobody knows when the text runs, nor with what; at the exit of a shell nothing follows."""
    if len(fields) < 3 or fields[1].text in ("-", "", "-p", "-l", "--"):
        return shell
    inner = shell.copy()
    inner.forget()
    with walker.exiting():
        walker.run_text(fields[1], inner)
    if any(field.text not in ("EXIT", "0") for field in fields[2:]):
        names = [name for name, slot in inner.visible.items() if slot[0][:3] != ("unknown", f"${name}", "maybe")]
        for name in names:
            shell.blur(name)
        shell.typed |= set(names)
    return shell


def _getopts(walker: Walker, fields: Sequence[Text], place: Place, shell: Shell) -> Shell | None:
    """`getopts abc NAME` and its own variables."""
    for name in (*(f.text for f in fields[2:3]), "OPTARG", "OPTIND"):
        if name.isidentifier():
            assign.bind(walker, shell, name, None, place, assign.BARE)
    return shell


def _wait(walker: Walker, fields: Sequence[Text], place: Place, shell: Shell) -> Shell | None:
    """`wait -p NAME`."""
    if len(fields) > 2 and fields[1].text == "-p":
        shell.blur(fields[2].text)
    return shell


def _shopt(walker: Walker, fields: Sequence[Text], place: Place, shell: Shell) -> Shell | None:
    """Options that change what commands mean."""
    shell.options |= {field.text for field in fields[1:] if not field.text.startswith("-")}
    if "allexport" in shell.options:
        shell.allexport = "maybe"
    return shell


def _alias(walker: Walker, fields: Sequence[Text], place: Place, shell: Shell) -> Shell | None:
    """From here on a word may mean another one."""
    if "expand_aliases" in shell.options:
        shell.functions |= {f.text.partition("=")[0]: Function((("gap", 1, 1, "alias", "cut"),), shell.path, 0)
                            for f in fields[1:] if "=" in f.text}  # fmt: skip
    return shell


BUILTINS: dict[str, Callable[[Walker, Sequence[Text], Place, Shell], Shell | None]] = {
    "export": _export, "declare": _export, "typeset": _export, "local": _export, "readonly": _export,
    "unset": _unset, "source": _source, ".": _source, "eval": _eval, "exec": _exec, "set": _set, "shift": _shift,
    "return": _return, "exit": _exit, "break": _break, "continue": _break, "read": _read, "mapfile": _read,
    "readarray": _read, "printf": _printf, "let": _let, "trap": _trap, ":": _nothing, "true": _nothing,
    "false": _nothing, "cd": _nothing, "shopt": _shopt, "wait": _wait, "alias": _alias, "getopts": _getopts,
    "umask": _nothing,
    "ulimit": _nothing, "pushd": _nothing, "popd": _nothing, "type": _nothing, "hash": _nothing,
}  # fmt: skip
