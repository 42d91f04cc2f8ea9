"""Programs that a shell starts: scripts, shells with text, and everything that carries a command."""

from __future__ import annotations

import re
from collections.abc import Sequence

from envdoctor.analysis.process.interpreter import crossing, launches, variables
from envdoctor.analysis.process.interpreter.beginning import ended, program
from envdoctor.analysis.process.interpreter.shell.written import is_changed
from envdoctor.analysis.process.interpreter.slots import Loss, is_there
from envdoctor.analysis.process.interpreter.state import Shell
from envdoctor.analysis.process.interpreter.text import Piece, Text
from envdoctor.analysis.process.interpreter.walker import HARMLESS, MOST_OF_SCRIPT, SHELLS, Walker
from envdoctor.core.facts import Place
from envdoctor.core.operations import Body
from envdoctor.knowledge.launch.find import find
from envdoctor.readers.kinds import kind_of

MOST_LAYERS = 24
"""Programs that start one another on one command line."""
_SCRIPT = re.compile(r".*\.(?:sh|bash|sbatch|slurm|sub|zsh|ksh)\Z", re.DOTALL)
_BLANK = re.compile(r"\s")
_SHELL_FLAG = re.compile(r"-[a-zA-Z]*c[a-zA-Z]*")


def inside(
    walker: Walker, body: Body, shell: Shell, kind: str, place: Place, told_in: Text | None = None
) -> Shell | None:
    """Run a body in a shell of its own: a subshell or a part of a pipe."""
    inner = shell.copy()
    inner.frames, inner.stdin, inner.nested = {}, told_in, inner.nested + 1
    count = walker.count
    with walker.exiting() as exits:
        after = walker.run(body, inner)
    last = walker.meet_all([after, *exits])
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
        if new and not is_there(before):
            shell.lose(name, new, loss)


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
    name = first.text.rsplit("/", 1)[-1]
    child = crossing.forked(shell, name, place) if caller else shell
    if _BLANK.search(first.text) and first.known and len(first.text) > 2:
        return launches.run_text(walker, child, first, place)
    if name in SHELLS:
        return _shell(walker, child, words, place, stdin)
    found = find(walker.launchers, _as_command(words))
    if found is not None:
        return launches.launch(walker, child, found, place, stdin, layers)
    if _SCRIPT.match(first.text) or walker.find(first, child) is not None:
        return _script(walker, child, words, place)
    return _unknown(walker, child, words, place, stdin, layers)


def _as_command(words: Sequence[Text]) -> Sequence[Text]:
    """`./train.py` is run by the interpreter that its first line names."""
    first = words[0]
    if not first.text.endswith(".py"):
        return words
    at = first.origin()
    return (Text((Piece("python", True, at.path, at.line, at.column),), first.used), *words)


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
        if walker.is_starter(rest[0].text.rsplit("/", 1)[-1]) and _is_wrapper(walker, words[:number], rest):
            child.process = child.process._replace(kind="wrapper")
            if words[0].starts_unknown and (layers or walker.in_text()):
                variables.may_have_more(child)  # sudo $SETTINGS torchrun, ssh host "$SETTINGS torchrun"
            return start(walker, child, rest, place, stdin, layers=layers + 1)
    if words[0].variable() or words[0].starts_unknown:
        if child.process.chain:
            walker.unfollowed(place, child, "command unknown", words[0].text)
            walker.rank(child, place, words[0].text, "", words[1:], opaque=True)
        return None
    if layers and child.process.chain:
        place = child.process.chain[-1].place
    name = words[0].text.rsplit("/", 1)[-1]
    runs = child.process.chain and words[0].text.endswith((".py", ".sh"))
    if runs or (walker.under_ranks(child) and not walker.launchers.is_tool(name)):
        walker.rank(child, place, words[0].text, "", words[1:])
    return None


def _is_wrapper(walker: Walker, before: Sequence[Text], rest: Sequence[Text]) -> bool:
    """Whether words before a starter read like a program and its options, and the rest like a command."""
    name = before[0].text.rsplit("/", 1)[-1]
    if walker.launchers.is_tool(name) or name in HARMLESS or not before[0].text or len(rest) < 2:
        return False
    return find(walker.launchers, rest) is not None


