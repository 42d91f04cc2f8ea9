"""Starts fork servers in the user's interpreter and runs experiments in them, leaving no process behind.

Each server leads a process group of its own, so that a Ctrl-C in the terminal reaches envdoctor alone, which then
ends the group. If envdoctor is killed outright, the kernel kills the servers and their ranks (`PR_SET_PDEATHSIG`; the
"parent" is the thread that started them, so a thread that ends takes its servers along).
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

START = Path(__file__).parent.parent / "rank" / "start.py"
IMPORT_TIMEOUT = 120.0
SURVEY_TIMEOUT = 40.0
GRACE = 5.0
"""Seconds that the other ranks get after one has failed."""
PATIENCE = 15.0
"""Seconds beyond a launch's own limit after which the server itself counts as lost."""


class ServerError(Exception):
    """A fork server that could not start or was lost; `reason` is one word, the message says more."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


class Server:
    """One fork server: an interpreter that has imported torch under one environment."""

    def __init__(self, python: Sequence[str], environment: Mapping[str, str], directory: Path) -> None:
        """Start it; `wait_ready` waits for its import. `directory` must exist and is where its output goes."""
        self.directory = directory
        self.output = directory / "server.err"
        ours, theirs = socket.socketpair()
        command = [*python, str(START), str(os.getpid()), str(theirs.fileno())]
        try:
            with theirs, self.output.open("wb") as output:
                self.process = subprocess.Popen(
                    command, env=dict(environment), cwd=directory, pass_fds=[theirs.fileno()], start_new_session=True,
                    stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                )  # fmt: skip
        except OSError as error:
            ours.close()
            raise ServerError("no-interpreter", f"cannot start {python[0]}: {error.strerror}") from error
        self.connection = ours
        self.buffer = b""
        self.ready: dict[str, Any] | None = None

    def __enter__(self) -> Server:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def receive(self, timeout: float) -> dict[str, Any]:
        """The next message of the server. Raises ServerError when it is late or gone."""
        deadline = time.monotonic() + timeout
        while b"\n" not in self.buffer:
            self.connection.settimeout(max(0.01, deadline - time.monotonic()))
            try:
                data = self.connection.recv(1 << 16)
            except TimeoutError:
                raise ServerError("no-answer", f"no answer within {timeout:.0f} s") from None
            except OSError:
                data = b""
            if not data:
                raise ServerError("server-died", self.last_words())
            self.buffer += data
        line, self.buffer = self.buffer.split(b"\n", 1)
        message: dict[str, Any] = json.loads(line)
        return message

    def last_words(self) -> str:
        """The last line that a server wrote before it ended."""
        lines = self.output.read_text(errors="replace").strip().splitlines()
        return lines[-1] if lines else "the process that imports torch ended without a word"

    def wait_ready(self, timeout: float = IMPORT_TIMEOUT) -> dict[str, Any]:
        """Wait for the import of torch; what the server says of it. Raises ServerError if there is no torch."""
        if self.ready is None:
            message = self.receive(timeout)
            if message["event"] != "ready":
                raise ServerError(str(message["reason"]), str(message["text"]))
            self.ready = message
        return self.ready

    def ask(self, job: Mapping[str, Any], timeout: float) -> dict[str, Any]:
        """Send one job and wait for its end, at most `timeout` seconds and some patience."""
        try:
            self.connection.settimeout(timeout)
            self.connection.sendall(json.dumps(job).encode() + b"\n")
        except OSError as error:
            raise ServerError("server-died", self.last_words()) from error
        return self.receive(timeout + PATIENCE)

    def survey(self, timeout: float = SURVEY_TIMEOUT) -> dict[str, Any]:
        """What torch sees of the node. Raises ServerError with the reason where it cannot say."""
        target = self.directory / "survey.json"
        answer = self.ask({"op": "survey", "file": str(target), "timeout": timeout}, timeout)
        outcome = answer["ranks"][0]
        if outcome["hung"]:
            raise ServerError("gpu-hangs", f"the GPUs did not answer within {timeout:.0f} s")
        if outcome["exit"] != 0 or not target.exists():
            lines = read_text(Path(f"{target}.err")).strip().splitlines() or [f"ended with {ending(outcome)}"]
            raise ServerError("gpu-fails", lines[-1])
        found: dict[str, Any] = json.loads(target.read_text())
        return found

    def launch(self, job: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Run one experiment; how each rank ended."""
        ended: list[dict[str, Any]] = self.ask({"op": "launch", "grace": GRACE, **job}, float(job["timeout"]))["ranks"]
        return ended

    def close(self) -> list[int]:
        """End the server and its ranks; ids of processes that even SIGKILL could not end."""
        self.connection.close()
        if wait_for(self.process, 0.5):
            # The group may outlive its leader by ranks that the kernel is about to kill.
            kill_group(self.process.pid, signal.SIGKILL)
            return []
        for number, patience in ((signal.SIGTERM, 1.0), (signal.SIGKILL, 5.0)):
            kill_group(self.process.pid, number)
            if wait_for(self.process, patience):
                kill_group(self.process.pid, signal.SIGKILL)
                return []
        return [self.process.pid]


def wait_for(process: subprocess.Popen[bytes], seconds: float) -> bool:
    """True if the process has ended within the time."""
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        return False
    return True


def kill_group(leader: int, number: int) -> None:
    """Send a signal to a process group, which may be empty by now."""
    try:
        os.killpg(leader, number)
    except (ProcessLookupError, PermissionError):
        return


def ending(outcome: Mapping[str, Any]) -> str:
    """How a process ended, in words."""
    number = outcome.get("signal")
    if number is not None:
        return f"signal {number} ({signal.Signals(number).name})"
    return f"exit status {outcome.get('exit')}"


def read_text(path: Path, limit: int = 8 << 20) -> str:
    """A file's text, at most `limit` bytes; empty if there is none."""
    try:
        with path.open("rb") as file:
            return file.read(limit).decode(errors="replace")
    except OSError:
        return ""
