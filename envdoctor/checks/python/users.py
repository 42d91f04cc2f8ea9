"""Programs that use a file or a library of the project: who loads what a build makes, who reads a configuration."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from envdoctor.analysis.python.entries import Program
from envdoctor.analysis.python.modules import Modules
from envdoctor.checks.context import Context
from envdoctor.checks.python.intent import LEVELS, asked_for, launch_settings, wishes
from envdoctor.checks.python.options import choices
from envdoctor.readers.kinds import PYTHON

MOST_PROGRAMS = 300
"""Programs that are followed to see whether one of them asks for determinism."""


def loaders(context: Context, modules: Iterable[str]) -> Iterator[Program]:
    """The programs that load one of the compiled modules, or that build it themselves."""
    words = "|".join(sorted({re.escape(name.split(".")[0]) for name in modules if name}))
    last = "|".join(sorted({re.escape(name.rpartition(".")[2]) for name in modules if name}))
    package = rf"^[ \t]*(?:import|from)[ \t]+\.*(?:{words})\b"
    member = rf"^[ \t]*(?:from[ \t]+[\w.]+[ \t]+)?import[ \t][^#\n]*\b(?:{last})\b"
    library = rf"\b(?:lib)?(?:{last})[\w.-]*\.so\b"
    pattern = re.compile(f"{package}|{member}|{library}", re.MULTILINE) if words else None
    own = (context.facts.path,) if context.facts.kind in PYTHON else ()
    yield from using(context, pattern, own)


def readers(context: Context) -> Iterator[Program]:
    """The programs that name the file at hand, and those that a script starts which names it."""
    assert context.programs is not None
    path = context.facts.path
    yield from using(context, re.compile(rf"(?<![\w-]){re.escape(path.rpartition('/')[2])}\b"), ())
    for script in context.programs.starting(path):
        for launch in script.launches:
            yield from context.programs.launched(launch.inner or launch.words, script.path)


def using(context: Context, pattern: re.Pattern[str] | None, own: tuple[str, ...]) -> Iterator[Program]:
    """The programs that import a file which holds a pattern, or one of `own`, or that start there."""
    assert context.programs is not None
    programs = context.programs
    modules = programs.modules
    holding = {p for p in modules.paths if pattern is not None and pattern.search(programs.text(p))} | {*own}
    for path in sorted(_importing(modules, holding))[:MOST_PROGRAMS]:
        facts = modules.read(path, near=True)
        program = programs.of(facts) if facts is not None else None
        if program is not None:
            yield program


def _importing(modules: Modules, holding: set[str]) -> set[str]:
    """Some files and all that import them, directly or through others."""
    importers: dict[str, set[str]] = {}
    if holding:
        for path in modules.paths:
            for target in modules.imports.edges(path):
                importers.setdefault(target, set()).add(path)
    found = set(holding)
    pending = list(holding)
    while pending:
        new = importers.get(pending.pop(), set()) - found
        found |= new
        pending += new
    return found


def wanted_by(context: Context, programs: Iterable[Program]) -> Program | None:
    """The first of some programs that asks for determinism, and not under a condition."""
    return next((p for p in programs if _wants(p, context.level)), None)


def _wants(program: Program, level: str) -> bool:
    if asked_for(program, level) != "determinism":
        return False
    found = wishes(program)
    plain = any(not choices(w.conditions) for w in found.steps) or any(not choices(s.branch) for s in found.settings)
    return plain or level in LEVELS


def asked_by_script(context: Context) -> bool:
    """Whether a script that names the file at hand asks for determinism by a variable."""
    assert context.programs is not None
    scripts = context.programs.starting(context.facts.path)
    return any(script.launches and any(launch_settings(script.settings)) for script in scripts)
