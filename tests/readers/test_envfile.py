"""Files of variables: the rules of each program that reads them, places, bad input, bounds."""

from __future__ import annotations

import pytest
from facts_shown import check_places, check_repeated, excerpt, facts_of, fixture, shown_all
from hypothesis import given
from hypothesis import strategies as st

from envdoctor.readers.kinds import kind_of

NAMES = st.from_regex(r"[A-Z][A-Z0-9]{0,3}_[A-Z0-9_]{1,6}", fullmatch=True)
SETTINGS = {
    ".deepspeed_env": [
        "1 set NCCL_DEBUG=INFO yes env-file",
        "2 set NCCL_IB_HCA=mlx5_0 yes env-file",
        "3 set PATH=template($PATH:/opt/bin)[PATH|None] yes env-file",
        "5 set TORCH_NCCL_BLOCKING_WAIT=1 yes env-file",
    ],
    "env.list": [
        '2 set NCCL_DEBUG="INFO" yes env-file # docker run --env-file',
        "3 set NCCL_ALGO=Ring # kept yes env-file",
        "4 set HF_HOME=$HOME/hf yes env-file",
        "5 pass NCCL_IB_HCA=unknown() yes env-file",
    ],
    "sourced.env": [
        "1 set NCCL_DEBUG=WARN unknown shell",
        '3 set NCCL_SOCKET_IFNAME=ib0 yes shell <[ -n "$SLURM_JOB_ID" ]>',
    ],
    "train.env": [
        "2 set NCCL_DEBUG=INFO unknown env-file # how much it says",
        "3 set NCCL_ALGO=Ring unknown env-file",
        "4 set NCCL_PROTO=Simple unknown env-file",
        "5 set NCCL_CROSS_NIC=1 yes env-file",
        "6 set HF_HOME=template(${CACHE:-/cache}/hf)[CACHE|/cache/hf] unknown env-file",
        "7 set PRICE=5$NCCL unknown env-file",
        "8 set LONG=one\ntwo unknown env-file",
        "10 pass NCCL_SOCKET_IFNAME=unknown() unknown env-file",
    ],
}


@pytest.mark.parametrize("name", SETTINGS)
def test_settings(name: str) -> None:
    text, facts = fixture("envfile", name)
    assert shown_all(facts) == SETTINGS[name]
    check_places(text, facts)


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        (".env", "env-file"),
        (".env.local", "env-file"),
        ("prod.env.example", "env-file"),
        ("nccl.env", "env-file"),
        ("env_vars", "env-file"),
        ("env_vars.example", "env-file"),
        ("job_env", "env-file"),
        ("a/envfile", "env-file"),
        ("env.list", "docker-env-file"),
        (".deepspeed_env", "deepspeed-env"),
        ("etc/environment", "launcher-env-file"),
        (".env.sh", "shell"),
        (".env.yaml", "yaml"),
        ("env.c", None),
        ("environment", None),
        (".envrc", "shell"),
    ],
)
def test_kind(path: str, kind: str | None) -> None:
    assert kind_of(path) == kind


PROBLEMS = [
    ("deepspeed-env", "A=1\n\nB=2\n", 2, "ValueError"),
    ("deepspeed-env", "# note\nA=1\n", 1, "ValueError"),
    ("docker-env-file", "A=1\nexport B=2\n", 2, "export"),
    ("docker-env-file", "A =1\n", 1, "blank"),
]


@pytest.mark.parametrize(("kind", "text", "line", "says"), PROBLEMS)
def test_what_stops_a_reader_is_said(kind: str, text: str, line: int, says: str) -> None:
    problems = facts_of(text, "x", kind).problems
    assert [(p.place.line, says in p.message) for p in problems] == [(line, True)]


@pytest.mark.parametrize("kind", ["env-file", "launcher-env-file", "deepspeed-env", "ci-env"])
def test_no_problem_in_what_is_usual(kind: str) -> None:
    facts = facts_of("A=1\nB='2'\n", "x", kind)
    assert facts.problems == []
    assert [s.value.text for s in facts.settings] == ["1", "2"]


def test_text_in_a_script_may_have_been_replaced_by_it() -> None:
    facts = facts_of("cat > env.list <<EOF\nA=$B\nEOF\n", "a.sh")
    assert [(s.name, s.value.kind, s.value.references) for s in facts.settings] == [("A", "template", ("B",))]


def test_a_value_that_never_closes_keeps_the_lines_behind_it() -> None:
    facts = facts_of('A="x\nB="y"\nC=1\n', ".env")
    assert [(s.name, s.value.text) for s in facts.settings] == [("A", '"x'), ("B", "y"), ("C", "1")]


@given(
    st.sampled_from(["env-file", "docker-env-file", "deepspeed-env", "launcher-env-file", "ci-env"]),
    st.lists(st.tuples(NAMES, st.text("ab1/:.,-", max_size=6)), min_size=1, max_size=5),
)
def test_places_hold(kind: str, pairs: list[tuple[str, str]]) -> None:
    text = "".join(f"{name}={value}\n" for name, value in pairs)
    facts = facts_of(text, "x", kind)
    assert [(s.name, s.value.text) for s in facts.settings] == pairs
    for setting, (name, value) in zip(facts.settings, pairs, strict=True):
        assert excerpt(text, setting.name_place) == name
        assert excerpt(text, setting.value_place) == value
        assert excerpt(text, setting.place) == f"{name}={value}"


ANY = st.text("AB=\"'#$\\n \t\n{}`(\x00\u00e9", max_size=80)


@given(ANY, st.sampled_from(["env-file", "docker-env-file", "ci-env"]))
def test_any_text_is_read(text: str, kind: str) -> None:
    check_places(text, facts_of(text, "x", kind))


@pytest.mark.slow
@pytest.mark.parametrize(
    "line", ["NCCL_DEBUG=INFO\n", "A='x\n", 'A="\\"x\n', "A\n", "A=$(\n", "A" * 1000, "A=" + "${" * 100]
)
def test_time_is_bounded(line: str) -> None:
    check_repeated(line, ".env")


@pytest.mark.slow
def test_five_megabytes() -> None:
    check_repeated("NCCL_DEBUG=INFO\n", ".env", 5_000_000)
