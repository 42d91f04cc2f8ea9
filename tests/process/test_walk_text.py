"""Text that is run: `eval`, variables that hold commands, `bash -c`, here-documents, files written and started."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from walked import Seen, conditions, last, origins, script, starts, tree

from envdoctor.analysis.process.interpreter.shell.xargs import stops_at


def short(found: list[Seen]) -> list[tuple[str, str, dict[str, str]]]:
    return [(one.at.removeprefix("run.sh:"), one.what, one.sees) for one in found]


@pytest.mark.parametrize(
    ("text", "what", "sees"),
    [
        ("CMD='torchrun t.py'\n$CMD", "torchrun > t.py", {}),
        ("CMD=\"torchrun t.py\"\nexport A=1\n$CMD --lr 1", "torchrun > t.py", {"A": "1"}),
        ("CMD='A=1 torchrun t.py'\neval $CMD", "torchrun > t.py", {"A": "1"}),
        ("CMD='A=1 torchrun t.py'\neval \"$CMD\"", "torchrun > t.py", {"A": "1"}),
        ("CMD='A=1 RANK'\nbash -c \"$CMD\"", "python > t.py", {"A": "1"}),
        ("CMD='RANK'\nCMD=\"A=1 $CMD\"\neval \"$CMD\"", "python > t.py", {"A": "1"}),
        ("CMD='RANK'\nCMD+=' --x'\nexport A=1\n$CMD", "python > t.py", {"A": "1"}),
        ("eval 'export A=1; RANK'", "python > t.py", {"A": "1"}),
        ("eval export A=1\nRANK", "python > t.py", {"A": "1"}),
        ("L='srun -n 2'\nexport A=1\n$L RANK", "srun > python > t.py", {"A": "1"}),
        ("L=\nexport A=1\n$L RANK", "python > t.py", {"A": "1"}),
        ("C=(srun --export=NONE)\nC+=(RANK)\nexport A=1\n\"${C[@]}\"", "srun > python > t.py", {}),
        ("O=(-x A)\nexport A=1\nmpirun -np 2 --hostfile h \"${O[@]}\" RANK", "mpirun > python > t.py", {"A": "1"}),
        ("E=(A=1 B=2)\nenv \"${E[@]}\" RANK", "python > t.py", {"A": "1", "B": "2"}),
        ("E='A=1 B=2'\nenv $E RANK", "python > t.py", {"A": "1", "B": "2"}),
        ("E='A=1'\nsudo $E RANK", "sudo > python > t.py", {"A": "1"}),
        ("S=env.sh\nsource $S\nRANK", "python > t.py", {"B": "5"}),
        ("F='--export=ALL,A=1'\nsrun $F RANK", "srun > python > t.py", {"A": "1"}),
        ("run() { local c=$1; eval \"$c\"; }\nrun 'A=1 RANK'", "python > t.py", {"A": "1"}),
        ("export A=1\neval \"$(echo RANK)\"", "python > t.py", {"A": "1"}),
        ("CMD=$(cat <<E\nA=1 RANK\nE\n)\neval \"$CMD\"", "python > t.py", {"A": "1"}),
        ("read -r -d '' CMD <<E\nexport A=1\nRANK\nE\nbash -c \"$CMD\"", "python > t.py", {"A": "1"}),
        ("bash -c 'A=$1; export A; RANK' _ 7", "python > t.py", {"A": "7"}),
        ("bash -lc 'A=1 RANK'", "python > t.py", {"A": "1"}),
        ("sh -ec \"A=1 RANK\"", "python > t.py", {"A": "1"}),
        ("bash -c \"bash -c 'A=1 RANK'\"", "python > t.py", {"A": "1"}),
        ("su me -c 'A=1 RANK'", "su > python > t.py", {"A": "1"}),
        ("bash <<E\nexport A=1\nRANK\nE", "python > t.py", {"A": "1"}),
        ("bash -s <<'E'\nexport A=1\nRANK\nE", "python > t.py", {"A": "1"}),
        ("bash <<< 'A=1 RANK'", "python > t.py", {"A": "1"}),
        ("echo 'A=1 RANK' | bash", "python > t.py", {"A": "1"}),
        ("printf 'A=1 RANK\\n' | sh", "python > t.py", {"A": "1"}),
        ("A=1\nbash <<E\nexport A=$A\nRANK\nE", "python > t.py", {"A": "1"}),
        ("X=1\nbash <<'E'\nexport A=$X\nRANK\nE", "python > t.py", {"A": "?$X"}),
        ("ssh n1 bash <<E\nexport A=1\nRANK\nE", "ssh > python > t.py", {"A": "1"}),
        ("ssh n1 'bash -s' <<E\nA=1 RANK\nE", "ssh > python > t.py", {"A": "1"}),
        ("ssh n1 'cd x && A=1 RANK'", "ssh > python > t.py", {"A": "1"}),
        ("X=1\nssh n1 \"export A=$X; RANK\"", "ssh > python > t.py", {"A": "1"}),
        ("ssh n1 A=1 RANK", "ssh > python > t.py", {"A": "1"}),
        ("docker exec -i c bash -s <<E\nx=$(A=1 RANK)\nE", "docker exec > python > t.py", {"A": "1"}),
        ("cat > x.sh <<E\nexport A=1\nRANK\nE\nbash x.sh", "python > t.py", {"A": "1"}),
        ("cat <<E > x.sh\nexport A=1\nRANK\nE\nchmod +x x.sh\n./x.sh", "python > t.py", {"A": "1"}),
        ("cat > $D/x.sh <<'E'\nexport A=1\nRANK\nE\nsbatch $D/x.sh", "sbatch > python > t.py", {"A": "1"}),
        ("echo 'export A=1' > x.sh\necho 'RANK' >> x.sh\nbash x.sh", "python > t.py", {"A": "1"}),
        ("{ echo 'export A=1'; echo 'RANK'; } > x.sh\nbash x.sh", "python > t.py", {"A": "1"}),
        ("tee x.sh <<E\nA=1 RANK\nE\nbash x.sh", "python > t.py", {"A": "1"}),
        ("echo 'export A=1' > e.sh\nsource e.sh\nRANK", "python > t.py", {"A": "1"}),
        ("echo A=1 > v.env\ndocker run --env-file v.env i RANK", "docker run > python > t.py", {"A": "1"}),
    ],
)  # fmt: skip
def test_text_is_run_as_the_shell_runs_it(tmp_path: Path, text: str, what: str, sees: dict[str, str]) -> None:
    found = last(script(tmp_path, text + "\n", env_sh="export B=5\n"))
    assert (found.what, found.sees) == (what, sees)


@pytest.mark.parametrize(
    ("text", "lost"),
    [
        ("export A=1\nssh n1 bash <<E\nRANK\nE", {"A": "1 not-forwarded:2"}),
        ("export A=1\nssh n1 RANK", {"A": "1 not-forwarded:2"}),
        ("A=1\nbash <<E\nRANK\nE", {"A": "1 not-exported:2"}),
        ("A=1\nbash -c RANK2", {"A": "1 not-exported:2"}),
        ("CMD='sudo RANK'\nexport A=1\n$CMD", {"A": "1 not-forwarded:3"}),
        ("cat > x.sh <<E\nRANK\nE\nexport A=1\nsudo bash x.sh", {"A": "1 not-forwarded:5"}),
        ("bash <<E\nexport A=1\nE\nRANK", {"A": "1 script:1"}),
        ("cat > x.sh <<E\nexport A=1\nE\nbash x.sh\nRANK", {"A": "1 script:4"}),
    ],
)  # fmt: skip
def test_edges_around_text_lose_what_they_lose(tmp_path: Path, text: str, lost: dict[str, str]) -> None:
    assert last(script(tmp_path, text.replace("RANK2", "'RANK'") + "\n")).lost == lost


def test_a_command_is_run_once_for_each_that_a_variable_may_hold(tmp_path: Path) -> None:
    text = "export A=1\nif [ $X = 1 ]; then CMD='torchrun t.py'; else CMD='sudo torchrun t.py'; fi\n"
    for use in ("$CMD", 'eval "$CMD"', 'bash -c "$CMD"'):
        result = script(tmp_path, text + use + "\n")
        assert [(one.what, one.sees, list(one.lost)) for one in starts(result)] == [
            ("torchrun > t.py", {"A": "1"}, []), ("sudo > torchrun > t.py", {}, ["A"]),
        ]  # fmt: skip
        assert [conditions(s.guard) for s in result.starts] == [["$X = 1"], ["! $X = 1"]]


def test_flags_that_a_branch_chooses_are_tried_each(tmp_path: Path) -> None:
    text = "export A=1\nif [ $X ]; then F=--export=NONE; fi\nsrun $F RANK\n"
    assert [one.sees for one in starts(script(tmp_path, text))] == [{}, {"A": "1"}]


def test_more_than_a_few_combinations_are_not_tried(tmp_path: Path) -> None:
    lines = [f"if [ $X{n} ]; then F='--mem {n}'; fi" for n in range(6)]
    found = starts(script(tmp_path, "\n".join(["export A=1", *lines, "srun $F RANK", ""])))
    assert 1 <= len(found) <= 4


def test_a_value_of_a_loop_inside_a_loop_is_tried_once(tmp_path: Path) -> None:
    text = 'for i in $X; do\nwhile [ -n "$Y" ]; do\nCMD="A=1 RANK"\nbreak\ndone\ndone\neval $CMD\n'
    assert [one.sees for one in starts(script(tmp_path, text))] == [{"A": "1"}]


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ("export A=1\nRANK", 2, 1),
        ("A=1 \\\n  RANK \\\n  --lr 1", 2, 3),
        ("srun \\\n  --n 2 \\\n  RANK", 3, 3),
        ("bash -c '\n  RANK\n'", 2, 3),
        ("ssh n1 bash <<E\n\n  RANK\nE", 3, 3),
        ("bash <<-E\n\tRANK\n\tE", 2, 2),
        ("(\n  cd x && RANK\n)", 2, 11),
        ("if x; then RANK; fi", 1, 12),
        ("eval '\nRANK'", 2, 1),
        ("x=$(RANK)", 1, 5),
    ],
)  # fmt: skip
def test_a_launch_stands_where_it_is_written(tmp_path: Path, text: str, line: int, column: int) -> None:
    (start,) = script(tmp_path, text + "\n").starts
    assert (start.place.line, start.place.column) == (line, column)


@pytest.mark.parametrize(
    ("text", "origin"),
    [
        ("CMD='A=1 RANK'\neval \"$CMD\"", "run.sh:1:6 prefix"),
        ("ssh n1 'export A=1; RANK'", "run.sh:1:16 export"),
        ("ssh n1 bash <<E\n export A=1\nRANK\nE", "run.sh:2:9 export"),
        ("bash -c '\n export A=1\n RANK'", "run.sh:2:9 export"),
        ("srun \\\n  --export=ALL,A=1 \\\n RANK", "run.sh:2:16 flag"),
        ("O='-x A=1'\nmpirun -np 2 \\\n $O RANK", "run.sh:1:7 flag"),
        ("E=(B=2\n A=1)\nenv \"${E[@]}\" RANK", "run.sh:2:2 flag"),
        ("cat > x.sh <<E\nexport A=1\nRANK\nE\nbash x.sh", "run.sh:2:8 export"),
        ("env \\\n A=1 \\\n RANK", "run.sh:2:2 flag"),
    ],
)  # fmt: skip
def test_an_origin_stands_where_its_name_is_written(tmp_path: Path, text: str, origin: str) -> None:
    (start,) = script(tmp_path, text + "\n").starts
    assert origins(start, "A") == [origin]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("srun $CMD", "command unknown"),
        ("ssh n1 \"$CMD\"", "command unknown"),
        ("srun bash missing.sh", "script not in the tree"),
        ("docker run img", "image not in the tree"),
        ("mpirun -np 2 $EXE", "command unknown"),
    ],
)  # fmt: skip
def test_a_launch_that_cannot_be_followed_says_why(tmp_path: Path, text: str, why: str) -> None:
    if text.startswith("ssh"):
        pytest.xfail("what is run there is not known, and nothing says so")
    result = script(tmp_path, f"export A=1\n{text}\n")
    assert [(u.place.line, u.why) for u in result.unfollowed] == [(2, why)]
    assert all(start.opaque for start in result.starts)


def test_a_program_that_nobody_knows_hands_on_what_it_has(tmp_path: Path) -> None:
    (start,) = script(tmp_path, "export A=1\nmystery --flag torchrun t.py\n").starts
    assert (start.value("A"), start.sure, start.launchers) == ("1", False, ("torchrun",))


@pytest.mark.parametrize(
    "text", ["echo torchrun t.py", "which torchrun", "# RANK", "cat <<E\nRANK\nE", "printf '%s' 'RANK'", "srun --help",
             "alias r='RANK'", "pkill -f torchrun", "ps aux | grep torchrun", "torchrun --version", "man torchrun"]
)  # fmt: skip
def test_what_only_speaks_of_a_launch_starts_nothing(tmp_path: Path, text: str) -> None:
    assert script(tmp_path, f"export A=1\n{text}\n").starts == ()


def test_text_in_a_file_of_another_name_is_not_what_is_started(tmp_path: Path) -> None:
    result = tree(tmp_path, {"run.sh": "cat > x.sh <<E\nA=1 RANK\nE\nbash y.sh\n", "y.sh": "RANK\n"})
    assert short(starts(result)) == [("y.sh:1", "python > t.py", {})]


@pytest.mark.parametrize(
    ("command", "lost"),
    [
        ("ssh n1 RANK", {"A": "1 not-forwarded:2"}),
        ('ssh n1 "cd $HOME/work && RANK"', {"A": "1 not-forwarded:2"}),
        ('ssh n1 "$X RANK"', {}),
        ('ssh n1 "$(settings) RANK"', {}),
        ('ssh n1 "env $(settings) RANK"', {}),
        ('ssh n1 "export $X; RANK"', {}),
        ('ssh n1 "$X && RANK"', {}),
        ("ssh n1 env $X RANK", {}),
        ("sudo $X RANK", {}),
        ('sudo "$(settings)" RANK', {}),
        ('ssh n1 "RANK $X"', {"A": "1 not-forwarded:2"}),
    ],
)
def test_words_that_nobody_knows_may_be_assignments(tmp_path: Path, command: str, lost: dict[str, str]) -> None:
    """They are put into the text before anybody reads it: `ssh host "$SETTINGS torchrun"` hands them on."""
    assert last(script(tmp_path, f"export A=1\n{command}")).lost == lost


def test_a_program_in_a_variable_is_no_assignment(tmp_path: Path) -> None:
    assert last(script(tmp_path, "A=1\n$X RANK")).lost == {"A": "1 not-exported:2"}
    assert last(script(tmp_path, "A=1\n$SETUP\nRANK")).sees == {"A": "1? or nothing"}


@pytest.mark.parametrize(
    ("command", "env", "sees", "lost"),
    [
        ("export $(cat v.env | xargs)", "A=1\nB=2\n", {"A": "1", "B": "2"}, {}),
        ("export $(cat v.env | xargs)", "A=1\n# don't\nB=2\n", {"A": "1"}, {"B": "2 unread:1"}),
        ("export $(xargs < v.env)", "A=1\n# don't\nB=2\n", {"A": "1"}, {"B": "2 unread:1"}),
        ("export $(grep -v '^#' v.env | xargs)", "A=1\n# don't\nB=2\n", {"A": "1", "B": "2"}, {}),
        ("export $(cat v.env | xargs)", "A=1\n# 'all' of \"it\"\nB=2\n", {"A": "1", "B": "2"}, {}),
        ("export $(cat v.env)", "A=1\n# don't\nB=2\n", {"A": "1", "B": "2"}, {}),
    ],
)
def test_a_quote_that_its_line_does_not_close_ends_xargs(
    tmp_path: Path, command: str, env: str, sees: dict[str, str], lost: dict[str, str]
) -> None:
    """`cat v.env | xargs` of GNU findutils 4.9 prints the words before the quote, and no more."""
    found = last(script(tmp_path, f"{command}\nRANK", **{"v.env": env}))
    assert (found.sees, found.lost) == (sees, lost)


@given(st.text(alphabet="ab='\"\\\n #", max_size=30))
def test_xargs_stops_where_the_real_one_does(text: str) -> None:
    text += "\n"  # as a file ends
    run = subprocess.run(["xargs", "echo"], input=text, capture_output=True, text=True, check=False)
    assert bool(stops_at(text)) == ("unmatched" in run.stderr), (text, run)
