"""Configuration files: where they are found, what they say, and errors that name file and line."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from support import ROOT, found, here, scan_json

from envdoctor.project import config

Tree = Callable[[Mapping[str, str]], Path]
GHOST = "export NCCL_DETERMINISTIC=1\n"


def test_own_file_and_pyproject_say_the_same(tree: Tree) -> None:
    root = tree(
        {
            "a/envdoctor.toml": 'level = "placement"\nexclude = ["old"]\n',
            "b/pyproject.toml": '[tool.envdoctor]\nlevel = "placement"\nexclude = ["old"]\n',
        }
    )
    own, shared = config.load(root / "a"), config.load(root / "b")
    assert (own.level, own.exclude) == (shared.level, shared.exclude) == ("placement", ("old",))


def test_a_pyproject_without_the_table_is_passed_over(tree: Tree) -> None:
    root = tree({"envdoctor.toml": 'level = "hygiene"\n', "sub/pyproject.toml": "[project]\nname='x'\n"})
    assert config.load(root / "sub").source == root / "envdoctor.toml"


def test_the_search_ends_at_the_repository(tree: Tree) -> None:
    root = tree({"envdoctor.toml": 'level = "hygiene"\n', "repo/.git/HEAD": "", "repo/x": ""})
    assert config.load(root / "repo").source is None


def test_exclude_and_ignore_hold(tree: Tree) -> None:
    root = tree({"envdoctor.toml": 'exclude = ["old"]\n', "old/a.sh": GHOST, "new/a.sh": GHOST})
    assert [path for path, *_ in found(scan_json(root))] == ["new/a.sh"]
    root = tree({"envdoctor.toml": 'ignore = ["ED101"]\n'})
    assert found(scan_json(root)) == []


def test_the_command_line_is_over_the_file(tree: Tree) -> None:
    root = tree({"envdoctor.toml": 'fail-on = "never"\n', "a.sh": GHOST})
    assert here("scan", cwd=root).returncode == 0
    assert here("scan", "--fail-on", "error", cwd=root).returncode == 1


def check_complaint(root: Path, text: str, line: int, says: str) -> None:
    """A configuration with a fault: it is said at its line, the status is 2, and the rest is scanned."""
    (root / "envdoctor.toml").write_text(text)
    run = here("scan", "--format", "concise", cwd=root)
    assert run.returncode == 2
    assert f"envdoctor.toml:{line}:" in run.stdout
    assert says in run.stdout
    assert "a.sh:1:8: ED101" in run.stdout


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ('\nlevle = "hygiene"\n', 2, "unknown key 'levle' (did you mean level?)"),
        ('level = "placment"\n', 1, "did you mean placement?"),
        ("exclude = 3\n", 1, "exclude: expected a list of strings"),
        ('\n\ntarget = "roccm-6"\n', 3, "target:"),
        ("level = \n", 1, "not valid TOML"),
        ('[levels]\n"serving" = "hygene"\n', 2, "levels: 'hygene' is not one of auto, hygiene"),
        ("levels = 3\n", 1, "levels: expected a table of patterns of paths and their levels"),
    ],
)
def test_a_bad_file_is_a_clear_error_and_the_rest_is_scanned(tree: Tree, text: str, line: int, says: str) -> None:
    root = tree({"a.sh": GHOST})
    check_complaint(root, text, line, says)


def test_a_named_configuration_that_is_not_there(tree: Tree) -> None:
    run = here("scan", "--config", "nowhere.toml", cwd=tree({"a.sh": GHOST}))
    assert run.returncode == 2
    assert "nowhere.toml" in run.stderr


def concise(root: Path, *words: str) -> list[str]:
    """`path:line rule` of each finding."""
    return [f"{path}:{line} {name}" for path, line, name, _ in found(scan_json(root, *words))]


def test_rules_that_say_nothing_in_some_files(tree: Tree) -> None:
    text = '[per-file-ignores]\n"legacy/*" = ["ED101"]\n"*.slurm" = ["bad-value", "ED4"]\n'
    files = {"legacy/a.sh": GHOST, "b.sh": GHOST, "c.slurm": f"{GHOST}export NCCL_IB_TIMEOUT=300\n"}
    root = tree({"envdoctor.toml": text, **files})
    assert concise(root) == ["b.sh:1 ghost-variable", "c.slurm:1 ghost-variable"]
    (root / "envdoctor.toml").unlink()
    assert len(concise(root)) == 4


def test_an_inline_ignore_of_what_the_configuration_ignores_too_is_used(tree: Tree) -> None:
    silent = GHOST.strip() + "  # envdoctor: ignore[ED101]\n"
    assert concise(tree({"envdoctor.toml": '[per-file-ignores]\n"*" = ["ED101"]\n', "a.sh": silent})) == []


def test_patterns_hold_from_the_folder_of_the_file(tree: Tree) -> None:
    text = 'exclude = ["sub/old/*"]\n[per-file-ignores]\n"sub/legacy/*" = ["ED101"]\n'
    root = tree({"envdoctor.toml": text, "sub/legacy/a.sh": GHOST, "sub/b.sh": GHOST, "sub/old/c.sh": GHOST})
    assert concise(root) == ["sub/b.sh:1 ghost-variable"]
    assert concise(root / "sub") == ["b.sh:1 ghost-variable"]
    assert concise(root / "sub" / "legacy") == []
    (root / "top").mkdir()
    (root / "envdoctor.toml").rename(root / "sub" / "envdoctor.toml")
    (root / "sub" / "envdoctor.toml").write_text(text.replace("sub/", ""))
    assert concise(root, "sub") == ["sub/b.sh:1 ghost-variable"]


def test_a_target_for_each_path(tree: Tree) -> None:
    text = 'target = "cuda"\n[targets]\n"amd/*" = "rocm-6.2"\n'
    hip = "export HIP_VISIBLE_DEVICES=0\nexport CUDA_DEVICE_MAX_CONNECTIONS=1\npython train.py\n"
    root = tree({"envdoctor.toml": text, "amd/run.sh": "export NCCL_NVLS_ENABLE=0\n", "nv/run.sh": hip})
    shown = here("scan", "--show-target", cwd=root).stdout
    assert "target: rocm 6.2" in shown
    assert "target: cuda\n" in shown
    over = here("scan", "--show-target", "--target", "rocm-7.0", cwd=root).stdout
    assert "6.2" not in over
    assert "cuda" not in over


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ('[targets]\n"a/*" = "roccm-6"\n', 2, "targets: "),
        ('[per-file-ignores]\n"a/*" = "ED101"\n', 2, "per-file-ignores: expected a list of rules for each pattern"),
        ('per-file-ignore = { a = ["ED101"] }\n', 1, "(did you mean per-file-ignores?)"),
        ('\nrequired-version = ">=99"\n', 2, "required-version: the project asks for >=99, and this is envdoctor"),
        ('required-version = "99.1"\n', 1, "required-version: the project asks for 99.1, and this is envdoctor"),
        ('gpus = "8"\n', 1, "gpus: expected a number"),
        ("gpus = true\n", 1, "gpus: expected a number from 1 on"),
        ("gpus = 0\n", 1, "gpus: expected a number from 1 on"),
        ('required-version = "newest"\n', 1, "'newest' is no version and no condition on one"),
        ('catalog = ["nowhere.toml"]\n', 1, "nowhere.toml: cannot be read: No such file or directory"),
        ('rules = ["site.toml"]\n', 1, "this is a catalogue file, and a rule file is asked for here"),
        ('catalog = ["bad.toml"]\n', 1, "bad.toml: not valid TOML"),
    ],
)
def test_a_bad_value_stands_at_its_line_and_the_rest_is_scanned(tree: Tree, text: str, line: int, says: str) -> None:
    root = tree(
        {"a.sh": GHOST, "site.toml": '[variable.NCCL_OURS]\nkind = "int"\nread_by.nccl = {}\n', "bad.toml": "="}
    )
    check_complaint(root, text, line, says)


@pytest.mark.parametrize("wanted", [">=0.0.1", ">=0.1", "<99", "!=99.0"])
def test_a_release_that_is_asked_for(tree: Tree, wanted: str) -> None:
    assert concise(tree({"envdoctor.toml": f'required-version = "{wanted}"\n', "a.sh": "echo\n"})) == []


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('ignore = ["ED101", "ghots-variable"]\n', 1),
        ('exclude = []\nselect = ["ED1", "ghots-variable"]\n', 2),
        ('ignore = []\n[per-file-ignores]\n"*.py" = ["ghots-variable"]\n', 3),
    ],
)
def test_a_name_of_no_rule_is_reported_and_the_others_hold(tree: Tree, text: str, line: int) -> None:
    root = tree({"envdoctor.toml": text, "a.sh": GHOST})
    report = scan_json(root)
    said = [f for f in report["findings"] if f["name"] == "unknown-name-in-configuration"]
    assert [(Path(f["path"]).name, f["line"]) for f in said] == [("envdoctor.toml", line)]
    assert "no rule is named 'ghots-variable' (did you mean ghost-variable?)" in said[0]["message"]
    assert ("a.sh:1 ghost-variable" in concise(root)) == (line != 1)


def test_a_name_of_no_rule_on_the_command_line_cannot_be_met(tree: Tree) -> None:
    run = here("scan", "--ignore", "ghots-variable", cwd=tree({"a.sh": GHOST}))
    assert (run.returncode, run.stdout) == (2, "")
    assert "did you mean ghost-variable?" in run.stderr


OWN_RULE = """
id = "ED950"
name = "no-our-flag"
title = "Our plug-in's flag is not for users"
severity = "error"
confidence = "high"
level = "hygiene"
check = "value"
since = "1"
why = "w"
fix = "f"
triggers = ["NCCL_OURS_"]
"""


def test_catalogue_entries_of_a_site(tree: Tree) -> None:
    text = "export NCCL_OURS_DEPTH=many\n"
    entry = '[variable.NCCL_OURS_DEPTH]\nkind = "int"\nsummary = "s"\nread_by.nccl = {}\n'
    root = tree({"a.sh": text})
    assert concise(root) == ["a.sh:1 ghost-variable"]
    tree({"conf/envdoctor.toml": "", "conf/site/net.toml": entry, "envdoctor.toml": 'catalog = ["conf/site"]\n'})
    assert concise(root) == []
    assert "NCCL_OURS_DEPTH" not in here("scan", "--config", "conf/envdoctor.toml", "conf", cwd=root).stdout


def test_a_rule_of_a_project(tree: Tree) -> None:
    ghost = (ROOT / "rules" / "names" / "ghost-variable.toml").read_text(encoding="utf-8")
    start = ghost.index("[parameters]")
    end = ghost.find("[[example]]", start)
    mine = OWN_RULE.replace('check = "value"', 'check = "name"') + "\n" + ghost[start:end]
    root = tree({"rules/own.toml": mine, "envdoctor.toml": 'rules = ["rules"]\n', "a.sh": GHOST})
    assert "a.sh:1 no-our-flag" in concise(root, "--select", "no-our-flag")
    assert "ED950 no-our-flag" in here("scan", "--show-settings", cwd=root).stdout
