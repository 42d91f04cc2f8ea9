"""`envdoctor rules --validate` and `--test`: users' own rules and catalogue entries."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from support import ROOT, here

from envdoctor.knowledge import own_files
from envdoctor.knowledge.rule_errors import RuleError
from envdoctor.knowledge.rulebook import load_rulebook

Tree = Callable[[Mapping[str, str]], Path]
HEAD = """
id = "{id}"
name = "{name}"
title = "Our cluster has no such name"
severity = "warning"
confidence = "high"
level = "hygiene"
check = "{check}"
since = "1"
why = "w"
fix = "f"
"""
GHOST = (ROOT / "rules" / "names" / "ghost-variable.toml").read_text(encoding="utf-8")


def rule(rule_id: str = "ED950", name: str = "our-rule", check: str = "value", rest: str = "") -> str:
    return HEAD.format(id=rule_id, name=name, check=check).lstrip() + rest


def parameters() -> str:
    """What makes `check = "name"` find ghosts, from the file of the rule that does."""
    lines = GHOST.splitlines()
    start = lines.index("[parameters]")
    return "\n".join(["", *lines[start : lines.index("", start)], ""])


def example(kind: str, code: str, expect: str = "", more: str = "") -> str:
    said = f"expect = [{expect}]\n" if expect else ""
    return f'\n[[example]]\nkind = "{kind}"\nfile = "a.sh"\ncode = """\n{code}"""\n{said}{more}'


VARIABLE = '[variable.NCCL_OUR_FORK_FLAG]\nkind = "int"\nsummary = "s"\nread_by.nccl = {}\n'


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (rule(), "valid    x.toml: rule ED950 our-rule, 0 examples"),
        (VARIABLE, "valid    x.toml: 1 variable"),
        (rule().replace("severity", "severty"), "invalid  x.toml:4: severty: unknown key (did you mean severity?)"),
        (rule(check="regex"), "invalid  x.toml:7: check: 'regex' is not one of"),
        (rule(check="own"), "invalid  x.toml:7: check: 'own' is not one of name, value, "),
        (rule().replace("check =", "code ="), "invalid  x.toml:7: code: only rules of envdoctor name code"),
        (rule().replace('why = "w"\n', ""), "invalid  x.toml: why: missing"),
        (rule(rule_id="ED101"), "invalid  x.toml: id: ED101 is already taken by envdoctor's own"),
        (rule(name="bad-value"), "invalid  x.toml: name: bad-value is already taken by envdoctor's own"),
        ("a = ", "invalid  x.toml: not valid TOML: "),
        ("", "invalid  x.toml: id: missing"),
        ("[variabel.X]\n", "invalid  x.toml: variabel: neither a key of a rule nor a table of the catalogue (did you"),
        (VARIABLE.replace("read_by.nccl", "read_by.nccll"), "NCCL_OUR_FORK_FLAG.read_by.nccll: unknown"),
        (VARIABLE.replace("summary", "sumary"), "invalid  x.toml: variable.NCCL_OUR_FORK_FLAG.sumary: unknown key"),
        (f'{VARIABLE}value = {{ type = "int", range = [0, 9] }}\n',
         "invalid  x.toml: variable.NCCL_OUR_FORK_FLAG.value.parser: missing: int is judged only where it is known how it"),
        (rule(rest='\n[parameters]\nstream = "apis:streems"\n'),
         "parameters.stream: no table of rules/apis/ is called streems (did you mean streams?)"),
        (rule(rest=example("bad", "export A=1\n")), "invalid  x.toml:12: example[1].expect: a bad example says what"),
        (rule(rest=example("bad", "export A=1\n", '{ variable = "A" }')), "x.toml:18: example[1].expect[1].line: missing"),
        (rule(rest=example("good", "", more='target = "rocn-6"\n')), "invalid  x.toml:17: example[1].target: "),
        (rule(rest=example("good", "").replace("a.sh", "../a.sh")), "x.toml:14: example[1].file: expected a path inside"),
        (rule(rest=example("good", "").replace("a.sh", "/tmp/a")), "x.toml:14: example[1].file: expected a path inside"),
        (rule(rest=example("good", "", more='files = [{ file = "../b", code = "" }]\n')), "x.toml:17: example[1].files[1].file: expected a path"),
    ],
)  # fmt: skip
def test_validation_names_file_and_key(tree: Tree, content: str, says: str) -> None:
    run = here("rules", "--validate", "x.toml", cwd=tree({"x.toml": content}))
    assert says in run.stdout
    assert run.stdout.count("\n") == 1
    assert run.returncode == (0 if says.startswith("valid") else 1)
    assert run.stderr == ""


def test_all_files_are_told_of_and_clash_with_each_other(tree: Tree) -> None:
    root = tree({"a.toml": rule(), "b.toml": rule(name="other"), "c.toml": "x", "d.toml": rule("ED951", "third")})
    run = here("rules", "--validate", "a.toml", "c.toml", "d.toml", cwd=root)
    assert [line.split()[:2] for line in run.stdout.splitlines()] == [
        ["invalid", "c.toml:"], ["valid", "a.toml:"], ["valid", "d.toml:"],
    ]  # fmt: skip
    run = here("rules", "--validate", "a.toml", "b.toml", cwd=root)
    assert run.stdout == "invalid  b.toml: id: ED950 is already taken by a.toml\n"
    assert run.returncode == 1


@pytest.mark.parametrize("words", [["--validate", "nowhere.toml"], ["--validate"], ["--test", "a", "--validate", "b"]])
def test_what_cannot_be_done_is_status_2(tmp_path: Path, words: list[str]) -> None:
    run = here("rules", *words, cwd=tmp_path)
    assert (run.returncode, run.stdout) == (2, "")
    assert "Traceback" not in run.stderr


def test_examples_that_fail_are_told_with_line_and_variable(tree: Tree) -> None:
    code = "export NCCL_DETERMINISTIC=1\nexport NCCL_ALGO=Ring\n"
    content = (
        rule(check="name", rest=parameters())
        + example("bad", code, '{ line = 1, variable = "NCCL_DETERMINISTIC" }')
        + example("bad", code, '{ line = 2, variable = "NCCL_ALGO" }')
        + example("good", code)
        + example("good", "export NCCL_ALGO=Ring\n")
        + example("good", "", more='node = "a-node"\n')
    )
    run = here("rules", "--test", "x.toml", cwd=tree({"x.toml": content}))
    assert run.stdout.splitlines() == [
        "valid    x.toml: rule ED950 our-rule, 5 examples",
        "passed   x.toml: example 1 (bad)",
        "failed   x.toml: example 2 (bad): expected, not found: line 2 about NCCL_ALGO",
        "failed   x.toml: example 2 (bad): found, not expected: line 1 about NCCL_DETERMINISTIC",
        "failed   x.toml: example 3 (good): found, not expected: line 1 about NCCL_DETERMINISTIC",
        "passed   x.toml: example 4 (good)",
        "skipped  x.toml: example 5 (good): needs the recorded node a-node",
    ]
    assert run.returncode == 1


def test_examples_see_the_catalogue_entries_beside_them(tree: Tree) -> None:
    ghost = "export NCCL_OUR_FORK_FLAG=1\n"
    root = tree({
        "rule.toml": rule(check="name", rest=parameters()) + example("good", ghost),
        "ours.toml": VARIABLE,
    })  # fmt: skip
    assert here("rules", "--test", "rule.toml", cwd=root).returncode == 1
    run = here("rules", "--test", "rule.toml", "ours.toml", cwd=root)
    assert (run.returncode, run.stderr) == (0, "")


def test_the_folder_of_the_user_stays_as_it_was(tree: Tree) -> None:
    root = tree({"x.toml": rule(check="name", rest=parameters()) + example("good", "export NCCL_ALGO=Ring\n")})
    before = sorted(root.iterdir())
    assert here("rules", "--test", "x.toml", cwd=root).returncode == 0
    assert sorted(root.iterdir()) == before


def test_our_own_files_are_valid_and_do_not_clash_with_themselves() -> None:
    paths = [p for p in sorted((ROOT / "rules").glob("*/*.toml"))
             if p.parent.name in {"names", "values", "catalog", "python", "node"}]  # fmt: skip
    book, _ = own_files.together([own_files.read(path) for path in paths])
    assert [r.id for r in book] == [r.id for r in load_rulebook()]


def test_a_file_about_launchers_is_not_taken_for_a_rule() -> None:
    with pytest.raises(RuleError, match="neither a key of a rule nor a table of the catalogue"):
        own_files.read(ROOT / "rules" / "launchers" / "slurm.toml")
