"""Makefiles and justfiles: exported or not, quotes as they stand, recipes; places, bad input, bounds."""

from __future__ import annotations

import pytest
from facts_shown import check_places, check_repeated, excerpt, facts_of, fixture, shown_all
from hypothesis import given
from hypothesis import strategies as st

NAMES = st.from_regex(r"[A-Z][A-Z0-9]{0,3}_[A-Z0-9_]{1,6}", fullmatch=True)
SETTINGS = {
    "Makefile": [
        "3 set NCCL_ALGO=Ring yes shell",
        '4 set NCCL_PROTO="LL"   yes shell # kept as it stands',
        "5 default NCCL_DEBUG=INFO yes shell",
        "6 set LEVEL=3 no argument",
        "7 set NCCL_HOME=/opt/nccl no argument",
        "8 export NCCL_DEBUG=unknown() yes shell",
        "11 set NCCL_SOCKET_IFNAME=ib0 yes shell <ifdef SITE>",
        "13 set NCCL_SOCKET_IFNAME=eth0 yes shell <else ifeq ($(ZONE),b)>",
        "15 set NCCL_CROSS_NIC=1 yes shell subshell:train",
        "18 set NCCL_IB_HCA=mlx5 yes shell subshell:train, line 18",
        "18 set NCCL_NTHREADS=template(${LEVEL})[LEVEL|3] yes shell command:torchrun",
    ],
    "all.mk": [
        "3 set NCCL_DEBUG=INFO yes shell",
        "5 set NCCL_ALGO=Ring no shell subshell:train, line 5",
    ],
    "justfile": [
        "2 set NCCL_ALGO=Ring yes shell # pinned",
        "3 set NCCL_PROTO=LL no argument",
        "4 set level=3 no argument",
        '5 set CACHE=template(env_var_or_default("CACHE", "/tmp"))[CACHE|/tmp] yes shell',
        "6 set NODE=unknown(`hostname`) yes shell",
        "8 default NCCL_DEBUG=INFO yes shell subshell:train",
        "8 pass SEED=unknown() yes shell subshell:train",
        "10 set NCCL_NTHREADS=template(${level})[level|3] yes shell command:torchrun",
        "13 set NCCL_IB_HCA=mlx5 yes shell subshell:bench, line 12",
    ],
}


@pytest.mark.parametrize("name", SETTINGS)
def test_settings(name: str) -> None:
    text, facts = fixture("make", name)
    assert shown_all(facts) == SETTINGS[name]
    check_places(text, facts)


OTHERS = {
    "Makefile": (["SITE", "ZONE", "SET", "LEVEL", "GPUS", "NCCL_INCLUDE"], ["nccl.env", "site.mk"]),
    "all.mk": ([], []),
    "justfile": (["CACHE"], [".env"]),
}


@pytest.mark.parametrize("name", OTHERS)
def test_uses_and_files(name: str) -> None:
    _, facts = fixture("make", name)
    assert [use.name for use in facts.uses] == OTHERS[name][0]
    assert [i.target for i in facts.inclusions] == OTHERS[name][1]
    assert facts.problems == []


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("export A_B=1", "set A_B=1 yes shell"),
        ("A_B := 1\nexport A_B", "set A_B=1 yes shell, export A_B= yes shell"),
        ("export A_B\nA_B = 1", "export A_B= yes shell, set A_B=1 yes shell"),
        ("A_B=1\nexport", "set A_B=1 yes shell"),
        ("A_B=1", "set A_B=1 no argument"),
        ("A_B += 1", "append A_B=1 no argument"),
        ("A_B ::= 1", "set A_B=1 no argument"),
        ("override export A_B = 1", "set A_B=1 yes shell"),
        ("export A_B = 1\nunexport A_B", "set A_B=1 no argument"),
        ("A_B = a$$b", "set A_B=a$b no argument"),
        ("A_B != hostname", "set A_B=hostname no argument"),
        ("t: A_B=1", "set A_B=1 no argument"),
        ("define A_B\nexport C_D=1\nendef", ""),
        ("# export A_B=1", ""),
        ("t:\n\texport A_B=1", "set A_B=1 yes shell"),
        ("\texport A_B=1", ""),
        ("t: ; export A_B=1", ""),
        ("export A_B = 1 \\\n 2", "set A_B=1 2 yes shell"),
    ],
)
def test_shapes(text: str, wanted: str) -> None:
    facts = facts_of(text, "Makefile")
    shown = [f"{s.op} {s.name}={s.value.text} {s.exported} {s.channel}" for s in facts.settings]
    assert ", ".join(shown) == wanted
    check_places(text, facts)


