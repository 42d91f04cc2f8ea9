"""Runs a command under the shim and waits for it, passing on the signals that are meant for it."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

FORWARDED = ("SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2", "SIGCONT")
"""Sent to the command as they come: schedulers warn of the end of an allocation with them."""
FROM_TERMINAL = ("SIGINT", "SIGQUIT")
"""The terminal sends these to the command itself; they are passed on only where there is no terminal."""


class LaunchError(Exception):
    """The command cannot be started; the text says why."""


@dataclass(frozen=True, slots=True)
class Ended:
    """A command that has ended. `status` is its exit status, or 128 and the number of the signal that killed it."""

    status: int
    pid: int
    started: float
    """Real-time second at which it was started."""
    program: str


def environment_for(environment: Mapping[str, str], shim: Path, records: Path) -> dict[str, str]:
    """An environment that preloads the shim before what is preloaded already."""
    others = environment.get("LD_PRELOAD", "")
    preload = (
        others if str(shim) in others.replace(" ", ":").split(":") else ":".join(filter(None, [str(shim), others]))
    )
    return {**environment, "LD_PRELOAD": preload, "ENVDOCTOR_TRACE": str(records)}


def run(command: Sequence[str], environment: Mapping[str, str]) -> Ended:
    """Run a command to its end. Raises LaunchError where it does not exist or cannot be run."""
    program = shutil.which(command[0])
    if program is None:
        kind = "not executable" if os.path.exists(command[0]) and "/" in command[0] else "no such command"  # noqa: PTH110
        raise LaunchError(f"{command[0]}: {kind}")
    with _Signals() as signals:
        started = time.time()
        try:
            process = subprocess.Popen(command, env=environment)
        except OSError as error:
            wrong = "not a program" if error.errno == errno.ENOEXEC else error.strerror
            raise LaunchError(f"{command[0]}: {wrong}") from error
        signals.pass_to(process)
        code = process.wait()
    return Ended(code if code >= 0 else 128 - code, process.pid, started, os.path.realpath(program))


class _Signals:
    """While the command runs, signals go to it and do not end us: its report is still to be made."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._early: list[int] = []
        self._before: dict[int, Any] = {}

    def __enter__(self) -> _Signals:
        for names, handler in ((FORWARDED, self._forward), (FROM_TERMINAL, self._leave_to_terminal)):
            for number in (getattr(signal, name) for name in names):
                if signal.getsignal(number) is not signal.SIG_IGN:
                    self._before[number] = signal.signal(number, handler)
        return self

    def __exit__(self, *_: object) -> None:
        for number, previous in self._before.items():
            signal.signal(number, previous)

    def pass_to(self, process: subprocess.Popen[bytes]) -> None:
        """Signals go to this process from now on, those that came while it was started included."""
        self._process = process
        while self._early:
            process.send_signal(self._early.pop(0))

    def _forward(self, number: int, _frame: FrameType | None) -> None:
        if self._process is None:
            self._early.append(number)
        else:
            self._process.send_signal(number)

    def _leave_to_terminal(self, number: int, frame: FrameType | None) -> None:
        if not _in_foreground():
            self._forward(number, frame)


def _in_foreground() -> bool:
    """Whether the terminal sends Ctrl-C to this process and its children."""
    try:
        return os.tcgetpgrp(sys.stderr.fileno()) == os.getpgrp()
    except (OSError, ValueError):
        return False
