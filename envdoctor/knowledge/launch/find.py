"""Finds the row of a command by its words: `docker container run`, `python -m torch.distributed.run`, `$MPIRUN`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Generic, NamedTuple, Protocol, TypeVar

from envdoctor.core.facts import Place
from envdoctor.core.operations import head_end
from envdoctor.core.records import dataclass, replace
from envdoctor.core.regexes import regex
from envdoctor.knowledge.launch.records import LauncherCommand
from envdoctor.knowledge.launch.table import Launchers
from envdoctor.knowledge.launch.words import CommandFlags, CommandSegment, ReadWord, segments

_PYTHON = regex(r"(?:python|pypy)[\d.]*\Z")
_NAME_OF_VARIABLE = regex(r"\$?\{?[a-z][a-z0-9_-]*\}?")
_FARTHEST = 12
"""Words that are looked at for a subcommand."""


class LaunchWord(ReadWord, Protocol):
    """A word that a process starts another one with, as far as it was expanded."""

    @property
    def known(self) -> bool:
        """Whether all of the text is known."""

    @property
    def starts_unknown(self) -> bool:
        """Whether its first part is not known, so that it may be anything: an option, several words, nothing."""

    def place(self) -> Place:
        """Where it stands."""


L = TypeVar("L", bound=LaunchWord)
R = TypeVar("R", bound=ReadWord)


class FoundRow(NamedTuple):
    """A row, the command as facts name it, and how many words that name takes."""

    row: LauncherCommand
    name: str
    length: int


@dataclass(frozen=True, slots=True)
class Invocation(Generic[L]):
    """A command of a launcher file: its row, its name in facts, its words and what they say.

    `length` is how many words the name takes. `flags` are those of all segments together; each segment has its own.
    """

    row: LauncherCommand
    name: str
    words: tuple[L, ...]
    length: int
    segments: tuple[CommandSegment[L], ...]
    flags: CommandFlags[L]
    launchers: Launchers


def find(launchers: Launchers, words: Sequence[L]) -> Invocation[L] | None:
    """The command of a launcher file that some words start, or None where no file knows the program."""
    found = find_row(launchers, words)
    return _invocation(launchers, found, words) if found is not None else None


def headed(launchers: Launchers, name: str, words: Sequence[L]) -> Invocation[L] | None:
    """What a directive in the head of a script says: `words` are those behind `#SBATCH`, `name` its command."""
    row = launchers.command_of(name)
    return _invocation(launchers, FoundRow(row, name, 0), words) if row is not None else None


def with_header(invocation: Invocation[L], header: Invocation[L]) -> Invocation[L]:
    """A command with the flags of the directives in the head of its script, which those of the command line follow."""
    first = invocation.segments[0]
    flags: CommandFlags[L] = CommandFlags()
    arguments = []
    for segment in header.segments:
        flags.add(segment.flags)
        arguments += segment.arguments
    flags.add(first.flags)
    whole = CommandSegment([*arguments, *first.arguments], first.inner, first.operands, first.entrypoint, flags)
    parts = (whole, *invocation.segments[1:])
    return replace(invocation, segments=parts, flags=_together(parts))


def _invocation(launchers: Launchers, found: FoundRow, words: Sequence[L]) -> Invocation[L]:
    parts = tuple(segments(found.row, words, found.length, launchers.is_program))
    return Invocation(found.row, found.name, tuple(words), found.length, parts, _together(parts), launchers)


def _together(parts: Sequence[CommandSegment[L]]) -> CommandFlags[L]:
    flags: CommandFlags[L] = CommandFlags()
    for part in parts:
        flags.add(part.flags)
    return flags


def find_row(launchers: Launchers, words: Sequence[ReadWord]) -> FoundRow | None:
    """The row of a command by its words."""
    if not words:
        return None
    name = words[0].variable()
    program = name or words[0].text.rsplit("/", 1)[-1]
    if not name and _PYTHON.match(program):
        return _python(launchers, words)
    known = program if not name and program in launchers.by_program else likeness(launchers, program)
    for row in launchers.by_program.get(known, ()):
        if not row.subcommands:
            return FoundRow(row, known, 1)
        for subcommand in row.subcommand_words():
            if end := _subcommand_end(row, words, subcommand):
                return FoundRow(row, " ".join([known, *subcommand]), end)
    return None


def _python(launchers: Launchers, words: Sequence[ReadWord]) -> FoundRow | None:
    """`python -m MODULE` where the module is a launcher, else the program itself."""
    row = launchers.command_of("python")
    at = 1
    while at < len(words) and words[at].text.startswith("-") and len(words[at].text) > 1:
        text = words[at].text
        if text == "-m" and at + 1 < len(words):
            module = launchers.by_module.get(words[at + 1].text)
            if module is not None:
                return FoundRow(module, next(module.names()), at + 2)
        if text in ("-m", "-c"):
            break
        at += 2 if row is not None and row.takes_value(text) else 1
    return FoundRow(row, "python", 1) if row is not None else None


def likeness(launchers: Launchers, name: str) -> str:
    """The program that a variable or function is named after (`$MPIRUN`, `run_docker`), or an empty string."""
    lower = name.lower()
    if not _NAME_OF_VARIABLE.fullmatch(lower):
        return ""
    return next((program for part, program in launchers.likenesses.items() if part in lower), "")


def _subcommand_end(row: LauncherCommand, words: Sequence[ReadWord], subcommand: list[str]) -> int:
    """Where the words of a subcommand end, after options and groups like `container`; 0: it is not there."""
    index = 0
    for at in range(1, min(len(words), _FARTHEST)):
        text = words[at].text
        if text == subcommand[index]:
            index += 1
            if index == len(subcommand):
                return at + 1
        elif not _may_stand_before(row, words, at):
            return 0
    return 0


def _may_stand_before(row: LauncherCommand, words: Sequence[ReadWord], at: int) -> bool:
    text = words[at].text
    if text.startswith("-") or text in row.groups.split():
        return True
    return words[at - 1].text in row.before.split()


class Directive(NamedTuple):
    """A line in the head of a script that holds flags of a command: `start` and `end` of its words in the text."""

    name: str
    start: int
    end: int


_DIRECTIVE = regex(r"^#([^\s#]+)[ \t]+([^\n]*)", re.MULTILINE)


def directives(launchers: Launchers, text: str) -> list[Directive]:
    """The directives of batch systems in the head of a script, up to its first command."""
    found = []
    for line in _DIRECTIVE.finditer(text, 0, head_end(text)):
        name = launchers.headers.get(line[1])
        if name is not None:
            found.append(Directive(name, *line.span(2)))
    return found
