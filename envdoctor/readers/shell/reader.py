"""The shell reader: settings, uses, launches and inclusions of scripts, in source order, with their places.

Structure comes from tree-sitter-bash, which tolerates errors; words are read from the text itself. The modules
`shell_*` beside this one hold one topic each. A launch inside another (`srun bash -c 'torchrun ...'`) is a fact of its
own, after the one around it; its place lies inside the other's.

Scopes: `subshell` is a shell started here (it inherits what is exported), `container` is a process elsewhere
(container, ssh, job: it inherits nothing that is not passed), `file` is a script or env file that this one writes.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from envdoctor.core.facts import FileFacts, Problem
from envdoctor.core.regexes import regex
from envdoctor.core.source import Source
from envdoctor.readers.shared.embedded import read_embedded
from envdoctor.readers.shell import directives as shell_directives
from envdoctor.readers.shell import recovery as shell_recovery
from envdoctor.readers.shell.state import MOST_FACTS, FullError, ShellContext, ShellState, Surroundings
from envdoctor.readers.shell.syntax import parse as shell_parse
from envdoctor.readers.shell.syntax import repair as shell_repair
from envdoctor.readers.shell.syntax.mask import MaskedScript, mask
from envdoctor.readers.shell.walk import ShellWalker

if TYPE_CHECKING:
    from tree_sitter import Tree

LARGEST = 5_000_000
"""Characters; real scripts are a thousand times smaller, and the parser takes 0.2 s for each million."""
_CSH = regex(r"#![^\n]*\bt?csh\b")
"""Job files of any name may be csh scripts."""
MOST_REPAIRS = 8


def read(source: Source, kind: str) -> FileFacts:
    """Facts of a script for a shell with the syntax of sh. Parts with syntax errors become problems."""
    if _CSH.match(source.text):
        return read_embedded(source, "csh", 0)
    return read_around(source, Surroundings())


def read_around(source: Source, around: Surroundings) -> FileFacts:
    """Facts of shell text in given surroundings."""
    if len(source.text) > LARGEST:
        facts = FileFacts(source.path, "shell")
        message = f"{len(source.text) / 1e6:.0f} million characters; above {LARGEST / 1e6:.0f} million nothing is read"
        facts.problems.append(Problem(message, source.place(0, 1)))
        return facts
    masked = mask(source.text)
    deadline = time.monotonic() + shell_parse.LONGEST
    unclosed: list[int] = []
    for attempt in range(MOST_REPAIRS):
        tree = shell_parse.parse(masked.data, deadline)
        if tree is not None and tree.root_node.has_error and masked.careful is not None:
            masked.data, masked.careful = masked.careful, None
            tree = shell_parse.parse(masked.data, deadline)
        if tree is None:
            return _by_lines(source, masked, around)
        opening = shell_repair.unclosed(source.text, tree.root_node) if tree.root_node.has_error else None
        if opening is not None and opening[0] not in unclosed:
            unclosed.append(opening[0])
            masked.data = shell_repair.closed(source.text, masked.data, *opening)
            continue
        try:
            return _walked(source, masked, tree, around, unclosed, tolerant=attempt == MOST_REPAIRS - 1)
        except shell_repair.MisreadError:
            masked.data = shell_repair.with_line_ends(source.text, masked.data, tree)
    return _by_lines(source, masked, around)


def _state(source: Source, masked: MaskedScript, around: Surroundings) -> ShellState:
    around = Surroundings(around.order, around.scope, around.branch, dict(around.definitions), dict(around.loops))
    state = ShellState(source, masked, around, read_around)
    shell_directives.directives(state, ShellContext(around.scope, around.branch))
    return state


def _walked(
    source: Source, masked: MaskedScript, tree: Tree, around: Surroundings, unclosed: list[int], tolerant: bool
) -> FileFacts:
    """Facts from a syntax tree. `tolerant`: what is misread stays so."""
    state = _state(source, masked, around)
    state.tolerant = tolerant
    for start in unclosed:
        state.problem("a quote or substitution is not closed; read as if it ended with its line", start, start + 1)
    try:
        ShellWalker(state).walk(tree.root_node, ShellContext(around.scope, around.branch))
    except FullError:
        state.problem(f"more than {MOST_FACTS:,} facts; the rest is left out", 0, 1)
    if tree.root_node.has_error:
        shell_recovery.report(state, tree.root_node)
    return state.finish()


def _by_lines(source: Source, masked: MaskedScript, around: Surroundings) -> FileFacts:
    """Facts of a script that takes the parser too long as a whole."""
    state = _state(source, masked, around)
    state.problem("not readable as a whole; read line by line", 0, 1)
    state.tolerant = True
    walker = ShellWalker(state)
    context = ShellContext(around.scope, around.branch, recovered=True)
    try:
        for root in shell_recovery.lines(state, 0, len(source.text)):
            walker.walk(root, context)
    except FullError:
        state.problem(f"more than {MOST_FACTS:,} facts; the rest is left out", 0, 1)
    return state.finish()
