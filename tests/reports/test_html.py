"""`html`: strict HTML5, no script, nothing from elsewhere, colours that can be read; looked at by a real browser."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import zlib
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import html5lib
import pytest
from report_samples import HOSTILE, clean, full, hostile

from envdoctor.engine import ScanResult
from envdoctor.reports.base import printable
from envdoctor.reports.findings.formats import report
from envdoctor.reports.findings.html_style import STYLE

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
TAGS = {
    "html", "head", "meta", "title", "style", "body", "header", "main", "section", "article", "h1", "h2", "h3", "p",
    "div", "label", "input", "table", "thead", "tbody", "tr", "th", "td", "a", "code", "pre", "mark", "span", "dl",
    "dt", "dd", "ul", "li", "details", "summary",
}  # fmt: skip


class Page(HTMLParser):
    """Tags, attributes, text and links of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: set[str] = set()
        self.links: set[str] = set()
        self.ids: list[str] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes |= {name for name, _ in attrs}
        self.links |= {value or "" for name, value in attrs if name == "href"}
        self.ids += [value or "" for name, value in attrs if name == "id"]

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.mark.parametrize("make", [full, hostile, clean])
def test_valid_self_contained_and_without_a_script(make: Callable[[], ScanResult]) -> None:
    text = report("html").render(make())
    html5lib.HTMLParser(strict=True).parse(text)
    page = Page(text)
    assert set(page.tags) <= TAGS
    assert not page.attributes & {"src", "style", "srcset", "action"}
    assert not any(name.startswith("on") for name in page.attributes)
    assert all(link.startswith("#") and link[1:] in page.ids for link in page.links)
    assert len(set(page.ids)) == len(page.ids)
    assert "url(" not in STYLE
    assert "@import" not in STYLE


def test_strict_parsing_can_fail() -> None:
    with pytest.raises(html5lib.html5parser.ParseError):
        html5lib.HTMLParser(strict=True).parse("<!doctype html><p><div></p>")


def test_everything_is_on_the_page() -> None:
    page = Page(report("html").render(full()))
    for word in ("1 error, 2 warnings, 1 hint", "ED101 ghost-variable", "nobody reads it", "line 4, column 8",
                 "job.yaml:2: and set here", "name the algorithm", "confirmed", "refuted", "not testable here",
                 "one GPU", "owner/name@v1:file.cc", "cannot be parsed",
                 "rename it (envdoctor scan --fix --unsafe-fixes, which may change what the job does)",
                 "Libraries read the names they know"):  # fmt: skip
        assert word in page.text, word
    assert page.tags.count("article") == 4
    assert page.tags.count("input") == 3


def test_what_is_meant_is_marked() -> None:
    text = report("html").render(full())
    assert "export <mark>NCCL_DETERMINISTIC</mark>=1" in text
    assert "<mark>export A=1  # é</mark>" in text  # from column 1 to the end of the line


def test_code_in_the_text_of_rules() -> None:
    text = report("html").render(full())
    assert "<code>true</code> becomes 0" in text


def test_a_long_line_is_shown_in_part() -> None:
    result = full()
    result.excerpts["train.sh", 4] = "x" * 7 + "Y" * 18 + "z" * 5000
    text = report("html").render(result)
    assert f"<mark>{'Y' * 18}</mark>{'z' * 275}</pre>" in text


def test_text_cannot_break_out() -> None:
    text = report("html").render(hostile())
    assert "<script" not in text
    assert printable(HOSTILE) in Page(text).text


def luminance(colour: str) -> float:
    """Relative luminance of `#rgb` or `#rrggbb`, as WCAG 2 has it."""
    digits = colour if len(colour) == 7 else "#" + "".join(2 * digit for digit in colour[1:])
    parts = [int(digits[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(first: str, second: str) -> float:
    light, dark = sorted((luminance(first), luminance(second)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("mode", [0, 1], ids=["light", "dark"])
def test_colours_can_be_read(mode: int) -> None:
    block = re.findall(r":root \{([^}]*)\}", STYLE)[mode]
    colours = dict(re.findall(r"--(\w+): (#[0-9a-f]+)", block))
    for ink in ("text", "soft", "error", "warning", "info", "good"):
        for paper in ("page", "card"):
            assert contrast(colours[ink], colours[paper]) >= 4.5, (ink, paper)
    assert contrast(colours["marked"], colours["mark"]) >= 4.5


needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")


def browse(page: Path, *words: str) -> str:
    """What headless Chromium writes to standard output."""
    quiet = ["--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync",
             "--disable-quic", "--disable-gpu", "--hide-scrollbars", "--window-size=800,600"]  # fmt: skip
    sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
    profile = f"--user-data-dir={page.parent / 'profile'}"
    command = [str(CHROMIUM), "--headless", *sandbox, *quiet, profile, *words, page.as_uri()]
    run = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert run.returncode == 0, run.stderr
    return run.stdout


def corner(picture: bytes) -> tuple[int, ...]:
    """Red, green and blue of the first pixel of a PNG with 8 bits a channel."""
    assert picture.startswith(b"\x89PNG")
    parts = re.findall(rb"IDAT(.*?)(?=.{8}(?:IDAT|IEND))", picture, re.DOTALL)
    data = zlib.decompressobj().decompress(parts[0])
    return tuple(data[1:4])


@needs_chromium
def test_a_browser_keeps_every_element_and_runs_nothing(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    for make in (full, hostile):
        path.write_text(report("html").render(make()), encoding="utf-8")
        made = Page(browse(path, "--dump-dom"))
        page = Page(path.read_text(encoding="utf-8"))
        assert made.tags == page.tags
        assert made.text.split() == page.text.split()


@needs_chromium
@pytest.mark.parametrize(
    ("words", "background"), [([], (255, 255, 255)), (["--force-dark-mode"], (20, 24, 29))], ids=["light", "dark"]
)
def test_a_browser_paints_light_and_dark(tmp_path: Path, words: list[str], background: tuple[int, ...]) -> None:
    path = tmp_path / "report.html"
    path.write_text(report("html").render(full()), encoding="utf-8")
    browse(path, f"--screenshot={tmp_path / 'shot.png'}", *words)
    assert corner((tmp_path / "shot.png").read_bytes()) == background
