"""The doctor's sheet: marks, sections and the three formats for people, on recorded nodes and on hostile text."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from node_trees import edited, judged, judged_as_recorded
from recorded import NAMES

from envdoctor.core.facts import Place
from envdoctor.core.findings import Confirmation, Finding, Severity
from envdoctor.node.live.examination import Examination
from envdoctor.node.probes.base import ProbeStatus
from envdoctor.node.probes.keys import KEYS
from envdoctor.node.probes.node import AFTER, BEFORE
from envdoctor.reports.findings.markdown import escaped, fenced
from envdoctor.reports.node.base import PROBE_OF_KEY, SECTIONS, mark_of, node_report, probe_of
from envdoctor.reports.node.formats import FORMATS, node_format
from envdoctor.reports.node.json import examination_json
from envdoctor.reports.node.lines import SAY

HEALTHY, CONTAINER, H100 = "mi300x-8gpu-rocm-6.2", "mi300x-rocm-7.0-container", "h100-8gpu-cuda-12.4"
EVIL = "\x1b[31m<script>alert(1)</script>|`*_[x](http://x)@all\"'&"


def finding(severity: Severity, name: str = "no-gpu", path: str = "/x") -> Finding:
    return Finding("ED720", name, severity, "high", Place(path, 1, 1, 1, 1), "said")


def render(examination: Examination, form: str, **how: bool) -> str:
    return node_format(form, **how).render(examination)


@pytest.fixture
def hostile(tmp_path: Path) -> Examination:
    """A node whose names, versions and variables hold what means something to terminals, HTML and Markdown."""
    edits = [
        {"file": "root/proc/self/environ", "replace": "NCCL_ALOG=Ring", "code": f"NCCL_ALOG={EVIL}"},
        {"file": "root/proc/sys/kernel/osrelease", "code": f"5.15{EVIL}\n"},
        {"file": "root/usr/local/cuda/version.json", "replace": "12.4.1", "code": "12.4<b>1"},
        {"file": "root/etc/nccl.conf", "code": f"NCCL_IB_TIMEOUT={EVIL}\n"},
        {"file": "node.toml", "replace": f'name = "{H100}"', "code": 'name = "<i>node"'},
    ]
    return judged(edited(H100, tmp_path, edits))


def test_every_probe_has_its_place_on_the_sheet() -> None:
    shown = [name for _, names in SECTIONS for name in names]
    probes = [*(probe.name for probe in (*BEFORE, *AFTER)), "job"]
    assert sorted(shown) == sorted(probes), "SECTIONS in reports/node/base.py wants the name of each probe"
    assert set(SAY) <= set(shown)


def test_every_key_belongs_to_a_probe() -> None:
    shown = {name for _, names in SECTIONS for name in names}
    assert set(PROBE_OF_KEY.values()) <= shown
    for key in KEYS:
        known = any(key.startswith(start) for start in PROBE_OF_KEY)
        assert known, f"{key}: PROBE_OF_KEY in reports/node/base.py says on which line a key is shown"


@pytest.mark.parametrize(
    ("status", "severities", "mark"),
    [
        ("ok", [], "ok"), ("ok", ["info"], "info"), ("ok", ["info", "warning"], "warning"),
        ("ok", ["warning", "error"], "error"), ("absent", [], "absent"), ("skipped", [], "absent"),
        ("failed", [], "failed"), ("failed", ["info"], "failed"), ("failed", ["error"], "error"),
        ("absent", ["error"], "error"),
    ],
)  # fmt: skip
def test_marks(status: str, severities: list[Severity], mark: str) -> None:
    probe = ProbeStatus("GPUs", status)  # type: ignore[arg-type]
    assert mark_of(probe, [finding(severity) for severity in severities]) == mark


@pytest.mark.parametrize("name", NAMES)
def test_every_observation_stands_somewhere(name: str) -> None:
    examination = judged_as_recorded(name)
    shown = {name for _, names in SECTIONS for name in names}
    assert {probe_of(o) for o in examination.node.facts.observations} <= shown
    sheet = node_report(examination, details=True)
    facts = sum(len(line.facts) for section in sheet.sections for line in section.lines)
    assert facts == len(examination.node.facts.observations)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("form", sorted(FORMATS))
def test_every_node_in_every_format(name: str, form: str) -> None:
    text = render(judged_as_recorded(name), form, details=True, hints=True)
    assert text.endswith("\n")
    assert "\x1b" not in text
    assert name in text


def test_findings_mark_their_lines() -> None:
    sheet = node_report(judged_as_recorded(H100))
    marks = {line.label: line.mark for section in sheet.sections for line in section.lines}
    assert marks["environment"] == "error"
    assert marks["collectives library"] == "warning"
    assert marks["conf files"] == "info"
    assert marks["driver"] == "ok"
    assert "KFD topology" not in marks


def test_a_setting_of_a_conf_file_marks_the_conf_files(tmp_path: Path) -> None:
    folder = edited(H100, tmp_path, [{"file": "root/etc/nccl.conf", "code": "NCCL_DETERMINISTIC=1\n"}])
    sheet = node_report(judged(folder))
    (line,) = [line for section in sheet.sections for line in section.lines if line.label == "conf files"]
    assert line.mark == "error"
    assert "ghost-variable" in {f.name for f in line.findings}


def test_what_is_hidden_is_counted() -> None:
    sheet = node_report(judged_as_recorded(H100))
    assert sheet.closing == "5 findings (1 error, 4 warnings); 2 hints not shown (--hints)"
    assert node_report(judged_as_recorded(H100), hints=True).closing == "7 findings (1 error, 4 warnings, 2 hints)"
    assert node_report(judged_as_recorded(HEALTHY)).closing == "No findings"
    assert any("--details names them" in note for note in sheet.notes)
    assert not any("--details" in note for note in node_report(judged_as_recorded(H100), details=True).notes)


def test_lines_in_words() -> None:
    sheet = node_report(judged_as_recorded(CONTAINER))
    lines = {line.label: line.text for section in sheet.sections for line in section.lines}
    assert lines["container"] == "inside a container (docker)"
    assert lines["shared memory"] == "/dev/shm has 64 MiB"
    assert lines["GPUs"] == "8 x gfx942, 192 GiB, SPX/NPS1, performance level auto"
    assert lines["driver"] == "amdgpu 6.8.5"
    assert lines["device permissions"] == "8 of 8 GPUs usable, /dev/kfd may be opened"
    assert lines["collectives library"].startswith("RCCL 2.22.3 at /opt/venv/lib/python3.12/site-packages/torch/lib/")
    assert lines["conf files"] == "/etc/nccl.conf (ignored)"


def test_a_driver_without_a_version() -> None:
    sheet = node_report(judged_as_recorded("rocm-wheels-no-opt-rocm"))
    lines = {line.label: line.text for section in sheet.sections for line in section.lines}
    assert lines["driver"] == "amdgpu of the kernel itself (6.8.0-60-generic), which has no version"


def test_a_confirmation_is_shown() -> None:
    examination = judged_as_recorded(HEALTHY)
    said = Finding("ED101", "ghost-variable", "error", "high", Place("/x", 1, 1, 1, 1), "said", variable="NCCL_X",
                   confirmation=Confirmation("confirmed", "nobody asked for it"))  # fmt: skip
    examination.findings = [said]
    for form in ("text", "markdown", "html"):
        assert "nobody asked for it" in render(examination, form)
    assert examination_json(examination)["findings"][0]["confirmation"]["state"] == "confirmed"


def test_text_for_the_terminal_is_escaped(hostile: Examination) -> None:
    text = render(hostile, "text", details=True)
    assert "\x1b" not in text
    assert "\\x1b[31m<script>" in text


class Tags(HTMLParser):
    """Names of the tags and attributes of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        if tag != "meta" and tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_page_holds_no_script_and_nothing_from_elsewhere(hostile: Examination) -> None:
    page = render(hostile, "html", details=True)
    tags = Tags()
    tags.feed(page)
    assert tags.open == []
    assert tags.tags <= {"html", "head", "meta", "title", "style", "body", "h1", "h2", "p", "br", "ul", "li", "span",
                         "b", "code", "table", "tr", "td", "details", "summary", "pre"}  # fmt: skip
    assert not tags.attributes & {"src", "href", "style"} and not any(name.startswith("on") for name in tags.attributes)
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "&lt;i&gt;node" in page
    assert "url(" not in page


