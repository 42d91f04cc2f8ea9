"""What a rank sees of a script, and what was lost on the way by which edge: one script, one launch after another."""

from __future__ import annotations

from pathlib import Path

import pytest
from walked import at, last, origins, script, starts

from envdoctor.analysis.process.journeys import journeys

ENV_SH = "export B=5\nC=6\n"
VARS_ENV = "B=5\nC=6\n"


@pytest.mark.parametrize(
    ("text", "sees"),
    [
        ("export A=1", {"A": "1"}),
        ("A=1\nexport A", {"A": "1"}),
        ("export A\nA=1", {"A": "1"}),
        ("export A=1\nA=2", {"A": "2"}),
        ("export A=1 B=2", {"A": "1", "B": "2"}),
        ("export A=", {"A": "''"}),
        ("export A=1\nA=", {"A": "''"}),
        ("export A=1\nA+=2", {"A": "12"}),
        ("export A=1\nunset A", {}),
        ("export A=1\nunset -v A\nexport A=2", {"A": "2"}),
        ("export A=1\nunset -f A", {"A": "1"}),
        ("export A=1\nexport -n A", {}),
        ("export A=1\nexport -n A\nexport A", {"A": "1"}),
        ("export A=1\ndeclare +x A", {}),
        ("declare -x A=1", {"A": "1"}),
        ("typeset -x A=1", {"A": "1"}),
        ("declare -rx A=1", {"A": "1"}),
        ("declare -x A\nA=1", {"A": "1"}),
        ("readonly A=1\nexport A", {"A": "1"}),
        ("set -a\nA=1\nset +a\nexport B=2", {"A": "1", "B": "2"}),
        ("set -ea\nA=1", {"A": "1"}),
        ("set -o allexport\nA=1\nset +o allexport", {"A": "1"}),
        ("A=1\nset -a\nB=$A", {"B": "1"}),
        (". ./env.sh", {"B": "5"}),
        ("source env.sh", {"B": "5"}),
        ('source "$(dirname "$0")/env.sh"', {"B": "5"}),
        ('HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)\n. $HERE/env.sh', {"B": "5"}),
        ("set -a\n. ./env.sh\nset +a", {"B": "5", "C": "6"}),
        ("set -a; . ./vars.env; set +a", {"B": "5", "C": "6"}),
        ("export $(grep -v '^#' vars.env | xargs)", {"B": "5", "C": "6"}),
        ("export $(cat vars.env)", {"B": "5", "C": "6"}),
        (". ./env.sh\nexport C", {"B": "5", "C": "6"}),
        ("export B=4\n. ./env.sh\nexport B=9", {"B": "9"}),
        ("export A=1\n{ export B=2; }", {"A": "1", "B": "2"}),
        ("A=1 true", {}),
        ("x=$(export A=1)", {}),
        ("builtin export A=1\ncommand export B=2", {"A": "1", "B": "2"}),
        ("export -- A=1", {"A": "1"}),
        ("printf -v A %s 1\nexport A", {"A": "1"}),
        ("export A=1\ncat > log <<E\nunset A\nE", {"A": "1"}),
        ("export A=1 # export A=2", {"A": "1"}),
        ("echo export A=1", {}),
    ],
)  # fmt: skip
def test_what_a_script_exports_is_seen(tmp_path: Path, text: str, sees: dict[str, str]) -> None:
    assert last(script(tmp_path, text + "\nRANK\n", env_sh=ENV_SH, vars_env=VARS_ENV)).sees == sees


