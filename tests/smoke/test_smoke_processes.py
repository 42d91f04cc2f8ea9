"""No process is left behind, whatever ends envdoctor: the driver runs as a process of its own and is ended."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path

import pytest
from smoke_lab import FAULTS, has_torch, marked

from envdoctor.node.smoke.run.driver import Server, ServerError

ROOT = Path(__file__).parent.parent.parent
DRIVER = """
import os, sys
from pathlib import Path
from smoke_lab import CPU, SMALL
from envdoctor.node.smoke.model import Experiment, SmokeRequest
from envdoctor.node.smoke.run.runner import ExperimentRunner, SmokeSetup
folder, fault, stop = sys.argv[1:]
if stop == "handled":
    from envdoctor.node.smoke.__main__ import stop
    import signal
    signal.signal(signal.SIGTERM, stop)
with ExperimentRunner(SmokeRequest(), SmokeSetup(cpu=True, hook=fault), Path(folder)) as runner:
    print(runner.run(Experiment("user", "user", "", SMALL, timeout=300), CPU).status, flush=True)
"""


def wait_until(condition: object, seconds: float) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():  # type: ignore[operator]
            return True
        time.sleep(0.05)
    return False


def assert_ended(mark: str, seconds: float) -> None:
    """All processes of a test end by themselves; if not, the test ends them and fails."""
    ended = wait_until(lambda: not marked(mark), seconds)
    for pid in marked(mark):
        os.kill(pid, signal.SIGKILL)
    assert ended


@pytest.mark.skipif(not has_torch(), reason="torch is not installed for this interpreter")
@pytest.mark.parametrize("fault", ["hang", "hang_in_native_code"])
@pytest.mark.parametrize(
    ("number", "handling"),
    [(signal.SIGINT, ""), (signal.SIGTERM, "handled"), (signal.SIGTERM, ""), (signal.SIGHUP, ""), (signal.SIGKILL, "")],
)
def test_nothing_is_left(tmp_path: Path, fault: str, number: int, handling: str) -> None:
    mark = f"mark-{uuid.uuid4()}"
    paths = os.pathsep.join([str(ROOT), str(Path(__file__).parent)])
    driver = subprocess.Popen(
        [sys.executable, "-c", DRIVER, str(tmp_path), str(FAULTS / f"{fault}.py"), handling],
        env={**os.environ, "ENVDOCTOR_TEST": mark, "PYTHONPATH": paths}, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    stuck = "bf16" if fault == "hang" else "begin"
    reports = lambda: [path.read_text() for path in tmp_path.glob("*/rank-1.jsonl")]  # noqa: E731
    assert wait_until(lambda: any(stuck in text for text in reports()), 60), "the ranks did not get to the fault"
    assert len(marked(mark)) == 6, "driver, server and four ranks"
    driver.send_signal(number)
    driver.wait(20)
    assert_ended(mark, 10)


@pytest.mark.slow
def test_close_ends_a_server_that_imports_for_ever(tmp_path: Path) -> None:
    (tmp_path / "torch.py").write_text("import signal, time\nsignal.signal(15, signal.SIG_IGN)\ntime.sleep(1000)\n")
    mark = f"mark-{uuid.uuid4()}"
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "ENVDOCTOR_TEST": mark}
    with Server([sys.executable], environment, tmp_path) as server:
        with pytest.raises(ServerError, match="no answer within 1 s"):
            server.wait_ready(1)
        assert len(marked(mark)) == 1
    assert marked(mark) == []


@pytest.mark.parametrize(
    ("torch", "reason", "words"),
    [
        ("raise ModuleNotFoundError(\"No module named 'torch'\", name='torch')", "no-torch", "No module named"),
        ("import a_module_that_is_not_there", "torch-broken", "a_module_that_is_not_there"),
        ("raise ImportError('libamdhip64.so.6: cannot open shared object file')", "torch-broken", "libamdhip64"),
        ("raise RuntimeError('numpy is of another age')", "server-died", "numpy is of another age"),
        ("import os; os._exit(1)", "server-died", "without a word"),
        ("import os; os.abort()", "server-died", "without a word"),
    ],
)
def test_a_torch_that_cannot_be_imported(tmp_path: Path, torch: str, reason: str, words: str) -> None:
    (tmp_path / "torch.py").write_text(torch)
    with Server([sys.executable], {**os.environ, "PYTHONPATH": str(tmp_path)}, tmp_path) as server:
        with pytest.raises(ServerError, match=words) as caught:
            server.wait_ready()
        assert caught.value.reason == reason


def test_an_interpreter_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ServerError, match="No such file") as caught:
        Server([str(tmp_path / "python")], os.environ, tmp_path)
    assert caught.value.reason == "no-interpreter"


def test_modules_of_ours_hide_none_of_the_users(tmp_path: Path) -> None:
    """A user's `hashing` or `inputs` must stay importable, and ours must not come first."""
    (tmp_path / "hashing.py").write_text("MINE = True\n")
    (tmp_path / "torch.py").write_text(
        "import hashing, sys\n"
        "raise RuntimeError(f'user module {hashing.MINE}, {[path for path in sys.path if path.endswith(\"rank\")]}')\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    with (
        Server([sys.executable], environment, tmp_path) as server,
        pytest.raises(ServerError, match=r"module True, \[\]"),
    ):
        server.wait_ready()


def test_a_server_that_still_imports_dies_with_its_parent(tmp_path: Path) -> None:
    """It cannot see its channel close yet, so only the kernel can end it."""
    (tmp_path / "torch.py").write_text("import time\ntime.sleep(1000)\n")
    mark = f"mark-{uuid.uuid4()}"
    code = (
        "import os, sys, time\nfrom pathlib import Path\nfrom envdoctor.node.smoke.run.driver import Server\n"
        "server = Server([sys.executable], {**os.environ, 'PYTHONPATH': sys.argv[1]}, Path(sys.argv[1]))\n"
        "time.sleep(1000)\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "ENVDOCTOR_TEST": mark}
    driver = subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], env=environment)
    assert wait_until(lambda: len(marked(mark)) == 2, 20)
    time.sleep(0.5)
    driver.kill()
    driver.wait(10)
    assert_ended(mark, 5)
