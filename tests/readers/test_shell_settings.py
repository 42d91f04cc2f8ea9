"""Assignments, declarations, defaults, exports: what each form gives and whether children see it."""

from __future__ import annotations

import pytest
from shell_notation import names, read, settings, value

ASSIGNMENTS = [
    ("export NCCL_ALGO=Ring", ["set NCCL_ALGO=Ring via=export"]),
    ("export A=1 B=2 C", ["set A=1 via=export", "set B=2 via=export", "export C via=export"]),
    ("A=1", ["set A=1 exported=no"]),
    ("A=1 B=2", ["set A=1 exported=no", "set B=2 exported=no"]),
    ("A=1 B=2\npython x.py", ["set A=1 exported=no", "set B=2 exported=no"]),
    ("A=1 B=2 # why\npython x.py", ["set A=1 exported=no", "set B=2 exported=no"]),
    ("A= cmd", ["set A= scope=command:cmd"]),
    ("A=1 B=2 cmd x", ["set A=1 scope=command:cmd", "set B=2 scope=command:cmd"]),
    ("A=1 \\\n  B=2 \\\n  /usr/bin/cmd", ["set A=1 scope=command:cmd", "set B=2 scope=command:cmd"]),
    ("! A=1 cmd", ["set A=1 scope=command:cmd"]),
    ("A=1 . ./env.sh", ["set A=1 exported=no scope=command:."]),
    ("A+=x", ["append A=x exported=no"]),
    ("export A+=:x", ["append A=:x via=export"]),
    ("declare -x A=1", ["set A=1 via=declare -x"]),
    ("typeset -gx A=1 B", ["set A=1 via=typeset -x", "export B via=typeset -x"]),
    ("declare A=1", ["set A=1 exported=no via=declare"]),
    ("readonly A=1", ["set A=1 exported=no via=readonly"]),
    ("readonly A=1; export A", ["set A=1 via=readonly", "export A via=export"]),
    ("export -n A", ["unset A via=export -n"]),
    ("unset A B", ["unset A via=unset", "unset B via=unset"]),
    ("unset -f helper; export -f helper; export -p", []),
    ("export 'A=1' \"B=2\"", ["set A=1 via=export", "set B=2 via=export"]),
    ("A[1]=2; declare -A m=([a]=1)", ["set m=? exported=no via=declare"]),
    ("ARGS=(-x A=1)", ["set ARGS=? exported=no"]),
    ("printf -v NAME '%s' 1", ["set NAME=? exported=no"]),
    ("PATH=/x:$PATH", ["set PATH=</x:$PATH>"]),
    ("LD_LIBRARY_PATH=/x:$LD_LIBRARY_PATH", ["set LD_LIBRARY_PATH=</x:$LD_LIBRARY_PATH> exported=unknown"]),
]


@pytest.mark.parametrize(("text", "expected"), ASSIGNMENTS)
def test_assignment(text: str, expected: list[str]) -> None:
    assert settings(text) == expected


VALUES = [
    ("A=''", "A="),
    ('A=""', "A="),
    ("A='b c'", "A=b c"),
    ('A="b\\"c\\$d\\`e\\\\f\\g"', 'A=b"c$d`e\\f\\g'),
    ("A=b\\ c", "A=b c"),
    ("A=$'b\\tc\\x41\\101'", "A=b\tcAA"),
    ("A='it'\\''s'", "A=it's"),
    ("A=\"b\"c'd'", "A=bcd"),
    ("A=:4096:8", "A=:4096:8"),
    ("A=^NVLS,NVLSTree", "A=^NVLS,NVLSTree"),
    ("A=$B", "A=<$B>"),
    ('A="${B}/x"', "A=<${B}/x>"),
    ("A=${B:-c}", "A=<${B:-c}|c>"),
    ("A=${B-c}", "A=<${B-c}|c>"),
    ('A="${B:-"c d"}"', 'A=<${B:-"c d"}|c d>'),
    ("A=${B:-${C:-d}}/e", "A=<${B:-${C:-d}}/e|d/e>"),
    ("A=${B:-$C}", "A=<${B:-$C}>"),
    ("A=${B:+x}", "A=<${B:+x}|>"),
    ("A=${1:-x}", "A=<${1:-x}|x>"),
    ("A=$1", "A=?"),
    ("A=${B%%.*}", "A=<${B%%.*}>"),
    ("A=${B[0]}", "A=<${B[0]}>"),
    ("A=${!B}", "A=?"),
    ("A=$(cmd)", "A=?"),
    ("A=`cmd`x", "A=?"),
    ("A=$((B + 1))", "A=?"),
    ("A=<YOUR_PATH>", "A=?"),
    ("A={{ value }}", "A=?"),
    ("A=été", "A=été"),
]


@pytest.mark.parametrize(("text", "expected"), VALUES)
def test_value(text: str, expected: str) -> None:
    (fact,) = read(text).settings
    assert f"{fact.name}={value(fact.value)}" == expected


def test_references_of_a_template() -> None:
    (fact,) = read('A="${B:-$C}/$D-${E%x}"').settings
    assert fact.value.references == ("B", "C", "D", "E")


EXPORTS = [
    ("A=1\nexport A", "yes"),
    ("export A\nA=1", "yes"),
    ("A=1\nif x; then export A; fi", "unknown"),
    ("if x; then A=1; fi\nexport A", "yes"),
    ("if x; then A=1; else export A=2; fi", "no"),
    ("A=1\nf() { export A; }", "unknown"),
    ("f() { A=1; }\nexport A", "yes"),
    ("f() { local A=1; }\nexport A", "no"),
    ("A=1\n(export A)", "unknown"),
    ("set -a\nA=1", "yes"),
    ("set -ea\nA=1", "yes"),
    ("set -o allexport\nA=1", "yes"),
    ("set -a\nset +a\nA=1", "no"),
    ("set -e -o pipefail\nA=1", "no"),
    ("set -- -a\nA=1", "no"),
    (": ${A:=1}", "no"),
    (": ${A:=1}\nexport A", "yes"),
]


