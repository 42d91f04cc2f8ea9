"""Conf files: what the library makes of each line, and files of other programs with the same suffix."""

from __future__ import annotations

import pytest
from facts_shown import check_places, check_repeated, excerpt, facts_of, fixture, shown_all
from hypothesis import given
from hypothesis import strategies as st

NAMES = st.from_regex(r"[A-Z][A-Z0-9]{0,3}_[A-Z0-9_]{1,6}", fullmatch=True)
SETTINGS = {
    "nccl.conf": [
        "2 set NCCL_IB_TIMEOUT=22 yes conf-file # how this site tunes its network",
        '3 set NCCL_ALGO="Ring" yes conf-file',
        "4 set NCCL_DEBUG=INFO # not a comment yes conf-file",
        "5 set NCCL_PROTO = LL yes conf-file",
        "8 set HOME_DIR=$HOME yes conf-file",
    ],
    "openmpi-mca-params.conf": [
        "2 pass NCCL_DEBUG=unknown() yes launcher-argument",
        "2 set NCCL_ALGO=Ring yes launcher-argument",
    ],
    "override.conf": [
        "2 set NCCL_DEBUG=INFO yes service",
    ],
    "spark-defaults.conf": [
        "2 set NCCL_DEBUG=INFO yes task",
        "3 set NCCL_ALGO=Ring yes task",
    ],
    "tuning.conf": [
        "1 set NCCL_BUFFSIZE=8388608 yes conf-file",
        "2 set MY_OWN=1 yes conf-file",
    ],
}


@pytest.mark.parametrize("name", SETTINGS)
def test_settings(name: str) -> None:
    text, facts = fixture("conf", name)
    assert shown_all(facts) == SETTINGS[name]
    check_places(text, facts)


def test_the_name_keeps_its_blanks_and_so_does_its_place() -> None:
    text, facts = fixture("conf", "nccl.conf")
    assert "NCCL_PROTO " in [s.name for s in facts.settings]
    assert [excerpt(text, s.name_place) for s in facts.settings] == [s.name for s in facts.settings]
    assert [excerpt(text, s.value_place) for s in facts.settings] == [s.value.text for s in facts.settings]


def test_lines_that_set_nothing_that_is_read_are_said() -> None:
    _, facts = fixture("conf", "nccl.conf")
    assert [p.place.line for p in facts.problems] == [6, 7]


@pytest.mark.parametrize(
    ("text", "path", "names"),
    [
        ("[x]\nNCCL_DEBUG=INFO\n", "a.conf", []),
        ("A=1\nB=2\n", "a.conf", []),
        ("NCCL_DEBUG=INFO\n", "environment.d/10-nccl.conf", ["NCCL_DEBUG"]),
        ("# NCCL_DEBUG=INFO\nuser nginx;\n", "nginx.conf", []),
    ],
)
def test_other_files_with_this_suffix(text: str, path: str, names: list[str]) -> None:
    assert [s.name for s in facts_of(text, path).settings] == names


def test_a_script_that_writes_one_may_have_replaced_variables() -> None:
    facts = facts_of('cat > /etc/nccl.conf <<EOF\nNCCL_IB_HCA=$HCA\nNCCL_ALGO="Ring"\nEOF\n', "a.sh")
    assert [(s.name, s.value.kind, s.value.text, s.channel) for s in facts.settings] == [
        ("NCCL_IB_HCA", "template", "$HCA", "conf-file"),
        ("NCCL_ALGO", "literal", '"Ring"', "conf-file"),
    ]


@given(st.lists(st.tuples(NAMES, st.text("ab1/:.,-\"' #=$", max_size=6)), min_size=1, max_size=5))
def test_places_hold(pairs: list[tuple[str, str]]) -> None:
    text = "".join(f"{name}={value}\n" for name, value in pairs)
    facts = facts_of(text, "nccl.conf")
    assert [(s.name, s.value.text) for s in facts.settings] == pairs
    for setting, (name, value) in zip(facts.settings, pairs, strict=True):
        assert excerpt(text, setting.name_place) == name
        assert excerpt(text, setting.value_place) == value


@given(st.text("NCL_=#[]$ \t\n.spark;mca\x00\u00e9", max_size=80), st.sampled_from(["nccl.conf", "a.conf"]))
def test_any_text_is_read(text: str, path: str) -> None:
    check_places(text, facts_of(text, path))


SPARK = "spark.executorEnv.A" + " " * 1000 + "\n"


@pytest.mark.slow
@pytest.mark.parametrize("line", ["NCCL_A=1\n", "=\n", " " * 1000, SPARK, "[x\n", "A;"])
def test_time_is_bounded(line: str) -> None:
    check_repeated(line, "a.conf")


@pytest.mark.slow
def test_five_megabytes() -> None:
    check_repeated("NCCL_DEBUG=INFO\n", "a.conf", 5_000_000)
