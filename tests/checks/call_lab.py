"""Judge small projects by the rules about calls, without the command line."""

from __future__ import annotations

from pathlib import Path

from support import known_catalog

from envdoctor.analysis.project import open_project
from envdoctor.core.findings import Finding
from envdoctor.engine import Engine, triggers
from envdoctor.knowledge.rulebook import load_rulebook
from envdoctor.knowledge.targets.given import parse_target
from envdoctor.project.discovery import find

BOOK = load_rulebook()
CALL_RULES = ("ED104", "ED401", "ED501", "ED502", "ED603")


def judged(
    root: Path, target: str = "", level: str = "auto", rules: tuple[str, ...] = CALL_RULES, hints: bool = False
) -> list[Finding]:
    """What the rules about calls say of the files under `root`, which has to be the current folder."""
    catalog = known_catalog()
    chosen = [BOOK.named(name) for name in rules]
    wanted = triggers(chosen, catalog)
    fixed = parse_target(target) if target else None
    project = open_project(root, root, wanted, target=fixed)
    engine = Engine(project, catalog, BOOK, chosen, hints, level=level)
    return engine.judge(find(["."], root).files).findings


def lines(found: list[Finding], path: str = "train.py") -> list[tuple[int, str]]:
    """(line, rule) of the findings in one file."""
    return [(f.place.line, f.rule) for f in found if f.place.path == path]
