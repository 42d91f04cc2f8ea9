"""What git is asked, through the view that it gets of a repository: for every shape of repository there is."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from support import ROOT

from envdoctor.project import git, since
from envdoctor.project.git import GitView, Listing, repository_of

Tree = Callable[[Mapping[str, str]], Path]


@pytest.fixture(params=["spawned", "run"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "run":
        monkeypatch.delattr(os, "posix_spawn")


@pytest.fixture(autouse=True)
def temporary(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for temporary files, and a user without a configuration."""
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.setenv("TMPDIR", str(tmp_path_factory.mktemp("temporary")))
    return Path(os.environ["TMPDIR"])


def run(root: Path, *words: str) -> None:
    own = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "init.defaultBranch=main")
    allowed = ("-c", "protocol.file.allow=always")
    subprocess.run(["git", "-C", str(root), *own, *allowed, *words], check=True, capture_output=True)


def repository(root: Path, *options: str) -> Path:
    run(root, "init", "-q", *options)
    run(root, "add", "-A")
    run(root, "commit", "-q", "-m", "first")
    return root


def listed(folder: Path) -> set[str] | None:
    raw = Listing(str(folder)).raw()
    return None if raw is None else {os.fsdecode(name) for name in raw.split(b"\0") if name}


def lines(root: Path, revision: str = "HEAD") -> dict[str, list[int]]:
    changed = since.changed(root.resolve(), revision).lines
    return {path: [] if len(found) > 99 else sorted(found) for path, found in changed.items() if found}


@pytest.mark.usefixtures("way")
def test_tracked_files_and_new_ones(tree: Tree, temporary: Path) -> None:
    root = tree({"a.sh": "", "sub/b c.sh": "", "out.log": "", ".gitignore": "*.log\n"})
    run(root, "init", "-q")
    run(root, "add", "a.sh")
    assert listed(root) == {".gitignore", "a.sh", "sub/b c.sh"}
    assert listed(root / "sub") == {"b c.sh"}
    assert list(temporary.iterdir()) == []


@pytest.mark.slow
@pytest.mark.usefixtures("way")
def test_many_names_come_through(tree: Tree) -> None:
    root = tree({f"{'x' * 60}/{'y' * 60}{i}.sh": "" for i in range(2000)})
    run(root, "init", "-q")
    raw = Listing(str(root)).raw()
    assert raw is not None
    assert raw.count(b"\0") == 2000


def test_no_repository(tree: Tree) -> None:
    assert repository_of(str(tree({"a.sh": ""}))) is None
    assert listed(tree({})) is None


def test_the_inside_of_a_git_folder_is_no_work_tree(tree: Tree) -> None:
    root = repository(tree({"a.sh": ""}))
    assert listed(root / ".git/hooks") is None


@pytest.mark.usefixtures("way")
def test_no_git(tree: Tree, monkeypatch: pytest.MonkeyPatch, temporary: Path) -> None:
    root = repository(tree({"a.sh": ""}))
    monkeypatch.setenv("PATH", "/nowhere")
    assert listed(root) is None
    assert list(temporary.iterdir()) == []


