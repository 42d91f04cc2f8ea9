"""Errors of ours: each is kept to the piece of work that it came up in, and told with what helps to mend it.

A reader or a rule that fails must not end a scan: all other files are judged and printed, and the exit status says that
something could not be done. What the error says is not told, since it may quote the file: its kind and its place in our
code are enough. With `ENVDOCTOR_TRACEBACK` in the environment all of it goes to standard error, for whoever mends it.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from envdoctor import __version__
from envdoctor.core.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType

MOST_NAMED = 20
"""Files that one message names; more than these met the same error."""
READING = "reading it"
USES = "looking for the names that it uses"
PACKAGE = f"{Path(__file__).parents[1]}{os.sep}"


def described(error: BaseException) -> str:
    """The kind of an error and where it came up: `KeyError in readers/modulefile_lua.py:112 (envdoctor ...)`."""
    _show(error)
    python = ".".join(map(str, sys.version_info[:3]))
    return f"{type(error).__name__} in {_place(error.__traceback__)} (envdoctor {__version__}, Python {python})"


def _place(trace: TracebackType | None) -> str:
    """The innermost line of our code, and that of another's code where it went on there."""
    ours = theirs = "?"
    while trace is not None:
        path, line = trace.tb_frame.f_code.co_filename, trace.tb_lineno
        if path.startswith(PACKAGE):
            ours, theirs = f"{path[len(PACKAGE) :]}:{line}", ""
        else:
            theirs = f"{Path(path).name}:{line}"
        trace = trace.tb_next
    return f"{theirs}, from {ours}" if theirs else ours


def _show(error: BaseException) -> None:
    if os.environ.get("ENVDOCTOR_TRACEBACK"):
        import traceback

        traceback.print_exception(error)


class InternalErrors:
    """Those of one scan. The same error in many files is one message that names them."""

    def __init__(self) -> None:
        self._paths: dict[tuple[str, str], dict[str, None]] = {}

    def __bool__(self) -> bool:
        return bool(self._paths)

    def guard(self, path: str, doing: str) -> Guard:
        """A block that an error leaves without ending the scan; `doing` says what is left undone: `reading it`."""
        return Guard(self, path, doing)

    def add(self, path: str, doing: str, error: BaseException) -> None:
        """Keep an error."""
        self._paths.setdefault((doing, described(error)), {})[path] = None

    def unread(self) -> list[str]:
        """The files of which not all is known that they read."""
        return [path for (doing, _), paths in self._paths.items() if doing in (READING, USES) for path in paths]

    def undone(self) -> Iterator[tuple[str, str]]:
        """Each file with what was left undone in it, and why."""
        for (doing, what), paths in self._paths.items():
            for path in paths:
                yield path, f"internal error while {doing}: {what}"

    def messages(self) -> list[str]:
        """One message an error, with the files and what to do."""
        return [
            f"{_named(list(paths))}: internal error while {doing}: {what}; everything else was done. {advice(what)}"
            for (doing, what), paths in self._paths.items()
        ]


def advice(what: str) -> str:
    """What to do about an error that was described."""
    if what.startswith("MemoryError"):
        return "There was not enough memory for it: give it more, or leave the file out (--exclude)"
    return "This is a fault of envdoctor: please report this line, with the file if others may see it"


def _named(paths: list[str]) -> str:
    more = f" and {len(paths) - MOST_NAMED} more" if len(paths) > MOST_NAMED else ""
    return ", ".join(paths[:MOST_NAMED]) + more


class Guard:
    """See `InternalErrors.guard`. What the user has to mend, and whatever ends the program, goes on its way."""

    __slots__ = ("_doing", "_errors", "_path")

    def __init__(self, errors: InternalErrors, path: str, doing: str) -> None:
        self._errors, self._path, self._doing = errors, path, doing

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> bool:
        if error is None or not isinstance(error, Exception) or isinstance(error, (UserError, BrokenPipeError)):
            return False
        self._errors.add(self._path, self._doing, error)
        return True
