"""What the arguments of a launcher give: the variables among its words, stated as settings.

Which words those are, and where the command begins, is read by `envdoctor.knowledge.launch.words`.
"""

from __future__ import annotations

from collections.abc import Sequence

from envdoctor.core.facts import Exported, Op
from envdoctor.core.regexes import regex
from envdoctor.knowledge.launch import words as launch_words
from envdoctor.knowledge.launch.words import CommandSegment, LauncherArgument, json_pairs, pieces
from envdoctor.readers.shell import assignments as shell_assignments
from envdoctor.readers.shell.launchers import Launcher, is_program
from envdoctor.readers.shell.scripts import embed_script
from envdoctor.readers.shell.state import ShellContext, ShellState
from envdoctor.readers.shell.syntax.words import Word

__all__ = ["CommandSegment", "LauncherArgument", "segments", "state_arguments"]

_WORDS_OF_LISTS = ("ALL", "NONE", "NIL", "")
_PATTERN = regex(r"[A-Za-z_][A-Za-z0-9_]*\*?\Z")


def segments(row: Launcher, words: Sequence[Word], start: int) -> list[CommandSegment[Word]]:
    """The options and commands of a launcher, cut at `:` where the launcher knows that."""
    return launch_words.segments(row, words, start, is_program)


def state_arguments(
    state: ShellState,
    name: str,
    arguments: Sequence[LauncherArgument[Word]],
    inner: ShellContext,
    context: ShellContext,
) -> None:
    """State what the arguments of a launcher give to the processes it starts (`inner`), or to the whole script."""
    for argument in arguments:
        if argument.form in ("env-file", "configuration"):
            state.inclusion(argument.form, argument.words[0], context)
        elif argument.form == "script":
            embed_script(state, argument.words[0], context, name)
        elif argument.form == "json":
            _json(state, argument, name, inner)
        else:
            for word in pieces(argument):
                _give(state, argument, word, name, inner)


def _give(state: ShellState, argument: LauncherArgument[Word], word: Word, name: str, context: ShellContext) -> None:
    """State one variable: set with a value, or forwarded by its name."""
    exported: Exported = "no" if argument.channel == "argument" else "yes"
    if argument.form == "pair" and len(argument.words) == 2:
        state.setting("set", word, argument.words[1], context, channel=argument.channel, via=name)
        return
    if word.text.upper() in _WORDS_OF_LISTS:
        return
    if argument.form == "unset" or (word.text.endswith("-") and _PATTERN.match(word.text[:-1])):
        label = word.text.rstrip("-")
        state.setting("unset", word.part(0, len(label)), None, context, channel=argument.channel, via=name)
        return
    found = list(shell_assignments.assignments_in(state, word))
    for given in found:
        op: Op = "pass" if given.value is None else "set"
        state.setting(
            op, given.name, given.value, context,
            channel=argument.channel, exported=exported, via=name, carrier=given.carrier,
        )  # fmt: skip
    if not found and _PATTERN.match(word.text):
        state.setting("pass", word, None, context, channel=argument.channel, via=name)


def _json(state: ShellState, argument: LauncherArgument[Word], name: str, context: ShellContext) -> None:
    """`{"env_vars": {"A": "1"}}`: each key with its own place."""
    for word in _json_texts(state, argument.words[0]):
        for label, value in json_pairs(word):
            if label.text and _PATTERN.match(label.text):
                state.setting("set", label, value, context, channel="runtime-env", via=name)


def _json_texts(state: ShellState, word: Word) -> list[Word]:
    """The text itself, or what the variable holds that stands for it."""
    name = word.variable()
    return [a[0] for a in state.alternatives(name) if a] if name else [word]