@pytest.mark.parametrize(
    ("text", "lost"),
    [
        ("A=1", {"A": "1 not-exported:2"}),
        ("A=1\nunset A", {}),
        ("declare A=1", {"A": "1 not-exported:2"}),
        ("readonly A=1", {"A": "1 not-exported:2"}),
        ("(export A=1)", {"A": "1 subshell:1"}),
        ("( A=1 )", {}),
        ("export A=1 | tee log", {"A": "1 pipe:1"}),
        ("echo x | export A=1", {"A": "1 pipe:1"}),
        ("cat x | while read l; do export A=1; done", {"A": "1 pipe:1"}),
        ("{ export A=1; } | cat", {"A": "1 pipe:1"}),
        ("{ export A=1; } &", {"A": "1 subshell:1"}),
        ("f() { local A=1; export A; }\nf", {"A": "1 function:2"}),
        ("f() { local -x A=1; }\nf", {"A": "1 function:2"}),
        ("f() { declare -x A=1; }\nf", {"A": "1 function:2"}),
        ("f() ( export A=1 )\nf", {"A": "1 subshell:1"}),
        ("bash other.sh", {"B": "5 script:1"}),
        ("./other.sh", {"B": "5 script:1"}),
        ("bash -c 'export A=1'", {"A": "1 script:1"}),
        (". ./env.sh", {"C": "6 not-exported:2"}),
        ("A=1\nexport B=$A", {"A": "1 not-exported:3"}),
        ("A=1\nA=2", {"A": "2 not-exported:3"}),
        ("(export A=1)\nexport A=2", {}),
        ("(export A=1)\nunset A", {}),
        ("export A=1\n(export A=2)", {}),
    ],
)  # fmt: skip
def test_each_edge_says_what_it_lost(tmp_path: Path, text: str, lost: dict[str, str]) -> None:
    result = script(tmp_path, text + "\nRANK\n", env_sh=ENV_SH, other_sh="export B=5\n")
    assert last(result).lost == lost


def test_what_a_part_of_its_own_starts_has_what_it_exported(tmp_path: Path) -> None:
    for text in ("(export A=1; RANK)", "echo x | { export A=1; RANK; }", "{ export A=1; RANK; } | tee log"):
        found = starts(script(tmp_path, text + "\nRANK\n"))
        assert [one.sees for one in found] == [{"A": "1"}, {}]
        assert found[1].lost == {}, "ranks got it, so that nothing is lost"


@pytest.mark.parametrize(
    ("text", "sees"),
    [
        ("A=1 RANK", [{"A": "1"}, {}]),
        ("A=1 B=2 RANK", [{"A": "1", "B": "2"}, {}]),
        ("export A=1\nA=2 RANK", [{"A": "2"}, {"A": "1"}]),
        ("A=1 bash -c 'RANK'", [{"A": "1"}, {}]),
        ("A=1 bash -c 'unset A; RANK'", [{}, {}]),
        ("f() { RANK; }\nA=1 f", [{"A": "1"}, {}]),
        ("f() { export B=2; RANK; }\nexport A=0\nA=1 f", [{"A": "1", "B": "2"}, {"A": "0", "B": "2"}]),
        ("A=1 eval RANK", [{"A": "1"}, {}]),
        ("A=1 exec RANK", [{"A": "1"}]),
        ("env A=1 RANK", [{"A": "1"}, {}]),
        ("export A=1\nenv -u A RANK", [{}, {"A": "1"}]),
        ("A=1 nohup RANK &", [{"A": "1"}, {}]),
        ("A=1 time RANK", [{"A": "1"}, {}]),
        ("x=1 A=2 RANK", [{"A": "2"}, {}]),
        ("A=1\nA=2 RANK", [{"A": "2"}, {}]),
    ],
)  # fmt: skip
def test_a_prefix_holds_for_one_command(tmp_path: Path, text: str, sees: list[dict[str, str]]) -> None:
    assert [one.sees for one in starts(script(tmp_path, text + "\nRANK\n"))] == sees


@pytest.mark.parametrize(
    "how",
    [
        ". ./in.sh", "./in.sh", "bash in.sh", "sh -e in.sh",
        pytest.param("bash < in.sh", marks=pytest.mark.xfail(strict=True, reason="a script of the tree as input")),
    ],
)  # fmt: skip
def test_a_prefix_of_a_script_holds_in_it(tmp_path: Path, how: str) -> None:
    found = starts(script(tmp_path, f"A=1 {how}\nRANK\n", in_sh="RANK\n"))
    assert [(one.at, one.sees) for one in found] == [("in.sh:1", {"A": "1"}), ("run.sh:2", {})]


