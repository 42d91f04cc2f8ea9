"""Parameters of the check of what a level needs."""

from __future__ import annotations

from envdoctor.knowledge.parameters.forms import Common, Names, Texts


class MissingSettings(Common):
    """`levels.missing_settings`: what a level needs of the collectives and a launch leaves to the library."""

    ranks: Names
    """Calls that make ranks."""
    launched_ranks: Names
    """Calls that make ranks where one of `launchers` starts the program."""
    launchers: Texts
    """Launchers that start several ranks."""
    counts: Texts
    """Options of launchers for the number of ranks on a node."""
    nodes: Texts
    """Options of launchers for the number of nodes."""