@pytest.mark.slow
@pytest.mark.usefixtures("way")
def test_a_git_that_hangs_is_stopped(
    tree: Tree, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch, temporary: Path
) -> None:
    root = repository(tree({"a.sh": ""}))
    folder = tmp_path_factory.mktemp("bin")
    (folder / "git").write_text("#!/bin/sh\nprintf x\nexec sleep 100\n")
    (folder / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    monkeypatch.setattr(git, "SECONDS", 0.3)
    assert listed(root) is None
    with pytest.raises(since.UserError, match="git did not answer"):
        since.changed(root.resolve(), "HEAD")
    assert list(temporary.iterdir()) == []


def test_a_listing_that_nobody_reads_leaves_nothing(tree: Tree, temporary: Path) -> None:
    listing = Listing(str(repository(tree({"a.sh": ""}))))
    assert list(temporary.iterdir())
    del listing
    assert list(temporary.iterdir()) == []


def test_a_folder_for_temporary_files_that_cannot_be_written_to(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    root = repository(tree({"a.sh": ""}))
    monkeypatch.setenv("TMPDIR", "/nowhere")
    assert listed(root) == {"a.sh"}
    monkeypatch.setattr(git, "FOLDERS", ("/nowhere",))
    assert listed(root) is None
    with pytest.raises(since.UserError, match="git cannot be asked"):
        since.changed(root.resolve(), "HEAD")


def test_another_work_tree_of_a_repository(tree: Tree) -> None:
    root = repository(tree({"main/a.sh": "echo\n"}) / "main")
    run(root, "worktree", "add", "-q", "-b", "other", "../other")
    other = root.parent / "other"
    (other / "a.sh").write_text("echo\nmore\n")
    (other / "new.sh").write_text("")
    run(other, "commit", "-q", "-m", "second", "a.sh")
    assert listed(other) == {"a.sh", "new.sh"}
    assert lines(other, "main") == {"a.sh": [2], "new.sh": []}
    assert lines(other) == lines(other, "HEAD@{0}") == {"new.sh": []}
    assert lines(other, "other~1") == lines(other, "other@{1}") == lines(other, "main")
    assert listed(root) == {"a.sh"}


def test_a_submodule_is_a_repository_of_its_own(tree: Tree) -> None:
    inner = repository(tree({"inner/a.sh": "echo\n"}) / "inner")
    root = tree({"outer/b.sh": ""}) / "outer"
    run(root, "init", "-q")
    try:
        run(root, "submodule", "--quiet", "add", str(inner), "sub")
    except subprocess.CalledProcessError:
        pytest.skip("this git was built without its scripts")
    assert listed(root) == {".gitmodules", "b.sh", "sub"}
    assert listed(root / "sub") == {"a.sh"}
    (root / "sub/a.sh").write_text("echo\nmore\n")
    assert lines(root / "sub") == {"a.sh": [2]}


def test_an_index_in_two_parts(tree: Tree) -> None:
    root = repository(tree({"a.sh": "echo\n"}))
    run(root, "update-index", "--split-index")
    shared = next((root / ".git").glob("sharedindex.*"))
    os.utime(shared, (1e9, 1e9))
    (root / "b.sh").write_text("")
    run(root, "-c", "core.splitIndex=true", "add", "b.sh")
    shared = next((root / ".git").glob("sharedindex.*"))
    os.utime(shared, (1e9, 1e9))
    (root / ".gitignore").write_text("*.sh\n")
    assert listed(root) == {"a.sh", "b.sh", ".gitignore"}
    assert shared.stat().st_mtime == 1e9


@pytest.mark.parametrize("option", ["--object-format=sha256", "--ref-format=reftable"])
def test_other_formats_of_objects_and_references(tree: Tree, option: str) -> None:
    root = tree({"a.sh": "echo\n"})
    try:
        repository(root, option)
    except subprocess.CalledProcessError:
        pytest.skip(f"this git knows no {option}")
    run(root, "tag", "one")
    (root / "a.sh").write_text("echo\nmore\n")
    assert listed(root) == {"a.sh"}
    assert lines(root, "one") == {"a.sh": [2]}


def test_an_index_that_holds_a_part_of_the_tree(tree: Tree) -> None:
    root = repository(tree({"a/a.sh": "echo\n", "b/b.sh": "echo\n", "c.sh": "echo\n"}))
    run(root, "sparse-checkout", "init", "--cone", "--sparse-index")
    run(root, "sparse-checkout", "set", "a")
    (root / "a/a.sh").write_text("more\n")
    assert (listed(root / "a"), lines(root)) == ({"a.sh"}, {"a/a.sh": [1]})


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_a_repository_of_another_user(tree: Tree) -> None:
    """Git refuses those, for their configuration; a container that mounts a clone has no other."""
    root = repository(tree({"a.sh": "echo\n"}))
    for path in (root, *root.rglob("*")):
        os.chown(path, 12345, 12345)
    assert subprocess.run(["git", "-C", str(root), "ls-files"], capture_output=True, check=False).returncode
    (root / "a.sh").write_text("more\n")
    assert (listed(root), lines(root)) == ({"a.sh"}, {"a.sh": [1]})


USER = {
    ".gitconfig": "[Core]\n\tExcludesFile = ~/my ignores\n",
    ".config/git/config": '[core] excludesfile = "~/my\\\n ignores" # mine\n',
    ".config/git/ignore": "*.tmp\n",
    "included": "[core]\n\texcludesFile = ~/my ignores\n",
}


@pytest.mark.parametrize("place", USER)
def test_what_the_user_ignores_everywhere(tree: Tree, place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    home = Path(os.environ["HOME"])
    path = home / place
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(USER[place])
    (home / "my ignores").write_text("*.tmp\n")
    if place == "included":
        (home / "chosen").write_text(f"[include]\n\tpath = {path}\n")
        monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(home / "chosen"))
    root = repository(tree({"a.sh": "", "b.tmp": "", "sub/c.tmp": ""}))
    assert listed(root) == {"a.sh"}
    (root / ".git/info").mkdir(exist_ok=True)
    (root / ".git/info/exclude").write_text("new.sh\n")
    (root / "new.sh").write_text("")
    (root / "newer.sh").write_text("")
    assert listed(root) == {"a.sh", "newer.sh"}


@pytest.mark.parametrize("value", ["ignorecase = true # yes", "IgnoreCase = yes", "ignorecase", "ignorecase = false"])
def test_names_without_regard_to_case(tree: Tree, value: str) -> None:
    root = repository(tree({".gitignore": "NEW.sh\n"}))
    (root / "new.sh").write_text("")
    (root / ".git/config").write_text(f"[core]\n\t{value}\n")
    assert listed(root) == ({".gitignore", "new.sh"} if "false" in value else {".gitignore"})


def test_no_other_setting_of_the_user_counts(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    home = Path(os.environ["HOME"])
    (home / ".gitconfig").write_text(
        f"[core]\n\tfsmonitor = {home}/run\n[diff]\n\tnoprefix = true\n\texternal = {home}/run\n\tinterHunkContext = 9\n"
    )
    (home / "run").write_text(f"#!/bin/sh\n: > {home}/ran\n")
    (home / "run").chmod(0o755)
    root = repository(tree({"a.sh": "a\nb\nc\nd\n"}))
    (home / "ran").unlink()
    (root / "a.sh").write_text("A\nb\nc\nD\n")
    for name in ("GIT_DIR", "GIT_INDEX_FILE", "GIT_EXTERNAL_DIFF", "GIT_WORK_TREE"):  # as in a hook of git
        monkeypatch.setenv(name, f"{home}/run")
    assert lines(root) == {"a.sh": [1, 4]}
    assert listed(root) == {"a.sh"}
    assert not (home / "ran").exists()


@pytest.mark.parametrize("word", ["@{upstream}", "@{u}", "topic@{u}"])
def test_the_branch_that_a_branch_follows(tree: Tree, word: str) -> None:
    origin = repository(tree({"origin/a.sh": "echo\n"}) / "origin")
    run(origin.parent, "clone", "-q", str(origin), "clone")
    clone = origin.parent / "clone"
    run(clone, "checkout", "-q", "-b", 'topic"', "--track", "origin/main")
    run(clone, "checkout", "-q", "-b", "topic", "--track", "origin/main")
    (clone / "a.sh").write_text("echo\nmore\n")
    run(clone, "commit", "-q", "-a", "-m", "second")
    assert lines(clone) == {}
    assert lines(clone, word) == {"a.sh": [2]}


def test_line_ends_are_no_change(tree: Tree) -> None:
    root = repository(tree({"a.sh": "echo\nold\n", "b.sh": "echo\n"}))
    (root / "a.sh").write_bytes(b"echo\r\nold\r\nnew\r\n")
    (root / "b.sh").write_bytes(b"echo\r\n")
    assert lines(root) == {"a.sh": [3]}


@pytest.mark.parametrize("kind", ["fifo", "large"])
@pytest.mark.parametrize("name", ["config", "index", "HEAD", "commondir"])
def test_what_is_no_plain_file_of_a_fair_size_is_not_waited_for(tree: Tree, name: str, kind: str) -> None:
    root = repository(tree({"a.sh": "echo\n"}))
    path = root / ".git" / name
    path.unlink(missing_ok=True)
    if kind == "fifo":
        os.mkfifo(path)
    else:
        with path.open("wb") as file:
            file.truncate(git.LARGEST + 1)
    start = time.monotonic()
    assert listed(root) == (None if name == "HEAD" or (name, kind) == ("index", "large") else {"a.sh"})
    assert time.monotonic() - start < git.SECONDS / 2


def test_a_view_holds_no_more_than_it_says(tree: Tree) -> None:
    root = repository(tree({"a.sh": "echo\n"}))
    repository_found = repository_of(str(root))
    assert repository_found is not None
    with GitView(repository_found) as view:
        names = {path.relative_to(view.path).as_posix() for path in Path(view.path).rglob("*")}
        links = {name for name in names if Path(view.path, name).is_symlink()}
        assert names - links == {"HEAD", "config", "info", "logs"}
        assert links <= {"objects", "refs", "index", "info/exclude", "logs/refs", "logs/HEAD"}
        assert Path(view.path).stat().st_mode & 0o777 == 0o700
    assert not Path(view.path).exists()
    assert (root / ".git/objects").is_dir()


def test_a_parent_that_waits_for_no_child(tree: Tree) -> None:
    root = repository(tree({".gitignore": "ignored/\n", "a.sh": "", "sub/.gitignore": "b.sh\n", "sub/b.sh": ""}))
    command = f"trap '' CHLD; exec {sys.executable} -m envdoctor scan --show-files --no-cache"
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    shown = subprocess.run(["bash", "-c", command], cwd=root, env=env, capture_output=True, text=True, check=True)
    assert shown.stdout == "a.sh\n"


def test_more_open_files_than_select_takes(tree: Tree) -> None:
    root = repository(tree({"a.sh": ""}))
    many = "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))"
    code = f"{many}; import os; [os.dup(0) for _ in range(1100)]; from envdoctor.project.git import Listing; print(Listing('.').raw())"
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    run = subprocess.run([sys.executable, "-c", code], cwd=root, env=env, capture_output=True, text=True, check=False)
    assert run.stdout == "b'a.sh\\x00'\n", run.stderr


@pytest.mark.parametrize("revision", ["main-worktree/HEAD", "worktrees/other/HEAD"])
def test_the_references_of_another_work_tree_are_not_guessed(tree: Tree, revision: str) -> None:
    root = repository(tree({"main/a.sh": "echo\n"}) / "main")
    run(root, "worktree", "add", "-q", "-b", "other", "../other")
    with pytest.raises(since.UserError, match="cannot be told in a further work tree"):
        since.changed((root.parent / "other").resolve(), revision)
