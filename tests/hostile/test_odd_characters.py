"""Characters that text holds and programs do not expect, put anywhere into a file of every kind: no reader or rule fails."""

from __future__ import annotations

from pathlib import Path

import pytest
from everything import KINDS, write_everything

from envdoctor.analysis.project import open_project
from envdoctor.engine import Engine, triggers
from envdoctor.knowledge.catalog.load import load_catalog
from envdoctor.knowledge.rulebook import load_rulebook
from envdoctor.project.discovery import find

pytestmark = pytest.mark.slow

ODD = (
    # White space and line ends of some functions and not of others.
    "\v", "\f", "\x1c", "\x1e", "\x85", "\xa0", "\u2028", "\u3000", "\r", "\x00", "\ufeff",
    # Digits that are none, a letter that grows in lower case, one that grows in upper case, marks without a letter.
    "²", "٣", "𝟙", "İ", "ß", "\u0301", "\u202e", "\ud800",
    # More digits than Python converts, deep brackets, escapes of what is no character.
    "1" * 5000, "(" * 200, "[" * 200, "{" * 200, "$((" * 50, "\\U00110000", "\\ud800", "1e999", "+-5",
)  # fmt: skip
STEP = 5
"""Every fifth place, another one for each character."""


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_upset_by_odd_characters(tmp_path: Path, kind: str) -> None:
    name, text = KINDS[kind]
    root = tmp_path.resolve()
    path = f"{kind}/{name}"
    write_everything(root)
    catalog, book = load_catalog(), load_rulebook()
    wanted = triggers(book, catalog)
    for number, odd in enumerate(ODD):
        for at in range(number % STEP, len(text) + 1, STEP):
            data = (text[:at] + odd + text[at:]).encode("utf-8", "surrogatepass")
            project = open_project(root / kind, root / kind, wanted, docs=True).edited({name: data})
            engine = Engine(project, catalog, book, list(book), show_hints=True)
            engine.judge(find([str(root / kind)], root / kind).files)
            assert project.internal.messages() == [], (path, odd, at)
