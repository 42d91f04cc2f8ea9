"""`scan --since REV`, with a real repository."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import found, here, scan_json

from envdoctor.project import since

Tree = Callable[[Mapping[str, str]], Path]
GHOST = "export NCCL_DETERMINISTIC=1\n"


def git(root: Path, *words: str) -> None:
    own = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "init.defaultBranch=main")
    subprocess.run(["git", "-C", str(root), *own, *words], check=True, capture_output=True)


def committed(root: Path) -> Path:
    git(root, "init", "-q")
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "first")
    return root


def lines(root: Path, *words: str) -> list[tuple[str, int]]:
    return [(path, line) for path, line, *_ in found(scan_json(root, "--since", "HEAD", *words))]


def test_only_changed_lines_and_new_files(tree: Tree) -> None:
    root = committed(tree({"a.sh": f"{GHOST}echo\n", "b.sh": GHOST}))
    assert lines(root) == []
    tree({"a.sh": f"{GHOST}echo\nexport RCCL_ALGO=1\n", "new.sh": GHOST})
    assert lines(root) == [("a.sh", 3), ("new.sh", 1)]
    git(root, "add", "a.sh")
    assert lines(root) == [("a.sh", 3), ("new.sh", 1)]


def test_a_moved_file_is_not_new(tree: Tree) -> None:
    root = committed(tree({"a.sh": GHOST + "echo unchanged\n" * 20}))
    git(root, "mv", "a.sh", "b.sh")
    assert lines(root) == []


def test_from_a_folder_below_and_for_odd_names(tree: Tree) -> None:
    root = committed(tree({"sub/ä b.sh": "echo\n", 'sub/q".sh': "echo\n", "c.sh": "echo\n"}))
    tree({"sub/ä b.sh": f"echo\n{GHOST}", 'sub/q".sh': f"echo\n{GHOST}", "c.sh": GHOST})
    assert lines(root / "sub") == [('q".sh', 2), ("ä b.sh", 2)]
    report = scan_json(root / "sub", "--since", "HEAD", "..")
    assert {Path(path).name for path, *_ in found(report)} == {"c.sh", "ä b.sh", 'q".sh'}


def test_a_carriage_return_alone_hides_nothing(tree: Tree) -> None:
    """Git counts it as part of a line and editors as the end of one."""
    root = committed(tree({"a.sh": "printf 'x\\r'\n"}))
    (root / "a.sh").write_bytes(b"# 10%\r20%\r30%\n" + GHOST.encode())
    assert lines(root) == [("a.sh", 4)]


@pytest.mark.parametrize("how", ["NUL", "attribute"])
def test_what_git_calls_binary_hides_nothing(tree: Tree, how: str) -> None:
    root = committed(tree({"a.sh": "echo\n" * 30, "b.sh": GHOST, "old name.sh": f"{GHOST}echo\n" * 9}))
    git(root, "mv", "old name.sh", "new name.sh")
    (root / ".gitattributes").write_text("a.sh -diff\n" if how == "attribute" else "")
    (root / "a.sh").write_bytes(b"echo\n" * 30 + GHOST.encode() + b"# \0\n" * (how == "NUL"))
    assert lines(root) == [("a.sh", 31)]


def test_what_another_repository_holds_or_none_is_not_hidden(tree: Tree) -> None:
    root = committed(tree({"main/a.sh": GHOST, "main/.gitignore": "ignored.sh\n"}) / "main")
    committed(tree({"main/sub/n.sh": GHOST}) / "main/sub")
    tree({"main/ignored.sh": GHOST, "out.sh": GHOST})
    assert lines(root, "sub") == [("sub/n.sh", 1)]
    assert lines(root, "ignored.sh", "a.sh") == [("ignored.sh", 1)]
    assert [Path(path).name for path, _ in lines(root, "../out.sh")] == ["out.sh"]


def test_names_with_tabs_and_other_letters(tree: Tree) -> None:
    root = committed(tree({"t\tä.sh": "echo\n", "ü.sh": GHOST}))
    tree({"t\tä.sh": f"echo\n{GHOST}"})
    assert lines(root) == [("t\tä.sh", 2)]


@pytest.mark.parametrize("revision", [":/fir", "HEAD^{/fir}", "first-tag", "HEAD@{0}"])
def test_ways_to_name_a_commit(tree: Tree, revision: str) -> None:
    root = committed(tree({"a.sh": "echo\n"}))
    git(root, "tag", "-a", "-m", "x", "first-tag")
    tree({"a.sh": f"echo\n{GHOST}"})
    git(root, "commit", "-q", "-a", "-m", "second", "--allow-empty")
    expected = [] if revision == "HEAD@{0}" else [("a.sh", 2)]
    report = scan_json(root, "--since", revision)
    assert [(path, line) for path, line, *_ in found(report)] == expected


def test_a_place_that_has_to_do_with_a_finding_counts(tree: Tree) -> None:
    script = "NCCL_IB_HCA=mlx5\n{extra}torchrun --nproc_per_node 8 train.py\n"
    root = committed(tree({"run.sh": script.format(extra="")}))
    before = found(scan_json(root))
    assert [(line, name) for _, line, name, _ in before] == [(1, "not-exported")]
    assert lines(root) == []
    tree({"run.sh": "NCCL_IB_HCA=mlx5_0\ntorchrun --nproc_per_node 8 train.py\n"})
    assert lines(root) == [("run.sh", 1)]


def test_the_summary_and_the_status_are_about_what_is_left(tree: Tree) -> None:
    root = committed(tree({"a.sh": GHOST}))
    report = scan_json(root, "--since", "HEAD")
    assert (report["summary"]["by_rule"], report["findings"]) == ({}, [])
    assert here("scan", "--since", "HEAD", cwd=root).returncode == 0


@pytest.mark.parametrize("revision", ["nowhere", "--output=x", "HEAD..HEAD"])
def test_a_revision_that_is_none(tree: Tree, revision: str) -> None:
    root = committed(tree({"a.sh": GHOST}))
    run = here("scan", f"--since={revision}", cwd=root)
    assert (run.returncode, run.stdout) == (2, "")
    assert f"envdoctor: --since: {revision!r} is no commit of this repository" in run.stderr
    assert not (root / "x").exists()


def test_no_repository(tree: Tree) -> None:
    run = here("scan", "--since", "HEAD", cwd=tree({"a.sh": GHOST}))
    assert run.returncode == 2
    assert run.stderr.endswith(": not a git repository\n")


def test_fixes_and_since(tree: Tree) -> None:
    run = here("scan", "--since", "HEAD", "--fix", cwd=committed(tree({"a.sh": GHOST})))
    assert (run.returncode, "--since only chooses what to report" in run.stderr) == (2, True)


TEXT = st.lists(st.sampled_from(["a", "b", "++ x", "-- x", "+++ b/z", "@@ -1 +1 @@", ""]), max_size=12)


@pytest.mark.slow
@settings(max_examples=25)
@given(TEXT, TEXT)
def test_changed_lines_are_those_that_a_comparison_of_lines_finds(
    tmp_path_factory: pytest.TempPathFactory, before: list[str], after: list[str]
) -> None:
    root = tmp_path_factory.mktemp("repo")
    (root / "f").write_text("".join(f"{line}\n" for line in before))
    (root / "g").write_text("untouched\n")
    committed(root)
    (root / "f").write_text("".join(f"{line}\n" for line in after))
    changed = since.changed(root.resolve(), "HEAD").lines
    assert set(changed) <= {"f"}
    kept = [line for number, line in enumerate(after, 1) if number not in changed.get("f", ())]
    # What is not called changed was there before, in the same order.
    rest = iter(before)
    assert all(line in rest for line in kept)
    assert bool(changed.get("f")) or len(after) <= len(before)