@given(
    st.lists(st.tuples(NAMES, st.text("ab1/:.,-", min_size=1, max_size=6)), min_size=1, max_size=5),
    st.sampled_from(["t:\n\t@export {}={}\n", "t:\n\tA=$(B) $$C; export {}={}\n"]),
)
def test_places_hold_in_recipes(pairs: list[tuple[str, str]], shape: str) -> None:
    text = "".join(shape.format(*pair) for pair in pairs)
    settings = [s for s in facts_of(text, "Makefile").settings if s.name != "A"]
    assert [(s.name, s.value.text) for s in settings] == pairs
    for setting, (name, value) in zip(settings, pairs, strict=True):
        assert excerpt(text, setting.name_place) == name
        assert excerpt(text, setting.value_place) == value


@given(st.lists(st.tuples(NAMES, st.text("ab1/:.,-# ", min_size=1, max_size=6)), min_size=1, max_size=5))
def test_places_hold_in_justfiles(pairs: list[tuple[str, str]]) -> None:
    text = "".join(f'export {name} := "{value}"\n' for name, value in pairs)
    facts = facts_of(text, "justfile")
    assert [(s.name, s.value.text) for s in facts.settings] == pairs
    for setting, (name, value) in zip(facts.settings, pairs, strict=True):
        assert excerpt(text, setting.name_place) == name
        assert excerpt(text, setting.value_place) == value


@given(st.lists(st.tuples(NAMES, st.text("ab1/:.,-\"'", min_size=1, max_size=6)), min_size=1, max_size=5))
def test_places_hold(pairs: list[tuple[str, str]]) -> None:
    text = "".join(f"export {name} = {value}\n" for name, value in pairs)
    facts = facts_of(text, "Makefile")
    assert [(s.name, s.value.text) for s in facts.settings] == pairs
    for setting, (name, value) in zip(facts.settings, pairs, strict=True):
        assert excerpt(text, setting.name_place) == name
        assert excerpt(text, setting.value_place) == value


@given(st.text("export A_1:=?+\t\n$(){}#\\'\" @\x00\u00e9", max_size=120), st.sampled_from(["Makefile", "justfile"]))
def test_any_text_is_read(text: str, path: str) -> None:
    check_places(text, facts_of(text, path))


LINES = [
    "export A_B=1",
    "A_B := $(C)",
    "t: x",
    "\texport A_B=1",
    "\t@",
    "ifdef A_B",
    "else",
    "endif",
    "define X",
    "endef",
    "export",
    ".ONESHELL:",
    "t: export A_B=1",
    "A_B = \\",
    "export A_B := 'x'",
    "t $A_B='1':",
    "    #!/bin/sh",
    "    export A_B={{x}}",
    "set export",
]


@given(st.lists(st.sampled_from(LINES), max_size=14).map("\n".join), st.sampled_from(["Makefile", "justfile"]))
def test_any_lines_are_read(text: str, path: str) -> None:
    check_places(text, facts_of(text, path))


@pytest.mark.slow
@pytest.mark.parametrize("path", ["Makefile", "justfile"])
@pytest.mark.parametrize(
    "line",
    [
        "export A_B=1\n",
        "t:\n\texport A_B=1\n",
        "A=\\\n",
        "$(",
        "ifdef X\n",
        "t:\n    #!/bin/sh\n    A_B=1\n",
        ":",
        " " * 1000 + "x\n",
    ],
)
def test_time_is_bounded(path: str, line: str) -> None:
    check_repeated(line, path)
