"""Answers that are given again: the same as anew, whatever was changed in between, and whatever lies in the cache."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from support import ROOT, envdoctor

from envdoctor.cache import dependency_log, results
from envdoctor.cli import fast_path
from envdoctor.cli.arguments import parser
from envdoctor.cli.main import main
from envdoctor.project.git import Listing

Tree = Callable[[Mapping[str, str]], Path]
Scan = Callable[..., tuple[int, str, str]]

PROJECT = {
    ".gitignore": "built/\nlocal.sh\n",
    "run.sh": "source common.sh\nsource local.sh\nsource built/env.sh\ntorchrun --nproc_per_node 8 train.py\n",
    "common.sh": "export NCCL_DEBUG=INFO\n",
    "local.sh": "export NCCL_DEBUG_FILE=/tmp/log\n",
    "built/env.sh": "NCCL_SOCKET_IFNAME=eth0\n",
    "train.py": "import torch\nimport seeds\n\nseeds.prepare()\nmodel = torch.nn.Linear(2, 2)\nmodel(torch.rand(2)).sum().backward()\n",
    "seeds.py": "import torch\n\n\ndef prepare():\n    torch.manual_seed(1)\n    torch.use_deterministic_algorithms(True)\n",
    "Dockerfile": "FROM rocm/pytorch:rocm6.2_ubuntu22.04_py3.10_pytorch_release_2.3.0\nENV RCCL_ALGO=Ring\nENV NCCL_NVLS_ENABLE=0\n",
    "quiet.txt": "nothing\n",
}  # fmt: skip

LONG_AGO = -60_000_000_000
"""Makes what was just written look as if it had been a minute ago."""
EDITS: dict[str, Callable[[Path], object]] = {
    "nothing": lambda root: None,
    "times only": lambda root: os.utime(root / "run.sh", (1, 1)),
    "a sourced script": lambda root: (root / "common.sh").write_text("export NCCL_DEBUG=Info0\n"),
    "as many bytes": lambda root: (root / "common.sh").write_text("export NCCL_DEBUF=INFO\n"),
    "a sourced script that git ignores": lambda root: (root / "local.sh").write_text("export NCCL_DEBUG_FILES=/tmp/l\n"),
    "a sourced script in a folder that git ignores": lambda root: (root / "built/env.sh").write_text("export A=1\n"),
    "an imported module": lambda root: (root / "seeds.py").write_text("def prepare():\n    pass\n"),
    "the image that gives the target": lambda root: (root / "Dockerfile").write_text("FROM nvidia/cuda:12.4.1-base\n"),
    "what git ignores": lambda root: (root / ".gitignore").write_text("common.sh\n"),
    "a file more": lambda root: (root / "more.sh").write_text("export RCCL_PROTO=Simple\n"),
    "a file in a new folder": lambda root: (
        (root / "deep/er").mkdir(parents=True), (root / "deep/er/more.sh").write_text("export RCCL_PROTO=Simple\n"),
    ),
    "a file less": lambda root: (root / "common.sh").unlink(),
    "a folder in place of a file": lambda root: ((root / "common.sh").unlink(), (root / "common.sh").mkdir()),
    "a link in place of a file": lambda root: (
        (root / "common.sh").unlink(), (root / "common.sh").symlink_to(root / "Dockerfile"),
    ),
    "a configuration": lambda root: (root / "envdoctor.toml").write_text('ignore = ["ED1", "ED3", "ED4", "ED5"]\n'),
    "a configuration in pyproject": lambda root: (root / "pyproject.toml").write_text('[tool.envdoctor]\nselect = ["ED2"]\n'),
    "a module that was not there": lambda root: (root / "torch.py").write_text("def manual_seed(n):\n    pass\n"),
    "a repository": lambda root: subprocess.run(["git", "init", "-q", str(root)], check=True),
}  # fmt: skip


@pytest.fixture(params=["folder", "repository"])
def project(request: pytest.FixtureRequest, tree: Tree, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = tree({f"project/{name}": text for name, text in PROJECT.items()}) / "project"
    if request.param == "repository":
        subprocess.run(["git", "init", "-q", str(root)], check=True)
    else:
        # Folders have no content to compare: without this nothing would be kept for two seconds.
        monkeypatch.setattr(dependency_log, "SETTLED", LONG_AGO)
    return root


@pytest.fixture
def scan(cache: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Scan:
    """Scan in this process, with a cache of its own: exit status, standard output, standard error."""
    del cache

    def run(root: Path, *words: str) -> tuple[int, str, str]:
        monkeypatch.chdir(root)
        capsys.readouterr()
        status = main(["scan", *words])
        return status, *capsys.readouterr()

    return run


def answers(cache: Path) -> dict[Path, int]:
    """The kept answers and when each was written; all other files have a word in front of their hash."""
    return {p: p.stat().st_mtime_ns for p in (cache / "envdoctor/answers").glob("*") if "-" not in p.name}


@pytest.mark.slow
@pytest.mark.parametrize("edit", EDITS)
@pytest.mark.parametrize("words", [("--format", "json", "--hints"), ("run.sh",)], ids=["all", "one"])
def test_an_answer_is_as_if_made_anew(project: Path, scan: Scan, edit: str, words: tuple[str, ...]) -> None:
    first = scan(project, *words)
    assert scan(project, *words) == first == scan(project, *words, "--no-cache")
    EDITS[edit](project)
    anew = scan(project, *words, "--no-cache")
    assert scan(project, *words) == anew
    assert scan(project, *words) == anew


@pytest.mark.parametrize("edit", ["a sourced script", "an imported module", "a file more", "a configuration"])
def test_the_edits_matter(project: Path, scan: Scan, edit: str) -> None:
    first = scan(project)
    EDITS[edit](project)
    assert scan(project) != first


def test_what_did_not_change_is_not_judged_again(project: Path, scan: Scan, cache: Path) -> None:
    scan(project)
    before = answers(cache)
    scan(project)
    os.utime(project / "run.sh", (1, 1))
    scan(project)
    assert len(before) == 1
    assert answers(cache) == before
    scan(project, "--no-cache")
    assert answers(cache) == before


def test_old_files_are_compared_by_their_times(
    project: Path, scan: Scan, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dependency_log, "SETTLED", LONG_AGO)
    first = scan(project)
    contents = [note for note in notes_of(cache) if note[0] == "content"]
    assert contents
    assert all(note[2] for note in contents)
    assert scan(project) == first
    (project / "common.sh").write_text("export NCCL_DEBUF=INFO\n")
    assert scan(project) == scan(project, "--no-cache") != first


def notes_of(cache: Path) -> list[list[str]]:
    """The notes of the one answer that is kept."""
    (path,) = answers(cache)
    fields = results._fields(str(path))
    assert fields is not None
    return [fields[i : i + 4] for i in range(2, len(fields), 4)]


def broken(data: bytes) -> dict[str, bytes]:
    half = len(data) // 2
    return {
        "nothing": b"", "half": data[:half], "a bit": data[:half] + bytes([data[half] ^ 1]) + data[half + 1 :],
        "another program's": b"\0" * 40, "text": b"hello\n", "more": data + b"\0x", "an older one's": b"envdoctor answer 0\0" + data,
    }  # fmt: skip


def test_a_broken_answer_is_no_answer(project: Path, scan: Scan, cache: Path) -> None:
    first = scan(project)
    (path,) = answers(cache)
    whole = path.read_bytes()
    for data in broken(whole).values():
        path.write_bytes(data)
        assert scan(project) == first
        assert results.load(str(path), Listing) is not None
    path.unlink()
    path.mkdir()
    assert scan(project) == first


def test_broken_triggers_are_none(tree: Tree, scan: Scan, cache: Path) -> None:
    root = tree({"a.sh": "export NCCL_DETERMINISTIC=1\n"})
    first = scan(root, "a.sh")
    for name in (fast_path.TRIGGERS, fast_path.DEFAULTS):
        (path,) = (cache / "envdoctor/answers").glob(f"{name}-*")
        for data in broken(path.read_bytes()).values():
            path.write_bytes(data)
            assert scan(root, "a.sh", "--no-cache") == first


def test_a_cache_that_others_can_write_to_is_not_used(project: Path, scan: Scan, cache: Path) -> None:
    folder = cache / "envdoctor/answers"
    folder.mkdir(parents=True)
    folder.chmod(0o777)
    scan(project)
    assert list(folder.iterdir()) == []


def test_what_is_kept_is_for_the_user_alone(project: Path, scan: Scan, cache: Path) -> None:
    scan(project)
    folder = cache / "envdoctor/answers"
    assert folder.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o600}


@pytest.mark.parametrize("blocked", ["envdoctor", "envdoctor/answers"])
def test_a_scan_without_a_cache_is_a_scan(project: Path, scan: Scan, cache: Path, blocked: str) -> None:
    shutil.rmtree(cache / blocked, ignore_errors=True)
    (cache / blocked).write_text("")
    assert scan(project)[0] == 1


@pytest.mark.slow
def test_nothing_is_written_where_files_are_scanned(project: Path) -> None:
    before = sorted(p for p in project.rglob("*") if ".git/" not in str(p))
    for cache in (project, project / "built"):
        run = envdoctor("scan", cwd=project, XDG_CACHE_HOME=str(cache), PYTHONDONTWRITEBYTECODE="1")
        assert run.returncode == 1
        assert list(cache.rglob("answers")) == []
    assert {p.name for p in set(project.rglob("*")) - set(before) if ".git/" not in str(p)} <= {
        "envdoctor", *(p.name for p in project.rglob("envdoctor/*.json")),
    }  # fmt: skip


def test_the_cache_does_not_grow_without_end(
    tree: Tree, scan: Scan, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(results, "MOST", 5)
    root = tree({f"{i}.sh": f"export NCCL_DETERMINISTIC={i}\n" for i in range(9)})
    for i in range(9):
        scan(root, f"{i}.sh")
    assert len(answers(cache)) <= 5


@pytest.mark.slow
def test_scans_at_the_same_time_agree(project: Path, cache: Path) -> None:
    env = {**os.environ, "PYTHONPATH": str(ROOT), "XDG_CACHE_HOME": str(cache)}
    command = [sys.executable, "-m", "envdoctor", "scan", "--format", "concise"]
    runs = [subprocess.Popen(command, cwd=project, env=env, stdout=subprocess.PIPE, text=True) for _ in range(6)]
    said = {run.communicate(timeout=120)[0] for run in runs}
    assert len(said) == 1
    assert "misnamed-variable" in said.pop()


def test_options_that_write_or_read_more_are_not_kept(project: Path, scan: Scan, cache: Path) -> None:
    for words in (
        ["--output", "out.txt"], ["--format", "json:out.json"], ["--write-baseline", "b.json"], ["--baseline", "b.json"],
        ["--show-files"], ["--diff"], ["a", "--hints", "b"], ["--stdin-filename", "x.sh"],
    ):  # fmt: skip
        assert not fast_path._may_keep(words)
    scan(project, "--output", str(cache / "out.txt"))
    assert answers(cache) == {}


def test_a_scan_that_fails_is_not_kept(project: Path, scan: Scan, cache: Path) -> None:
    assert scan(project, "nope.sh")[0] == 2
    with pytest.raises(SystemExit):
        scan(project, "--level", "nonsense")
    assert answers(cache) == {}


@pytest.mark.slow
def test_everything_that_is_opened_is_noted(project: Path, cache: Path) -> None:
    code = (
        "import sys\n"
        "opened = set()\n"
        "def hook(event, values):\n"
        "    if event in ('open', 'os.scandir', 'os.listdir'):\n"
        "        opened.add(str(values[0]))\n"
        "sys.addaudithook(hook)\n"
        "from envdoctor.cache import dependency_log\n"
        "from envdoctor.cli.main import main\n"
        f"dependency_log.SETTLED = {LONG_AGO}\n"
        "main(['scan', '--docs'])\n"
        "print('\\n'.join(sorted(opened)), file=sys.stderr)\n"
    )
    env = {**os.environ, "PYTHONPATH": str(ROOT), "XDG_CACHE_HOME": str(cache)}
    run = subprocess.run([sys.executable, "-c", code], cwd=project, env=env, capture_output=True, text=True, check=True)
    # What is read in `.git` is read for git, and its answer is noted.
    opened = {p for p in run.stderr.splitlines() if p.startswith(str(project)) and not p.startswith(f"{project}/.git/")}
    noted = {note[1] for note in notes_of(cache)}
    assert opened
    assert opened <= noted


@pytest.mark.parametrize(
    ("text", "quiet"),
    [("import json\n", True), ("echo hello\n", True), ("export NCCL_DEBUG=INFO\n", False), ("", True),
     ("import torch\ntorch.manual_seed(1)\n", False), ("# envdoctor: ignore\n", True)],
)  # fmt: skip
def test_a_file_without_a_token_is_answered_at_once(tree: Tree, scan: Scan, text: str, quiet: bool) -> None:
    root = tree({"loud.sh": "export NCCL_DEBUG=INFO\n", "a.py": text, "b.sh": text})
    scan(root, "loud.sh")
    words = ["--force-exclude", "a.py", "b.sh"]
    base = results.folder()
    assert base is not None
    assert fast_path._is_quiet(words, fast_path._triggers(base, results.signature())) is quiet
    assert scan(root, *words)[1:] == scan(root, *words, "--hints", "--no-cache")[1:] or not quiet


@pytest.mark.parametrize(
    "words",
    [[], ["a.sh"], ["--hints", "a.sh", "b.sh"], ["--no-cache", *sorted(fast_path.FLAGS), "."], ["a", "b", "--docs"]],
)
def test_plain_arguments_are_told_as_argparse_tells_them(project: Path, scan: Scan, words: list[str]) -> None:
    scan(project)
    base = results.folder()
    assert base is not None
    told = fast_path._arguments(base, results.signature(), words)
    assert vars(told) == vars(parser("scan").parse_args(["scan", *words]))


@pytest.mark.parametrize("words", [["--level", "hygiene"], ["--format=json"], ["--nonsense"], ["--hint"], ["-h"]])
def test_other_arguments_are_left_to_argparse(project: Path, scan: Scan, words: list[str]) -> None:
    scan(project)
    base = results.folder()
    assert base is not None
    assert fast_path._arguments(base, results.signature(), words) is None


def test_a_configuration_is_never_skipped(tree: Tree, scan: Scan) -> None:
    root = tree({"loud.sh": "export NCCL_DEBUG=INFO\n", "sub/quiet.sh": "echo\n"})
    scan(root, "loud.sh")
    assert scan(root, "sub/quiet.sh") == (0, fast_path.NOTHING, "")
    (root / "envdoctor.toml").write_text('level = "nonsense"\n')
    assert "bad-configuration" in scan(root, "sub/quiet.sh")[1]


def test_a_signature_is_made_in_no_time() -> None:
    start = time.process_time()
    results.signature()
    assert time.process_time() - start < 0.5
