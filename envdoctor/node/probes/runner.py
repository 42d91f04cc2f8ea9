"""Helper commands of a node: run for real with bounds, or answered from a recording.

A helper is optional: that it is missing, hangs or prints garbage is a fact for the probe that asked, never an error.
"""

from __future__ import annotations

import contextlib
import glob
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from envdoctor.knowledge.files import loads_toml
from envdoctor.node.probes.children import canonical
from envdoctor.node.probes.files import natural

OUTPUT_LIMIT = 4 << 20
"""Bytes kept of each stream; a helper that prints more is stopped."""
MISSING = 127


@dataclass(frozen=True, slots=True)
class CommandResult:
    """What a command did. `rc` is its exit status, 127 where there is no such command, negative for a signal."""

    argv: tuple[str, ...]
    rc: int
    stdout: str = ""
    stderr: str = ""
    timed_out: bool = False
    truncated: bool = False

    @property
    def ok(self) -> bool:
        """Whether it ended by itself, with status 0 and all of its output kept."""
        return self.rc == 0 and not self.timed_out and not self.truncated

    @property
    def failure(self) -> str:
        """Why its output cannot be used, in words; "" if it can."""
        name = self.argv[0].rpartition("/")[2] if self.argv else "command"
        if self.timed_out:
            return f"{name} did not answer in time"
        if self.truncated:
            return f"{name} printed more than {OUTPUT_LIMIT >> 20} MiB"
        if self.rc == MISSING:
            return f"{name} is not here"
        line = next((x.strip() for x in (self.stderr or self.stdout).splitlines()[::-1] if x.strip()), "")
        return f"{name} ended with status {self.rc}{': ' + line[:200] if line else ''}" if self.rc else ""


class CommandRunner(Protocol):
    """What probes need of the outside: run a helper, and what earlier communicator runs on the node printed."""

    def run(self, argv: Sequence[str], timeout: float) -> CommandResult:
        """Run `argv` for at most `timeout` seconds. Never raises."""
        ...

    def logs(self) -> Sequence[tuple[str, str]]:
        """(name, text) of NCCL/RCCL debug output of runs in this environment, best evidence first."""
        ...


@dataclass(slots=True)
class SystemRunner:
    """Runs helpers on this machine: own process group, no input, bounded time and output, nothing left behind.

    An argument with `*` is expanded to the files it matches, as a shell does.
    """

    environment: Mapping[str, str] | None = None
    ran: list[CommandResult] = field(default_factory=list)

    def run(self, argv: Sequence[str], timeout: float) -> CommandResult:
        """See `Runner.run`. Output that is no UTF-8 is replaced."""
        result = self._run(tuple(argv), timeout)
        self.ran.append(result)
        return result

    def logs(self) -> Sequence[tuple[str, str]]:
        """None: no communicator has run yet."""
        return ()

    def _run(self, argv: tuple[str, ...], timeout: float) -> CommandResult:
        try:
            process = subprocess.Popen(
                expanded(argv), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                env=self.environment, start_new_session=True,
            )  # fmt: skip
        except FileNotFoundError as error:
            return CommandResult(argv, MISSING, stderr=str(error.strerror))
        except (OSError, ValueError, IndexError) as error:
            return CommandResult(argv, 126, stderr=str(error))
        try:
            streams, timed_out, truncated = _drain(process, time.monotonic() + timeout)
        finally:
            rc = _stop(process)
        out, err = (bytes(s).decode("utf-8", "replace") for s in streams)
        return CommandResult(argv, rc, out, err, timed_out, truncated)


def expanded(argv: Sequence[str]) -> list[str]:
    """Arguments with `*` replaced by the files they match; kept as they are where nothing matches."""
    words: list[str] = []
    for word in argv:
        found = sorted(glob.glob(word), key=natural) if "*" in word and word.startswith("/") else []  # noqa: PTH207
        words += found or [word]
    return words


