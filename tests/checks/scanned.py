"""What some rules say about a small tree, for the tests of checks that look at launch units."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from support import known_catalog

from envdoctor.discovery import find
from envdoctor.engine import Engine
from envdoctor.findings import Finding
from envdoctor.project import Project
from envdoctor.rulebook import load_rulebook
from envdoctor.targets import parse_target

BOOK = load_rulebook()


def findings(root: Path, *names: str, target: str = "") -> list[Finding]:
    """The findings of the named rules, hints left out, in order of their places."""
    catalog = known_catalog()
    triggers = {t.encode() for rule in BOOK for t in rule.triggers} | set(catalog.triggers())
    project = Project(root, root, (), parse_target(target) if target else None, tuple(triggers))
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
