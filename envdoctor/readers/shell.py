"""The shell reader: settings, uses, launches and inclusions of scripts, in source order, with their places.

Structure comes from tree-sitter-bash, which tolerates errors; words are read from the text itself. The modules
`shell_*` beside this one hold one topic each. A launch inside another (`srun bash -c 'torchrun ...'`) is a fact of its
own, after the one around it; its place lies inside the other's.

Scopes: `subshell` is a shell started here (it inherits what is exported), `container` is a process elsewhere
(container, ssh, job: it inherits nothing that is not passed), `file` is a script or env file that this one writes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from envdoctor.facts import FileFacts, Problem
from envdoctor.readers import shell_directives, shell_recovery
from envdoctor.readers.embedded import deeper
from envdoctor.readers.shell_mask import Masked, mask
from envdoctor.readers.shell_repair import MisreadError, repaired
from envdoctor.readers.shell_state import Context, State, Surroundings
from envdoctor.readers.shell_walk import Walker, parse
from envdoctor.source import Source

if TYPE_CHECKING:
    from tree_sitter import Tree

LARGEST = 5_000_000
"""Characters; real scripts are a thousand times smaller, and the parser takes 0.2 s for each million."""
MOST_REPAIRS = 20


def read(source: Source, kind: str) -> FileFacts:
    """Facts of a shell script. Parts with syntax errors become problems; the rest is read."""
    return read_around(source, Surroundings())


def read_inside(source: Source, around: Surroundings) -> FileFacts:
    """Facts of shell text inside shell text, which knows the variables of the text around it."""
    with deeper() as allowed:
        return read_around(source, around) if allowed else FileFacts(source.path, "shell")


def read_around(source: Source, around: Surroundings) -> FileFacts:
    """Facts of shell text in given surroundings."""
    if len(source.text) > LARGEST:
        facts = FileFacts(source.path, "shell")
        message = f"{len(source.text) / 1e6:.0f} million characters; above {LARGEST / 1e6:.0f} million nothing is read"
        facts.problems.append(Problem(message, source.place(0, 1)))
        return facts
    masked = mask(source.text)
    for _ in range(MOST_REPAIRS):
        tree = parse(masked.data)
        try:
            return _walked(source, masked, tree, around)
        except MisreadError:
            masked.data = repaired(source.text, masked.data, tree)
    return FileFacts(source.path, "shell", problems=[Problem("not readable as shell", source.place(0, 1))])


def _walked(source: Source, masked: Masked, tree: Tree, around: Surroundings) -> FileFacts:
    around = Surroundings(around.order, around.scope, around.branch, dict(around.definitions), dict(around.loops))
    state = State(source, masked, around)
    context = Context(around.scope, around.branch)
    shell_directives.directives(state, context)
    Walker(state).walk(tree.root_node, context)
    if tree.root_node.has_error:
        shell_recovery.report(state, tree.root_node)
    return state.finish()
