"""Modulefiles in Tcl and Lua: setenv and its kin, own variables, branches; places, bad input, bounds."""

from __future__ import annotations

import pytest
from facts_shown import check_places, check_repeated, excerpt, facts_of, fixture, shown_all
from hypothesis import given
from hypothesis import strategies as st

NAMES = st.from_regex(r"[A-Z][A-Z0-9]{0,3}_[A-Z0-9_]{1,6}", fullmatch=True)
SETTINGS = {
    "rccl": [
        "8 set NCCL_ALGO=Ring yes module-file # pinned",
        "9 set RCCL_HOME=template($root)[|/opt/rccl] yes module-file",
        "10 set NOTE=costs $5 yes module-file",
        "11 set NCCL_PROTO=LL yes module-file",
        "12 append LD_LIBRARY_PATH=template($root/lib)[|/opt/rccl/lib] yes module-file",
        "13 append NCCL_IB_HCA=mlx5_0,mlx5_1 yes module-file",
        "15 set NCCL_SOCKET_IFNAME=ib0 yes module-file <if [info exists env(SITE)] && $env(RACK) == 3>",
        '17 unset NCCL_SOCKET_IFNAME=unknown() yes module-file <elseif $root eq "">',
        "19 set NCCL_SOCKET_IFNAME=template($::env(IFACE))[IFACE|None] yes module-file <else>",
        "22 set NCCL_NTHREADS=256 yes module-file <case a>",
        "23 set NCCL_NTHREADS=512 yes module-file <case b>",
        "25 set NODE=unknown([exec hostname]) yes module-file",
    ],
    "rccl.lua": [
        "4 set NCCL_ALGO=Ring yes module-file # pinned",
        "5 set RCCL_HOME=/opt/rccl yes module-file",
        "6 set RCCL_LIB=/opt/rccl/lib yes module-file",
        '7 append LD_LIBRARY_PATH=unknown(pathJoin(base, "lib")) yes module-file',
        '9 set NCCL_SOCKET_IFNAME=ib0 yes module-file <if (os.getenv("SITE") == "a")>',
        '11 unset NCCL_SOCKET_IFNAME=unknown() yes module-file <elseif isloaded("x")>',
        '13 set NCCL_SOCKET_IFNAME=template(os.getenv("IFACE") or "eth0")[IFACE|None] yes module-file <else>',
        "16 set NCCL_NTHREADS=256 yes module-file",
    ],
}


@pytest.mark.parametrize("name", SETTINGS)
def test_settings(name: str) -> None:
    text, facts = fixture("modulefile", name)
    assert shown_all(facts) == SETTINGS[name]
    check_places(text, facts)


@pytest.mark.parametrize(("name", "uses"), [("rccl", ["RACK", "SITE"]), ("rccl.lua", ["SITE"])])
def test_uses(name: str, uses: list[str]) -> None:
    _, facts = fixture("modulefile", name)
    assert [use.name for use in facts.uses] == uses
    arms = [(s.branch[0].id, s.branch[0].arm) for s in facts.settings if s.branch and s.name == "NCCL_SOCKET_IFNAME"]
    assert len({id_ for id_, _ in arms}) == 1
    assert len({arm for _, arm in arms}) == 3


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("setenv A_B 1", "A_B=1"),
        ('setenv A_B "x y"; setenv C_D {a b}', "A_B=x y, C_D=a b"),
        ("setenv A_B", "A_B="),
        ("if {1} {\n setenv A_B 1\n}", "A_B=1"),
        ("# setenv A_B 1", ""),
        ("puts {setenv A_B 1}", ""),
        ("setenv A_B x#y", "A_B=x#y"),
        ("proc f {} {\n setenv A_B 1\n}", ""),
        ("set env(A_B) 1", "A_B=1"),
        ("setenv A_B \\\n 1", "A_B=1"),
        ("setenv A_B {", "A_B="),
    ],
)
def test_shapes_of_tcl(text: str, wanted: str) -> None:
    facts = facts_of("#%Module\n" + text, "x")
    assert ", ".join(f"{s.name}={s.value.text}" for s in facts.settings) == wanted
    check_places("#%Module\n" + text, facts)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ('setenv("A_B", "1")', "A_B=1"),
        ("setenv ( 'A_B' , 'x y' )", "A_B=x y"),
        ('setenv("A_B", x .. "1")', 'A_B=x .. "1"'),
        ('local x = "a"\nsetenv("A_B", x .. "1")', "A_B=a1"),
        ('-- setenv("A_B", "1")', ""),
        ('--[==[ setenv("A_B", "1") ]==]', ""),
        ('print("setenv(1)")', ""),
        ("setenv(name, 1)", ""),
        ('setenv("A_B", f("x"), 2)', 'A_B=f("x")'),
        ('setenv("A_B"', ""),
    ],
)
def test_shapes_of_lua(text: str, wanted: str) -> None:
    facts = facts_of(text, "x.lua")
    assert ", ".join(f"{s.name}={s.value.text}" for s in facts.settings) == wanted
    check_places(text, facts)


SHAPES = {"x.tcl": 'setenv {} "{}"', "x.lua": 'setenv("{}", "{}")'}


@given(
    st.sampled_from(sorted(SHAPES)),
    st.lists(st.tuples(NAMES, st.text("ab1/:.,-# ", min_size=1, max_size=6)), min_size=1, max_size=5),
)
def test_places_hold(path: str, pairs: list[tuple[str, str]]) -> None:
    text = "".join(SHAPES[path].format(*pair) + "\n" for pair in pairs)
    facts = facts_of(text, path)
    assert [(s.name, s.value.text) for s in facts.settings] == pairs
    for setting, (name, value) in zip(facts.settings, pairs, strict=True):
        assert excerpt(text, setting.name_place) == name
        assert excerpt(text, setting.value_place) == value


@given(st.text("setnvif A_1\"'(){}[]$#;-.,=\\\n\x00\u00e9", max_size=120), st.sampled_from(sorted(SHAPES)))
def test_any_text_is_read(text: str, path: str) -> None:
    check_places(text, facts_of(text, path))


LINES = [
    "setenv A_B 1",
    "setenv A_B {",
    "if {1} {",
    "} else {",
    "}",
    "set x $y",
    "setenv A_B [x",
    'setenv A_B "',
    "switch a { b {",
    'setenv("A_B", "1")',
    'setenv("A_B", x',
    "if x then",
    "else",
    "end",
    "--[[",
    "]]",
    'local x = "1"',
    'setenv("A_B", x .. ',
]


@given(st.lists(st.sampled_from(LINES), max_size=14).map("\n".join), st.sampled_from(sorted(SHAPES)))
def test_any_lines_are_read(text: str, path: str) -> None:
    check_places(text, facts_of(text, path))


BIG = [
    "setenv A_B 1\n",
    'setenv("A_B", "1")\n',
    "{",
    "if {1} {\n",
    "if x then\n",
    "[",
    "--[[",
    '"',
    "setenv A_B {\n",
    "x .. ",
    'setenv("A_B", x .. \n',
    "switch a { b {",
]


@pytest.mark.slow
@pytest.mark.parametrize("path", sorted(SHAPES))
@pytest.mark.parametrize("line", BIG)
def test_time_is_bounded(path: str, line: str) -> None:
    check_repeated(line, path)