def _shell(walker: Walker, child: Shell, words: Sequence[Text], place: Place, stdin: Text | None) -> Shell | None:
    """`bash -c TEXT`, `bash FILE`, and a shell that reads its input."""
    at = 1
    if "BASH_ENV" in child.visible:
        variables.may_have_more(child)
    while at < len(words) and words[at].text[:1] in ("-", "+") and len(words[at].text) > 1:
        text = words[at].text
        at += 1
        if text == "--login" or (not text.startswith("--") and "l" in text):
            variables.may_have_more(child)
        if _SHELL_FLAG.fullmatch(text):
            if at < len(words):
                child.arguments = tuple(words[at + 2 :])
                return launches.run_text(walker, child, words[at], place)
            return None
        if text in ("-o", "+o", "-O", "--rcfile", "--init-file"):
            at += 1
        if text == "-s":
            break
    if at < len(words) and words[at - 1].text != "-s" and not words[at].text.startswith("<"):
        return _script(walker, child, words[at:], place)
    return launches.run_text(walker, child, stdin, place) if stdin is not None else None


def _script(walker: Walker, child: Shell, words: Sequence[Text], place: Place) -> Shell | None:
    """A script that runs in a shell of its own."""
    written = _written(child, words[0])
    if written is not None:
        child.arguments = tuple(words[1:])
        child.functions, child.arrays, child.maps = {}, {}, {}
        return launches.run_text(walker, child, written, place)
    path = walker.find(words[0], child) if not is_changed(child, words[0].text) else None
    if path is None:
        _absent(walker, child, words, place)
        return None
    if path.endswith(".py"):
        program(walker, child, place, words[0].text, path, words[1:])
        return None
    return enter(walker, path, child, tuple(words[1:]), place)


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
    if child.process.chain:
        walker.unfollowed(place, child, "script not in the tree", words[0].text)
    walker.rank(child, place, words[0].text, "", words[1:], opaque=True)


def enter(walker: Walker, path: str, child: Shell, arguments: tuple[Text, ...], place: Place) -> Shell | None:
    """Run a script of the tree in a process that was made for it."""
    if not walker.may_enter(path):
        walker.notes.bound("scripts that start one another", path)
        return None
    walker.contexts[path] = walker.contexts.get(path, 0) + 1
    if walker.spent.get(path, 0) > MOST_OF_SCRIPT:
        walker.notes.bound("operations for all of its callers", path)
        walker.unfollowed(place, child, "started from many places", path)
        return None
    child.path = child.script = path
    child.arguments, child.functions, child.arrays, child.maps, child.stdin = arguments, {}, {}, {}, None
    child.process = child.process._replace(callers=(*child.process.callers, place))
    count = walker.count
    after = walker.run_file(path, walker.body_of(path), child, "process")
    ended(walker, after, count)
    return after


def source(walker: Walker, word: Text, arguments: Sequence[Text], place: Place, shell: Shell) -> Shell | None:
    """`source FILE`: its commands run in this very shell."""
    written = _written(shell, word)
    if written is not None:
        return _source_text(walker, written, tuple(arguments), shell)
    path = walker.find(word, shell)
    if word.text == "/dev/stdin" and shell.stdin is not None:
        return walker.run_text(shell.stdin, shell)
    if is_changed(shell, word.text):
        variables.opened(shell)
        return shell
    if path is None:
        walker.notes.missing.setdefault(shell.path, {})[word.text, place.line] = None
        if not variables.is_activation(word.text):
            variables.opened(shell)
        return shell
    if not walker.may_source(path):
        walker.notes.bound("files that source one another", path)
        shell.forget()
        return shell
    walker.notes.sourced.setdefault(shell.path, {})[path] = None
    walker.contexts.setdefault(path, 0)
    return _source(walker, path, tuple(arguments), shell)


def _source_text(walker: Walker, text: Text, arguments: tuple[Text, ...], shell: Shell) -> Shell | None:
    kept = shell.arguments
    if arguments:
        shell.arguments = arguments
    after = walker.run_text(text, shell)
    if after is not None and arguments:
        after.arguments = kept
    return after


def _source(walker: Walker, path: str, arguments: tuple[Text, ...], shell: Shell) -> Shell | None:
    if kind_of(path) not in (None, "shell", "csh", "fish") and not walker.project.facts.scripts(path):
        variables.source(walker, path, shell)
        return shell
    before, kept = shell.path, shell.arguments
    shell.path = path
    if arguments:
        shell.arguments = arguments
    after = walker.run_file(path, walker.body_of(path), shell, "source")
    if after is not None:
        after.path = before
        if arguments:
            after.arguments = kept
    return after


def came_back(walker: Walker, shell: Shell, child: Shell) -> None:
    """A script or shell that ran beside the caller has ended; what it wrote is there, what it exported is not."""
    shell.files = {**shell.files, **child.files}
    if child.process.kind == "process" and not walker.started_since(child):
        where = child.process.place
        _lost_at_end(shell, child, Loss("script", where, "a script that is run, not sourced"))
