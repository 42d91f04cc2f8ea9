"""csh: setenv and set, quotes, branches, commands; places, bad input, bounds."""

from __future__ import annotations

import pytest
from facts_shown import check_places, check_repeated, excerpt, facts_of, fixture, shown_all
from hypothesis import given
from hypothesis import strategies as st

NAMES = st.from_regex(r"[A-Z][A-Z0-9]{0,3}_[A-Z0-9_]{1,6}", fullmatch=True)
SETTINGS = {
    "train.csh": [
        "3 set NCCL_ALGO=Ring yes shell # pinned",
        "4 set NCCL_PROTO=LL yes shell",
        "4 set LOGS=template($HOME/logs)[HOME|None] yes shell",
        "5 set NOTE=costs $5 yes shell",
        "6 set NODE=unknown(`hostname`) yes shell",
        "7 set NCCL_CROSS_NIC= yes shell",
        "8 set LOCAL=1 no shell",
        "9 set OTHER=2 no shell",
        "10 set path=unknown(($path /opt/bin)) no shell",
        '12 set NCCL_SOCKET_IFNAME=ib0 yes shell <if ($?SITE && "$SITE" == "a")>',
        '14 set NCCL_SOCKET_IFNAME=eth0 yes shell <else if ("$SITE" == "b")>',
        "16 unset NCCL_SOCKET_IFNAME=unknown() yes shell <else>",
        "18 set SEED=1 yes shell <if (! $?SEED)>",
        "20 set LAST=template($i)[i|None] yes shell",
        "24 set NCCL_IB_HCA=mlx5 yes launcher-argument command:mpirun",
    ],
}


@pytest.mark.parametrize("name", SETTINGS)
def test_settings(name: str) -> None:
    text, facts = fixture("csh", name)
    assert shown_all(facts) == SETTINGS[name]
    check_places(text, facts)


def test_other_facts() -> None:
    _, facts = fixture("csh", "train.csh")
    assert [use.name for use in facts.uses] == ["SITE", "SITE", "SITE", "SEED"]
    assert [launch.launcher for launch in facts.launches] == ["mpirun", "python"]
    assert [i.target for i in facts.inclusions] == ["site.csh"]
    assert [p.place.line for p in facts.problems] == [23]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("setenv A_B 1;setenv C_D 2", ["A_B=1", "C_D=2"]),
        ("setenv A_B a\\ b", ["A_B=a b"]),
        ("setenv A_B 'x y'z", ["A_B=x yz"]),
        ("test -f x && setenv A_B 1", ["A_B=1"]),
        ("setenv A_B \\\n 1", ["A_B=1"]),
        ("# setenv A_B 1", []),
        ("setenv A_B x#y", ["A_B=x"]),
        ("setenv A_B 'x#y'", ["A_B=x#y"]),
        ("echo setenv A_B 1", []),
        ("set A_B=1 ", ["A_B=1"]),
        ("set A_B", ["A_B="]),
        ("set -f A_B=1", []),
        ("setenv A-B 1", []),
        ("unset A_B C_D", ["A_B=", "C_D="]),
        ("if (1) then\nsetenv A_B 1\nelse setenv A_B 2", ["A_B=1"]),
        ('setenv A_B "`x y`"', ["A_B=`x y`"]),
    ],
)
def test_shapes(text: str, wanted: list[str]) -> None:
    facts = facts_of(text, "x.csh")
    assert [f"{s.name}={s.value.text}" for s in facts.settings] == wanted
    check_places(text, facts)


@given(st.lists(st.tuples(NAMES, st.text("ab1/:.,-=; #", min_size=1, max_size=6)), min_size=1, max_size=5))
def test_places_hold(pairs: list[tuple[str, str]]) -> None:
    text = "".join(f'setenv {name} "{value}"\n' for name, value in pairs)
    facts = facts_of(text, "x.csh")
    assert [(s.name, s.value.text) for s in facts.settings] == pairs
    for setting, (name, value) in zip(facts.settings, pairs, strict=True):
        assert excerpt(text, setting.name_place) == name
        assert excerpt(text, setting.value_place) == value


@given(st.text("setnv A_1='\"`#;&|()\\\n $?\x00\u00e9", max_size=120))
def test_any_text_is_read(text: str) -> None:
    check_places(text, facts_of(text, "x.csh"))


LINES = [
    "setenv A_B 1",
    "set A_B = ",
    "if ($?A_B) then",
    "else if (1) then",
    "else",
    "endif",
    "end",
    "foreach x (1 2)",
    "switch ($x)",
    "case 1:",
    "endsw",
    "if (1) setenv A_B 2",
    "setenv A_B '",
    'setenv A_B "',
    "setenv A_B `",
    "python x.py \\",
    "(setenv A_B 1",
    "@ x = 1",
]


@given(st.lists(st.sampled_from(LINES), max_size=14).map("\n".join))
def test_any_lines_are_read(text: str) -> None:
    check_places(text, facts_of(text, "x.csh"))


@pytest.mark.slow
@pytest.mark.parametrize(
    "line",
    [
        "setenv A_B 1\n",
        "setenv A_B `x\n",
        "(" * 100,
        "if (1) then\n",
        "else\n",
        "if (1) " * 20 + "\n",
        "'x\n",
        "mpirun -x A_B=1 x\n",
        "a;",
        "\\\n",
    ],
)
def test_time_is_bounded(line: str) -> None:
    check_repeated(line, "x.csh")


@pytest.mark.slow
def test_five_megabytes() -> None:
    check_repeated(
        [
            "setenv A_B 1\n",
            "setenv A_B `x\n",
            "(" * 100,
            "if (1) then\n",
            "else\n",
            "if (1) " * 20 + "\n",
            "'x\n",
            "mpirun -x A_B=1 x\n",
            "a;",
            "\\\n",
        ][0],
        "x.csh",
        5_000_000,
    )
