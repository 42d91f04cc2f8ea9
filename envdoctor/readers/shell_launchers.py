"""The launcher table: which programs carry a command elsewhere, and how they are told about variables.

The rows stand in `shell_launcher_table`; here are their form and how a program finds its row.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Literal

from envdoctor.facts import Channel

Form = Literal[
    "assignment", "list", "names", "pair", "words", "env-file", "configuration", "json", "ssh", "script", "unset",
]  # fmt: skip
"""assignment: `-x A=1`, `-x A`. list: `--export=ALL,A=1,B`. names: `-genvlist A,B`. pair: `-genv A 1`. words: every
following word up to the next option. json: `{"env_vars": {...}}`. ssh: `-o SendEnv=A`. script: shell text.
unset: `env -u A`."""

Inner = Literal["words", "shell", "script", "python", "dashes", "none"]
"""What follows the options: a command, text for a remote shell, a shell script file, a Python entry, a command after
`--`, or nothing that runs here."""


@dataclass(frozen=True, slots=True)
class Option:
    """Flags, blank between them, that carry variables in one form."""

    flags: str
    form: Form
    channel: Channel = "launcher-argument"


@dataclass(frozen=True, slots=True)
class Launcher:
    """One row: programs and subcommands, blank and comma between them, and what their words mean."""

    programs: str
    subcommands: str = ""
    options: tuple[Option, ...] = ()
    valued: str = ""
    """Other flags that take a value: without them it is not known where the command begins."""
    operands: int = 0
    """Words between options and command: the image, the host, the seconds of `timeout`."""
    inner: Inner = "words"
    assigns: bool = False
    """`NAME=VALUE` words before the command are settings (`env A=1 cmd`, `sudo A=1 cmd`)."""
    launch: bool = True
    """Worth a fact of its own; False: only passes the command on (`nohup`, `timeout`)."""
    bare: str = ""
    """Flags known to take no value, where those that do are not all known."""
    container: bool = False
    segments: bool = False
    """`:` starts another set of options and command (`mpirun -np 1 a : -np 1 b`)."""

    def option(self, flag: str) -> Option | None:
        """The option a flag belongs to, if it carries variables."""
        return _options(self).get(flag)

    def takes_value(self, flag: str) -> bool:
        """Whether a flag that carries no variables takes the next word as its value."""
        return flag in _valued(self)

    def is_bare(self, flag: str) -> bool:
        """Whether a flag is known to take no value."""
        return flag in self.bare.split()

    def subcommand_words(self) -> list[list[str]]:
        """The subcommands, each as its words."""
        return [subcommand.split() for subcommand in self.subcommands.split(",")] if self.subcommands else []


@cache
def _options(row: Launcher) -> dict[str, Option]:
    return {flag: option for option in row.options for flag in option.flags.split()}


@cache
def _valued(row: Launcher) -> frozenset[str]:
    return frozenset(row.valued.split())


@cache
def by_program() -> dict[str, list[Launcher]]:
    """Program name -> its rows, those with subcommands first."""
    from envdoctor.readers.shell_launcher_table import LAUNCHERS

    table: dict[str, list[Launcher]] = {}
    for row in LAUNCHERS:
        for program in row.programs.split():
            table.setdefault(program, []).append(row)
    for rows in table.values():
        rows.sort(key=lambda row: not row.subcommands)
    return table
