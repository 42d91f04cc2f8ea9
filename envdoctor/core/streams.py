"""What a program is started with: standard streams that are closed, full or without a reader, and ignored signals.

What cannot be delivered must show in the exit status, and a number that Python would give by itself (1 for an error
that nobody caught, 120 for a stream that cannot be flushed at the end) says something else or nothing.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TextIO

NOT_DONE = 2
NO_READER = 141
"""What a shell shows for a program that a broken pipe has ended (128 and SIGPIPE)."""


class Undeliverable(Exception):  # noqa: N818  what is wrong is not here
    """What is printed on standard output cannot be written. No OSError: some printers take those for unimportant."""


class StandardOutput:
    """Standard output whose errors say whose they are; `with` it, in place of `sys.stdout`."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def __enter__(self) -> None:
        sys.stdout = self

    def __exit__(self, *_: object) -> None:
        sys.stdout = self._stream

    def write(self, text: Any) -> int:
        """Write text, or bytes if this stands for a buffer. `Undeliverable`; `BrokenPipeError`: nobody reads."""
        return int(self._tried(self._stream.write, text))

    def flush(self) -> None:
        """Write what was not written yet."""
        self._tried(self._stream.flush)

    @property
    def buffer(self) -> StandardOutput:
        """The same for bytes."""
        return StandardOutput(self._stream.buffer)

    def _tried(self, do: Callable[..., Any], *values: Any) -> Any:
        try:
            return do(*values)
        except BrokenPipeError:
            raise
        except OSError as error:
            raise Undeliverable(error.strerror) from error

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def complete() -> None:
    """Give closed streams something that fails as they do, before a file of ours gets their number."""
    _wait_for_children()
    for number, mode in ((0, os.O_WRONLY), (1, os.O_RDONLY), (2, os.O_WRONLY)):
        if not _is_open(number):
            os.open(os.devnull, mode)  # the lowest number that is free: this one
    sys.stdin = sys.stdin or os.fdopen(0, closefd=False)
    sys.stdout = sys.stdout or os.fdopen(1, "w", closefd=False)
    sys.stderr = sys.stderr or os.fdopen(2, "w", closefd=False)


def _wait_for_children() -> None:
    """Of a parent that ignores the ends of its children we would learn nothing of ours."""
    import _signal  # type: ignore[import-not-found]  # `signal` makes enumerations, which takes longer than git

    if hasattr(_signal, "SIGCHLD") and _signal.getsignal(_signal.SIGCHLD) == _signal.SIG_IGN:
        _signal.signal(_signal.SIGCHLD, _signal.SIG_DFL)


class InOrder:
    """While it is open, a request to end (SIGTERM, SIGHUP) ends the program like an error: nothing is left behind."""

    def __init__(self) -> None:
        self._before: dict[int, Any] = {}

    def __enter__(self) -> None:
        import _signal

        for name in ("SIGTERM", "SIGHUP"):
            number = getattr(_signal, name, None)
            # One that is ignored (nohup) stays so.
            if number is not None and _signal.getsignal(number) == _signal.SIG_DFL:
                self._before[number] = _signal.signal(number, _end)

    def __exit__(self, *_: object) -> None:
        import _signal

        for number, handler in self._before.items():
            _signal.signal(number, handler)


def _end(number: int, _: object) -> None:
    raise SystemExit(128 + number)


def _is_open(number: int) -> bool:
    try:
        os.fstat(number)
    except OSError:
        return False
    return True


def say(message: str) -> None:
    """A line on standard error. Where nobody can read it, the exit status still can be."""
    try:
        print(f"envdoctor: {message}", file=sys.stderr)
    except OSError:
        _let_go(sys.stderr, 2)


def finished(status: int) -> int:
    """The exit status, once everything that was printed has arrived; another one where it cannot."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader went away (`| head`): nothing is wrong.
        _let_go(sys.stdout, 1)
        status = NO_READER
    except OSError as error:
        status = not_delivered(error.strerror)
        _let_go(sys.stdout, 1)
    try:
        sys.stderr.flush()
    except OSError:
        _let_go(sys.stderr, 2)
    return status


def not_delivered(reason: object) -> int:
    """Say that standard output takes nothing; the exit status."""
    say(f"standard output cannot be written: {reason}")
    return NOT_DONE


def _let_go(stream: TextIO, number: int) -> None:
    """Send what a stream still holds to nowhere, so that the interpreter does not fail on it once more at its end."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), number)
        stream.flush()
    except (OSError, ValueError):
        return
