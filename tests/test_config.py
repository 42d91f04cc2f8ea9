"""Configuration files: where they are found, what they say, and errors that name file and line."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from support import envdoctor, found, scan_json

from envdoctor import config

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
    assert envdoctor("scan", cwd=root).returncode == 0
    assert envdoctor("scan", "--fail-on", "error", cwd=root).returncode == 1


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ('\nlevle = "hygiene"\n', 2, "unknown key 'levle' (did you mean level?)"),
        ('level = "placment"\n', 1, "did you mean placement?"),
        ("exclude = 3\n", 1, "exclude: expected a list of strings"),
        ('\n\ntarget = "roccm-6"\n', 3, "target:"),
        ("level = \n", 1, "not valid TOML"),
        ('[levels]\n"serving" = "hygene"\n', 1, "levels: 'hygene' is not one of auto, hygiene"),
        ("levels = 3\n", 1, "levels: expected a table of patterns of paths and their levels"),
    ],
)
def test_a_bad_file_is_a_clear_error_and_the_rest_is_scanned(tree: Tree, text: str, line: int, says: str) -> None:
    root = tree({"a.sh": GHOST})
    (root / "envdoctor.toml").write_text(text)
    run = envdoctor("scan", "--format", "concise", cwd=root)
    assert run.returncode == 2
    assert f"envdoctor.toml:{line}:" in run.stdout
    assert says in run.stdout
    assert "a.sh:1:8: ED101" in run.stdout


def test_a_named_configuration_that_is_not_there(tree: Tree) -> None:
    run = envdoctor("scan", "--config", "nowhere.toml", cwd=tree({"a.sh": GHOST}))
    assert run.returncode == 2
    assert "nowhere.toml" in run.stderr
