"""Baselines: what they hold, what survives which edit, and what is told about them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from subprocess import CompletedProcess

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import here

from envdoctor.core.errors import UserError
from envdoctor.core.facts import Place
from envdoctor.core.findings import Confirmation, Finding
from envdoctor.project import baseline
from envdoctor.project.baseline import Baseline, BaselineEntry, BaselineScope

Tree = Callable[[Mapping[str, str]], Path]
GHOST = "export NCCL_DETERMINISTIC=1\n"
OTHER = "export NCCL_P2P_DISABLE=true\n"


def scan(root: Path, *words: str) -> CompletedProcess[str]:
    return here("scan", "--format", "concise", *words, cwd=root)


def written(root: Path, name: str = "b.json") -> dict[str, dict[str, object]]:
    table = json.loads((root / name).read_text())
    assert table["version"] == 1
    files: dict[str, dict[str, object]] = table["files"]
    return files


@pytest.fixture
def root(tree: Tree) -> Path:
    """A project with two findings of one rule and one of another, and a baseline of them."""
    made = tree({"a.sh": GHOST + OTHER, "sub/c.sh": GHOST})
    run = scan(made, "--write-baseline", "b.json")
    assert (run.returncode, run.stdout, run.stderr) == (0, "", "")
    return made


def test_counts_by_path_and_rule(root: Path) -> None:
    files = written(root)
    assert {name: entry["findings"] for name, entry in files.items()} == {
        "a.sh": {"bad-value": 1, "ghost-variable": 1}, "sub/c.sh": {"ghost-variable": 1},
    }  # fmt: skip
    assert "line" not in (root / "b.json").read_text()


def test_the_same_again_is_nothing(root: Path) -> None:
    run = scan(root, "--baseline", "b.json")
    assert (run.returncode, run.stdout, run.stderr) == (0, "", "")
    assert scan(root).returncode == 1


def test_it_survives_moved_lines(root: Path) -> None:
    (root / "a.sh").write_text(f"#!/bin/bash\n\n# moved\n{OTHER}\n\n{GHOST}")
    run = scan(root, "--baseline", "b.json")
    assert (run.returncode, run.stdout, run.stderr) == (0, "", "")


def test_a_renamed_file_keeps_its_counts(root: Path) -> None:
    (root / "new").mkdir()
    (root / "a.sh").rename(root / "new" / "renamed.sh")
    run = scan(root, "--baseline", "b.json")
    assert (run.returncode, run.stdout, run.stderr) == (0, "", "")


def test_a_file_that_is_renamed_and_edited_is_new(root: Path) -> None:
    (root / "a.sh").rename(root / "d.sh")
    (root / "d.sh").write_text(GHOST + OTHER + "\n")
    run = scan(root, "--baseline", "b.json")
    assert run.returncode == 1
    assert [line.split(":")[0] for line in run.stdout.splitlines()] == ["d.sh", "d.sh"]
    assert run.stderr == "envdoctor: a.sh: in the baseline, and no longer there (--write-baseline removes it)\n"


def test_a_copy_is_not_a_rename(root: Path) -> None:
    (root / "d.sh").write_text((root / "a.sh").read_text())
    run = scan(root, "--baseline", "b.json")
    assert (run.returncode, run.stderr) == (1, "")
    assert all(line.startswith("d.sh:") for line in run.stdout.splitlines())


def test_what_is_beyond_counts_and_is_shown_with_its_like(root: Path) -> None:
    (root / "a.sh").write_text(GHOST + OTHER + GHOST.replace("=1", "=0"))
    run = scan(root, "--baseline", "b.json")
    assert run.returncode == 1
    assert [line.split()[2] for line in run.stdout.splitlines()] == ["ghost-variable:", "ghost-variable:"]
    assert run.stderr == "envdoctor: a.sh: ghost-variable: 2 found, 1 in the baseline: all are shown\n"
    assert scan(root, "--baseline", "b.json", "--fail-on", "never").returncode == 0


def test_another_rule_in_a_known_file_is_new(root: Path) -> None:
    (root / "sub" / "c.sh").write_text(GHOST + OTHER)
    run = scan(root, "--baseline", "b.json")
    assert run.returncode == 1
    assert [line.split()[2] for line in run.stdout.splitlines()] == ["bad-value:"]


def test_shrinkage_is_told_and_changes_nothing(root: Path) -> None:
    (root / "a.sh").write_text(OTHER)
    run = scan(root, "--baseline", "b.json")
    assert (run.returncode, run.stdout) == (0, "")
    assert run.stderr == "envdoctor: a.sh: ghost-variable: 0 found, 1 in the baseline (--write-baseline lowers it)\n"
    assert scan(root, "--write-baseline", "b.json").returncode == 0
    assert written(root)["a.sh"]["findings"] == {"bad-value": 1}


def test_it_holds_from_any_folder_and_for_a_part_of_the_project(root: Path) -> None:
    run = scan(root / "sub", "--baseline", "../b.json")
    assert (run.returncode, run.stdout, run.stderr) == (0, "", "")
    run = scan(root, "--baseline", "b.json", "sub/c.sh")
    assert (run.returncode, run.stderr) == (0, "")
    run = scan(root, "--baseline", "b.json", "--select", "bad-value")
    assert (run.returncode, run.stderr) == (0, "")


def test_writing_for_a_part_keeps_the_rest(root: Path) -> None:
    (root / "sub" / "c.sh").write_text(OTHER)
    before = written(root)
    assert scan(root, "--write-baseline", "b.json", "sub").returncode == 0
    after = written(root)
    assert after["a.sh"] == before["a.sh"]
    assert after["sub/c.sh"]["findings"] == {"bad-value": 1}
    assert scan(root, "--write-baseline", "b.json", "--select", "ghost-variable").returncode == 0
    assert written(root)["sub/c.sh"]["findings"] == {"bad-value": 1}


def test_hints_are_not_in_it(tree: Tree) -> None:
    root = tree({"a.sh": "export NCCL_SOME_FUTURE_NAME=1\n"})
    words = ("--hints", "--target", "rocm-9.9")
    hints = scan(root, *words).stdout
    assert hints
    assert scan(root, *words, "--write-baseline", "b.json").stdout == hints
    assert written(root) == {}


def test_other_formats_say_how_many_are_held(root: Path) -> None:
    run = here("scan", "--baseline", "b.json", cwd=root)
    assert run.stdout == "No findings in 2 files with settings; 3 more in the baseline\n"
    report = json.loads(here("scan", "--baseline", "b.json", "--format", "json", cwd=root).stdout)
    assert report["summary"]["baseline"] == {"held": 3}
    assert report["summary"]["by_rule"] == report["summary"]["by_severity"] == {}


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (None, "cannot be read"),
        ("{", "not a baseline"),
        ("[]", "not a baseline of version 1"),
        ('{"version": 2, "files": {}}', "not a baseline of version 1"),
        ('{"version": 1, "files": {"a.sh": []}}', "b.json: a.sh: expected content and findings"),
        ('{"version": 1, "files": {"a.sh": {"findings": {"x": 0}}}}', "b.json: a.sh: x: expected a number"),
        ('{"version": 1, "files": {"a.sh": {"findings": {"x": true}}}}', "b.json: a.sh: x: expected a number"),
    ],
)
def test_a_file_that_is_no_baseline_ends_the_run(tree: Tree, content: str | None, says: str) -> None:
    root = tree({"a.sh": GHOST} if content is None else {"a.sh": GHOST, "b.json": content})
    run = scan(root, "--baseline", "b.json")
    assert (run.returncode, run.stdout) == (2, "")
    assert says in run.stderr
    assert "Traceback" not in run.stderr


def test_no_baseline_is_written_of_half_a_scan(root: Path) -> None:
    before = (root / "b.json").read_text()
    run = scan(root, "--write-baseline", "b.json", "a.sh", "nowhere.sh")
    assert run.returncode == 2
    assert "not written" in run.stderr
    assert (root / "b.json").read_text() == before


def test_only_one_of_the_two(root: Path) -> None:
    assert scan(root, "--baseline", "b.json", "--write-baseline", "b.json").returncode == 2


def finding(name: str, line: int, severity: str = "error", state: str | None = None) -> Finding:
    said = Confirmation(state, "") if state else None  # type: ignore[arg-type]
    return Finding("ED1", name, severity, "high", Place("a.sh", line, 1, line, 2), "m", confirmation=said)  # type: ignore[arg-type]


def test_what_an_experiment_refuted_is_kept_and_not_counted(tmp_path: Path) -> None:
    found = [finding("x", 1, state="refuted"), finding("x", 2, state="confirmed"), finding("x", 3, "info")]
    held = Baseline(tmp_path, {"a.sh": BaselineEntry("", {"x": 1})})
    kept, told = baseline.apply(held, found, BaselineScope(tmp_path, [], {"x"}))
    assert [f.place.line for f in kept] == [1, 3]
    assert told == ["a.sh: in the baseline, and no longer there (--write-baseline removes it)"]


@given(
    st.dictionaries(st.sampled_from("xyz"), st.integers(0, 4)),
    st.dictionaries(st.sampled_from("xyz"), st.integers(1, 4)),
)
def test_a_rule_is_held_whole_or_not_at_all(now: dict[str, int], then: dict[str, int]) -> None:
    """And nothing is held that is beyond what was there."""
    found = [finding(rule, line) for rule, count in now.items() for line in range(1, count + 1)]
    kept, _ = baseline.apply(
        Baseline(Path("/nowhere"), {"a.sh": BaselineEntry("", then)}),
        found,
        BaselineScope(Path("/nowhere"), [], set("xyz")),
    )
    left = {rule: sum(f.name == rule for f in kept) for rule in now}
    assert left == {rule: count if count > then.get(rule, 0) else 0 for rule, count in now.items()}


def test_load_gives_back_what_write_wrote(tmp_path: Path) -> None:
    (tmp_path / "a.sh").write_text("x")
    found = [finding("x", 1), finding("x", 2), finding("y", 2)]
    made = baseline.write(tmp_path / "b.json", found, BaselineScope(tmp_path, ["a.sh"], {"x", "y"}))
    assert baseline.load(tmp_path / "b.json") == made
    assert made.entries["a.sh"].counts == {"x": 2, "y": 1}
    with pytest.raises(UserError, match="cannot be written"):
        baseline.write(tmp_path / "no" / "b.json", found, BaselineScope(tmp_path, ["a.sh"], {"x"}))
