"""Which variables of a process may be recorded and shown: those that the catalogue or its families know."""

from __future__ import annotations

from collections.abc import Callable

from envdoctor.checks.names import verdicts
from envdoctor.core.target import UNKNOWN
from envdoctor.knowledge.catalog.model import Catalog
from envdoctor.node.probes.process import in_families

LAUNCHER = frozenset({
    "RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "GROUP_RANK", "NODE_RANK", "MASTER_ADDR", "MASTER_PORT",
    "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE",
    "PMI_RANK", "PMI_SIZE", "PMIX_RANK", "MPI_LOCALRANKID", "MPI_LOCALNRANKS", "SLURM_PROCID", "SLURM_LOCALID",
    "SLURM_NTASKS", "SLURM_NTASKS_PER_NODE", "SLURM_NNODES",
})  # fmt: skip
"""Variables by which launchers tell a process its place; they hold numbers and one host name."""


def recordable(catalog: Catalog) -> Callable[[str], bool]:
    """Whether a variable may be recorded.

    Of a family that others may extend, only names that are known count: TF_ is TensorFlow's and Terraform's too. A near
    miss of a known name was meant for a library.
    """

    def known(name: str) -> bool:
        if name in LAUNCHER or in_families(name):
            return True
        variable = catalog.variable(name)
        if variable is not None:
            return variable.status != "incidental"
        prefix = catalog.prefix_of(name)
        return (prefix is not None and prefix.closed) or verdicts.judge(name, catalog, UNKNOWN) is not None

    return known
