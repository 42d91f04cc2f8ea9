"""INI files: units, supervisor, tox, pytest and environments by name; places, bad input, bounds."""

from __future__ import annotations

import pytest
from facts_shown import check_places, check_repeated, excerpt, facts_of, fixture, shown_all
from hypothesis import given
from hypothesis import strategies as st

NAMES = st.from_regex(r"[A-Z][A-Z0-9]{0,3}_[A-Z0-9_]{1,6}", fullmatch=True)
SETTINGS = {
    "site.cfg": [
        "2 set NCCL_DEBUG=INFO unknown configuration",
    ],
    "supervisord.conf": [
        "2 set NCCL_DEBUG=INFO yes service",
        "2 set NOTE=a, b yes service",
        "3 set LOGS=template(%(ENV_HOME)s/logs)[HOME|None] yes service",
        "7 set NCCL_ALGO=Ring yes service",
        "7 set NCCL_PROTO=LL yes service",
    ],
    "tox.ini": [
        "3 set NCCL_DEBUG=INFO unknown configuration",
        "4 set CACHE=template({env:CACHE:/tmp})[CACHE|/tmp] unknown configuration",
        "6 pass HF_TOKEN=unknown() yes configuration",
        "11 default PYTHONHASHSEED=0 unknown configuration",
        "12 unset NCCL_ALGO= unknown configuration",
    ],
    "train.service": [
        "8 set NCCL_DEBUG=INFO yes service # everything",
        "8 set NCCL_PROTO=LL yes service # everything",
        "8 set NOTE=a b yes service # everything",
        "8 set WORDS=a b yes service # everything",
        "9 set PORT=template(%i) yes service",
        "9 set HOME_OF=$HOME yes service",
        "10 set NCCL_CROSS_NIC=1 yes service",
        "11 pass HF_TOKEN=unknown() yes service",
        "11 pass NCCL_IB_HCA=unknown() yes service",
        "12 unset NCCL_P2P_DISABLE=unknown() yes service",
        "5 set NCCL_ALGO=Ring yes launcher-argument command:docker run",
    ],
}


@pytest.mark.parametrize("name", SETTINGS)
def test_settings(name: str) -> None:
    text, facts = fixture("ini", name)
    assert shown_all(facts) == SETTINGS[name]
    check_places(text, facts)


OTHERS = {
    "train.service": (["/usr/bin/docker run -e NCCL_ALGO=Ring image:1 train"], ["/etc/train.env"]),
    "supervisord.conf": (["torchrun --nproc-per-node 8 train.py"], []),
    "tox.ini": (["python -m pytest"], []),
}


@pytest.mark.parametrize("name", OTHERS)
def test_commands_and_files(name: str) -> None:
    _, facts = fixture("ini", name)
    assert [" ".join(launch.words) for launch in facts.launches] == OTHERS[name][0]
    assert [i.target for i in facts.inclusions] == OTHERS[name][1]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("[Service]\nEnvironment=A_B=1 C_D=\n", ["A_B=1", "C_D="]),
        ("[Service]\nEnvironment='A_B=x y' junk\n", ["A_B=x y"]),
        ("[Service]\nEnvironment=\n", []),
        ('[Service]\nEnvironment="A_B=\\"x\\""\n', ['A_B="x"']),
        ("[Container]\nEnvironment=A_B=1\nImage=x/y\n", ["A_B=1"]),
        ("[Service]\nEnvironment=A_B=50%%\n", ["A_B=50%"]),
        ("[program:x]\nenvironment=A_B=1,C_D='2,3'\n", ["A_B=1", "C_D=2,3"]),
        ("[x]\nenv = A_B=1\n", ["A_B=1"]),
        ("[x]\nnote = set A_B=1\n", []),
        ("A_B = 1\n", []),
        ("[nccl_env]\nA_B = '1'\nc = 2\n", ["A_B=1"]),
    ],
)
def test_shapes(text: str, wanted: list[str]) -> None:
    facts = facts_of(text, "x.ini")
    assert [f"{s.name}={s.value.text}" for s in facts.settings] == wanted
    check_places(text, facts)


@given(
    st.lists(st.tuples(NAMES, st.text("ab1/:.-", min_size=1, max_size=6)), min_size=1, max_size=5),
    st.sampled_from(["{}={}", '"{}={}"', "'{}={}'", '{}="{}"']),
    st.sampled_from([" ", " \\\n  "]),
)
def test_places_hold_in_units(pairs: list[tuple[str, str]], shape: str, glue: str) -> None:
    text = "[Service]\nEnvironment=" + glue.join(shape.format(*pair) for pair in pairs) + "\n"
    facts = facts_of(text, "x.service")
    assert [(s.name, s.value.text) for s in facts.settings] == pairs
    for setting, (name, value) in zip(facts.settings, pairs, strict=True):
        assert excerpt(text, setting.name_place) == name
        assert excerpt(text, setting.value_place) == value
        assert excerpt(text, setting.place) == shape.format(name, value)


@given(st.lists(st.tuples(NAMES, st.text("ab1/:.,-=", min_size=1, max_size=6)), min_size=1, max_size=5))
def test_places_hold(pairs: list[tuple[str, str]]) -> None:
    text = "[env]\n" + "".join(f"{name} = {value}\n" for name, value in pairs)
    facts = facts_of(text, "x.ini")
    assert [(s.name, s.value.text) for s in facts.settings] == pairs
    for setting, (name, value) in zip(facts.settings, pairs, strict=True):
        assert excerpt(text, setting.name_place) == name
        assert excerpt(text, setting.value_place) == value


@given(st.text("[]env=A_1,'\"#;%(){}\\\n \t:\x00\u00e9", max_size=120))
def test_any_text_is_read(text: str) -> None:
    check_places(text, facts_of(text, "x.ini"))


LINES = [
    "[Service]",
    "Environment=A_B=1",
    'Environment="A_B',
    "[program:x]",
    "environment=A_B='",
    "  C_D=1",
    "[env]",
    "A_B=1",
    "set_env =",
    "pass_env = A_B *",
    "[testenv]",
    "ExecStart=-@/bin/sh -c 'export A_B=1'",
    "command = A_B=1 python x \\",
    "; c",
]


@given(st.lists(st.sampled_from(LINES), max_size=14).map("\n".join))
def test_any_lines_are_read(text: str) -> None:
    check_places(text, facts_of(text, "x.ini"))


@pytest.mark.slow
@pytest.mark.parametrize(
    "line",
    [
        "[Service]\nEnvironment=A_B=1\n",
        "[env]\nA_B=1\n",
        "[x\n",
        " x\n",
        "env = \\\n",
        "A=",
        '"' * 100 + "\n",
        "ExecStart=python x\n",
        "[Service]\nEnvironment=" + "A_B=1 " * 500 + "\n",
    ],
)
def test_time_is_bounded(line: str) -> None:
    check_repeated(line, "x.ini")


@pytest.mark.slow
def test_five_megabytes() -> None:
    check_repeated(
        [
            "[Service]\nEnvironment=A_B=1\n",
            "[env]\nA_B=1\n",
            "[x\n",
            " x\n",
            "env = \\\n",
            "A=",
            '"' * 100 + "\n",
            "ExecStart=python x\n",
            "[Service]\nEnvironment=" + "A_B=1 " * 500 + "\n",
        ][0],
        "x.ini",
        5_000_000,
    )