@pytest.mark.parametrize(
    ("text", "sees"),
    [
        ("f() { export A=1; }\nf", {"A": "1"}),
        ("f() { A=1; }\nexport A=0\nf", {"A": "1"}),
        ("f() { declare -gx A=1; }\nf", {"A": "1"}),
        ("f() { local A=2; }\nexport A=1\nf", {"A": "1"}),
        ("f() { local B=2; export A=$B; }\nf", {"A": "2"}),
        ("function f { export A=1; }\nf", {"A": "1"}),
        ("f() { export A=$1 B=$2; }\nf 1 '2 3'", {"A": "1", "B": "2 3"}),
        ("f() { shift; export A=$1; }\nf 1 2", {"A": "2"}),
        ("f() { return; export A=1; }\nf", {}),
        ("f() { if [ $X ]; then return; fi; export A=1; }\nf", {"A": "1 or nothing"}),
        ("f() { export A=1; f; }\nf", {"A": "?$A? or nothing"}),
        ("f() { g; }\ng() { export A=1; }\nf", {"A": "1"}),
        ("f() { f() { export A=2; }; export A=1; }\nf\nf", {"A": "2"}),
        ("f() { unset A; }\nexport A=1\nf", {}),
        ("f() { set -- x; }\nset -- 1\nf\nexport A=$1", {"A": "1"}),
        ("f() { export A=1; }", {}),
        ("f() { export A=1; }\nunset -f f", {}),
        (". ./lib.sh\nf", {"A": "7"}),
        ("f() { exit; }\nexport A=1", {"A": "1"}),
    ],
)  # fmt: skip
def test_functions_run_in_the_shell_that_calls_them(tmp_path: Path, text: str, sees: dict[str, str]) -> None:
    assert last(script(tmp_path, text + "\nRANK\n", lib_sh="f() { export A=7; }\n")).sees == sees


@pytest.mark.parametrize(
    ("text", "sees"),
    [
        ("f() { local A=2; RANK; }\nexport A=1\nf", {"A": "2"}),  # a local that hides an exported name is exported
        ("f() { local A; A=3; RANK; }\nexport A=1\nf", {"A": "3"}),
        ("f() { local A=2; RANK; }\nf", {}),
        ("f() { local -x A=2; RANK; }\nf", {"A": "2"}),
        ("f() { A=2 RANK; }\nf", {"A": "2"}),
        ("run() { \"$@\"; }\nexport A=1\nrun RANK", {"A": "1"}),
        ("run() { shift; A=4 \"$@\"; }\nrun x RANK", {"A": "4"}),
        ("run() { local cmd=\"$*\"; eval \"$cmd\"; }\nrun A=1 RANK", {"A": "1"}),
        ("run() { $1; }\nexport A=1\nrun 'RANK'", {"A": "1"}),
        ("outer() { inner \"$@\"; }\ninner() { A=$1 RANK; }\nouter 5", {"A": "5"}),
    ],
)  # fmt: skip
def test_functions_that_start_ranks(tmp_path: Path, text: str, sees: dict[str, str]) -> None:
    assert [one.sees for one in starts(script(tmp_path, text + "\n"))] == [sees]