@pytest.mark.parametrize(("text", "expected"), EXPORTS)
def test_whether_children_see_an_assignment(text: str, expected: str) -> None:
    assert next(fact for fact in read(text).settings if fact.op != "export").exported == expected


DEFAULTS = [
    (": ${NCCL_ALGO:=Ring}", ["default NCCL_ALGO=Ring exported=no"]),
    (': "${A:=x y}" "${B=2}"', ["default A=x", "default B=2"]),
    ("echo ${A:=1}", ["default A=1"]),
    ("cmd '${A:=1}' \\${B:=1}", []),
    ("export A=${A:=1}", ["default A=1", "set A=<${A:=1}|1>"]),
]


@pytest.mark.parametrize(("text", "expected"), DEFAULTS)
def test_default_by_expansion(text: str, expected: list[str]) -> None:
    found = settings(text)
    assert len(found) == len(expected)
    assert all(line.startswith(wanted) for line, wanted in zip(found, expected, strict=True))


CONTAINER = [
    ("export SINGULARITYENV_NCCL_DEBUG=INFO", "set NCCL_DEBUG=INFO scope=container:singularity via=SINGULARITYENV"),
    ("APPTAINERENV_A=1 apptainer run x.sif", "set A=1 scope=container:apptainer via=APPTAINERENV"),
    ("export APPTAINERENV_APPEND_PATH=/x", "append PATH=/x scope=container:apptainer via=APPTAINERENV"),
]


@pytest.mark.parametrize(("text", "expected"), CONTAINER)
def test_prefix_for_the_container(text: str, expected: str) -> None:
    assert settings(text) == [expected]


LOOPS = [
    ("for v in A B; do export $v=1; done", ["set A=1", "set B=1"]),
    ('for v in A B; do export "$v"="x"; done', ["set A=x", "set B=x"]),
    ("for v in A B; do export ${v}=$OTHER; done", ["set A=<$OTHER>", "set B=<$OTHER>"]),
    ('for v in A B; do eval "export $v=1"; done', ["set A=1", "set B=1"]),
    ("for v in A B; do export $v; done", ["export A", "export B"]),
    ("for v in A B; do unset $v; done", ["unset A", "unset B"]),
    ('N="A B"; for v in $N; do declare -x $v=1; done', ["set N=A", "set A=1", "set B=1"]),
    ('N=(A B); for v in "${N[@]}"; do export $v=1; done', ["set N=?", "set A=1", "set B=1"]),
    ("for v in $(cat names); do export $v=1; done", []),
]


@pytest.mark.parametrize(("text", "expected"), LOOPS)
def test_loop_over_names(text: str, expected: list[str]) -> None:
    assert names(text) == expected


def test_loop_keeps_the_place_of_each_name() -> None:
    text = "for v in NCCL_A NCCL_B; do\n  export $v=1\ndone"
    first, second = read(text).settings
    assert (first.name_place.column, second.name_place.column) == (10, 17)
    assert (first.place.line, first.place.column, first.place.end_column) == (2, 10, 14)


COMMENTS = [
    ("export A=1 # why", "why"),
    ("export A=1; # why", "why"),
    ("if x; then export A=1; fi # why", "why"),
    ("# one\n# two\nexport A=1", "one\ntwo"),
    ("# above\nexport A=1  ## behind", "behind"),
    ("#!/bin/bash\nexport A=1", ""),
    ("# far\n\nexport A=1", ""),
    ("# what\n#SBATCH --nodes=2\nexport A=1", ""),
    ("export A='# no comment'", ""),
    ("export A=1 B=2 # both", "both"),
    ("f() {\n  # inside\n  A=1\n}", "inside"),
]


@pytest.mark.parametrize(("text", "expected"), COMMENTS)
def test_comment(text: str, expected: str) -> None:
    assert read(text).settings[0].comment == expected


NO_SETTINGS = [
    "# export A=1",
    'echo "export A=1"',
    "echo A=1 >&2",
    "echo A=1 > run.log",
    "printf 'A=1\\n'",
    "log_info 'A=1'",
    "grep -E 'A=1|B=2' file",
    "sed -i 's/A=1/A=2/' file",
    "awk -v A=1 'B=2' file",
    '[ "$X" = "A=1" ]',
    "cat <<EOF\nusage: A=1 cmd\nEOF",
    "gcc -DA=1 x.c",
    "make A=1",
    "cmake -DA=1 ..",
    "python train.py seed=7 A_B=1 trainer.x=2",
    "pip install torch==2.4",
    "./configure PREFIX=/usr",
    "timeout 5 A=1 cmd",
    ": '\nexport A=1\n'",
]


@pytest.mark.parametrize("text", NO_SETTINGS)
def test_what_is_no_setting(text: str) -> None:
    assert settings(text) == []


def test_versions_that_a_script_asks_for() -> None:
    facts = read("module load PrgEnv-gnu rocm/6.2.4\nml cuda/12.4\npip install torch==2.4.0 numpy\nmodule list x/1")
    assert [(c.name, c.version) for c in facts.components] == [("rocm", "6.2.4"), ("cuda", "12.4"), ("torch", "2.4.0")]
