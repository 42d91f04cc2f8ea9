"""Tests: which way a path can take, what it says of the variables, and how values on two ways are told apart."""

from __future__ import annotations

from pathlib import Path

import pytest
from walked import conditions, last, script, seen, sees, starts

X_OR = 'if [ -n "$X" ]; then export A=1; else export A=2; fi\n'


@pytest.mark.parametrize(
    "test",
    [
        '[ -n "$B" ]', '[ "$B" ]', "[ $B = 1 ]", "[ $B == 1 ]", "[[ $B == 1 ]]", "[ $B != 2 ]", '! [ -z "$B" ]',
        '[ ! -z "$B" ]', "[ $B -eq 1 ]", "[ $B -lt 2 ]", "[ $B -ge 1 ]", "[[ -v B ]]", '[ -n "${B+x}" ]', "test $B = 1",
        "[[ $B == [12] ]]", "[[ $B = 1* ]]", "true", ":", '[ "$B" = 1 ] && true', "[ $B = 2 ] || [ $B = 1 ]",
        "[ $B = 1 ] && [ $B != 2 ]", '[ "x$B" = x1 ]', '[ -n "$B" -a "$B" = 1 ]',
    ],
)  # fmt: skip
def test_a_test_that_the_state_decides_takes_one_way(tmp_path: Path, test: str) -> None:
    if "-a" in test:
        pytest.xfail("two tests in one pair of brackets are not taken apart")
    result = script(tmp_path, f"export B=1\nif {test}; then RANK yes; else RANK no; fi\n")
    assert [(s.arguments, s.guard) for s in result.starts] == [(("yes",), ())]


@pytest.mark.parametrize(
    "test",
    [
        '[ -n "$X" ]', '[ "$X" ]', "[ $X = 1 ]", "[ $X -gt 3 ]", "[ -f x ]", "[[ -v X ]]", "(( X > 1 ))", "grep -q a b",
        "[ -n \"$X\" ] && [ -n \"$Y\" ]", "[ -n \"$X\" ] || [ -n \"$Y\" ]", '! [ -n "$X" ]', "[ $# -gt 0 ]", "nvidia-smi",
        '[ "$X" = "$Y" ]', "[[ $X =~ ^a ]]", '[ -z "$1" ]',
    ],
)  # fmt: skip
def test_a_test_of_what_nobody_knows_takes_both_ways(tmp_path: Path, test: str) -> None:
    text = f"if {test}; then export A=1; RANK; else export A=2; RANK; fi\nRANK\n"
    assert [one.sees for one in starts(script(tmp_path, text))] == [{"A": "1"}, {"A": "2"}, {"A": "1 or 2"}]


@pytest.mark.parametrize(
    "text",
    [
        'U=${U:-0}\nif [ "$U" = 1 ]; then RANK; else RANK; fi', 'if [ "${U:-0}" = 1 ]; then RANK; else RANK; fi',
        "case ${1:-train} in train) RANK;; *) RANK;; esac", "M=${1:-train}\ncase $M in train) RANK;; eval) RANK;; esac",
        "N=${N:-1}\nif [ $N -gt 1 ]; then RANK; else RANK; fi", 'U=${U:-}\nif [ -n "$U" ]; then RANK; else RANK; fi',
        'if [ -n "${U:-}" ]; then RANK; else RANK; fi', 'U=${V:+1}\nif [ -z "$U" ]; then RANK; else RANK; fi',
    ],
)  # fmt: skip
def test_a_default_decides_no_test(tmp_path: Path, text: str) -> None:
    assert len(starts(script(tmp_path, text + "\n"))) == 2


