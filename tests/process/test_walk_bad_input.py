"""Bad input: everything ends in time, within bounds, without an error, and what is not known is not said for sure."""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from walked import last, lost, script, sees, starts, tree

from envdoctor.analysis.process.results import Walked

MEGABYTE = 1 << 20


def timed(root: Path, files: Mapping[str, str], most: float = 60) -> Walked:
    begun = time.monotonic()
    result = tree(root, files)
    assert time.monotonic() - begun < most
    return result


def many_ifs(count: int) -> str:
    return "".join(f'if [ -n "$X{n}" ]; then export NCCL_X{n}=1; fi\n' for n in range(count))


CIRCLES = {
    "start each other": {"a.sh": "export A=1\nRANK\nbash b.sh\n", "b.sh": "export B=1\nRANK\nbash a.sh\n"},
    "start themselves": {"a.sh": "export A=1\nRANK\nbash a.sh\n", "b.sh": "export B=1\nRANK\n./b.sh &\n"},
    "source each other": {"a.sh": ". ./b.sh\nexport A=1\nRANK\n", "b.sh": ". ./a.sh\n. ./b.sh\nexport B=1\nRANK\n"},
    "three in a ring": {"a.sh": "RANK\nbash b.sh\n", "b.sh": "RANK\n. ./c.sh\n", "c.sh": "RANK\nsbatch a.sh\n"},
    "through a program": {"a.sh": "RANK\npython go.py\n", "b.sh": "RANK\n",
                          "go.py": "import subprocess\nsubprocess.run(['bash', 'a.sh'])\n"},
    "through make": {"a.sh": "RANK\nmake t\n", "b.sh": "RANK\n", "Makefile": "t:\n\tbash a.sh\n"},
}  # fmt: skip


@pytest.mark.parametrize("files", CIRCLES.values(), ids=CIRCLES)
def test_scripts_in_a_circle_end(tmp_path: Path, files: dict[str, str]) -> None:
    result = timed(tmp_path, files, 10)
    assert {one.at.split(":")[0] for one in starts(result)} >= {"a.sh", "b.sh"}
    assert len(result.starts) < 40


def test_scripts_that_source_each_other_give_what_they_set(tmp_path: Path) -> None:
    result = tree(tmp_path, {"a.sh": ". ./b.sh\nexport A=1\nRANK\n", "b.sh": ". ./a.sh\n. ./b.sh\nexport B=1\n"})
    assert last(result).sees == {"A": "1", "B": "1"}


RECURSIVE = {
    "itself": "f() { export A=1; RANK; f; }\nf\n",
    "each other": "f() { export A=1; RANK; g; }\ng() { f; }\nf\n",
    "itself in a subshell": "f() { export A=1; RANK; (f); }\nf\n",
    "itself with arguments": "f() { export A=1; RANK $1; f x$1; f y$1; }\nf a\n",
    "itself by eval": "f() { export A=1; RANK; eval f; }\nf\n",
    "itself by a name": "f() { export A=1; RANK; $X; }\nX=f\nf\n",
    "uncalled": "f() { export A=1; RANK; f; }\n",
    "bash -c itself": 'CMD=\'export A=1; RANK; eval "$CMD"\'\neval "$CMD"\n',
    "trap": "f() { export A=1; RANK; }\ntrap f EXIT\nf\n",
}


@pytest.mark.parametrize("text", RECURSIVE.values(), ids=RECURSIVE)
def test_what_calls_itself_ends(tmp_path: Path, text: str) -> None:
    result = script(tmp_path, text)
    assert result.starts
    assert all(sees(start) == {"A": "1"} for start in result.starts)


def test_a_function_that_calls_itself_is_said_to_be_cut(tmp_path: Path) -> None:
    assert script(tmp_path, RECURSIVE["itself"]).bounded == ("run.sh: a function that calls itself at line 1",)


