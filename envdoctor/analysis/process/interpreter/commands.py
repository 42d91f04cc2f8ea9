"""Simple commands: what a shell does itself, functions, and programs that are started."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from envdoctor.analysis.process.interpreter import assign, expand, processes, variables
from envdoctor.analysis.process.interpreter.slots import UNSET, Alternative, Guard, Slot
from envdoctor.analysis.process.interpreter.state import Function, Shell
from envdoctor.analysis.process.interpreter.text import Piece, Text, joined
from envdoctor.analysis.process.interpreter.walker import HARMLESS, SHELLS, Walker
from envdoctor.core.facts import Place
from envdoctor.core.operations import Body, Operation, Part, Redirect, Word, literal

MOST_VARIANTS = 4
"""Combinations of what variables may hold that one command is run with."""
DEEPEST_CALL = 16
"""Functions that call one another."""
_PRINTING = ("echo", "printf", "cat", "tee")


def call(walker: Walker, operation: Operation, shell: Shell) -> Shell | None:
    """One simple command, once for each combination of what its variables may hold where that matters."""
    _, _, _, end_line, end_column, assigns, words, redirects = operation
    if not words:
        for one in assigns:
            assign.assign(walker, one, shell)
        return shell
    place = walker.placed(Place(shell.path, words[0][0], words[0][1], end_line, end_column))
    assign.defaulted(walker, words, shell)
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
    while len(fields) > 1 and fields[0].text in ("builtin", "command") and not fields[1].text.startswith("-"):
        fields = fields[1:]
    program = fields[0].text
    stdin = input_of(walker, redirects, shell) or shell.stdin
    function = shell.functions.get(program) if first == program else None
    _changed(program, fields, redirects, shell)
    if function is not None:
        return _with_prefix(walker, assigns, shell, lambda inner: call_function(walker, function, fields, place, inner))
    if program in _PRINTING:
        _written(walker, fields, redirects, stdin, shell)
    elif target := output_of(walker, redirects, shell):
        write(shell, target, None, appends=False)
    builtin = BUILTINS.get(program)
    if builtin is not None:
        run, before, shell.stdin = builtin, shell.stdin, stdin
        named = {field.text.partition("=")[0] for field in fields[1:]} if program == "export" else set()
        own = [one for one in assigns if one[3] not in named]
        for one in assigns:
            if one not in own:  # `A=1 export A`: the prefix stays
                assign.assign(walker, one, shell, assign.PREFIX)
        after = _with_prefix(walker, own, shell, lambda inner: run(walker, fields, place, inner))
        if after is not None:
            after.stdin = before
        return after
    if program not in HARMLESS:
        shell.commands += 1
    if walker.may_start(fields):
        _start(walker, assigns, fields, stdin, place, shell)
    return shell


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


# What a shell does itself


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
    assign.unset_words(shell, [f for f in fields[1:] if not f.text.startswith("-")], flags)
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


_PRINTED_AS_IT_IS = {"%d": r"-?(?:0|[1-9][0-9]*)", "%q": r"[\w./:=@%+-]+"}


def formatted(fields: Sequence[Text], place: Place) -> Text | None:
    """What printf makes of a format and words, where that is plain; None: nobody knows."""
    pattern, words = fields[0], list(fields[1:])
    if not pattern.known or re.search(r"\\(?![nt])", pattern.text):
        return None
    pieces: list[Piece] = []
    at = 0
    text = pattern.text.replace("\\n", "\n").replace("\\t", "\t")
    first = pattern.origin()
    for match in re.finditer(r"%[sqd]|%%|%", text):
        pieces.append(Piece(text[at : match.start()], True, first.path, first.line, first.column))
        at = match.end()
        if match[0] == "%%":
            pieces.append(Piece("%", True, first.path, first.line, first.column))
        elif (
            match[0] == "%"
            or not words
            or (match[0] != "%s" and not re.fullmatch(_PRINTED_AS_IT_IS[match[0]], words[0].text))
        ):
            return None
        else:
            pieces += words.pop(0).pieces
    pieces.append(Piece(text[at:], True, first.path, first.line, first.column))
    return None if words else Text([p for p in pieces if p.text or p.likely], place, quoted=True)


# Input, output and files that a script writes


def input_of(walker: Walker, redirects: Sequence[Redirect], shell: Shell) -> Text | None:
    """The text of a here-document or here-string, or of a file that this script wrote."""
    for _, operator, word in redirects:
        if operator in ("<<", "<<<", "<<-"):
            return expand.text_of(walker, word, shell)
        if operator == "<":
            target = expand.text_of(walker, word, shell)
            kept = shell.files.get(target.text)
            return _lines(kept) if kept else file_text(walker, target, shell)
    return None


def file_text(walker: Walker, word: Text, shell: Shell) -> Text | None:
    """What a file of the tree holds that nothing has changed on the way."""
    path = walker.find(word, shell) if word.known and not processes.is_changed(shell, word.text) else None
    if path is None:
        return None
    lines = re.findall(r"[^\n]*\n|[^\n]+", walker.project.files.text(path))
    pieces = [Piece(line, True, path, number, 1) for number, line in enumerate(lines, start=1)]
    return Text(pieces, word.used, quoted=True)


def _lines(kept: Sequence[Text]) -> Text:
    pieces = [piece for text in kept for piece in text.pieces]
    return Text(pieces, kept[0].used, quoted=True)


def output_of(walker: Walker, redirects: Sequence[Redirect], shell: Shell) -> str:
    """The file that standard output goes to; empty: none."""
    for descriptor, operator, word in redirects:
        if descriptor in ("", "1") and operator in (">", ">>", "&>", "&>>", ">|"):
            return expand.text_of(walker, word, shell).text
    return ""


def _changed(program: str, fields: Sequence[Text], redirects: Sequence[Redirect], shell: Shell) -> None:
    """Files that a command moves, removes or edits hold from here on what nobody knows."""
    edits = program == "sed" and any(field.text.startswith(("-i", "--in-place")) for field in fields)
    if edits or program in ("rm", "mv", "cp", "ln", "truncate", "install", "patch", "unlink"):
        for field in fields[1:]:
            if not field.text.startswith("-") and ("/" in field.text or "." in field.text):
                write(shell, field.text, None, appends=False)


def _written(
    walker: Walker, fields: Sequence[Text], redirects: Sequence[Redirect], stdin: Text | None, shell: Shell
) -> None:
    """`cat > file <<EOF`, `echo A=1 >> file`, `tee file`: what the file holds from here on."""
    target = output_of(walker, redirects, shell)
    if fields[0].text == "tee":
        files = [f.text for f in fields[1:] if not f.text.startswith("-")]
        target = files[0] if files else ""
    if not target or target.startswith("/dev/"):
        return
    appends = any(operator in (">>", "&>>") for _, operator, _ in redirects) or (
        fields[0].text == "tee" and any(f.text == "-a" for f in fields[1:])
    )
    told_text = _told_by(walker, fields, stdin, Place(shell.path, 1, 1, 1, 1), shell)
    if appends and target not in shell.files and walker.find_text(target, shell) is not None:
        told_text = None  # more than what is written here
    write(shell, target, [told_text] if told_text is not None else None, appends=appends)


def write(shell: Shell, target: str, lines: Sequence[Text] | None, appends: bool) -> None:
    """Remember what a file holds; None: nobody knows."""
    before = shell.files.get(target, ()) if appends else ()
    known = lines is not None and before is not None
    shell.files[target] = (*(before or ()), *(lines or ())) if known else None


def told(walker: Walker, body: Body, shell: Shell) -> Text | None:
    """What a body plainly prints: an echo, a printf, a here-document given to cat."""
    if len(body) != 1 or body[0][0] != "call" or not body[0][6]:
        return None
    words, redirects = body[0][6], body[0][7]
    if literal(words[0]) not in _PRINTING:
        return None
    fields = expand.fields_of(walker, words, shell)
    stdin = input_of(walker, redirects, shell)
    place = Place(shell.path, body[0][1], body[0][2], body[0][3], body[0][4])
    return _told_by(walker, fields, stdin, place, shell)


def _told_by(
    walker: Walker, fields: Sequence[Text], stdin: Text | None, place: Place, shell: Shell
) -> Text | None:  # fmt: skip
    program = fields[0].text if fields else ""
    if program in shell.functions or any(field.several and field.known for field in fields):
        return None
    if program == "cat" and len(fields) == 2 and fields[1].text != "-":
        return file_text(walker, fields[1], shell)
    if program in ("cat", "tee"):
        return stdin if program == "tee" or len(fields) == 1 or fields[1].text == "-" else None
    words = list(fields[1:])
    if program == "printf":
        return formatted(words, place) if words and words[0].text != "-v" else None
    flags = ""
    while words and re.fullmatch(r"-[neE]+", words[0].text):
        flags += words.pop(0).text
    line = joined(words, place)
    if "e" in flags and "\\" in line.text:
        return None
    if "n" in flags or not words:
        return (
            line if words or "n" in flags else Text((Piece("\n", True, place.path, place.line, place.column),), place)
        )
    last = line.pieces[-1] if line.pieces else piece_at_end(place)
    return Text((*line.pieces, Piece("\n", True, last.path, last.line, last.column + len(last.text))), place, True)


def piece_at_end(place: Place) -> Piece:
    """An empty piece where a command stands."""
    return Piece("", True, place.path, place.line, place.column)


BUILTINS: dict[str, Callable[[Walker, Sequence[Text], Place, Shell], Shell | None]] = {
    "export": _export, "declare": _export, "typeset": _export, "local": _export, "readonly": _export,
    "unset": _unset, "source": _source, ".": _source, "eval": _eval, "exec": _exec, "set": _set, "shift": _shift,
    "return": _return, "exit": _exit, "break": _break, "continue": _break, "read": _read, "mapfile": _read,
    "readarray": _read, "printf": _printf, "let": _let, "trap": _trap, ":": _nothing, "true": _nothing,
    "false": _nothing, "cd": _nothing, "shopt": _shopt, "wait": _wait, "alias": _alias, "getopts": _getopts, "umask": _nothing,
    "ulimit": _nothing, "pushd": _nothing, "popd": _nothing, "type": _nothing, "hash": _nothing,
}  # fmt: skip
