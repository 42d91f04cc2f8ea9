"""Makefiles and justfiles: each line of a recipe is a shell, with what is exported and not with what is only set.

Sources: GNU make manual (a variable reaches recipes only if it is exported, wherever in the file that stands; all
assignments count before any recipe runs; `.ONESHELL` gives a recipe one shell), just manual.
"""

from __future__ import annotations

from collections.abc import Sequence

from envdoctor.analysis.process.beginnings.common import line_of
from envdoctor.analysis.process.beginnings.root import Root
from envdoctor.core.facts import FileFacts, Inclusion, Scope, Setting
from envdoctor.core.operations import Script
from envdoctor.core.regexes import regex

LINE = ", line "
"""Between the targets of a recipe and the number of a line, in the name of a scope."""

_EXPORTS_FILES = regex(r"^(?:export[ \t]*(?:#.*)?$|export[ \t]+\$[({]shell\b|\.EXPORT_ALL_VARIABLES)", 8)


def roots(facts: FileFacts, scripts: Sequence[Script], text: str) -> list[Root]:
    """The shells of all recipes; `before` is the line before of the same recipe."""
    own = [s for s in facts.settings if s.channel in ("shell", "argument") and _is_own(s.scope)]
    files = _files(facts, text)
    found: list[Root] = []
    last: dict[str, int] = {}
    for script in scripts:
        targets = script.scope.name.partition(LINE)[0]
        mine = [s for s in own if _is_for(s.scope, targets)]
        exported, rest = _exported(mine)
        before = last.get(targets, -1)
        last[targets] = len(found)
        found.append(
            Root(facts.path, "recipe", targets, line_of(script), script, exported, files, before=before,
                 inherits=True, unexported=rest)
        )  # fmt: skip
    return found


def _is_own(scope: Scope) -> bool:
    """Whether a setting is one of the file, for all recipes or for some targets, and not of a shell."""
    return scope == Scope() or (scope.kind == "subshell" and LINE not in scope.name)


def _is_for(scope: Scope, targets: str) -> bool:
    """Whether a setting holds in a recipe: one for some targets holds in theirs."""
    return scope == Scope() or bool(set(scope.name.split()) & set(targets.split()))


def _exported(settings: Sequence[Setting]) -> tuple[tuple[Setting, ...], tuple[Setting, ...]]:
    """What reaches a shell of make, and what does not; a name that is exported apart from its value is one setting."""
    given = {s.name for s in settings if s.op != "export"}
    there = [s for s in settings if s.channel == "shell" and not (s.op == "export" and s.name in given)]
    there.sort(key=lambda s: s.scope != Scope())
    return tuple(there), tuple(s for s in settings if s.channel == "argument")


def _files(facts: FileFacts, text: str) -> tuple[Inclusion, ...]:
    """Files of variables: just exports them, make where all is exported."""
    if facts.kind != "justfile" and not _EXPORTS_FILES.search(text):
        return ()
    return tuple(i for i in facts.inclusions if i.kind == "env-file" and _is_own(i.scope))
