"""Words of commands that no launcher's own file names: shells, parameters of Open MPI, likenesses.

What each launcher does with its words stands in `rules/launchers/*.toml`.
"""

from __future__ import annotations

SHELLS = ("bash", "sh", "zsh", "ksh", "dash", "ash")
TWO_VALUES = frozenset(("-mca", "--mca", "-gmca", "--gmca", "--prtemca", "--pmixmca", "-pmca", "--omca"))
"""Open MPI flags that take a parameter and its value."""
ENVIRONMENT_LIST = "mca_base_env_list"
"""The MCA parameter whose value is a list of variables, `;` between them."""
LIKE = {"docker": "docker", "podman": "podman", "mpirun": "mpirun", "mpiexec": "mpiexec", "torchrun": "torchrun"}
"""Part of a name -> the program that a function or variable of such a name stands for (`$MPIRUN`, `run_docker`)."""