def test_a_default_that_does_not_fit_is_not_there_on_the_other_way(tmp_path: Path) -> None:
    text = 'export A=${U:-0}\nif [ "$A" = 1 ]; then RANK; else RANK; fi\n'
    assert [one.sees["A"] for one in starts(script(tmp_path, text))] == ["?$A", "0"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (X_OR + '[ -n "$X" ] && RANK', ["1"]),
        (X_OR + 'if [ -z "$X" ]; then RANK; fi', ["2"]),
        (X_OR + 'if ! [ -z "$X" ]; then RANK; else RANK; fi', ["1", "2"]),
        (X_OR + 'if [ ! -n "$X" ]; then RANK; fi', ["2"]),
        (X_OR + 'if [ "$A" = 1 ]; then RANK; else RANK; fi', ["1", "2"]),
        (X_OR + 'X=3\nif [ -z "$X" ]; then RANK; else RANK; fi', ["1 or 2"]),
        (X_OR + 'X=$(nproc)\nif [ -z "$X" ]; then RANK; else RANK; fi', ["1 or 2"] * 2),
        (X_OR + 'read X\nif [ -n "$X" ]; then RANK; fi', ["1 or 2"]),
        ('if [ "$X" = a ]; then export A=1; fi\nif [ "$X" != a ]; then RANK; fi', []),
        ('if [ "$X" != a ]; then export A=1; else export A=2; fi\nif [ "$X" = a ]; then RANK; fi', ["2"]),
        ('if [ -f x ]; then export A=1; fi\nif [ -f x ]; then RANK; fi', ["1"]),
        ('if [ "$X" = a ]; then if [ "$X" != a ]; then RANK; fi; RANK; fi', [None]),
    ],
)  # fmt: skip
def test_the_same_test_twice_has_the_same_outcome(tmp_path: Path, text: str, expected: list[str | None]) -> None:
    if expected == []:
        assert [one.sees for one in starts(script(tmp_path, text + "\n"))] == [{}]
        return
    assert [one.sees.get("A") for one in starts(script(tmp_path, text + "\n"))] == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("if [ $X = a ]; then export A=1; elif [ $X = b ]; then export A=2; else export A=3; fi", "1 or 2 or 3"),
        ("if [ $X = a ]; then export A=1; elif [ $X = b ]; then export A=2; fi", "1 or 2 or nothing"),
        ("case $X in a) export A=1;; b|c) export A=2;; *) export A=3;; esac", "1 or 2 or 3"),
        ("case $X in a) export A=1;; b) export A=2;; esac", "1 or 2 or nothing"),
        ("X=b\ncase $X in a) export A=1;; b|c) export A=2;; *) export A=3;; esac", "2"),
        ("X=bcd\ncase $X in a*) export A=1;; b*) export A=2;; *) export A=3;; esac", "2"),
        ("X=z\ncase $X in a) export A=1;; b) export A=2;; esac\nexport A=${A:-4}", "4"),
        ("if [ $X = 1 ]; then\nif [ $Y ]; then export A=1; else export A=2; fi\nelse export A=1; fi", "1 or 2"),
        ("if [ $X ]; then export A=1; else export A=1; fi", "1"),
        ("[ -n \"$X\" ] && export A=1", "1 or nothing"),
        ("[ -n \"$X\" ] || export A=1", "1 or nothing"),
        ("[ -n \"$X\" ] && export A=1 && export B=2", "1 or nothing"),
        ("[ -n \"$X\" ] && export A=1 || export A=2", "1 or 2"),
        ("[ -n \"$X\" ] && [ -n \"$Y\" ] && export A=1", "1 or nothing"),
        ("[ -n \"$X\" ] && { export A=1; B=2; } || export A=3", "1 or 3"),
        ("cd x && export A=1", "1"),
        ("cd x && make && export A=1", "1"),
        ("mkdir x || true\nexport A=1", "1"),
        ("command -v nvcc && export A=1", "1 or nothing"),
        ("grep -q x y && export A=1 || export A=2", "1 or 2"),
        ("false || export A=1", "1"),
        ("if false; then :; else export A=1; fi", "1"),
    ],
)  # fmt: skip
def test_values_of_ways_that_meet(tmp_path: Path, text: str, expected: str) -> None:
    assert last(script(tmp_path, text + "\nRANK\n")).sees["A"] == expected


