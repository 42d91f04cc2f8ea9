"""`junit`: read by an XML parser and by a reader of JUnit files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import junitparser
import pytest
from hypothesis import given
from hypothesis import strategies as st
from report_samples import HOSTILE, clean, full, hostile, undone

from envdoctor.core.facts import Place
from envdoctor.core.findings import Finding
from envdoctor.engine import ScanResult
from envdoctor.reports.base import printable
from envdoctor.reports.findings.formats import report


def read(result: ScanResult, folder: Path) -> junitparser.JUnitXml:
    path = folder / "junit.xml"
    path.write_text(report("junit").render(result), encoding="utf-8")
    return junitparser.JUnitXml.fromfile(str(path))


def test_suites_cases_and_counts(tmp_path: Path) -> None:
    xml = read(full(), tmp_path)
    assert [(s.name, s.tests, s.failures, s.errors) for s in xml] == [("train.sh", 3, 2, 0), ("z.py", 1, 0, 0)]
    assert (xml.tests, xml.failures, xml.errors) == (4, 2, 0)
    cases = [case for suite in xml for case in suite]
    assert [case.is_failure for case in cases] == [True, False, True, False]
    (failure,) = cases[0].result
    assert (failure.type, failure.message) == ("error", "nobody reads it")
    assert failure.text.splitlines() == [
        "train.sh:4:8: nobody reads it", "see: job.yaml:2: and set here", "instead: name the algorithm",
        "confirmed: no communicator asked for it", "evidence: owner/name@v1:file.cc",
    ]  # fmt: skip
    assert "refuted: it was read and did change the sum" in cases[1].system_out
    assert (cases[0].classname, cases[0].name) == ("train.sh", "ED101 ghost-variable (4:8)")


def test_a_clean_scan_has_a_case_that_passes(tmp_path: Path) -> None:
    xml = read(clean(), tmp_path)
    (case,) = [case for suite in xml for case in suite]
    assert case.is_passed
    assert (xml.tests, xml.failures) == (1, 0)


def test_text_cannot_break_out(tmp_path: Path) -> None:
    suite, undone = read(hostile(), tmp_path)
    (case,) = suite
    ((error,),) = (case.result for case in undone)
    assert error.message == printable(HOSTILE)
    (failure,) = case.result
    assert failure.message == printable(HOSTILE)
    assert suite.name == printable(f"dir/{HOSTILE}:1,2.sh")


@given(st.text())
def test_any_text_is_well_formed_and_comes_back(message: str) -> None:
    finding = Finding("ED101", "ghost-variable", "error", "high", Place(message or "a", 1, 1, 1, 2), message)
    root = ElementTree.fromstring(report("junit").render(ScanResult([finding])).encode())
    assert root.find(".//failure").get("message") == printable(message)  # type: ignore[union-attr]


@pytest.mark.parametrize("make", [full, hostile, clean, undone])
@pytest.mark.parametrize("word", ["tests", "failures", "errors"])
def test_counts_of_the_root_are_the_sums(word: str, make: Callable[[], ScanResult]) -> None:
    root = ElementTree.fromstring(report("junit").render(make()).encode())
    assert int(root.get(word, "-1")) == sum(int(suite.get(word, "-1")) for suite in root)
