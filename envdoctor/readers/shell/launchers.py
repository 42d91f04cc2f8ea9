"""How a program finds its row of the launcher table, which stands in `rules/launchers/*.toml`."""

from __future__ import annotations

from functools import cache

from envdoctor.knowledge.launchers import Command as Launcher
from envdoctor.knowledge.launchers import Form, Inner, Option, load_launchers

__all__ = ["Form", "Inner", "Launcher", "Option", "by_program", "module_launchers"]


@cache
def by_program() -> dict[str, list[Launcher]]:
    """Program name -> its rows, those with subcommands first."""
    table: dict[str, list[Launcher]] = {}
    for row in load_launchers().commands:
        for program in row.programs.split():
            table.setdefault(program, []).append(row)
    for rows in table.values():
        rows.sort(key=lambda row: not row.subcommands)
    return table


@cache
def module_launchers() -> dict[str, str]:
    """`python -m MODULE` -> the launcher it is: `accelerate.commands.launch` is `accelerate launch`."""
    return {module: next(row.names()) for row in load_launchers().commands for module in row.modules.split()}
