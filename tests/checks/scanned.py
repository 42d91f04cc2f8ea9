"""What some rules say about a small tree, for the tests of checks that look at launch units."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from support import known_catalog

from envdoctor.analysis.project import open_project
from envdoctor.core.findings import Finding
from envdoctor.engine import Engine, triggers
from envdoctor.knowledge.rulebook import load_rulebook
from envdoctor.knowledge.targets.given import parse_target
from envdoctor.project.discovery import find

BOOK = load_rulebook()


def findings(root: Path, *names: str, target: str = "") -> list[Finding]:
    """The findings of the named rules, hints left out, in order of their places."""
    catalog = known_catalog()
    wanted = triggers(BOOK, catalog)
    project = open_project(root, root, wanted, target=parse_target(target) if target else None)
    rules = [BOOK.named(name) for name in names]
    return Engine(project, catalog, BOOK, rules).judge(find([str(root)], root).files).findings


def said(root: Path, *names: str, target: str = "") -> list[tuple[str, int, str | None]]:
    """(path, line, variable) of each finding."""
    return [(f.place.path, f.place.line, f.variable) for f in findings(root, *names, target=target)]


def write(root: Path, files: Mapping[str, str]) -> Path:
    """Write files under a folder, as they are."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root
