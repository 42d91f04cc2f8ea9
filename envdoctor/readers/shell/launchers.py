"""How a program finds its row of the launcher table, and words of commands that no launcher's own file names.

What each launcher does with its words stands in `rules/launchers/*.toml`.
"""

from __future__ import annotations

from functools import cache

from envdoctor.knowledge.launchers import Form, Inner, LauncherOption, load_launchers
from envdoctor.knowledge.launchers import LauncherCommand as Launcher

__all__ = ["Form", "Inner", "Launcher", "LauncherOption", "by_program", "module_launchers"]

SHELLS = ("bash", "sh", "zsh", "ksh", "dash", "ash")
LIKE = {"docker": "docker", "podman": "podman", "mpirun": "mpirun", "mpiexec": "mpiexec", "torchrun": "torchrun"}
"""Part of a name -> the program that a function or variable of such a name stands for (`$MPIRUN`, `run_docker`)."""


def by_program() -> dict[str, list[Launcher]]:
    """Program name -> its rows, those with subcommands first."""
    return load_launchers().by_program


@cache
def module_launchers() -> dict[str, str]:
    """`python -m MODULE` -> the launcher it is: `accelerate.commands.launch` is `accelerate launch`."""
    return {module: next(row.names()) for module, row in load_launchers().by_module.items()}


def is_program(text: str) -> bool:
    """Whether a word is the name of a launcher or of a shell."""
    return text in by_program() or text in SHELLS