def test_a_function_that_nobody_calls_speaks_as_a_hint(tmp_path: Path) -> None:
    result = script(tmp_path, "f() { A=1 RANK; }\ng() { RANK; }\nexport B=2\ng\n")
    assert [(s.hint, one.sees) for s, one in zip(result.starts, starts(result), strict=True)] == [
        (False, {"B": "2"}), (True, {"A": "1", "B": "2"}),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "sees"),
    [
        ("for i in 1 2; do export A=$i; done", ["2"]),
        ("for i in 1 2; do A=$i RANK; done; exit", ["1", "2"]),
        ("for i in 1 2; do for j in a b; do A=$i$j RANK; done; done; exit", ["1a", "1b", "2a", "2b"]),
        ("L=(1 2)\nfor i in \"${L[@]}\"; do A=$i RANK; done; exit", ["1", "2"]),
        ("for v in A B; do export $v=1; done", ["1"]),
        ("for i in $X; do export A=1; done", ["1 or nothing"]),
        ("for i in \"$@\"; do export A=1; done", ["1 or nothing"]),
        ("for i; do export A=1; done", ["1 or nothing"]),
        ("for i in *.txt; do export A=1; done", ["1 or nothing"]),
        ("for i in $(seq 4); do export A=1; done", ["1 or nothing"]),
        ("for ((i=0; i<3; i++)); do export A=1; done", ["1 or nothing"]),
        ("while [ $X -lt 3 ]; do export A=1; done", ["1 or nothing"]),
        ("until ping x; do export A=1; done", ["1 or nothing"]),
        ("while read l; do export A=1; done < f", ["1 or nothing"]),
        ("while true; do export A=1; break; done", ["1"]),
        ("for i in 1 2 3; do [ $i = 2 ] && break; export A=$i; done", ["1"]),
        ("for i in 1 2 3; do [ $i = 2 ] && continue; export A=$i; done", ["3"]),
        ("for i in a b; do for j in 1 2; do [ $j = 2 ] && continue 2; A=$i$j RANK; done; done; exit", ["a1", "b1"]),
        ("for i in a b; do for j in 1 2; do A=$i$j RANK; break 2; done; done; exit", ["a1"]),
        ("for i in 1 2; do if [ -f $i ]; then continue; fi; A=$i RANK; done; exit", ["1", "2"]),
        ("for i in 1 2; do (continue; export A=1; RANK); done; exit", ["1", "1"]),
        ("if [ $F ]; then X=1; fi\nfor i in $X; do export A=1; done", ["1 or nothing"]),
        ("for i in 1 2; do if [ $X ]; then break; fi; export A=$i; done", ["2 or nothing"]),
        ("for i in 1 2; do if cmp $i x; then break; fi; export A=$i; done", ["1 or 2 or nothing"]),
        ("for i in 1 2; do (export A=1; break); done\nexport B=1", [None]),
        ("for i in $X; do export A=${B:+2}; export B=1; done", ["'' or 2 or nothing"]),
        ("set -- 1 2\nfor i; do export A=$i; done", ["2"]),
    ],
)  # fmt: skip
def test_loops(tmp_path: Path, text: str, sees: list[str | None]) -> None:
    assert [one.sees.get("A") for one in starts(script(tmp_path, text + "\nRANK\n"))] == sees


@pytest.mark.parametrize(
    "head",
    ["for ((i=0; i<3; i++))", "for i in $X", "while true", "while [ $X ]", "until [ $X ]", "for i in a b", "for i"],
)
def test_a_launch_in_any_loop_is_met(tmp_path: Path, head: str) -> None:
    found = starts(script(tmp_path, f"export A=1\n{head}; do\nRANK\ndone\n"))
    assert {(one.at, one.sees["A"]) for one in found} == {("run.sh:3", "1")}


@pytest.mark.parametrize(
    ("text", "sees"),
    [
        ("if [ $X ]; then exit 1; fi\nexport A=1\nRANK", [{"A": "1"}]),
        ("if [ $X ]; then export A=1; exit; fi\nRANK", [{}]),
        ("[ $X = 1 ] || exit 1\nexport A=1\nRANK", [{"A": "1"}]),
        ("cd x || exit 1\nexport A=1\nRANK", [{"A": "1"}]),
        ("(exit 1)\nRANK", [{}]),
        ("exit\nRANK", []),
        ("exec RANK\nRANK", [{}]),
        ("export A=1\nexec 2>log\nRANK", [{"A": "1"}]),
        ("export A=1\nif [ $X ]; then exec RANK; fi\nunset A\nRANK", [{"A": "1"}, {}]),
        ("export A=1\nRANK &\nexport A=2\nRANK\nwait", [{"A": "1"}, {"A": "2"}]),
        ("export A=1\nRANK || exit 1\nRANK", [{"A": "1"}] * 2),
        ("A=1 RANK && A=2 RANK", [{"A": "1"}, {"A": "2"}]),
        ("A=1 RANK || A=2 RANK", [{"A": "1"}, {"A": "2"}]),
        ("RANK | tee log", [{}]),
        ("if RANK; then RANK; fi", [{}, {}]),
        ("x=$(RANK)", [{}]),
        ("if [ $X ]; then return 0; fi\nRANK", [{}]),
    ],
)  # fmt: skip
def test_where_a_path_ends_nothing_more_is_started(tmp_path: Path, text: str, sees: list[dict[str, str]]) -> None:
    assert [one.sees for one in starts(script(tmp_path, text + "\n"))] == sees


