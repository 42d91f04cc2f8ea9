"""Assignments, declarations and `unset`: what each gives, takes, or makes visible to children.

Sources: bash manual, "Shell Parameters", "Bash Builtins" (declare, export, local, readonly), "The Set Builtin".
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from envdoctor.core.facts import Exported, Op, Scope
from envdoctor.core.records import dataclass
from envdoctor.core.regexes import regex
from envdoctor.readers.shell import uses as shell_uses
from envdoctor.readers.shell.state import ShellContext, ShellState, VariableDefinition
from envdoctor.readers.shell.syntax.words import Word, read_word

if TYPE_CHECKING:
    from tree_sitter import Node

CONTAINER_PREFIXES = ("SINGULARITYENV_", "APPTAINERENV_")
"""Apptainer user guide, "Environment and Metadata": a variable of the host with this prefix is set in the container."""
INHERITED = frozenset(("PATH", "HOME", "USER", "LOGNAME", "SHELL", "PWD", "TERM", "LANG"))
"""Always there when a script starts, so that assigning them changes the environment without `export`."""
MOST_DEFINITIONS = 200
_ASSIGNMENT = regex(r"([A-Za-z_]\w*)(\[[^\]\n]{0,200}\])?(\+?)=", re.ASCII)
_KEYWORD = regex(r"[a-z]+")
_NAME = regex(r"[A-Za-z_]\w*\Z", re.ASCII)
_ENV_FILE_READ = regex(
    r"(?:cat|grep|sed|xargs|awk|envsubst|<)[^|)`]{0,200}?(?<![\w/$])([\w./${}~\"-]{0,100}env[\w.\"-]*)"
)


@dataclass(slots=True)
class Manner:
    """How an assignment is made: by which word, and whether children see it."""

    via: str = ""
    exported: Exported = "no"
    own: bool = False
    """Belongs to the function alone (`local`), whatever is exported outside."""


BARE = Manner()


def assign(state: ShellState, node: Node, context: ShellContext, statement: Node, manner: Manner = BARE) -> None:
    """State what one assignment node gives; `statement` is the node a comment stands behind or above."""
    around = statement.start_byte, statement.end_byte
    assign_at(state, (node.start_byte, node.end_byte), context, around, manner, node)


def assign_at(
    state: ShellState,
    span: tuple[int, int],
    context: ShellContext,
    statement: tuple[int, int],
    manner: Manner,
    node: Node | None = None,
) -> None:
    """State what `NAME=VALUE` at `span` gives; `node` is there to take arrays apart."""
    text, end = state.text, span[1]
    match = _ASSIGNMENT.match(text, *span)
    if match is None:
        return
    at = match.end()
    if text.find("$", at, end) != -1:
        shell_uses.scan(state, at, end, context, own=match[1])
    array = text.startswith("(", at)
    if array:
        value = Word(state.source, text[at:end], at, end, ())
        define(state, match[1], _elements(state, node) if node is not None else [], context, bool(match[3]))
    else:
        value = read_word(state.source, at, end)
        if not match[2]:
            define(state, match[1], [value], context, bool(match[3]))
    if match[2]:
        return
    start, stop = match.span(1)
    name = Word(state.source, match[1], start, stop, range(start, stop))
    op: Op = "append" if match[3] else "set"
    give(state, op, name, value, context, manner, state.comment(*statement), known=False if array else None)


def name_of(state: ShellState, node: Node) -> str:
    """The variable an assignment node assigns; empty for other nodes."""
    match = _ASSIGNMENT.match(state.text, node.start_byte, node.end_byte)
    return match[1] if match and node.type == "variable_assignment" else ""


def give(
    state: ShellState,
    op: Op,
    name: Word,
    value: Word,
    context: ShellContext,
    manner: Manner,
    comment: str = "",
    known: bool | None = None,
    carrier: Word | None = None,
) -> None:
    """State an assignment in the shell itself, with what `set -a` and inherited names mean for children."""
    exported = manner.exported
    if exported == "no" and not manner.own:
        if state.allexport or name.text in INHERITED:
            exported = "yes"
        elif grows(op, name.text, value):
            exported = "unknown"
    label, via = name.text, manner.via
    if name.text.startswith(CONTAINER_PREFIXES):
        op, name, label, via, context = contained(op, name, context)
    fact = state.setting(
        op, name, value, context, exported=exported, via=via, comment=comment, known=known, label=label, carrier=carrier
    )
    if not manner.own:
        state.note_bare(fact)


def grows(op: Op, name: str, value: Word) -> bool:
    """`A=$A:x`, `A+=x`: what grows was probably there before, and then it is exported already."""
    if op == "append" or not value.expansions or len(value.text) <= len(name) + 3:
        return False
    return any(e.name == name and e.kind == "plain" for e in value.expansions)


def contained(op: Op, name: Word, context: ShellContext) -> tuple[Op, Word, str, str, ShellContext]:
    """What `SINGULARITYENV_A` stands for: A in the container, and nowhere else."""
    prefix = next(prefix for prefix in CONTAINER_PREFIXES if name.text.startswith(prefix))
    label = name.text[len(prefix) :]
    inner = name.part(len(prefix)) if label else name
    if label in ("PREPEND_PATH", "APPEND_PATH"):
        op, label = "append", "PATH"
    elsewhere = context.scoped(Scope("container", prefix[: -len("ENV_")].lower()))
    return op, inner, label or name.text, prefix.rstrip("_"), elsewhere


def define(state: ShellState, name: str, words: list[Word], context: ShellContext, append: bool) -> None:
    """Remember the words of a variable, for launchers that are given `$ARGS`."""
    if words and words[0].expansions and words[0].expansions[0].name == name:
        words, append = _without_itself(words, name, append)
    known = state.definitions.get(name, [])
    if not append:
        known = [d for d in known if d.branch[: len(context.branch)] != context.branch]
    if len(known) < MOST_DEFINITIONS:
        state.definitions[name] = [*known, VariableDefinition(words, context.branch, append)]


def _without_itself(words: list[Word], name: str, append: bool) -> tuple[list[Word], bool]:
    """`A="$A x"` and `A=("${A[@]}" x)` append to what was there."""
    if words[0].variable() == name:
        return words[1:], True
    leading = words[0].leading_variable() if len(words) == 1 else None
    return ([words[0].part(leading[1])], True) if leading and leading[0] == name else (words, append)


def _elements(state: ShellState, node: Node) -> list[Word]:
    array = node.named_children[-1] if node.named_children else None
    if array is None or array.type != "array":
        return []
    return [read_word(state.source, c.start_byte, c.end_byte) for c in array.named_children if c.type != "comment"]


def loop(state: ShellState, node: Node) -> None:
    """Remember the names a `for` loop goes over: `for v in NCCL_A NCCL_B`, `for v in "${NAMES[@]}"`."""
    variable = node.child_by_field_name("variable")
    if variable is None:
        return
    names: list[Word] = []
    for child in node.children_by_field_name("value"):
        if child.is_named:
            word = read_word(state.source, child.start_byte, child.end_byte)
            names += [w for w in state.expanded(word) if w.literal and _NAME.match(w.text)]
    state.loops[state.text[variable.start_byte : variable.end_byte]] = names[:MOST_DEFINITIONS]


def declare(state: ShellState, node: Node, context: ShellContext) -> None:
    """State what `export`, `declare`, `typeset`, `local` or `readonly` says."""
    keyword_match = _KEYWORD.match(state.text, node.start_byte)
    keyword = keyword_match[0] if keyword_match else ""
    children = [child for child in node.named_children if child.type != "comment"]
    flags = "".join(_text(state, child) for child in children if _text(state, child)[:1] in ("-", "+"))
    if keyword == "export" and any(flag in flags for flag in "fp"):
        return
    manner = _manner(keyword, flags, context)
    for child in children:
        text = _text(state, child)
        if text[:1] in ("-", "+"):
            continue
        if child.type == "variable_assignment":
            assign(state, child, context, node, manner)
        else:
            word = read_word(state.source, child.start_byte, child.end_byte)
            _declare_word(state, word, context, node, manner, keyword == "export" and "n" in flags)


def _manner(keyword: str, flags: str, context: ShellContext) -> Manner:
    exported: Exported = "yes" if keyword == "export" and "n" not in flags else "no"
    via = keyword
    if keyword != "export" and re.search(r"-\w*x", flags):
        exported, via = "yes", f"{keyword} -x"
    in_function = context.scope.kind == "function" and keyword in ("declare", "typeset", "local") and "g" not in flags
    return Manner(via, exported, own=in_function or keyword == "local")


def _declare_word(
    state: ShellState, word: Word, context: ShellContext, node: Node, manner: Manner, withdraw: bool
) -> None:
    comment = state.comment(node.start_byte, node.end_byte)
    if withdraw:
        for name in names_in(state, word):
            state.setting("unset", name, None, context, via="export -n", comment=comment)
        return
    for given in assignments_in(state, word):
        if given.value is not None:
            shell_uses.scan(state, given.value.start, given.value.end, context, own=given.name.text)
            op: Op = "append" if given.operator == "+=" else "set"
            give(state, op, given.name, given.value, context, manner, comment, carrier=given.carrier)
        elif manner.exported == "yes":
            state.note_bare(state.setting("export", given.name, None, context, via=manner.via, comment=comment))
    if word.expansions and word.expansions[0].kind == "command" and manner.exported == "yes":
        _exported_file(state, word, context)


def _exported_file(state: ShellState, word: Word, context: ShellContext) -> None:
    """`export $(grep -v '^#' .env | xargs)`: the file is read as an env file."""
    match = _ENV_FILE_READ.search(word.text)
    if match:
        state.inclusion("env-file", word.part(match.start(1), match.end(1)), context)


@dataclass(slots=True)
class Assigned:
    """One variable that a word gives a value, or only names. `carrier` is the word where the name stands elsewhere."""

    name: Word
    operator: str = ""
    value: Word | None = None
    carrier: Word | None = None


def assignments_in(state: ShellState, word: Word) -> Iterator[Assigned]:
    """What a word gives: `A=1`, `A`, and `$v=1` where v goes over known names."""
    parts = word.assignment()
    if parts is not None:
        yield Assigned(*parts)
    elif _NAME.match(word.text):
        yield Assigned(word)
    elif leading := word.leading_variable():
        variable, end = leading
        rest = word.text[end:]
        for name in state.loops.get(variable, ()):
            if rest.startswith("="):
                yield Assigned(name.under(word.branch), "=", word.part(end + 1), word)
            elif not rest:
                yield Assigned(name.under(word.branch))


def names_in(state: ShellState, word: Word) -> Iterator[Word]:
    """The names a word stands for, without values."""
    return (given.name for given in assignments_in(state, word) if given.value is None)


def unset(state: ShellState, node: Node, context: ShellContext) -> None:
    """State what `unset` takes."""
    children = [child for child in node.named_children if child.type != "comment"]
    if any(_text(state, child).startswith("-") and "f" in _text(state, child) for child in children):
        return
    comment = state.comment(node.start_byte, node.end_byte)
    for child in children:
        for name in names_in(state, read_word(state.source, child.start_byte, child.end_byte)):
            state.setting("unset", name, None, context, via="unset", comment=comment)


def _text(state: ShellState, node: Node) -> str:
    return state.text[node.start_byte : node.end_byte]
