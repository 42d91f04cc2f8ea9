"""How a program finds its row of the launcher table, and words of commands that no launcher's own file names.

What each launcher does with its words stands in `rules/launchers/*.toml`.
"""

from __future__ import annotations

from functools import cache

from envdoctor.knowledge.launchers import Form, Inner, LauncherOption, load_launchers
from envdoctor.knowledge.launchers import LauncherCommand as Launcher

__all__ = ["Form", "Inner", "Launcher", "LauncherOption", "by_program", "module_launchers"]

SHELLS = ("bash", "sh", "zsh", "ksh", "dash", "ash")
TWO_VALUES = frozenset(("-mca", "--mca", "-gmca", "--gmca", "--prtemca", "--pmixmca", "-pmca", "--omca"))
"""Open MPI flags that take a parameter and its value."""
ENVIRONMENT_LIST = "mca_base_env_list"
"""The MCA parameter whose value is a list of variables, `;` between them."""
LIKE = {"docker": "docker", "podman": "podman", "mpirun": "mpirun", "mpiexec": "mpiexec", "torchrun": "torchrun"}
"""Part of a name -> the program that a function or variable of such a name stands for (`$MPIRUN`, `run_docker`)."""


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
