"""Directives of batch systems in the head of a script: `#SBATCH --export=ALL,A=1`, `#PBS -v A=1,B`, `#BSUB -env`.

Source: sbatch(1): directives count only before the first command of the script.
"""

from __future__ import annotations

import re

from envdoctor.core.operations import head_end
from envdoctor.core.regexes import regex
from envdoctor.readers.shell import arguments as shell_arguments
from envdoctor.readers.shell.arguments import LauncherArgument
from envdoctor.readers.shell.launchers import by_program
from envdoctor.readers.shell.state import ShellContext, ShellState
from envdoctor.readers.shell.syntax.words import Word

_DIRECTIVE = regex(r"^#(SBATCH|PBS|BSUB|FLUX:|flux:)[ \t]+([^\n]*)", re.MULTILINE)
_WORD = regex(r"(?:[^\s\"']|\"[^\"]*\"|'[^']*')+")
_PROGRAMS = {"SBATCH": "sbatch", "PBS": "qsub", "BSUB": "bsub", "FLUX:": "flux", "flux:": "flux"}


def directives(state: ShellState, context: ShellContext) -> None:
    """State the variables that directives give to the job. No shell expands anything there."""
    for match in _DIRECTIVE.finditer(state.text, 0, head_end(state.text)):
        program = _PROGRAMS[match[1]]
        words = [_word(state, *found.span()) for found in _WORD.finditer(state.text, *match.span(2))]
        words = _before_comment(words)
        row = by_program()[program][0]
        arguments = [
            LauncherArgument(argument.form, argument.words, "batch-directive", argument.delimiter)
            for segment in shell_arguments.segments(row, words, 0)
            for argument in segment.arguments
            if argument.form != "script"
        ]
        shell_arguments.state_arguments(state, program, arguments, context, context)


def _word(state: ShellState, start: int, end: int) -> Word:
    text = state.text[start:end]
    if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'":
        return Word(state.source, text[1:-1], start, end, range(start + 1, end - 1))
    if '"' in text:
        return _without_quotes(state, start, end)
    return Word(state.source, text, start, end, range(start, end))


def _without_quotes(state: ShellState, start: int, end: int) -> Word:
    """`-env "all,A=1"` and `--export="ALL,A=1"`: double quotes group words and are removed."""
    offsets = [at for at in range(start, end) if state.text[at] != '"']
    return Word(state.source, "".join(state.text[at] for at in offsets), start, end, offsets)


def _before_comment(words: list[Word]) -> list[Word]:
    for index, word in enumerate(words):
        if word.text.startswith("#"):
            return words[:index]
    return words
