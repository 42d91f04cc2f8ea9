"""What is scanned is never imported, opened out of the tree, started or asked over a network."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from everything import write_everything
from support import ROOT

pytestmark = pytest.mark.slow

SHADOW = """
import os
import sys

os.write(2, b"RAN {name}\\n")
here = os.path.dirname(os.path.abspath(__file__))
sys.path[:] = [path for path in sys.path if path not in ("", here)]
del sys.modules[__name__]
__import__(__name__)
"""
OTHERS = {
    "yaml",
    "_yaml",
    "tomllib",
    "tomli",
    "tree_sitter",
    "tree_sitter_bash",
    "pathspec",
    "packaging",
    "rapidfuzz",
    "rich",
    "libcst",
}


@pytest.fixture(scope="module")
def shadowed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project that has a module of each name that a program may import: each says that it ran, then is the real one."""
    root = tmp_path_factory.mktemp("shadowed")
    write_everything(root)
    for name in (sys.stdlib_module_names | OTHERS) - {"os", "sys", "__main__"}:
        (root / f"{name}.py").write_text(SHADOW.format(name=name))
    return root


def ran(root: Path, *command: str, **environment: str) -> tuple[set[str], str]:
    """The modules of the folder that ran, and the standard output."""
    env = {**os.environ, **environment}
    run = subprocess.run(
        [sys.executable, *command], cwd=root, env=env, capture_output=True, text=True, timeout=120, check=False
    )
    return {line.split()[1] for line in run.stderr.splitlines() if line.startswith("RAN ")}, run.stdout + run.stderr


COMMANDS = (
    ("scan", "--no-cache"), ("scan",), ("scan", "--format", "json", "--docs", "--hints"), ("scan", "--diff", "--unsafe-fixes"),
    ("scan", "--show-launches"), ("explain", "NCCL_ALGO"), ("env", "--level", "run-to-run", "--target", "cuda"), ("rules",),
    ("live", "--no-torch", "--script", "start.sh"),
)  # fmt: skip


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_python_m_imports_nothing_of_the_folder(shadowed: Path, tmp_path: Path, words: tuple[str, ...]) -> None:
    """Nothing but what Python itself takes from there for `-m`, whatever the program is, before its first line."""
    package = tmp_path / "nothing"
    package.mkdir()
    for name in ("__init__.py", "__main__.py"):
        (package / name).write_text("")
    path = os.pathsep.join((str(ROOT), str(tmp_path)))
    own, _ = ran(shadowed, "-m", "nothing", PYTHONPATH=path)
    mine, out = ran(shadowed, "-m", "envdoctor", *words, PYTHONPATH=path, XDG_CACHE_HOME=str(tmp_path / "cache"))
    assert mine == own
    assert len(out) > 100
    assert "Traceback" not in out


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_nothing_at_all_with_the_script_or_a_safe_path(shadowed: Path, tmp_path: Path, words: tuple[str, ...]) -> None:
    """The installed `envdoctor`, and `python -P -m` and `-I -m`, where Python leaves the folder out too."""
    ways = [("-c", "import sys; del sys.path[0]; from envdoctor.cli.main import main; sys.exit(main())")]
    if sys.version_info >= (3, 11):
        ways.append(("-P", "-m", "envdoctor"))
    for way in ways:
        mine, out = ran(shadowed, *way, *words, PYTHONPATH=str(ROOT), XDG_CACHE_HOME=str(tmp_path / "cache"))
        assert (mine, "Traceback" in out) == (set(), False)


@pytest.mark.parametrize("part", ["", ".", "{root}"])
def test_a_python_path_that_means_the_folder(shadowed: Path, tmp_path: Path, part: str) -> None:
    path = os.pathsep.join((part.format(root=shadowed), str(ROOT)))
    cache = str(tmp_path / "cache")
    own, _ = ran(shadowed, "-c", "from __future__ import annotations", PYTHONPATH=path)
    script = "import sys; sys.path.pop(0); from envdoctor.cli.main import main; sys.exit(main(['scan']))"
    mine, out = ran(shadowed, "-c", script, PYTHONPATH=path, XDG_CACHE_HOME=cache)
    assert mine <= own | {"gc", "__future__"}
    assert "NCCL_DETERMINISTIC" in out


