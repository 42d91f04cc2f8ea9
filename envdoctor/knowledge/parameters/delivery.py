"""Parameters of the checks of how settings reach a process."""

from __future__ import annotations

from typing import Literal, TypedDict

from envdoctor.knowledge.parameters.forms import Common, Regex, RegexWithGroup, Texts


class ProgramArgument(TypedDict):
    """An argument of a program that tells something of the job."""

    tells: Literal["nodes", "ranks-per-node"]
    """What it tells."""
    argument: RegexWithGroup
    """The argument, with `=` before its value; the group is what is told."""


class Inconsistent(Common):
    """`delivery.inconsistent`: parts of one job that are given different values."""

    per_node: Texts
    """Variables that may differ from node to node."""
    masks: Texts
    """Variables that choose the devices that ranks see."""
    container_masks: Texts
    """Variables that choose the devices that a container gets."""
    no_devices: Regex
    """Words of a launch whose ranks compute without devices, or share them on purpose."""
    program_arguments: list[ProgramArgument]
    """Arguments of programs that tell how many nodes or ranks there are."""
    node_arguments: Regex
    """Arguments of a program that may differ from node to node."""
    run_arguments: Regex
    """Arguments of a program that tell one run from another: launches that differ in them are not of one job."""


Calls = TypedDict(
    "Calls",
    {
        "children": Texts, "process-group": Texts, "communicator": Texts, "another": Texts, "allocator-init": Texts,
        "runtime-init": Texts, "first-gemm": Texts, "first-conv": Texts, "backend-start": Texts,
    },
)  # fmt: skip
"""Point of a program -> the calls that bring it there. `a.*` is all of a module, `?.a` a method."""


class TooLate(Common):
    """`delivery.too_late`: written into the environment after the library has read it."""

    calls: Calls
    """Calls by what they begin: `children` start other processes, `communicator` makes the first communicator,
    `another` a further one; the others name the point at which variables are read."""
