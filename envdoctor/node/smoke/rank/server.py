"""The fork server: imports torch once, then forks one process a rank for each experiment.

The chain of `PR_SET_PDEATHSIG` makes the kernel kill every process when its parent dies, whatever it dies of: the
server with envdoctor, each rank with the server. Closing the channel does the same in good order.
"""

from __future__ import annotations

import ctypes
import faulthandler
import json
import os
import select
import signal
import socket
import time
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

PR_SET_PDEATHSIG = 1
POLL = 0.02
KILL_AFTER = 1.0
"""Seconds from SIGTERM to SIGKILL."""


class ClosedError(Exception):
    """The parent closed the channel."""


def die_with(parent: int) -> None:
    """Have the kernel kill this process when `parent` dies; leave at once if it is dead already."""
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)


class Channel:
    """JSON lines over a socket."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self.buffer = b""

    def send(self, message: dict[str, Any]) -> None:
        """Send one message."""
        try:
            self.connection.sendall(json.dumps(message).encode() + b"\n")
        except OSError as error:
            raise ClosedError from error

    def receive(self) -> dict[str, Any]:
        """The next message; raises ClosedError at the end."""
        while b"\n" not in self.buffer:
            data = self.connection.recv(1 << 16)
            if not data:
                raise ClosedError
            self.buffer += data
        line, self.buffer = self.buffer.split(b"\n", 1)
        message: dict[str, Any] = json.loads(line)
        return message

    def closed(self, seconds: float) -> bool:
        """Wait up to `seconds`; True if the parent has gone. Nothing else may come while ranks run."""
        ready, _, _ = select.select([self.connection], [], [], seconds)
        return bool(ready) and not self.connection.recv(1, socket.MSG_PEEK)


def fork(work: Callable[[], int], outputs: tuple[str, str], environment: dict[str, str] | None = None) -> int:
    """Fork a process that runs `work` with its own output files and environment; its process id."""
    server = os.getpid()
    pid = os.fork()
    if pid:
        return pid
    status = 70
    try:
        die_with(server)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        for descriptor in (1, 2):
            file = os.open(outputs[descriptor - 1], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            os.dup2(file, descriptor)
        faulthandler.register(signal.SIGUSR1, all_threads=False)
        if environment is not None:
            adopt(environment)
        status = work()
    finally:
        if status == 70:
            traceback.print_exc()
        os._exit(status)


def adopt(environment: dict[str, str]) -> None:
    """Make this the environment, touching what differs only: a trace shall show the library's doings, not ours."""
    for name in [name for name in os.environ if name not in environment]:
        del os.environ[name]
    for name, value in environment.items():
        if os.environ.get(name) != value:
            os.environ[name] = value


def signal_all(pids: dict[int, int], number: int) -> None:
    """Send a signal to processes that have not been reaped, so that no id can have been used again."""
    for pid in pids.values():
        os.kill(pid, number)


def reap(pids: dict[int, int], ended: dict[int, dict[str, Any]], start: float) -> None:
    """Move ranks that have ended from `pids` (rank -> process id) to `ended`."""
    for rank, pid in list(pids.items()):
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            killed = os.WTERMSIG(status) if os.WIFSIGNALED(status) else None
            code = os.WEXITSTATUS(status) if os.WIFEXITED(status) else None
            seconds = round(time.monotonic() - start, 3)
            ended[rank] = {"rank": rank, "pid": pid, "exit": code, "signal": killed, "hung": False, "seconds": seconds}
            del pids[rank]


def stop(pids: dict[int, int], ended: dict[int, dict[str, Any]], start: float) -> None:
    """End what still runs: SIGUSR1 for its stack, SIGTERM, SIGKILL. One in the kernel may outlast them all."""
    waiting = dict(pids)
    steps = ((signal.SIGUSR1, 0.2), (signal.SIGTERM, KILL_AFTER), (signal.SIGKILL, 3.0))
    for number, patience in steps:
        signal_all(pids, number)
        end = time.monotonic() + patience
        while pids and time.monotonic() < end:
            reap(pids, ended, start)
            time.sleep(POLL)
    for rank, pid in waiting.items():
        outcome = ended.setdefault(rank, {"rank": rank, "pid": pid, "exit": None, "signal": None, "seconds": None})
        outcome["hung"] = True
        outcome["unkillable"] = rank in pids


def wait(channel: Channel, pids: dict[int, int], timeout: float, grace: float) -> list[dict[str, Any]]:
    """Wait for all ranks, at most `timeout` seconds, and `grace` seconds after one has failed."""
    start = time.monotonic()
    deadline = start + timeout
    ended: dict[int, dict[str, Any]] = {}
    gone = failed = False
    while pids and time.monotonic() < deadline and not gone:
        gone = channel.closed(POLL)
        reap(pids, ended, start)
        if not failed and any(outcome["exit"] != 0 for outcome in ended.values()):
            failed = True
            deadline = min(deadline, time.monotonic() + grace)
    if gone:
        signal_all(pids, signal.SIGKILL)
        raise ClosedError
    stop(pids, ended, start)
    return [ended[rank] for rank in sorted(ended)]


def launch(channel: Channel, job: dict[str, Any]) -> list[dict[str, Any]]:
    """Run one experiment; how each rank ended."""
    from . import worker

    directory = Path(job["directory"])
    pids: dict[int, int] = {}
    for entry in job["ranks"]:
        rank, device = int(entry["rank"]), entry["device"]
        outputs = (str(directory / f"rank-{rank}.out"), str(directory / f"rank-{rank}.err"))

        def work(rank: int = rank, device: int | None = device) -> int:
            channel.connection.close()
            return worker.run(job, rank, device)

        pids[rank] = fork(work, outputs, entry["environment"])
    return wait(channel, pids, float(job["timeout"]), float(job["grace"]))


def survey(channel: Channel, job: dict[str, Any]) -> list[dict[str, Any]]:
    """Write what torch sees of the node to `job["file"]`, from a forked process."""
    target = Path(job["file"])

    def work() -> int:
        from . import survey as survey_module

        channel.connection.close()
        target.write_text(json.dumps(survey_module.facts()))
        return 0

    pid = fork(work, (f"{target}.out", f"{target}.err"))
    return wait(channel, {0: pid}, float(job["timeout"]), 0.0)


def serve(parent: int, descriptor: int) -> int:
    """Import torch, say so, and do what the parent asks for until it closes the channel."""
    die_with(parent)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    channel = Channel(socket.socket(fileno=descriptor))
    start = time.monotonic()
    try:
        channel.send(imported(start))
        while True:
            job = channel.receive()
            begin = time.monotonic()
            outcomes = survey(channel, job) if job["op"] == "survey" else launch(channel, job)
            channel.send({"event": "ended", "ranks": outcomes, "seconds": round(time.monotonic() - begin, 3)})
    except ClosedError:
        return 0


def imported(start: float) -> dict[str, Any]:
    """Import torch; how long it took, or why there is none."""
    try:
        import torch
        import torch.distributed
    except ImportError as error:
        missing = isinstance(error, ModuleNotFoundError) and error.name == "torch"
        return {"event": "failed", "reason": "no-torch" if missing else "torch-broken", "text": str(error)}
    from . import survey as _survey  # loaded before the first fork, once for all ranks
    from . import worker as _worker

    assert _survey and _worker
    return {"event": "ready", "torch": torch.__version__, "seconds": round(time.monotonic() - start, 3)}
