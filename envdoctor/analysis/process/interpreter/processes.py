"""Processes: what a shell hands to a program it starts, what a launcher makes of it, and what is lost on the way."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from envdoctor.analysis.process import edges
from envdoctor.analysis.process.interpreter import assign
from envdoctor.analysis.process.interpreter.records import Mistaken, Unfollowed
from envdoctor.analysis.process.interpreter.slots import UNSET, Alternative, Exported, Known, Loss, Slot
from envdoctor.analysis.process.interpreter.state import Process, Shell, Starter
from envdoctor.analysis.process.interpreter.text import Piece, Text, joined
from envdoctor.core.facts import Place
from envdoctor.core.operations import Body
from envdoctor.knowledge.launch.find import Invocation, find
from envdoctor.knowledge.launch.words import CommandSegment

if TYPE_CHECKING:
    from envdoctor.analysis.process.interpreter.walker import Walker

SHELLS = ("bash", "sh", "zsh", "ksh", "dash", "ash")
MOST_LAYERS = 24
"""Programs that start one another on one command line."""
_SCRIPT = re.compile(r".*\.(?:sh|bash|sbatch|slurm|sub|zsh|ksh)\Z", re.DOTALL)
_BLANK = re.compile(r"\s")
_SHELL_FLAG = re.compile(r"-[a-zA-Z]*c[a-zA-Z]*")
_PREPARES = re.compile(
    r"(?:^|[_/.-])(?:convert|prepare|preprocess|download|setup|install|build|tokenize|make_data|export_|merge|plot|"
    r"check_env|collect_env|upload|split_data|process_data|create_)", re.IGNORECASE,
)  # fmt: skip
"""Programs that make ready what a training needs, and start no ranks."""
MODULES_WITHOUT_RANKS = frozenset((
    "pip", "venv", "json.tool", "http.server", "build", "pytest", "ensurepip", "compileall", "zipfile", "virtualenv",
    "pre_commit", "ruff", "mypy", "black", "isort", "site", "sysconfig", "nltk.downloader", "spacy", "twine", "wheel",
))  # fmt: skip


def inside(
    walker: Walker, body: Body, shell: Shell, kind: str, place: Place, told_in: Text | None = None
) -> Shell | None:
    """Run a body in a shell of its own: a subshell or a part of a pipe."""
    inner = shell.copy()
    inner.frames, inner.stdin, inner.nested = {}, told_in, inner.nested + 1
    count = walker.count
    with walker.exiting() as exits:
        after = walker.run(body, inner)
    last = walker.meet_all([after, *exits], inner.guard)
    if walker.count == count:
        ended_without_start(shell, last, kind, place)
    if last is not None:
        shell.files = last.files
    return shell


def ended_without_start(shell: Shell, after: Shell | None, kind: str, place: Place) -> None:
    """What a shell of its own had exported and nobody got."""
    what = {"subshell": "a subshell", "pipe": "a part of a pipe, which is a shell of its own"}.get(kind, kind)
    _lost_at_end(shell, after, Loss(kind, place, what))


def _lost_at_end(shell: Shell, after: Shell | None, loss: Loss) -> None:
    if after is None:
        return
    for name, slot in after.visible.items():
        before = shell.visible.get(name)
        if slot is before:
            continue
        old = {origin for a in before or () for origin in a.origins}
        new = [a for a in slot if a.exported != "no" and a.origins and not old.intersection(a.origins)]
        if new and not _there(before):
            shell.lose(name, new, loss)


def _there(slot: Slot | None) -> bool:
    """Whether a name has a value that children see."""
    return slot is not None and any(a.kind != "unset" and a.exported != "no" for a in slot)


def forked(walker: Walker, shell: Shell, what: str, place: Place, kind: str = "process") -> Shell:
    """A process that starts from what the shell exports; what it does not export is lost here."""
    process = shell.process
    child = Shell(Process(kind, place, process.layer + 1, process.chain, process.callers), shell.path)
    child.script = shell.script
    child.guard = shell.guard
    child.writes = shell.writes.copy()
    child.lost = shell.lost.copy()
    child.open = shell.open
    child.copied = shell.copied
    child.files = shell.files.copy()
    child.remembered = shell.remembered.copy()
    loss = Loss("not-exported", place, what)
    for name in shell.visible:
        slot = shell.held(name) or ()
        if all(a.exported == "yes" for a in slot):
            child.visible[name] = slot
            continue
        kept = tuple(a if a.exported != "no" else UNSET._replace(guard=a.guard) for a in slot)
        if any(a.kind != "unset" for a in kept):
            child.visible[name] = kept
        gone = [a for a in slot if a.exported == "no"]
        child.lose(name, gone, loss)
    return child


def start(
    walker: Walker, shell: Shell, words: Sequence[Text], place: Place, stdin: Text | None, caller: bool = False,
    layers: int = 0,
) -> Shell | None:  # fmt: skip
    """Start a program. `caller`: a shell forks it; else the shell is the process that the words are for by now.

    The shell of a script that ran beside the caller is given back, to say what it left behind.
    """
    if not words or layers > MOST_LAYERS:
        return None
    first = words[0]
    place = spanned(words, place) if layers else place
    program = first.text.rsplit("/", 1)[-1]
    child = forked(walker, shell, program, place) if caller else shell
    if _BLANK.search(first.text) and first.known and len(first.text) > 2:
        return _text(walker, child, first, place)
    if program in SHELLS:
        return _shell(walker, child, words, place, stdin)
    found = find(walker.launchers, words)
    if found is not None:
        return _launch(walker, child, found, place, stdin, layers)
    if _SCRIPT.match(first.text) or walker.find(first, child) is not None:
        return _script(walker, child, words, place)
    return _unknown(walker, child, words, place, stdin, layers)


def spanned(words: Sequence[Text], place: Place) -> Place:
    """From the first word to the last, where they stand in one file."""
    first, last = words[0].used, words[-1].used
    if first.path != last.path or (last.end_line, last.end_column) < (first.line, first.column):
        return place
    return Place(first.path, first.line, first.column, last.end_line, last.end_column)


def _unknown(
    walker: Walker, child: Shell, words: Sequence[Text], place: Place, stdin: Text | None, layers: int
) -> Shell | None:
    """A program that no file knows: under a rank launcher it is a rank, before a starter it is a wrapper."""
    for number in range(1, min(len(words), 12)):
        rest = words[number:]
        if walker.is_named_starter(rest[0].text.rsplit("/", 1)[-1]) and _is_wrapper(walker, words[:number], rest):
            child.process = child.process._replace(kind="wrapper")
            return start(walker, child, rest, place, stdin, layers=layers + 1)
    if words[0].variable() or words[0].starts_unknown:
        if walker.under_starter(child):
            walker.unfollowed(Unfollowed(place, walker.names(child), "command unknown", words[0].text))
        return None
    program = words[0].text.rsplit("/", 1)[-1]
    if walker.under_ranks(child) and program not in walker.tools:
        walker.rank(child, place, words[0].text, "", words[1:])
    elif walker.under_starter(child) and words[0].text.endswith((".py", ".sh")):
        walker.rank(child, place, words[0].text, "", words[1:])
    return None


def _is_wrapper(walker: Walker, before: Sequence[Text], rest: Sequence[Text]) -> bool:
    """Whether words before a starter read like a program and its options, and the rest like a command."""
    program = before[0].text.rsplit("/", 1)[-1]
    if program in walker.tools or program in walker.quiet or not before[0].text or len(rest) < 2:
        return False
    return find(walker.launchers, rest) is not None


def _text(walker: Walker, child: Shell, text: Text, place: Place) -> Shell | None:
    """A whole command in one word, which a shell reads."""
    with walker.exiting() as exits:
        after = walker.run_text(text, child)
    return walker.meet_all([after, *exits], child.guard)


def _shell(
    walker: Walker, child: Shell, words: Sequence[Text], place: Place, stdin: Text | None
) -> Shell | None:
    """`bash -c TEXT`, `bash FILE`, and a shell that reads its input."""
    at = 1
    while at < len(words) and words[at].text[:1] in ("-", "+") and len(words[at].text) > 1:
        text = words[at].text
        at += 1
        if text == "--login" or (not text.startswith("--") and "l" in text):
            walker.may_have_more(child)
        if _SHELL_FLAG.fullmatch(text):
            if at < len(words):
                child.arguments = tuple(words[at + 2 :])
                return _text(walker, child, words[at], place)
            return None
        if text in ("-o", "+o", "-O", "--rcfile", "--init-file"):
            at += 1
        if text == "-s":
            break
    if at < len(words) and words[at - 1].text != "-s" and not words[at].text.startswith("<"):
        return _script(walker, child, words[at:], place)
    return _text(walker, child, stdin, place) if stdin is not None else None


def _script(walker: Walker, child: Shell, words: Sequence[Text], place: Place) -> Shell | None:
    """A script that runs in a shell of its own."""
    written = _written(child, words[0])
    if written is not None:
        child.arguments = tuple(words[1:])
        child.functions, child.arrays, child.maps = {}, {}, {}
        return _text(walker, child, written, place)
    path = walker.find(words[0], child)
    if path is None:
        _absent(walker, child, words, place)
        return None
    if path.endswith(".py"):
        walker.program(child, place, words[0].text, path, words[1:])
        return None
    return walker.enter(path, child, tuple(words[1:]), place)


def _written(shell: Shell, word: Text) -> Text | None:
    """The text of a script that was written on the way, by its path or by its name alone."""
    kept = shell.files.get(word.text)
    if kept is None:
        base = word.text.rsplit("/", 1)[-1]
        fitting = [lines for name, lines in shell.files.items() if name.rsplit("/", 1)[-1] == base and base]
        kept = fitting[0] if len(fitting) == 1 else None
    if not kept:
        return None
    return Text([piece for text in kept for piece in text.pieces], kept[0].used, quoted=True)


def _absent(walker: Walker, child: Shell, words: Sequence[Text], place: Place) -> None:
    """A script that is not in the tree: it may start ranks, and nobody knows with what."""
    if walker.under_starter(child):
        walker.unfollowed(Unfollowed(place, walker.names(child), "script not in the tree", words[0].text))
    walker.rank(child, place, words[0].text, "", words[1:], opaque=True)


# Launchers


def _launch(
    walker: Walker, child: Shell, found: Invocation[Text], place: Place, stdin: Text | None, layers: int
) -> Shell | None:
    """A command of a launcher file: what it hands on, then what it runs, for each of its segments."""
    inside_words = [word for segment in found.segments for word in segment.inner]
    if not inside_words and walker.asks_only(found):
        return None
    if found.name == "python":
        return _python(walker, child, found, place)
    if found.row.header:
        found = walker.submitted(found, child)
    last: Shell | None = None
    starter = _starter(walker, found, inside_words, place)
    for part, segment in enumerate(found.segments):
        inner = child if len(found.segments) == 1 else child.copy()
        inner.functions, inner.arrays, inner.maps = {}, {}, {}
        cross(walker, inner, found, part, starter, place)
        last = _inner(walker, inner, found, segment, place, stdin, layers)
    return last if found.row.wrapper and len(found.segments) == 1 else None


def _starter(walker: Walker, found: Invocation[Text], inner: Sequence[Text], place: Place) -> Starter | None:
    """The link of the chain; programs that only pass a command on are none."""
    if not found.row.launch and not _empties(found):
        return None
    words = tuple(word.text for word in found.words)
    return Starter(found.name, place, words, tuple(word.text for word in inner), found.row.ranks)


def _empties(found: Invocation[Text]) -> bool:
    return any(word.text in ("-i", "-", "--ignore-environment") for word in found.words[1:2])


def cross(
    walker: Walker, child: Shell, found: Invocation[Text], part: int, starter: Starter | None, place: Place
) -> None:
    """Change a process by what the launcher does with its environment."""
    if starter is not None:
        child.process = child.process._replace(chain=(*child.process.chain, starter))
    if found.row.wrapper:
        return
    crossing = edges.cross(found, walker.surroundings(child), part)
    child.process = child.process._replace(kind=crossing.kind or child.process.kind)
    for flag in crossing.mistaken:
        walker.mistook(Mistaken(found.name, flag.how, flag.flag, flag.name, flag.word.text, flag.says, place,
                                flag.word.place(), crossing.evidence))  # fmt: skip
    apply(walker, child, crossing, found.name, place)


def apply(walker: Walker, child: Shell, crossing: edges.Crossing[Text], name: str, place: Place) -> None:
    """Take over what a crossing says, in the order that `edges` gives."""
    inherited = dict(child.visible)
    if crossing.unknown:
        walker.may_lack(child)
    elif crossing.start != "caller":
        _drop_all(child, crossing, name, place)
    for pattern in crossing.drops:
        _drop(child, pattern, crossing, name, place)
    for prefix in crossing.renames:
        _rename(child, prefix, inherited)
    for file in crossing.reads:
        walker.read_file(child, file, place)
    for given in crossing.gives:
        give(walker, child, given, inherited, name, place)
    for value in crossing.sets:
        _set(child, value)
    for reset in crossing.resets:
        child.bind(reset, (Alternative("unknown", "", "yes"),))
    child.remembered.update(crossing.remembers)


def _loss(crossing: edges.Crossing[Text], name: str, place: Place) -> Loss:
    said = f"{name} {crossing.says}" if crossing.says else name
    return Loss("not-forwarded", place, name, said, crossing.remedy, crossing.sure, tuple(crossing.evidence[:3]))


def _drop_all(child: Shell, crossing: edges.Crossing[Text], name: str, place: Place) -> None:
    """All that the started process does not get."""
    loss = _loss(crossing, name, place)
    for held in list(child.visible):
        if not _kept(held, crossing.keeps):
            child.lose(held, child.held(held) or (), loss)
            del child.visible[held]


def _kept(name: str, keeps: Sequence[str]) -> bool:
    return any(name == kept or (kept.endswith("*") and name.startswith(kept[:-1])) for kept in keeps)


def _drop(child: Shell, pattern: str, crossing: edges.Crossing[Text], name: str, place: Place) -> None:
    for held in [held for held in child.visible if _kept(held, (pattern,))]:
        child.lose(held, child.held(held) or (), _loss(crossing, name, place))
        del child.visible[held]


def _rename(child: Shell, prefix: str, inherited: dict[str, Slot]) -> None:
    """`APPTAINERENV_A` arrives as A."""
    for held, slot in inherited.items():
        if held.startswith(prefix) and len(held) > len(prefix):
            child.bind(held[len(prefix) :], slot)
            child.lost.pop(held[len(prefix) :], None)


def _set(child: Shell, value: edges.LauncherValue) -> None:
    held = child.held(value.name)
    if value.wins == "under" and held is not None and _there(held):
        return
    kind: Known = "literal" if value.value is not None else "unknown"
    child.bind(value.name, (Alternative(kind, value.value or "", "yes"),))


def give(
    walker: Walker, child: Shell, given: edges.Given[Text], inherited: dict[str, Slot], launcher: str, place: Place
) -> None:
    """A flag that sets, hands on or takes away one name."""
    name = given.name.text
    if given.op == "unset":
        assign.unset(child, name)
    elif given.op == "pass":
        _hand_on(child, name, inherited, given)
    elif given.value is not None:
        _bind_flag(walker, child, given, inherited, launcher, place)


def _hand_on(child: Shell, name: str, inherited: dict[str, Slot], given: edges.Given[Text]) -> None:
    names = [n for n in inherited if n.startswith(name[:-1])] if name.endswith("*") else [name]
    for one in names:
        slot = inherited.get(one)
        if slot is not None:
            maybe = tuple(a._replace(exported="maybe") if a.exported == "yes" else a for a in slot)
            child.visible[one] = maybe if given.maybe or given.stars == "maybe" else slot
            child.lost.pop(one, None)
        elif one not in child.visible and one not in child.lost:
            child.visible[one] = (Alternative("unknown", f"${one}", "maybe"),)


def _bind_flag(
    walker: Walker, child: Shell, given: edges.Given[Text], inherited: dict[str, Slot], launcher: str, place: Place
) -> None:
    name, value = given.name.text, given.value
    start = given.name.origin()
    where = Place(start.path, start.line, start.column, start.line, start.column + len(name))
    before = inherited.get(name)
    if value is None:
        return
    if given.wins == "under" and before is not None and _there(before):
        walker.loses_to(name, where, value, before, launcher, child)
        return
    exported: Exported = "maybe" if given.maybe else "yes"
    child.visible.pop(name, None)
    child.lost.pop(name, None)
    assign.bind(walker, child, name, value, where, assign.Manner("flag", exported))


def _inner(
    walker: Walker, child: Shell, found: Invocation[Text], segment: CommandSegment[Text], place: Place,
    stdin: Text | None, layers: int,
) -> Shell | None:  # fmt: skip
    """What a launcher runs, by the form it is given in."""
    row = found.row
    for argument in segment.arguments:
        if argument.form == "script":
            _text(walker, child, argument.words[0], place)
    inner = list(segment.inner)
    if segment.entrypoint is not None:
        inner = [segment.entrypoint, *inner]
    if not inner:
        _nothing_named(walker, child, found, segment, place, stdin)
        return None
    if row.inner in ("words", "dashes"):
        return start(walker, child, inner, place, stdin, layers=layers + 1)
    if row.inner == "script":
        return _script(walker, child, inner, place)
    if row.inner == "python":
        return _entry(walker, child, inner, place, stdin, layers)
    if row.inner in ("shell", "keys"):
        whole = inner[0] if len(inner) == 1 else joined(inner, place)
        if stdin is not None and row.inner == "shell" and _reads_input(inner):
            whole = stdin
        return _text(walker, child, whole, place)
    return None


def _reads_input(inner: Sequence[Text]) -> bool:
    """`ssh host bash -s <<EOF`: the input is the script."""
    texts = " ".join(word.text for word in inner)
    return re.fullmatch(r"(?:sudo\s+)?(?:/bin/)?(?:bash|sh)(?:\s+-[ls]+)*(?:\s+--)?", texts) is not None


def _nothing_named(
    walker: Walker, child: Shell, found: Invocation[Text], segment: CommandSegment[Text], place: Place,
    stdin: Text | None,
) -> None:  # fmt: skip
    """No command: a shell's input, what the image runs, or words that nobody knows."""
    row = found.row
    if stdin is not None and row.stdin == "shell":
        _text(walker, child, stdin, place)
    elif stdin is not None and row.stdin == "script":
        _text(walker, child, stdin, place)
    elif row.container and row.inner != "none" and segment.operands:
        walker.image(child, segment.operands[0], place, found.name)
    elif row.ranks and segment.flags.opaque:
        walker.unfollowed(Unfollowed(place, walker.names(child), "command unknown", segment.flags.opaque[-1].text))


