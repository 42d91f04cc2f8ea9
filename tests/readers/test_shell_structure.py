"""Scopes, branches and order: where in a script a fact holds, and which facts never both happen."""

from __future__ import annotations

import pytest
from shell_notation import launches, names, read, settings

from envdoctor.readers.shell.state import exclusive

SCOPES = [
    ("f() { export A=1; }", "function:f"),
    ("function f { A=1; }", "function:f"),
    ("f() ( export A=1 )", "subshell:subshell 1:5"),
    ("(export A=1)", "subshell:subshell 1:1"),
    ("X=1; { export A=1; }", "process:"),
    ("export A=1 &", "subshell:background 1:1"),
    ("{ export A=1; } &", "subshell:background 1:1"),
    ("export A=1 && true", "process:"),
    ("export A=1 | tee f", "subshell:pipeline 1:1"),
    ("echo x | while read l; do export A=1; done", "subshell:pipeline 1:10"),
    ("while read l; do export A=1; done < f", "process:"),
    ("while read l; do export A=1; done < <(cmd)", "process:"),
    ("echo $(export A=1)", "subshell:subshell 1:6"),
    ("X=`export A=1`", "subshell:subshell 1:3"),
    ("diff <(export A=1) f", "subshell:subshell 1:6"),
    ("A=1 cmd | tee f", "command:cmd"),
]


@pytest.mark.parametrize(("text", "expected"), SCOPES)
def test_scope(text: str, expected: str) -> None:
    fact = next(fact for fact in read(text).settings if fact.name == "A")
    assert f"{fact.scope.kind}:{fact.scope.name}" == expected


def test_launch_in_a_pipeline_stays_where_the_script_is() -> None:
    (launch,) = read("torchrun x.py 2>&1 | tee log").launches
    assert launch.scope.kind == "process"


BRANCHES = [
    ("if x; then A=1; elif y; then A=2; else A=3; fi", [["if"], ["elif 1"], ["else"]]),
    ('case "$X" in a|b) A=1;; *) A=2;; esac', [["a|b"], ["*"]]),
    ("for i in 1 2; do A=1; done", [["loop"]]),
    ("while x; do A=1; done", [["loop"]]),
    ("until x; do A=1; done", [["loop"]]),
    ("for ((i=0; i<3; i++)); do A=1; done", [["loop"]]),
    ("[ x ] && export A=1", [["and"]]),
    ("[ x ] || export A=1", [["or"]]),
    ("[ x ] && export A=1 || export A=2", [["and"], ["or"]]),
    ("cd x && A=1 && B=2", [["and"], ["and"]]),
    ("if x; then if y; then A=1; fi; fi", [["if", "if"]]),
    ("A=1 && cmd", [[]]),
    ("if export A=1; then B=1; fi", [[], ["if"]]),
]


@pytest.mark.parametrize(("text", "expected"), BRANCHES)
def test_branch(text: str, expected: list[list[str]]) -> None:
    assert [[branch.arm for branch in fact.branch] for fact in read(text).settings] == expected


EXCLUSIVE = [
    ("if x; then A=1; else A=2; fi", True),
    ("if x; then A=1; fi; if x; then A=2; fi", False),
    ("case x in a) A=1;; b) A=2;; esac", True),
    ("[ x ] && A=1 || A=2", True),
    ("x && A=1 && A=2", False),
    ("for i in 1 2; do A=1; A=2; done", False),
    ("if x; then if y; then A=1; fi; else A=2; fi", True),
]


@pytest.mark.parametrize(("text", "expected"), EXCLUSIVE)
def test_which_facts_never_both_happen(text: str, expected: bool) -> None:
    one, other = [fact for fact in read(text).settings if fact.name == "A"]
    assert exclusive(one.branch, other.branch) is expected


def test_conditions_are_kept_as_text() -> None:
    facts = read('if [[ "${NET}" = "low" ]]; then A=1; else A=2; fi\ncase $X in a) A=3;; esac').settings
    assert [fact.branch[0].condition for fact in facts] == ['[[ "${NET}" = "low" ]]'] * 2 + ["$X in a"]
    long = read("if " + "x " * 500 + "; then A=1; fi").settings[0].branch[0].condition
    assert len(long) == 100 and long.endswith("...")


def test_template_conditions_are_branches() -> None:
    one, other = read("{% if x %}\nexport A=1\n{% else %}\nexport A=2\n{% endif %}").settings
    assert exclusive(one.branch, other.branch)


def test_order_is_source_order_over_all_lists() -> None:
    facts = read("A=$NAME\nsource x.sh\nif [ $OTHER ]; then\n  srun python x.py\nfi\nexport B=1")
    numbered = [*facts.settings, *facts.uses, *facts.inclusions, *facts.launches]
    numbered.sort(key=lambda fact: fact.order)
    assert [fact.order for fact in numbered] == list(range(len(numbered)))
    lines = [fact.place.line for fact in numbered]
    assert lines == sorted(lines)


def test_functions_keep_the_order_of_their_bodies() -> None:
    assert names("f() {\n  export A=1\n  torchrun x.py\n  export B=2\n}\nexport C=3\nf") == [
        "set A=1", "set B=2", "set C=3",
    ]  # fmt: skip


def test_allexport_ends_where_it_is_taken_back() -> None:
    assert settings("set -a\nA=1\nset +a\nB=1") == ["set A=1", "set B=1 exported=no"]


MISREAD = [
    "if x; then A=1 B=2\nelif y; then A=3\nfi",
    "A=1 2>/dev/null B=2 2>/dev/null\npython x.py",
    "if x; then\n  A=1 B=2\nfi\n" * 3,
    "A=1 B=2 # why\n\n\npython x.py",
    "a -l |grep ^b|awk '{print $2}' |sudo c -P\nsudo d e\nA=1 && \\\n  f",
]


@pytest.mark.parametrize("text", MISREAD)
def test_a_line_of_assignments_ends_with_its_line(text: str) -> None:
    facts = read(text).settings
    assert facts and all(fact.scope.kind == "process" and fact.exported == "no" for fact in facts)
    assert launches(text) in ([], ["python -> x.py"], ["sudo -> c -P", "sudo -> d e"])


def test_a_redirection_ends_with_its_line() -> None:
    text = "".join(f"cat a | head -n {n} > ${{DIR}}/file{n}\n" for n in range(30)) + "export A=1\n"
    assert names(text) == ["set A=1"]


def test_array_of_assignments_is_no_line_of_assignments() -> None:
    facts = read("OVERRIDES=(\n  lr=1 seed=2\n  steps=3\n)\nexport A=1")
    assert [fact.name for fact in facts.settings] == ["OVERRIDES", "A"]
    assert not facts.problems
