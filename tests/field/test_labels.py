"""The judged findings are complete entries, each once, and of rules that exist."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from envdoctor.knowledge.files import loads_toml
from envdoctor.knowledge.rulebook import load_rulebook

FILES = sorted(Path(__file__).parent.glob("labels*.toml"))
COMMIT = re.compile(r"[0-9a-f]{40}")
KEYS = {"repository", "commit", "path", "line", "rule", "true", "why"}


def rows(path: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = loads_toml(path.read_text(encoding="utf-8"))["finding"]
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_entries_are_complete(path: Path) -> None:
    rules = {rule.id for rule in load_rulebook()}
    for row in rows(path):
        assert set(row) - {"variable"} >= KEYS, row
        assert COMMIT.fullmatch(row["commit"]), row
        assert row["rule"] in rules, row
        assert isinstance(row["true"], bool)
        assert len(row["why"]) > 8, row


def test_each_place_is_judged_once() -> None:
    places = [
        (r["repository"], r["path"], r["line"], r["rule"], r.get("variable")) for path in FILES for r in rows(path)
    ]
    assert len(places) == len(set(places))


def test_at_least_five_repositories() -> None:
    assert len({r["repository"] for path in FILES for r in rows(path)}) >= 5
