"""What a simple command means: prefix assignments, builtins that matter, and everything that carries a command."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING

from envdoctor.core.facts import Component, Exported, Scope
from envdoctor.core.records import dataclass
from envdoctor.core.regexes import regex
from envdoctor.readers.shell import (
    assignments as shell_assignments,
)
from envdoctor.readers.shell import (
    output as shell_output,
)
from envdoctor.readers.shell import (
    run as shell_run,
)
from envdoctor.readers.shell import (
    uses as shell_uses,
)
from envdoctor.readers.shell.launchers import SHELLS, by_program
from envdoctor.readers.shell.state import ShellContext, ShellState
from envdoctor.readers.shell.syntax import repair as shell_repair
from envdoctor.readers.shell.syntax.words import Word, joined, read_word

if TYPE_CHECKING:
    from tree_sitter import Node

_PROGRAM = regex(r"(?:\\?[A-Za-z0-9_.+/~-]+)")
_INTERESTING = regex(
    r"[$\"'`]|docker|podman|mpirun|mpiexec|\.(?:sh|bash|py|sbatch|slurm|sub)\Z|\Apython[\d.]*\Z|/python[\d.]*\Z"
)
_LINE_END = regex(r"(?<!\\)\n")
_FIRST_WORD = regex(r"[A-Za-z0-9_./:+~-]+(?=\s|\Z)")
_VERSIONED = regex(r"([A-Za-z][\w.+-]*)/(\d[\w.+-]*)\Z")
_PINNED = regex(r"([A-Za-z][\w.-]*)(?:\[[^\]]*\])?==(\w[\w.+!*-]*)\Z")


@dataclass(slots=True)
class Parts:
    """A command cut up: assignment nodes before it, its words, and the rest of its children."""

    prefix: list[Node]
    words: list[tuple[int, int]]


def parts_of(children: Sequence[Node]) -> Parts:
    """The parts of a command node; pieces that touch are one word, which the grammar does not always see."""
    parts = Parts([], [])
    for child in children:
        kind = child.type
        if kind == "variable_assignment":
            parts.prefix.append(child)
        elif kind not in shell_repair.REDIRECTS and kind != "comment":
            start, end = child.start_byte, child.end_byte
            if parts.words and parts.words[-1][1] == start:
                parts.words[-1] = (parts.words[-1][0], end)
            else:
                parts.words.append((start, end))
        elif kind == "file_redirect":
            parts.words += [(c.start_byte, c.end_byte) for c in child.children_by_field_name("destination")[1:]]
    return parts


def words_of(state: ShellState, node: Node) -> list[Word]:
    """The words of a command node."""
    return [read_word(state.source, start, end) for start, end in parts_of(node.named_children).words]


@cache
def _known_programs() -> frozenset[str]:
    return frozenset((*by_program(), *SHELLS, *BUILTINS))


def command(state: ShellState, node: Node, children: Sequence[Node], context: ShellContext) -> None:
    """State what a command gives, starts and uses."""
    parts = parts_of(children)
    if not parts.words:
        for assignment in parts.prefix:
            shell_assignments.assign(state, assignment, context, node)
        return
    first, last = parts.words[0][0], parts.words[-1][1]
    if not state.tolerant:
        shell_repair.check(state.text, children)
    name = state.text[first : parts.words[0][1]]
    program = name.rsplit("/", 1)[-1]
    if parts.prefix:
        _prefix(state, parts.prefix, node, program, context)
    state.read_on.clear()
    if program in _known_programs() or _INTERESTING.search(name):
        words = [read_word(state.source, start, end) for start, end in parts.words]
        builtin = BUILTINS.get(words[0].text)
        if builtin is not None:
            builtin(state, words, context)
        else:
            shell_run.run(state, words, context)
    if "$" in state.text[first:last]:
        _uses(state, parts, program == ":" or _prints(program, context), context)


def plain(state: ShellState, start: int, end: int, context: ShellContext) -> bool:
    """Deal with a command that gives, starts and carries nothing: state its uses. False: it is more than that."""
    text = state.text
    match = _FIRST_WORD.match(text, start, end)
    if match is None:
        return False
    name = match[0]
    program = name.rsplit("/", 1)[-1]
    if program in ("echo", "printf"):
        if (context.output is not None and context.output.kind not in ("argument", "capture", "pipe")) or "-v" in text[
            start : start + 12
        ]:
            return False
    elif program in _known_programs() or _INTERESTING.search(name):
        return False
    if text.find("<<", start, end) != -1 or text.find(">", start, end) != -1:
        return False
    if _LINE_END.search(text, start, end):
        return False
    if text.find("$", start, end) != -1:
        shell_uses.scan(state, start, end, context, printing=program == ":" or _prints(program, context))
    return True


def _uses(state: ShellState, parts: Parts, printing: bool, context: ShellContext) -> None:
    """State the uses in the words, but for those whose text was read on as a script."""
    if not state.read_on:
        shell_uses.scan(state, parts.words[0][0], parts.words[-1][1], context, printing=printing)
        return
    inside = list(state.read_on)
    for start, end in parts.words:
        if not any(start < stop and begin < end for begin, stop in inside):
            shell_uses.scan(state, start, end, context, printing=printing)


def _prints(program: str, context: ShellContext) -> bool:
    """Whether a command only tells somebody something."""
    captured = context.output is not None and context.output.kind in ("capture", "pipe", "argument")
    return not captured and shell_uses.PRINTING.match(program) is not None


def _prefix(state: ShellState, assignments: Sequence[Node], node: Node, program: str, context: ShellContext) -> None:
    """State `A=1 cmd`: for that command alone. Before `.` and `eval` nothing is exported."""
    exported: Exported = "no" if program in (".", "source", "eval") else "yes"
    manner = shell_assignments.Manner("", exported, own=True)
    inner = context.scoped(Scope("command", program))
    for assignment in assignments:
        shell_assignments.assign(state, assignment, inner, node, manner)


def _set(state: ShellState, words: list[Word], context: ShellContext) -> None:
    """`set -a`, `set -o allexport`, and their opposites."""
    texts = [word.text for word in words[1:]]
    for index, text in enumerate(texts):
        if text == "--":
            return
        named = text in ("-o", "+o") and texts[index + 1 : index + 2] == ["allexport"]
        if named or re.fullmatch(r"[-+][b-zA-Z]*a[a-zA-Z]*", text):
            state.allexport = text.startswith("-")


def _source(state: ShellState, words: list[Word], context: ShellContext) -> None:
    if len(words) > 1 and not words[1].text.startswith(("<", "-")):
        state.inclusion("source", words[1], context)


def _eval(state: ShellState, words: list[Word], context: ShellContext) -> None:
    """`eval` runs its words in this very shell."""
    if len(words) < 2:
        return
    whole = joined(words[1:])
    if loop_export(state, whole, context):
        return
    if name := whole.variable():
        for alternative in state.alternatives(name):
            if alternative:
                state.embed(joined_any(alternative).as_source(), "shell", context.scope, context.branch)
        return
    state.embed_word(whole, "shell", context.scope, context.branch)


def loop_export(state: ShellState, whole: Word, context: ShellContext) -> bool:
    """`eval "export $v=1"` where v goes over known names."""
    if not whole.text.startswith("export $") and not whole.text.startswith("$"):
        return False
    at = 7 if whole.text.startswith("export ") else 0
    found = False
    manner = shell_assignments.Manner("eval", "yes" if at else "no")
    for given in shell_assignments.assignments_in(state, whole.part(at)):
        if given.value is not None:
            shell_assignments.give(state, "set", given.name, given.value, context, manner, carrier=given.carrier)
            found = True
    return found


def joined_any(words: Sequence[Word]) -> Word:
    """Words joined, those of the first word's text only where they come from several."""
    return joined([word for word in words if word.source is words[0].source])


