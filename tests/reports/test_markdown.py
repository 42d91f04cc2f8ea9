"""`markdown`: read by a CommonMark parser; text of scanned files stays text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token
from report_samples import HOSTILE, clean, full, hostile

from envdoctor.core.records import replace
from envdoctor.engine import ScanResult
from envdoctor.reports.base import printable
from envdoctor.reports.findings.formats import report
from envdoctor.reports.findings.markdown import MOST, escaped

PARSER = MarkdownIt("commonmark").enable(["table", "strikethrough"])


def tokens(text: str) -> list[Token]:
    """All tokens, those of lines included."""
    found: list[Token] = []
    for token in PARSER.parse(text):
        found += [token, *(token.children or [])]
    return found


def test_headings_items_and_code() -> None:
    text = report("markdown").render(full())
    found = tokens(text)
    kinds = [token.type for token in found]
    assert kinds.count("heading_open") == 3
    assert [t.content for t in found if t.type == "fence"] == ["export NCCL_DETERMINISTIC=1\n", "export A=1  # é\n"]
    said = "".join(t.content for t in found if t.type == "text")
    for word in ("line 4 [confirmed]", "nobody reads it", "see: job.yaml:2: and set here",
                 "instead: name the algorithm", "confirmed: no communicator asked for it", "refuted: it was read",
                 "not testable here: one GPU", "evidence: owner/name@v1:file.cc",
                 "note: b.py:3: cannot be parsed"):  # fmt: skip
        assert word in said, word


def test_nothing_found() -> None:
    assert report("markdown").render(clean()) == "### envdoctor\n\nNo findings in 3 files with settings\n"


def test_text_cannot_break_out() -> None:
    found = tokens(report("markdown").render(hostile()))
    assert not {t.type for t in found} & {"html_inline", "html_block", "link_open", "code_inline", "em_open",
                                          "table_open", "image"}  # fmt: skip
    said = "".join(t.content for t in found if t.type == "text")
    assert "<script>alert(1)</script>" in said
    assert "@all" not in said
    (fence,) = [t.content for t in found if t.type == "fence"]
    assert fence == printable(HOSTILE)[:200].strip() + "\n"


@given(st.text(alphabet=st.characters(codec="utf-8"), max_size=40))
def test_any_text_stays_text(text: str) -> None:
    found = tokens(f"- a: {escaped(text)}\n")
    said = "".join(t.content for t in found if t.type == "text").replace("\u200b", "")
    plain = printable(" ".join(text.split()))
    assert said == f"a: {plain}".rstrip()


@pytest.mark.parametrize("count", [1, 2000])
def test_a_comment_is_never_too_long(count: int) -> None:
    one = full()
    found = [replace(one.findings[0], message=f"m{i} " + "x" * 100) for i in range(count)]
    text = report("markdown").render(ScanResult(found, excerpts=one.excerpts, summary=one.summary))
    assert len(text) < MOST + 500
    shown = sum(f"m{i} " in text for i in range(count))
    left = f"{count - shown} further findings left out: too long for a comment." in text
    assert left == (count > shown)