def test_arms_are_nested_tests(tmp_path: Path) -> None:
    text = "if [ $X = a ]; then RANK 1; elif [ $X = b ]; then RANK 2; else RANK 3; fi\n"
    found = {s.arguments: conditions(s.guard) for s in script(tmp_path, text).starts}
    assert found == {("1",): ["$X = a"], ("2",): ["! $X = a", "$X = b"], ("3",): ["! $X = a", "! $X = b"]}


def test_what_one_way_alone_has_lost_is_under_its_condition(tmp_path: Path) -> None:
    text = 'if [ -n "$X" ]; then (export A=1); fi\nif [ -n "$X" ]; then RANK; else RANK; fi\n'
    assert [one.lost for one in starts(script(tmp_path, text))] == [{"A": "1 subshell:1"}, {}]


@pytest.mark.parametrize(
    "text",
    [
        "export A=${A:-x}", "A=${A:=x}\nexport A", ": ${A:=x}\nexport A", ': "${A:=x}"\nexport A',
        "A=${A:-x}\nexport A", "A=${A-x}\nexport A",
    ],
)  # fmt: skip
def test_a_default_for_what_may_come_from_outside(tmp_path: Path, text: str) -> None:
    (start,) = script(tmp_path, text + "\nRANK\n").starts
    (value,) = start.slot("A")
    assert (value.text, value.exported, value.origins[0].default) == ("x", "yes", True)


@pytest.mark.parametrize(
    "text",
    [
        '[ -z "$A" ] && export A=x', 'if [ -z "$A" ]; then export A=x; fi', '[ -n "$A" ] || export A=x',
        "[[ -v A ]] || export A=x", 'if [ -z "${A+x}" ]; then export A=x; fi', '[ "$A" ] || export A=x',
        'if [ -z "${A:-}" ]; then export A=x; fi', "test -n \"$A\" || export A=x",
    ],
)  # fmt: skip
def test_a_test_of_its_own_makes_an_assignment_a_default(tmp_path: Path, text: str) -> None:
    (start,) = script(tmp_path, text + "\nRANK\n").starts
    assert sees(start) == {"A": "?$A or x"}
    assert [a.origins[0].default for a in start.slot("A") if a.origins] == [True]
    for before, expected in (("export A=1\n", "1"), ("unset A\n", "x")):
        assert last(script(tmp_path, before + text + "\nRANK\n")).sees == {"A": expected}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('export A=1\nif [ "$A" = 2 ]; then :; else export A=5; fi', "5"),
        ("unset A\nif [ -z \"$A\" ]; then export A=1; export A=2; fi", "2"),
        ('if [ -n "$X" ]; then export A=1; fi\nexport A=${A:-2}', "1 or 2"),
        ('if [ -n "$X" ]; then export A=1; fi\n: ${A:=2}\nexport A', "1 or 2"),
        ('if [ -n "$X" ]; then export A=1; else export A=; fi\nexport A=${A:-2}', "1 or 2"),
        ("export A=z\nA=\"${A:-x} y\"", "z y"),
        ("export A=1\nA+=${A:-2}", "11"),
        ("export A=\nexport A=${A:-x}", "x"),
        ("export A=\nexport A=${A-x}", "''"),
        ("export A=1\n: ${A:=2}", "1"),
    ],
)  # fmt: skip
def test_a_default_counts_only_where_nothing_is(tmp_path: Path, text: str, expected: str) -> None:
    assert last(script(tmp_path, text + "\nRANK\n")).sees["A"] == expected


def test_many_conditions_make_a_value_uncertain_and_never_certain(tmp_path: Path) -> None:
    lines = [f'if [ -n "$X{n}" ]; then export A={n}; fi' for n in range(9)]
    (start,) = script(tmp_path, "\n".join([*lines, "RANK", ""])).starts
    assert {"?", "nothing"} <= set(sees(start)["A"].split(" or "))
    deep = "".join(f'if [ -n "$X{n}" ]; then\n' for n in range(9)) + "export A=1\n" + "fi\n" * 9 + "RANK\n"
    assert seen(script(tmp_path, deep).starts[-1]).sees == {"A": "1 or nothing"}
