"""What words become: the arguments that a rank gets, and the values of its variables, as the shell expands them."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from walked import last, script, sees

from envdoctor.analysis.process.interpreter.expand import trim

ARGUMENTS = [
    ("X=1\nRANK $X ${X} a$X", ("1", "1", "a1")),
    ("X='1 2'\nRANK $X", ("1", "2")),
    ("X='1 2'\nRANK \"$X\" '$X'", ("1 2", "$X")),
    ("X='1 2'\nRANK a$X.b", ("a1", "2.b")),
    ("X=\nRANK $X \"$X\" b", ("", "b")),
    ("X='--lr 1'\nY=$X\nRANK $Y", ("--lr", "1")),
    ("X=' a  b '\nRANK $X", ("a", "b")),
    ("L=(a 'b c')\nRANK \"${L[@]}\"", ("a", "b c")),
    ("L=(a 'b c')\nRANK ${L[@]}", ("a", "b", "c")),
    ("L=(a 'b c')\nRANK \"${L[*]}\"", ("a b c",)),
    ("L=(a b)\nL+=(c)\nRANK \"${L[@]}\" ${L[1]} $L", ("a", "b", "c", "b", "a")),
    ("L=()\nRANK \"${L[@]}\" x", ("x",)),
    ('set --\nRANK "$@" x', ("x",)),
    ("L=(a)\nRANK pre\"${L[@]}\"post", ("preapost",)),
    ("L=(a b)\nRANK pre\"${L[@]}\"post", ("prea", "bpost")),
    ("set -- a 'b c'\nRANK \"$@\"", ("a", "b c")),
    ("set -- a 'b c'\nRANK $# $1 \"$2\" $3", ("2", "a", "b c")),
    ("set -- a b c\nshift\nRANK $1 \"$*\"", ("b", "b c")),
    ("set -- a b c\nshift 2\nRANK \"$@\"", ("c",)),
    ("X=dir/train.py\nRANK ${X%.py} ${X##*/} ${X%/*} ${X#*/}", ("dir/train", "train.py", "dir", "train.py")),
    ("X=a.b.c\nRANK ${X%%.*} ${X%.*} ${X#*.} ${X##*.}", ("a", "a.b", "b.c", "c")),
    ("X=1\nRANK ${X:-2} ${X:+3} ${X-2}", ("1", "3", "1")),
    ("X=\nRANK ${X:-2} ${X:+3} y${X-2}", ("2", "y")),
    ("X=1\nRANK ${X:=2} $X", ("1", "1")),
    ("Y=1\nX=Y\nRANK ${!X}", ("1",)),
    ("RANK ${X:-a} ${X:-${Y:-b}}", ("a", "b")),
    ("RANK $(echo a b) \"$(echo c d)\"", ("a", "b", "c d")),
    ("X=$(cat <<E\na b\nE\n)\nRANK $X", ("a", "b")),
    ("RANK \\$X \"a\\\"b\" 'c'\\''d'", ("$X", 'a"b', "c'd")),
    ("X=1\nX+=2\nRANK $X", ("12",)),
    ("X=a\nX=\"$X b\"\nX=\"$X c\"\nRANK $X", ("a", "b", "c")),
    ("printf -v X '%s-%s' a b\nRANK $X", ("a-b",)),
    ("f() { RANK \"$@\"; }\nset -- outer\nf in 'n er'", ("in", "n er")),
    ("f() { shift; RANK \"$1\"; }\nf a b", ("b",)),
    ("f() { :; }\nset -- a\nf x y\nRANK \"$@\"", ("a",)),
    ("for x in a b; do X=$x; done\nRANK $X", ("b",)),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), ARGUMENTS)
def test_arguments_that_a_rank_gets(tmp_path: Path, text: str, expected: tuple[str, ...]) -> None:
    assert script(tmp_path, text + "\n").starts[-1].arguments == expected


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not there")
@pytest.mark.parametrize(("text", "expected"), ARGUMENTS)
def test_bash_gives_these_arguments_too(text: str, expected: tuple[str, ...]) -> None:
    shown = text.replace("RANK", "printf '<%s>\\n'")
    run = subprocess.run(
        ["bash", "-c", shown], capture_output=True, text=True, check=True, env={"PATH": "/usr/bin:/bin"}
    )
    assert run.stdout == "".join(f"<{word}>\n" for word in expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("RANK $X", ("$X",)),
        ("RANK \"$X y\" $1", ("$X y", "$1")),
        ("RANK \"$@\"", ("$@",)),
        ("RANK ${L[0]} ${L[$i]}", ("${L[0]}", "${L[$i]}")),
        ("RANK $((1 + 2))", ("$((1 + 2))",)),
        ("RANK $(nproc)", ("$(nproc)",)),
        ("RANK $(date +%s)-x", ("$(date +%s)-x",)),
        ("RANK `hostname`", ("`hostname`",)),
        ("X=$(nproc)\nRANK --n=$X", ("--n=$(nproc)",)),
        ("RANK ${#X} ${X/a/b} ${X^^}", ("${#X}", "${X/a/b}", "${X^^}")),
        ("read X\nRANK $X", ("$X",)),
        ("RANK <(cat x)", ("<(cat x)",)),
    ],
)  # fmt: skip
def test_what_nobody_knows_stays_as_it_is_written(tmp_path: Path, text: str, expected: tuple[str, ...]) -> None:
    assert script(tmp_path, text + "\n").starts[-1].arguments == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("export A=$(echo 1)", "1"),
        ("X=1\nexport A=$X$X", "11"),
        ("export A=${X:-1}", "1"),
        ("export A=$X", "?$X"),
        ("export A=x${X}y", "?x$Xy"),
        ("export B=1\nexport A=${B}2", "12"),
        ("export A='a b'", "a b"),
        ("export A=$HOME/x", "?$HOME/x"),
        ("export A=\"$(nproc)\"", "?$(nproc)"),
        ("export A=1\nexport A=$A,2", "1,2"),
        ("L=(eth0 eth1)\nexport A=${L[1]}", "eth1"),
        ("L=(A=1)\nexport \"${L[@]}\"", "1"),
        ("X=A\nexport $X=1", "1"),
        ("eval export A=1", "1"),
        ("for n in A B; do declare -x $n=3; done", "3"),
        ("declare -A M=([a]=1)\nM[b]=2\nexport A=2", "2"),
        ("export A=${B:+1}", "''"),
        ("export A=~/x", "?~/x"),
    ],
)  # fmt: skip
def test_values_that_a_rank_sees(tmp_path: Path, text: str, expected: str) -> None:
    assert last(script(tmp_path, text + "\nRANK\n")).sees["A"] == expected


def test_words_that_decide_what_a_rank_does_are_tried_each(tmp_path: Path) -> None:
    starts = script(tmp_path, "if [ $Y ]; then X=1; else X=2; fi\nRANK --x=$X\n").starts
    assert [start.arguments for start in starts] == [("--x=1",), ("--x=2",)]


@pytest.mark.parametrize(
    "text", ["export A=${X:-1}", "export A=${X:+1}", "X=${Y:-1}\nexport A=$X", "env A=${X:+1} RANK"]
)
def test_a_default_of_another_variable_is_likely_and_not_sure(tmp_path: Path, text: str) -> None:
    (start, *_) = script(tmp_path, text + "\nRANK\n").starts
    (value,) = start.slot("A")
    assert value.kind == "literal"
    assert value.likely or value.origins[0].likely


@given(st.text("ab/.", max_size=8), st.sampled_from(["#", "##", "%", "%%"]), st.text("ab/.*?", max_size=4))
def test_what_is_trimmed_is_an_end_of_the_value(text: str, operator: str, pattern: str) -> None:
    kept = trim(text, operator, pattern)
    assert text.endswith(kept) if operator.startswith("#") else text.startswith(kept)


def test_a_thousand_words_of_an_array_are_cut(tmp_path: Path) -> None:
    words = " ".join(f"w{n}" for n in range(1000))
    start = script(tmp_path, f'L=({words})\nexport A=1\nRANK "${{L[@]}}"\n').starts[-1]
    assert 100 < len(start.arguments) <= 400
    assert sees(start) == {"A": "1"}