def test_a_long_chain_of_scripts_is_cut_and_said_so(tmp_path: Path) -> None:
    for how in ("bash", "."):
        files = {f"s{i}.sh": f"export A={i}\n{how} ./s{i + 1}.sh\n" for i in range(40)}
        result = timed(tmp_path, {**files, "s40.sh": "RANK\n"}, 20)
        assert result.bounded


def test_a_chain_of_a_few_scripts_is_followed_to_its_end(tmp_path: Path) -> None:
    files = {f"s{i}.sh": f"export NCCL_DEBUG=V{i}\nbash s{i + 1}.sh\n" for i in range(8)}
    result = tree(tmp_path, {**files, "s8.sh": "A=1\nRANK\n"})
    (start,) = result.starts
    assert (sees(start), lost(start), len(start.callers)) == ({"NCCL_DEBUG": "V7"}, {"A": "1 not-exported:2"}, 8)


def test_a_script_with_twelve_callers_has_each_of_them(tmp_path: Path) -> None:
    files = {f"c{n:02}.sh": f"export A={n}\nbash run.sh\n" for n in range(11)}
    result = tree(tmp_path, {**files, "c11.sh": "export A=11\nsudo bash run.sh\n", "run.sh": "RANK\n"})
    assert [sees(s) for s in result.starts] == [*({"A": str(n)} for n in range(11)), {}]
    assert lost(result.starts[-1]) == {"A": "11 not-forwarded:2"}


def test_a_long_script_with_many_callers_is_followed_for_some_and_said_to_be_cut(tmp_path: Path) -> None:
    files = {f"c{n:02}.sh": f"export A={n}\nbash run.sh\n" for n in range(60)}
    result = timed(tmp_path, {**files, "run.sh": many_ifs(400) + "RANK\n"})
    there = [s for s in result.starts if not s.opaque]
    assert 8 <= len(there) < 60
    assert {u.why for u in result.unfollowed} == {"started from many places"}
    assert len(there) + len(result.unfollowed) == 60
    assert result.bounded


UNREADABLE = {
    "a placeholder": "export A=1\nexport DATA=<Path to the data>\nRANK\n",
    "a template": "export A=1\n{% if x %}\nexport B={{ b }}\n{% endif %}\nRANK\n",
    "an open quote": "export A=1\nRANK\necho 'never closed\n",
    "an open brace": "export A=1\nRANK\nif [ x ]; then (((\n",
    "no end of a here-document": "export A=1\nRANK\ncat > x.sh <<EOF\nexport B=2\n",
    "binary": "export A=1\nRANK\n\x01\x02\ufffd\n",
    "other line ends": "export A=1\r\nRANK\r\n",
    "a stray done": "export A=1\ndone\nfi\nRANK\n",
}


@pytest.mark.parametrize("text", UNREADABLE.values(), ids=UNREADABLE)
def test_what_cannot_be_read_hides_nothing_else(tmp_path: Path, text: str) -> None:
    result = script(tmp_path, text)
    assert [sees(start).get("A") for start in result.starts] == ["1"]


@pytest.mark.parametrize(
    "text",
    [
        "export A=1\n$UNKNOWN RANK", "export A=1\nsrun $UNKNOWN RANK", "export A=1\n/opt/site/launch RANK",
        "export A=1\nbash $UNKNOWN/run.sh", "export A=1\nsource $UNKNOWN\nRANK", "export A=1\neval \"$UNKNOWN\"",
        "export A=1\ndocker run $UNKNOWN", "export A={{ a }}\nRANK", "export {{ name }}=1\nRANK",
        "export A=1\nmpirun {{ flags }} RANK", "export A=1\nfor x in {{ list }}; do RANK; done",
        "export A=1\nsudo $UNKNOWN RANK", "export A=1\nssh $UNKNOWN", "export A=1\n\"${UNKNOWN[@]}\" RANK",
    ],
)  # fmt: skip
def test_what_is_not_known_loses_nothing_for_sure(tmp_path: Path, text: str) -> None:
    result = script(tmp_path, text + "\n")
    for start in result.starts:
        assert all(loss.sure != "high" or "sudo" in text for pairs in start.lost.values() for _, loss in pairs)