def test_nothing_in_markdown_becomes_markup(hostile: Examination) -> None:
    text = render(hostile, "markdown", details=True)
    assert "<script>" not in text.replace("\\<script\\>", "")
    assert "[x](http" not in text
    for line in text.splitlines():
        if line.startswith("| "):
            assert len(re.findall(r"(?<!\\)\|", line)) == 4, line


def test_words_that_mean_something_to_markdown() -> None:
    assert escaped("a|b\n c`d <e> _f_ *g* [h](i) #1 &lt; $x$") == (
        r"a\|b c\`d \<e\> \_f\_ \*g\* \[h\](i) \#1 \&lt; \$x\$"
    )
    assert escaped("NCCL_ALGO of rocm-6.2 at owner/name@abc") == "NCCL_ALGO of rocm-6.2 at owner/name@abc"
    assert escaped("by @all") == "by @\u200ball"
    assert fenced(["a ```b", "c"]) == ["````text", "a ```b", "c", "````"]


def test_json_is_complete() -> None:
    report = examination_json(judged_as_recorded(CONTAINER))
    assert set(report) == {"version", "node", "findings", "experiments", "smoke", "source", "depth", "level", "target",
                           "notes", "summary", "details"}  # fmt: skip
    assert report["target"] == {
        "platform": "rocm", "versions": {"torch": "2.8.0", "rocm": "6.4.0"}, "gpus": ["gfx942"]
    }  # fmt: skip
    wheel = next(lib for lib in report["details"]["libraries"] if "torch/lib" in lib["path"])
    assert wheel["version"] == "2.22.3"
    assert re.fullmatch(r"[0-9a-f]{64}", wheel["sha256"])
    assert report["summary"]["by_severity"]["warning"] == len(
        [f for f in report["findings"] if f["severity"] == "warning"]
    )
    assert "job" not in report


def test_colour_only_where_it_is_asked_for() -> None:
    examination = judged_as_recorded(H100)
    assert "\x1b[1;31m" in render(examination, "text", colour=True)
    assert "\x1b" not in render(examination, "text")
    assert render(examination, "text", ascii_only=True).isascii()


@pytest.mark.parametrize("name", ["text", "markdown", "html"])
def test_a_note_of_several_lines_keeps_them(name: str) -> None:
    examination = judged_as_recorded("recorded-h200-2gpu-nccl-2.28")
    examination.smoke = "user     A  A\npinned   A  B"
    text = node_format(name).render(examination)
    assert "user     A  A\n" in text
    assert "pinned   A  B" in text
