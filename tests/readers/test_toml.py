"""TOML: tables, dotted keys, strings of each kind; places, bad input, bounds."""

from __future__ import annotations

import pytest
from facts_shown import check_places, check_repeated, excerpt, facts_of, fixture, shown_all
from hypothesis import given
from hypothesis import strategies as st

NAMES = st.from_regex(r"[A-Z][A-Z0-9]{0,3}_[A-Z0-9_]{1,6}", fullmatch=True)
SETTINGS = {
    "broken.toml": [
        "2 set NCCL_DEBUG=INFO unknown configuration",
        "3 set NCCL_ALGO=Ring unknown configuration",
        "6 set NCCL_PROTO=unknown([1,) unknown configuration",
    ],
    "mise.toml": [
        "2 set NCCL_DEBUG=INFO unknown configuration # how much it says",
        "3 set NCCL_ALGO=Ring unknown configuration",
        "4 set NCCL_PROTO=LL unknown configuration",
        "5 set NCCL_BUFFSIZE=8388608 unknown configuration",
        "9 set NCCL_CROSS_NIC=2 unknown configuration manifest:tasks.train",
        "8 set NCCL_CROSS_NIC=1 yes shell command:torchrun",
    ],
    "pyproject.toml": [
        "17 set PYTHONHASHSEED=0 unknown configuration manifest:tool",
        "8 set NCCL_DEBUG=INFO unknown configuration manifest:tool.hatch.envs.default",
        "11 set NCCL_DEBUG=WARN unknown configuration manifest:tool.hatch.envs.bench",
        "14 set NCCL_ALGO=Ring yes shell command:torchrun",
        "21 set CUBLAS_WORKSPACE_CONFIG=:4096:8 unknown configuration manifest:tool.pytest.ini_options # both",
        "25 set MIOPEN_FIND_MODE=1 unknown configuration manifest:tool.pixi.activation",
        "29 set NCCL_PROTO=LL unknown configuration manifest:tool.jobs.small",
        "33 set NCCL_PROTO=Simple unknown configuration manifest:tool.jobs.large",
    ],
}


@pytest.mark.parametrize("name", SETTINGS)
def test_settings(name: str) -> None:
    text, facts = fixture("toml", name)
    assert shown_all(facts) == SETTINGS[name]
    check_places(text, facts)


def test_what_is_wrong_is_said_once_and_the_rest_is_read() -> None:
    _, facts = fixture("toml", "broken.toml")
    assert [p.place.line for p in facts.problems] == [4]
    assert [fixture("toml", name)[1].problems for name in ("mise.toml", "pyproject.toml")] == [[], []]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("env.A_B = 1", "A_B=1"),
        ('[a."b.c".env]\nA_B = "x # y" # c', "A_B=x # y"),
        ("[env]\n'A_B' = '''\nx'y'''", "A_B=x'y"),
        ('[env]\nA_B = """a\\\n   b"""', "A_B=ab"),
        ('[env]\nA_B = "\\u0041\\"b"', 'A_B=A"b'),
        ("[env]\nA_B = false", "A_B=false"),
        ("env = { A_B = 1, c = [ {D_E = 2} ] }", "A_B=1"),
        ("[[env]]\nname = 'A_B'\nvalue = '1'", "A_B=1"),
    ],
)
def test_shapes(text: str, wanted: str) -> None:
    facts = facts_of(text, "x.toml")
    assert [f"{s.name}={s.value.text}" for s in facts.settings] == [wanted]
    assert not facts.problems
    check_places(text, facts)


@pytest.mark.parametrize(
    "text",
    ["A_B = 1", "[environment]\nname = 'prod'", "[x]\ndescription = 'NCCL_ALGO=Ring'", "[matrix.env]\nA_B = ['1']"],
)
def test_what_is_no_environment(text: str) -> None:
    assert facts_of(text, "x.toml").settings == []


@given(st.lists(st.tuples(NAMES, st.text("ab1/:.,-# =", min_size=1, max_size=6)), min_size=1, max_size=5))
def test_places_hold(pairs: list[tuple[str, str]]) -> None:
    text = "[env]\n" + "".join(f'{name} = "{value}"\n' for name, value in pairs)
    facts = facts_of(text, "x.toml")
    assert [(s.name, s.value.text) for s in facts.settings] == pairs
    for setting, (name, value) in zip(facts.settings, pairs, strict=True):
        assert excerpt(text, setting.name_place) == name
        assert excerpt(text, setting.value_place) == value


@given(st.text("env=[].{}'\"#,\\\n A_1\x00\u00e9", max_size=120))
def test_any_text_is_read(text: str) -> None:
    check_places(text, facts_of(text, "x.toml"))


LINES = [
    "[env]",
    "[[env]]",
    "A_B = 1",
    'A_B = "1"',
    "A_B = '1'",
    'A_B = """',
    "x = [",
    "]",
    "x = {env = {",
    "}",
    "[a.b.env",
    "env.A_B.C = 1",
    "# c",
    "= 1",
    "A_B",
    "env = {A_B = 1, A_B = 2}",
    "{{ x }}",
    "A_B = {value = 1}",
]


@given(st.lists(st.sampled_from(LINES), max_size=14).map("\n".join))
def test_any_lines_are_read(text: str) -> None:
    check_places(text, facts_of(text, "x.toml"))


@pytest.mark.slow
@pytest.mark.parametrize(
    "line",
    ["[env]\nA_B = 1\n", "x = [", 'x = """\n', "x = '''\n", "[a.b]\n", "x = {a = ", "a.", "[[a]]\n", 'A_B = "x\n'],
)
def test_time_is_bounded(line: str) -> None:
    check_repeated(line, "x.toml")


@pytest.mark.slow
def test_five_megabytes() -> None:
    check_repeated(
        ["[env]\nA_B = 1\n", "x = [", 'x = """\n', "x = '''\n", "[a.b]\n", "x = {a = ", "a.", "[[a]]\n", 'A_B = "x\n'][
            0
        ],
        "x.toml",
        5_000_000,
    )
