"""Programs that use a file or a library of the project: who loads what a build makes, who reads a configuration."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from envdoctor.analysis.python.timeline import Timeline
from envdoctor.checks.context import FileContext
from envdoctor.checks.python.intent import LEVELS
from envdoctor.checks.python.options import choices
from envdoctor.knowledge.intent import asking
from envdoctor.readers.kinds import PYTHON


def loaders(context: FileContext, modules: Iterable[str]) -> Iterator[Timeline]:
    """The programs that load one of the compiled modules, or that build it themselves."""
    entry_points = context.entry_points
    assert entry_points is not None
    words = "|".join(sorted({re.escape(name.split(".")[0]) for name in modules if name}))
    last = "|".join(sorted({re.escape(name.rpartition(".")[2]) for name in modules if name}))
    package = rf"^[ \t]*(?:import|from)[ \t]+\.*(?:{words})\b"
    member = rf"^[ \t]*(?:from[ \t]+[\w.]+[ \t]+)?import[ \t][^#\n]*\b(?:{last})\b"
    library = rf"\b(?:lib)?(?:{last})[\w.-]*\.so\b"
    loading = entry_points.holding(re.compile(f"{package}|{member}|{library}", re.MULTILINE)) if words else set()
    own = {context.facts.path} if context.facts.kind in PYTHON else set()
    yield from entry_points.using(loading | own)


def readers(context: FileContext) -> Iterator[Timeline]:
    """The programs that name the file at hand, and those that a script starts which names it."""
    entry_points = context.entry_points
    assert entry_points is not None
    path = context.facts.path
    naming = entry_points.holding(re.compile(rf"(?<![\w-]){re.escape(path.rpartition('/')[2])}\b"))
    yield from entry_points.using(naming)
    for script in entry_points.starting(path):
        for launch in script.launches:
            yield from entry_points.launched(launch.inner or launch.words, script.path)


def wanted_by(context: FileContext, timelines: Iterable[Timeline]) -> Timeline | None:
    """The first of some programs that asks for determinism, and not under a condition."""
    return next((t for t in timelines if _wants(t, context)), None)


def _wants(timeline: Timeline, context: FileContext) -> bool:
    if context.shared.intents.asked_for(timeline, context.level) != "determinism":
        return False
    found = context.shared.intents.of(timeline)
    plain = any(not choices(w.conditions) for w in found.events) or any(not choices(s.branch) for s in found.settings)
    return plain or context.level in LEVELS


def asked_by_script(context: FileContext) -> bool:
    """Whether a script that names the file at hand asks for determinism by a variable."""
    assert context.entry_points is not None
    scripts = context.entry_points.starting(context.facts.path)
    return any(script.launches and any(asking(script.settings)) for script in scripts)
