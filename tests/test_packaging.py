"""Rules are found from wheel, sdist, editable install, a git address and a checkout; the hook runs for real."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support import ROOT

pytestmark = pytest.mark.slow

GHOST = "export NCCL_DETERMINISTIC=1\n"


def run(*command: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run and show everything where it fails."""
    env = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"} | environment
    return subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, timeout=900, check=False)


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with the files of this one as they stand."""
    folder = tmp_path_factory.mktemp("clone")
    listed = run("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", cwd=ROOT).stdout.split("\0")
    for name in filter(None, listed):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    for command in (["init", "-q"], ["add", "-A"],
                    ["-c", "user.name=x", "-c", "user.email=x@example.org", "commit", "-qm", "x"]):  # fmt: skip
        assert run("git", *command, cwd=folder).returncode == 0
    return folder


@pytest.fixture(scope="module")
def built(clone: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel and the sdist."""
    out = tmp_path_factory.mktemp("dist")
    result = run(sys.executable, "-m", "build", "--outdir", str(out), str(clone), cwd=clone)
    assert result.returncode == 0, result.stdout + result.stderr
    return out


def works(python: Path, folder: Path) -> None:
    """The installed program finds its rules and its catalogue."""
    (folder / "a.sh").write_text(GHOST)
    scan = run(str(python.parent / "envdoctor"), "scan", "--format", "concise", "a.sh", cwd=folder)
    assert scan.returncode == 1, scan.stderr
    assert scan.stdout.startswith("a.sh:1:8: ED101 ghost-variable")


@pytest.mark.parametrize("way", ["wheel", "sdist", "editable", "git"])
def test_rules_are_found(way: str, clone: Path, built: Path, tmp_path: Path) -> None:
    assert run(sys.executable, "-m", "venv", str(tmp_path / "venv"), cwd=tmp_path).returncode == 0
    python = tmp_path / "venv" / "bin" / "python"
    what = {
        "wheel": [str(next(built.glob("*.whl")))],
        "sdist": [str(next(built.glob("*.tar.gz")))],
        "editable": ["-e", str(clone)],
        "git": [f"git+file://{clone}"],
    }[way]
    installed = run(str(python), "-m", "pip", "install", "-q", *what, cwd=tmp_path)
    assert installed.returncode == 0, installed.stderr
    works(python, tmp_path)


def test_checkout(tmp_path: Path, clone: Path) -> None:
    (tmp_path / "a.sh").write_text(GHOST)
    scan = run(sys.executable, "-m", "envdoctor", "scan", "--format", "concise", cwd=tmp_path, PYTHONPATH=str(clone))
    assert scan.stdout.startswith("a.sh:1:8: ED101"), scan.stderr


def test_the_wheel_holds_no_top_level_rules(built: Path) -> None:
    import zipfile

    names = zipfile.ZipFile(next(built.glob("*.whl"))).namelist()
    assert {n.split("/")[0] for n in names if ".dist-info" not in n} == {"envdoctor"}
    assert "envdoctor/rules/names/ghost-variable.toml" in names


def test_a_platform_wheel_carries_the_trace_library(clone: Path, tmp_path: Path) -> None:
    import platform
    import zipfile

    out = tmp_path / "dist"
    result = run(
        sys.executable, "-m", "build", "--wheel", "--outdir", str(out), str(clone), cwd=clone, ENVDOCTOR_SHIM="1"
    )
    assert result.returncode == 0, result.stdout + result.stderr
    wheel = next(out.glob("*.whl"))
    assert "-py3-none-linux_" in wheel.name
    assert f"envdoctor/node/trace/libenvdoctor_trace-{platform.machine()}.so" in zipfile.ZipFile(wheel).namelist()
    python = tmp_path / "venv" / "bin" / "python"
    assert run(sys.executable, "-m", "venv", str(tmp_path / "venv"), cwd=tmp_path).returncode == 0
    assert run(str(python), "-m", "pip", "install", "-q", str(wheel), cwd=tmp_path).returncode == 0
    traced = run(
        str(python.parent / "envdoctor"), "trace", "--", str(python), "-c", "print(1)", cwd=tmp_path,
        CC="/nonexistent/cc", PATH=str(python.parent), NCCL_DETERMINISTIC="1", XDG_CACHE_HOME=str(tmp_path / "cache"),
    )  # fmt: skip
    assert (traced.returncode, traced.stdout) == (0, "1\n"), traced.stderr
    assert "never asked for" in traced.stderr


def test_pre_commit_try_repo(clone: Path, tmp_path: Path) -> None:
    assert run("git", "init", "-q", cwd=tmp_path).returncode == 0
    (tmp_path / "a.sh").write_text(GHOST)
    (tmp_path / "notes.txt").write_text(GHOST)
    run("git", "add", "-A", cwd=tmp_path)
    pre_commit = Path(sys.executable).parent / "pre-commit"
    hook = run(str(pre_commit), "try-repo", str(clone), "envdoctor", "--all-files", cwd=tmp_path,
               PRE_COMMIT_HOME=str(tmp_path.parent / "pre-commit-home"))  # fmt: skip
    assert hook.returncode == 1, hook.stdout + hook.stderr
    assert "ED101 ghost-variable" in hook.stdout
    assert "notes.txt" not in hook.stdout
    (tmp_path / "a.sh").write_text("export NCCL_ALGO=Ring\n")
    hook = run(str(pre_commit), "try-repo", str(clone), "envdoctor", "--all-files", cwd=tmp_path,
               PRE_COMMIT_HOME=str(tmp_path.parent / "pre-commit-home"))  # fmt: skip
    assert hook.returncode == 0, hook.stdout + hook.stderr
