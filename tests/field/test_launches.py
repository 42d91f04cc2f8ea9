"""The judged launch units are complete entries, each once, of at least five repositories."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any

from envdoctor.knowledge.files import loads_toml

ROWS: list[dict[str, Any]] = loads_toml(
    (Path(__file__).parent / "launches.toml").read_text(encoding="utf-8")
)["unit"]  # fmt: skip
KEYS = {"repository", "commit", "path", "line", "chain", "program", "right", "before", "why"}
COMMIT = re.compile(r"[0-9a-f]{40}")


def test_entries_are_complete() -> None:
    for row in ROWS:
        assert set(row) - {"settings"} == KEYS, row
        assert COMMIT.fullmatch(row["commit"]), row
        assert row["line"] > 0 and row["chain"], row
        assert isinstance(row["right"], bool)
        assert row["before"] in ("right", "wrong", "missed"), row
        assert len(row["why"]) > 8, row


def test_each_unit_is_judged_once() -> None:
    units = [(r["repository"], r["path"], r["line"], r["chain"], r["program"]) for r in ROWS]
    assert len(units) == len(set(units))


def test_what_must_not_be_printed_was_printed_once() -> None:
    assert {row["before"] for row in ROWS if not row["right"]} == {"wrong"}


def test_a_fair_share_of_five_repositories() -> None:
    counts = Counter(row["repository"] for row in ROWS)
    assert len(counts) >= 5
    assert min(counts.values()) >= 12
