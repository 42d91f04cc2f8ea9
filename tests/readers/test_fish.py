"""fish: set with its options, blocks, commands; places, bad input, bounds."""

from __future__ import annotations

import pytest
from facts_shown import check_places, check_repeated, excerpt, facts_of, fixture, shown_all
from hypothesis import given
from hypothesis import strategies as st

NAMES = st.from_regex(r"[A-Z][A-Z0-9]{0,3}_[A-Z0-9_]{1,6}", fullmatch=True)
SETTINGS = {
    "config.fish": [
        "1 set NCCL_DEBUG=INFO yes shell # how much it says",
        "2 set NCCL_ALGO=Ring yes shell",
        "3 set NOTE=costs $5 yes shell",
        "4 set LOCAL=1 no shell",
        "5 set PATH=template($PATH:/opt/bin)[PATH|None] yes shell",
        "6 set NODE=unknown((hostname)) yes shell",
        "7 unset NCCL_PROTO=unknown() yes shell",
        "9 set NCCL_SOCKET_IFNAME=ib0 yes shell <if set -q SITE>",
        "11 set NCCL_SOCKET_IFNAME=eth0 yes shell <else if test $ZONE = b>",
        "13 set NCCL_SOCKET_IFNAME=lo yes shell <else>",
        "16 set NCCL_CROSS_NIC=1 yes shell function:train",
        "17 set NCCL_IB_HCA=mlx5 yes shell command:torchrun",
        "19 set NCCL_BUFFSIZE=1 yes shell",
        "21 set NCCL_DEBUG=WARN yes shell",
    ],
}


@pytest.mark.parametrize("name", SETTINGS)
def test_settings(name: str) -> None:
    text, facts = fixture("fish", name)
    assert shown_all(facts) == SETTINGS[name]
    check_places(text, facts)


def test_other_facts() -> None:
    _, facts = fixture("fish", "config.fish")
    assert [use.name for use in facts.uses] == ["SITE", "RACK", "ZONE"]
    assert [" ".join(launch.words) for launch in facts.launches] == ["torchrun train.py"]
    assert [i.target for i in facts.inclusions] == ["site.fish"]
    arms = [(s.branch[0].id, s.branch[0].arm) for s in facts.settings if s.branch]
    assert len({id_ for id_, _ in arms}) == 1
    assert len({arm for _, arm in arms}) == 3


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("set -gx A_B 1 2", "set A_B=1 2 yes"),
        ("set -x A_B", "set A_B= yes"),
        ("set A_B 1", "set A_B=1 no"),
        ("set -gxa A_B 1", "append A_B=1 yes"),
        ("set -gx A_B 1; set A_B 2", "set A_B=1 yes, set A_B=2 yes"),
        ("set -gu A_B 1", "set A_B=1 no"),
        ("set -e A_B", "unset A_B= yes"),
        ("set -q A_B", ""),
        ("set -S A_B", ""),
        ("set -gx A_B 'it\\'s'", "set A_B=it's yes"),
        ('set -gx A_B "a\\$b"', "set A_B=a$b yes"),
        ("set -g A_B", ""),
        ("if true; set -gx A_B 1; end", "set A_B=1 yes"),
        ("true; and set -gx A_B 1", "set A_B=1 yes"),
        ("# set -gx A_B 1", ""),
    ],
)
def test_shapes(text: str, wanted: str) -> None:
    facts = facts_of(text, "x.fish")
    assert ", ".join(f"{s.op} {s.name}={s.value.text} {s.exported}" for s in facts.settings) == wanted
    check_places(text, facts)


@given(st.lists(st.tuples(NAMES, st.text("ab1/:.,-=; #", min_size=1, max_size=6)), min_size=1, max_size=5))
def test_places_hold(pairs: list[tuple[str, str]]) -> None:
    text = "".join(f'set -gx {name} "{value}"\n' for name, value in pairs)
    facts = facts_of(text, "x.fish")
    assert [(s.name, s.value.text) for s in facts.settings] == pairs
    for setting, (name, value) in zip(facts.settings, pairs, strict=True):
        assert excerpt(text, setting.name_place) == name
        assert excerpt(text, setting.value_place) == value


@given(st.text("set gx-A_1='\"#;&|()\\\n $\x00\u00e9", max_size=120))
def test_any_text_is_read(text: str) -> None:
    check_places(text, facts_of(text, "x.fish"))


LINES = [
    "set -gx A_B 1",
    "set A_B (x",
    "if true",
    "else if false",
    "else",
    "end",
    "for x in 1",
    "switch x",
    "case 1",
    "function f",
    "set -gx A_B '",
    'set -gx A_B "',
    "export A_B=",
    "begin",
    "and set -x A_B",
    "python x.py \\",
    "set --",
    "set -e",
]


@given(st.lists(st.sampled_from(LINES), max_size=14).map("\n".join))
def test_any_lines_are_read(text: str) -> None:
    check_places(text, facts_of(text, "x.fish"))


@pytest.mark.slow
@pytest.mark.parametrize(
    "line",
    [
        "set -gx A_B 1\n",
        "set -gx A_B (x\n",
        "(" * 100,
        "if true\n",
        "else\n",
        "and " * 20 + "\n",
        "'x\n",
        "mpirun -x A_B=1 x\n",
        "a;",
        '"',
    ],
)
def test_time_is_bounded(line: str) -> None:
    check_repeated(line, "x.fish")


@pytest.mark.slow
def test_five_megabytes() -> None:
    check_repeated(
        [
            "set -gx A_B 1\n",
            "set -gx A_B (x\n",
            "(" * 100,
            "if true\n",
            "else\n",
            "and " * 20 + "\n",
            "'x\n",
            "mpirun -x A_B=1 x\n",
            "a;",
            '"',
        ][0],
        "x.fish",
        5_000_000,
    )