ENDLESS = {
    "ifs": "export A=1\n" + many_ifs(10_000) + "RANK\n",
    "ifs on one name": "".join(f'if [ -n "$X{n}" ]; then export A={n}; fi\n' for n in range(10_000)) + "RANK\n",
    "ifs that launch": "".join(f'if [ -n "$X{n}" ]; then export A={n}; fi\n' for n in range(40)) + "RANK\n" * 40,
    "deep ifs": "".join(f'if [ -n "$X{n}" ]; then\n' for n in range(200)) + "export A=1\nRANK\n" + "fi\n" * 200,
    "deep subshells": "(" * 150 + "export A=1; RANK" + ")" * 150 + "\n",
    "deep loops": "".join(f"for i{n} in $X; do\n" for n in range(30)) + "RANK\n" + "done\n" * 30,
    "deep literal loops": "".join(f"for i{n} in 1 2 3 4 5 6 7 8; do\n" for n in range(12)) + "RANK\n" + "done\n" * 12,
    "deep functions": "".join(f"f{n}() {{ f{n + 1}; f{n + 1}; }}\n" for n in range(30)) + "f30() { RANK; }\nf0\n",
    "deep evals": "C='RANK'\n" + "C=\"eval '$C'\"\n" * 20 + "eval \"$C\"\n",
    "deep bash -c": "C=RANK\n" + "C=\"bash -c '$C'\"\n" * 20 + "eval \"$C\"\n",
    "a case of 2,000 arms": "case $X in\n" + "".join(f"a{n}) export A={n};;\n" for n in range(2000)) + "esac\nRANK\n",
    "elifs": "if [ $X = 0 ]; then :\n" + "".join(f"elif [ $X = {n} ]; then export A={n}\n" for n in range(500)) + "fi\nRANK\n",
    "a value that doubles": "export A=x\n" + 'A="$A$A"\n' * 60 + "RANK\n",
    "a value that doubles in a loop": 'export A=x\nwhile true; do A="$A$A"; RANK; done\n',
    "arguments that double": 'f() { if [ $# -lt 99999 ]; then f "$@" "$@"; fi; RANK "$@"; }\nf a\n',
    "an array of 100,000 words": "L=(" + "word " * 100_000 + ")\nexport A=1\nRANK \"${L[@]}\"\nfor x in \"${L[@]}\"; do :; done\n",
    "a list of 100,000 words": "for x in " + "word " * 100_000 + "; do export A=1; done\nRANK\n",
    "a line of 5,000 arguments": "export A=1\nRANK " + " ".join(f"--option-{n} {n}" for n in range(2500)) + "\n",
    "5,000 exports": "".join(f"export NCCL_A{n}=1\n" for n in range(5000)) + "RANK\n",
    "2,500 launches": "export A=1\n" + "".join(f"srun torchrun t{n}.py\n" for n in range(2500)),
    "2,500 launches on a host": "ssh n1 bash <<E\n" + "".join(f"(docker run i torchrun t{n}.py)\n" for n in range(2500)) + "E\n",
    "2,500 launches in a file": "cat > x.sh <<E\n" + "".join(f"python t{n}.py\n" for n in range(2500)) + "E\nbash x.sh\n",
    "combinations": "".join(f'if [ $X{n} ]; then V{n}=a; else V{n}=b; fi\n' for n in range(12))
    + "srun " + " ".join(f"$V{n}" for n in range(12)) + " RANK\n",
    "40 pipes": "export A=1\n" + " | ".join(["cat"] * 40) + " | RANK\n",
    "40 ands": "export A=1\n" + " && ".join(['[ -n "$X" ]'] * 40) + " && RANK\n",
    "400 plain ands": "export A=1\n" + " && ".join(["true"] * 400) + " && RANK\n",
    "300 ors": "export A=1\n" + " || ".join([f"[ $X{n} ]" for n in range(300)]) + "\nRANK\n",
    "substitutions": "export A=" + "$(echo " * 60 + "1" + ")" * 60 + "\nRANK\n",
    "defaults": "export A=" + "${X:-" * 60 + "1" + "}" * 60 + "\nRANK\n",
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("text", ENDLESS.values(), ids=ENDLESS)
def test_what_is_generated_is_walked_in_time_and_memory(tmp_path: Path, text: str) -> None:
    begun = time.monotonic()
    result = script(tmp_path, text)
    assert time.monotonic() - begun < 60
    assert len(result.starts) <= 5000
    assert result.operations <= 30_000


def test_of_many_ifs_nothing_is_sure(tmp_path: Path) -> None:
    (start,) = script(tmp_path, ENDLESS["ifs that launch"].replace("RANK\n" * 40, "RANK\n")).starts
    assert {"?", "nothing"} <= set(sees(start)["A"].split(" or "))


@pytest.mark.slow
def test_a_thousand_scripts_each_started_by_one(tmp_path: Path) -> None:
    files = {
        f"run{n:04}.sh": f"#!/bin/bash\nexport NCCL_DEBUG=V{n}\nbash run{n + 1:04}.sh\n" for n in range(0, 1000, 2)
    }
    files |= {f"run{n:04}.sh": "export A=1\nsrun --export=NONE torchrun t.py\n" for n in range(1, 1000, 2)}
    result = timed(tmp_path, files, 120)
    assert len(result.starts) == 500
    assert all(len(s.callers) == 1 and set(lost(s)) == {"A", "NCCL_DEBUG"} for s in result.starts)


@pytest.mark.slow
def test_a_thousand_scripts_that_start_one(tmp_path: Path) -> None:
    files = {f"gen/run{n:04}.sh": f"export NCCL_DEBUG=V{n}\nbash ../common.sh\n" for n in range(1000)}
    result = timed(tmp_path, {**files, "common.sh": "export A=1\nRANK\n"}, 120)
    assert {start.value("NCCL_DEBUG") for start in result.starts} == {f"V{n}" for n in range(1000)}


@pytest.mark.slow
def test_a_thousand_scripts_that_source_one(tmp_path: Path) -> None:
    files = {f"gen/run{n:04}.sh": "source ../env.sh\nexport A=1\nRANK\n" for n in range(1000)}
    result = timed(tmp_path, {**files, "env.sh": "".join(f"export NCCL_X{n}=1\n" for n in range(50))}, 120)
    assert len(result.starts) == 1000
    assert all(start.value("A") == "1" and start.visible["NCCL_X49"] for start in result.starts)


@pytest.mark.slow
def test_memory_stays_within_bounds(tmp_path: Path) -> None:
    for name in ("ifs on one name", "a value that doubles", "an array of 100,000 words", "5,000 exports"):
        tracemalloc.start()
        script(tmp_path, ENDLESS[name])
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 300 * MEGABYTE, name


@settings(max_examples=60)
@given(st.lists(st.sampled_from([
    "export A=1", "A=$A$B", "if [ $X ]; then", "fi", "else", "for i in 1 2; do", "done", "(", ")", "{", "}", "f() {",
    "f", "RANK", "srun $A RANK", "eval \"$A\"", "bash <<E", "E", "case $X in a)", ";;", "esac", "exit", "break", "return",
    "$(", "`", "'", '"', "|", "&&", "||", "&", "local A=2", "set -- $A", "shift", "source run.sh", "bash run.sh", "\\",
    "{{ x }}", "<<<", "${A:=", "}", "((", "))", "[[", "]]", "while true; do", "unset A", "exec RANK", "L+=(a)", "${L[@]}",
]), max_size=25))  # fmt: skip
def test_any_pieces_of_a_script_are_walked(tmp_path_factory: pytest.TempPathFactory, pieces: list[str]) -> None:
    for between in ("\n", " "):
        script(tmp_path_factory.mktemp("any"), between.join(pieces) + "\n")
