"""Shell text that a command runs: `bash -c "..."`, `eval "$CMD"`."""

from __future__ import annotations

from envdoctor.core.facts import Branch, Scope
from envdoctor.readers.shell.state import ShellContext, ShellState
from envdoctor.readers.shell.syntax.words import Word


def narrowed(context: ShellContext, branch: tuple[Branch, ...]) -> ShellContext:
    """A context under further conditions."""
    more = tuple(b for b in branch if b not in context.branch)
    return context.within(context.branch + more) if more else context


def embed_script(state: ShellState, word: Word, context: ShellContext, what: str) -> None:
    """Read text that another shell runs; `$CMD` is what the variable holds."""
    scope = context.scope
    if scope.kind != "container" or not scope.name:
        scope = Scope("subshell", state.scope_name(what, word.start) if word.source is state.source else what)
    name = word.variable()
    pieces = [a[0] for a in state.alternatives(name) if len(a) == 1] if name else []
    for piece in pieces or [word]:
        inner = narrowed(context, piece.branch)
        state.embed_word(piece, "shell", scope, inner.branch)