def _module(state: ShellState, words: list[Word], context: ShellContext) -> None:
    """`module load rocm/6.2.4`: a component with its version."""
    texts = [word.text for word in words]
    if texts[0] == "module" and texts[1:2] not in (["load"], ["add"], ["swap"], ["switch"], ["try-load"]):
        return
    for word in words[1:]:
        if match := _VERSIONED.match(word.text):
            state.facts.components.append(Component(match[1], match[2], word.place(), "module load"))


def _pip(state: ShellState, words: list[Word], context: ShellContext) -> None:
    """`pip install torch==2.4.0`: a component with its version."""
    texts = [word.text for word in words]
    if "install" not in texts[1:4]:
        return
    for word in words[1:]:
        if match := _PINNED.match(word.text):
            state.facts.components.append(Component(match[1], match[2], word.place(), "pip install"))


def _forget(state: ShellState, words: list[Word], context: ShellContext) -> None:
    """`read A`, `mapfile -t A`: what the variables hold from here on is not in the text."""
    for word in words[1:]:
        state.definitions.pop(word.text, None)


BUILTINS: dict[str, Callable[[ShellState, list[Word], ShellContext], None]] = {
    "set": _set,
    "source": _source,
    ".": _source,
    "eval": _eval,
    "echo": shell_output.echo,
    "printf": shell_output.printf,
    "module": _module,
    "ml": _module,
    "pip": _pip,
    "pip3": _pip,
    "read": _forget,
    "mapfile": _forget,
    "readarray": _forget,
}