def _entry(
    walker: Walker, child: Shell, inner: Sequence[Text], place: Place, stdin: Text | None, layers: int
) -> Shell | None:
    """The entry of a launcher of Python programs: a file, `-m module`, or a command behind `--no-python`."""
    first = inner[0].text
    if first in ("--no_python", "--no-python") and len(inner) > 1:
        return start(walker, child, inner[1:], place, stdin, layers=layers + 1)
    if first in ("-m", "--module") and len(inner) > 1:
        walker.program(child, place, f"-m {inner[1].text}", walker.module(inner[1], child), inner[2:])
        return None
    if first.startswith("-"):
        return None
    walker.program(child, place, first, walker.find(inner[0], child) or "", inner[1:])
    return None


def _python(walker: Walker, child: Shell, found: Invocation[Text], place: Place) -> Shell | None:
    """`python FILE`, `python -m MODULE`; `-c` is a rank only if it makes a process group."""
    segment = found.segments[0]
    starter = Starter("python", place, tuple(w.text for w in found.words), tuple(w.text for w in segment.inner), True)
    code = segment.flags.words.get("-c")
    if code:
        if "init_process_group" in code[0].text or "torch.distributed" in code[0].text:
            _under(child, starter)
            walker.rank(child, place, "-c", "", ())
        return None
    inner = segment.inner
    if not inner:
        return None
    _under(child, starter)
    if inner[0].text == "-m" and len(inner) > 1:
        module = inner[1].text
        if module not in MODULES_WITHOUT_RANKS and not _PREPARES.search(module):
            walker.program(child, place, f"-m {module}", walker.module(inner[1], child), inner[2:])
        return None
    if not inner[0].text.startswith("-") and not _PREPARES.search(inner[0].text.rsplit("/", 1)[-1]):
        walker.program(child, place, inner[0].text, walker.find(inner[0], child) or "", inner[1:])
    return None


def _under(child: Shell, starter: Starter) -> None:
    child.process = child.process._replace(chain=(*child.process.chain, starter))


def source(
    walker: Walker, word: Text, arguments: Sequence[Text], place: Place, shell: Shell
) -> Shell | None:
    """`source FILE`: its commands run in this very shell."""
    written = _written(shell, word)
    if written is not None:
        return walker.run_text(written, shell)
    path = walker.find(word, shell)
    if path is None:
        walker.missing(shell.path, word, place)
        if not walker.is_harmless_source(word.text):
            walker.opened(word, shell)
        return shell
    return walker.source(path, tuple(arguments), place, shell)


def came_back(walker: Walker, shell: Shell, child: Shell, before: Shell) -> None:
    """A script or shell that ran beside the caller has ended; what it wrote is there, what it exported is not."""
    shell.files = {**shell.files, **child.files}
    if child.process.kind == "process" and not walker.started_since(child):
        where = child.process.place
        _lost_at_end(shell, child, Loss("script", where, "a script that is run, not sourced"))
    del before


def flat(pieces: Sequence[Piece]) -> str:
    """Pieces as text."""
    return "".join(piece.text for piece in pieces)