def test_a_folder_that_is_gone(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    (tmp_path / "a.sh").write_text("export NCCL_DETERMINISTIC=1\n")
    command = f"cd {gone} && rmdir {gone} && {sys.executable} -m envdoctor scan {tmp_path}/a.sh"
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    run = subprocess.run(["bash", "-c", command], env=env, capture_output=True, text=True, check=False)
    assert (run.returncode, "Traceback" in run.stderr) in {(1, False), (2, False)}, run.stderr


WATCH = """
import sys
def hook(event, values):
    if event in ("open", "subprocess.Popen", "os.exec", "os.posix_spawn", "os.system", "os.fork", "os.forkpty", "os.spawn",
                 "socket.connect", "socket.bind", "socket.getaddrinfo", "socket.sendto", "pty.spawn", "ctypes.dlopen",
                 "os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.chmod", "os.link", "os.symlink", "os.truncate",
                 "import", "exec", "compile", "marshal.loads", "pickle.find_class", "webbrowser.open", "urllib.Request"):
        values = [getattr(v, "co_filename", v) for v in values]
        seen.append((event, *map(str, values[:4])))
seen = []
sys.addaudithook(hook)
from envdoctor.cli.main import main
try:
    main(sys.argv[1:])
finally:
    print("\\n".join("\\t".join(one).replace("\\n", " ") for one in seen), file=sys.__stderr__)
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A repository whose scripts name things outside of it, beside a neighbour that they name."""
    root = tmp_path / "project"
    write_everything(root)
    neighbour = tmp_path / "neighbour"
    neighbour.mkdir()
    (neighbour / "env.sh").write_text("export NCCL_DETERMINISTIC=1\n")
    (neighbour / "module.py").write_text("x = 1\n")
    (root / "out.sh").write_text(
        f"source ../neighbour/env.sh\nsource {neighbour}/env.sh\npython ../neighbour/module.py\n"
    )
    (root / "out.py").write_text("import sys\nsys.path.insert(0, '../neighbour')\nimport module\nmodule.x\n")
    (root / "link.sh").symlink_to(neighbour / "env.sh")
    (root / "folder").symlink_to(neighbour)
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    return root


@pytest.mark.parametrize(
    "words", [("scan", "--docs"), ("scan", "--no-cache"), ("scan", "--diff"), ("scan", "--show-launches")]
)
def test_what_the_interpreter_opens_and_starts(project: Path, tmp_path: Path, words: tuple[str, ...]) -> None:
    env = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
        "TMPDIR": str(tmp_path / "tmp"),
    }
    (tmp_path / "tmp").mkdir()
    run = subprocess.run(
        [sys.executable, "-c", WATCH, *words], cwd=project, env=env, capture_output=True, text=True, check=False
    )
    seen = [line.split("\t") for line in run.stderr.splitlines() if "\t" in line]
    assert len(seen) > 500
    files = [one[1:] for one in seen if one[0] == "open"]
    changing = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
    # By name with a mode, or by `os.open` with flags; a number is a file that was opened before.
    written = {
        name for name, mode, flags, *_ in files
        if not name.isdecimal() and (set(mode) & set("wxa+") if mode != "None" else int(flags) & changing)
    }  # fmt: skip
    allowed = (str(tmp_path / "cache"), str(tmp_path / "tmp"), os.devnull)
    assert {name for name in written if not name.startswith(allowed)} == set()
    assert [name for name, *_ in files if "neighbour" in name or name.endswith(("/link.sh", "/folder"))] == []
    assert {one[0] for one in seen} <= {"open", "os.posix_spawn", "import", "exec", "compile", "marshal.loads", "os.mkdir",
                                        "os.symlink", "os.remove", "os.rmdir", "os.rename"}  # fmt: skip
    assert {Path(one[1]).name for one in seen if one[0] == "os.posix_spawn"} == {"git"}
    for one in seen:
        if one[0] in ("os.mkdir", "os.remove", "os.rmdir", "os.rename"):
            assert one[1].startswith(allowed), one
        # Nothing of the project is compiled to be run: `ast` parses text without a file.
        if one[0] == "exec":
            assert not one[1].startswith(str(project)), one
        if one[0] == "import":
            assert not one[2].startswith(str(project)), one


@pytest.mark.skipif(not shutil.which("strace"), reason="strace is not installed")
@pytest.mark.parametrize("words", [("scan",), ("scan", "--since", "HEAD", "--no-cache")])
def test_what_the_kernel_sees(project: Path, tmp_path: Path, words: tuple[str, ...]) -> None:
    """The same from outside, git's own doing included."""
    own = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    subprocess.run(["git", "-C", str(project), *own, "commit", "-q", "--allow-empty", "-m", "x"], check=True)
    log = tmp_path / "log"
    calls = "trace=execve,execveat,connect,bind,sendto,openat,open,creat,unlink,rename,symlink,mkdir,rmdir,truncate"
    env = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
        "TMPDIR": str(tmp_path / "tmp"),
    }
    (tmp_path / "tmp").mkdir()
    command = ["strace", "-f", "-qq", "-o", str(log), "-e", calls, sys.executable, "-m", "envdoctor", *words]
    run = subprocess.run(command, cwd=project, env=env, capture_output=True, text=True, check=False)
    if not log.is_file() or "ptrace" in run.stderr:
        pytest.skip("nothing may be traced here")
    lines = [line.partition(" ")[2].strip() for line in log.read_text().splitlines()]
    started = {line.split('"')[1] for line in lines if line.startswith("execve") and line.endswith("= 0")}
    assert {Path(path).name.rstrip("0123456789.") for path in started} == {"python", "git"}
    assert not [line for line in lines if line.startswith(("connect", "bind", "sendto"))]
    opened = [line for line in lines if line.startswith(("open", "creat"))]
    assert len(opened) > 300
    assert not [line for line in opened if "/neighbour" in line]
    allowed = (str(tmp_path / "cache"), str(tmp_path / "tmp"), os.devnull, "/dev/tty")
    writing = [line.split('"')[1] for line in opened if "O_WRONLY" in line or "O_RDWR" in line or "O_CREAT" in line]
    assert {path for path in writing if not path.startswith(allowed) and "__pycache__" not in path} == set()
    changed = ("unlink", "rename", "symlink", "mkdir", "rmdir", "truncate")
    for line in lines:
        if line.startswith(changed) and line.endswith("= 0"):
            assert "__pycache__" in line or line.split('"')[-2].startswith(allowed), line