def _drain(process: subprocess.Popen[bytes], deadline: float) -> tuple[list[bytearray], bool, bool]:
    """Both streams until they close, the process ends, the deadline passes or a stream grows too long."""
    streams = [bytearray(), bytearray()]
    with selectors.DefaultSelector() as selector:
        for pipe, kept in zip((process.stdout, process.stderr), streams, strict=True):
            assert pipe is not None
            os.set_blocking(pipe.fileno(), False)
            selector.register(pipe, selectors.EVENT_READ, kept)
        while selector.get_map():
            ended = process.poll() is not None
            ready = selector.select(0 if ended else max(0.0, min(0.05, deadline - time.monotonic())))
            for key, _ in ready:
                if not _take(key.fd, key.data):
                    selector.unregister(key.fileobj)
            if any(len(kept) > OUTPUT_LIMIT for kept in streams):
                return [kept[:OUTPUT_LIMIT] for kept in streams], False, True
            if ended and not ready:  # a grandchild may keep the pipe open for ever
                break
            if time.monotonic() > deadline:
                return streams, True, False
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(max(0.0, deadline - time.monotonic()))
        return streams, False, False
    return streams, True, False


def _take(descriptor: int, kept: bytearray) -> bool:
    """Read what is there; False at the end of the stream."""
    try:
        data = os.read(descriptor, 1 << 16)
    except BlockingIOError:
        return True
    except OSError:
        return False
    kept += data
    return bool(data)


def _stop(process: subprocess.Popen[bytes]) -> int:
    """End what is left of the process group; the exit status, or -9 for a process that cannot be ended."""
    with contextlib.suppress(OSError):
        os.killpg(process.pid, signal.SIGKILL)
    for pipe in (process.stdout, process.stderr):
        if pipe is not None:
            pipe.close()
    try:
        # A process in an uninterruptible system call of a broken driver does not even die of SIGKILL.
        return process.wait(1.0)
    except subprocess.TimeoutExpired:
        return -signal.SIGKILL


@dataclass(slots=True)
class RecordedRunner:
    """Answers from the `commands/` folder of a recorded node; a command that is not there is a missing one."""

    folder: Path
    answers: dict[tuple[str, ...], CommandResult] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for entry in _index(self.folder):
            words = entry.get("argv")
            argv = tuple(str(word) for word in words) if isinstance(words, list) else ()
            self.answers.setdefault(argv, self._answer(argv, entry))

    def run(self, argv: Sequence[str], timeout: float) -> CommandResult:
        """The recorded answer; `timeout` has no meaning here."""
        words = canonical(argv)
        return self.answers.get(words) or CommandResult(words, MISSING, stderr="not recorded")

    def logs(self) -> Sequence[tuple[str, str]]:
        """Output of the recorded AllReduce runs. A run under another LD_PRELOAD tells of another environment."""
        runs = [r for argv, r in self.answers.items() if argv[1:2] == ("allreduce.py",)]
        return [(" ".join(r.argv), r.stdout) for r in runs if "LD_PRELOAD" not in " ".join(r.argv)]

    def _answer(self, argv: tuple[str, ...], entry: Mapping[str, object]) -> CommandResult:
        rc = entry.get("rc")
        return CommandResult(
            argv, rc if isinstance(rc, int) else 0, self._text(entry.get("file")), self._text(entry.get("stderr")),
            timed_out=entry.get("timed_out") is True, truncated=entry.get("truncated") is True,
        )  # fmt: skip

    def _text(self, name: object) -> str:
        if not isinstance(name, str) or not name or "/" in name:
            return ""
        try:
            return (self.folder / name).read_text(encoding="utf-8", errors="replace")
        except OSError:
            return ""


def _index(folder: Path) -> list[Mapping[str, object]]:
    """The `[[command]]` tables of `index.toml`; [] where there is none that can be read."""
    try:
        data = loads_toml((folder / "index.toml").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return []
    commands = data.get("command")
    return [c for c in commands if isinstance(c, dict)] if isinstance(commands, list) else []
