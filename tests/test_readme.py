"""The README says what is true: its sample is the program's own output, and its commands exist."""

from __future__ import annotations

import os
import re

import generate_docs
import pytest
from support import ROOT, envdoctor

from envdoctor.cli.arguments import COMMANDS

README = ROOT / "README.md"
SAMPLE = re.compile(r"(<!-- sample -->\n)(.*?)(<!-- /sample -->)", re.DOTALL)


@pytest.mark.slow
def test_the_sample_is_what_the_command_prints() -> None:
    """`ENVDOCTOR_ACCEPT=1 pytest tests/test_readme.py` writes it anew."""
    run = envdoctor("scan", "examples/first-look", cwd=ROOT)
    assert run.returncode == 1
    shown = f"```text\n{run.stdout}```\n"
    text = README.read_text(encoding="utf-8")
    if os.environ.get("ENVDOCTOR_ACCEPT"):
        text = SAMPLE.sub(lambda m: m[1] + shown + m[3], text)
        README.write_text(text, encoding="utf-8")
    match = SAMPLE.search(text)
    assert match is not None
    assert match[2] == shown, "`ENVDOCTOR_ACCEPT=1 pytest tests/test_readme.py` writes the sample anew"


def test_every_command_is_named_and_exists() -> None:
    named = set(re.findall(r"`envdoctor (\w+)", README.read_text(encoding="utf-8")))
    assert named <= set(COMMANDS)
    assert set(COMMANDS) <= named


def test_the_changelog_names_every_rule() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    from envdoctor.knowledge.rulebook import load_rulebook

    def covered(rule_id: str) -> bool:
        number = int(rule_id[2:])
        spans = re.findall(r"ED(\d{3}) to (?:ED)?(\d{3})", text)
        return rule_id in text or any(int(a) <= number <= int(b) for a, b in spans)

    unnamed = [r.id for r in load_rulebook() if not covered(r.id)]
    assert unnamed == [], "CHANGELOG.md wants a line that names each of them"


def test_pages_are_not_stale() -> None:
    stale = [path.relative_to(ROOT).as_posix() for path in generate_docs.stale_pages()]
    assert stale == [], f"the rules or the catalogue say something else: run `{generate_docs.COMMAND}`"