@pytest.mark.parametrize(
    ("text", "sees"),
    [
        ("A=1\neval \"$X\"", {"A": "1? or nothing"}),
        ("A=1\nsource $X", {"A": "1? or nothing"}),
        ("A=1\nsource /opt/site/env.sh", {"A": "1? or nothing"}),
        ("eval \"$X\"\nA=1", {}),
        ("source /opt/site/env.sh\nA=1", {}),
        ("A=1\nsource venv/bin/activate", {}),
        ("A=1\nsource /etc/profile", {}),
        ("A=1\n. ~/.bashrc", {}),
        ("A=1\neval \"$(conda shell.bash hook)\"\nexport B=1", {"A": "1? or nothing", "B": "1"}),
        ("A=1\nexport $X", {"A": "1? or nothing"}),
        ("A=1\nwhile read l; do export $l; done < f", {"A": "1? or nothing"}),
    ],
)  # fmt: skip
def test_text_that_nobody_knows_may_have_exported_what_was_there(
    tmp_path: Path, text: str, sees: dict[str, str]
) -> None:
    assert last(script(tmp_path, text + "\nRANK\n")).sees == sees


@pytest.mark.parametrize(
    "loop", ["while read -r l; do export $l; done < vars.env", 'while IFS= read -r l; do export "$l"; done <vars.env']
)
def test_a_loop_that_exports_the_lines_of_a_file(tmp_path: Path, loop: str) -> None:
    assert last(script(tmp_path, loop + "\nRANK\n", vars_env=VARS_ENV)).sees == {"B": "5", "C": "6"}


def test_a_value_that_may_be_there_gives_one_that_may_be_there(tmp_path: Path) -> None:
    text = "A=1\neval \"$X\"\nbash <<'E'\nexport B=$A\nRANK\nE\n"
    assert last(script(tmp_path, text)).sees == {"A": "1? or nothing", "B": "?$A"}


def test_the_writer_of_a_value_is_told_by_line_and_column(tmp_path: Path) -> None:
    text = "  export A=1\nfoo; B=2 \\\n  RANK\n: ${C:=3}\nexport C\nRANK\n"
    first, second = script(tmp_path, text).starts
    assert origins(first, "A") == ["run.sh:1:10 export"]
    assert origins(first, "B") == ["run.sh:2:6 prefix"]
    assert origins(second, "C") == ["run.sh:4:5 assign"]


def test_writers_of_a_value_that_grows_are_all_told(tmp_path: Path) -> None:
    (start,) = script(tmp_path, "export A=1\nA=$A,2\nA+=,3\nRANK\n").starts
    assert start.value("A") == "1,2,3"
    assert origins(start, "A") == ["run.sh:3:1 assign", "run.sh:2:1 assign", "run.sh:1:8 export"]


def test_the_journey_of_each_value(tmp_path: Path) -> None:
    text = "export A=1\nB=2\nRANK\nsudo RANK\nunset A\nRANK\n"
    found = {j.name: j for j in journeys(script(tmp_path, text).starts)}
    assert [s.place.line for s in found["A"].reached] == [3]
    assert [(s.place.line, loss.kind) for s, loss in found["A"].lost] == [(4, "not-forwarded")]
    assert [(s.place.line, loss.kind) for s, loss in found["B"].lost] == [
        (3, "not-exported"), (4, "not-exported"), (6, "not-exported"),
    ]  # fmt: skip
    assert found["B"].reached == []


def test_a_value_that_takes_the_place_of_another_at_once(tmp_path: Path) -> None:
    def replaced(text: str) -> list[tuple[str, str, str]]:
        return [(r.how, r.before, r.after) for r in script(tmp_path, text + "\nRANK\n").replaced]

    assert replaced("export A=1\nexport A=2") == [("twice", "1", "2")]
    assert replaced("export A=1\nexport A=1") == []
    assert replaced("export A=1\nRANK\nexport A=2") == []
    assert replaced("export A=1\nif [ $X ]; then export A=2; fi") == []
    assert replaced("export A=1\nexport A=${A:-2}") == []
    assert replaced("export A=1\nexport A=$A,2") == []


def test_a_launch_is_met_once_a_line_and_in_order(tmp_path: Path) -> None:
    result = script(tmp_path, "export A=1\nRANK\nexport A=2\nRANK; RANK\n")
    assert [one.sees["A"] for one in at(result, 2)] == ["1"]
    assert [one.sees["A"] for one in at(result, 4)] == ["2", "2"]
    assert [s.number for s in result.starts] == [1, 2, 3]
