"""Progress of long scans, on a terminal and nowhere else: what is being done and how far it is, gone when it is done.

Nothing is shown in the first second, so that short scans stay silent and never import rich.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

T = TypeVar("T")
AFTER = 1.0
"""Seconds until something is shown."""


class Watcher:
    """Counts what is gone through; `with` it, so that nothing is left on the terminal."""

    def __init__(self, shown: bool) -> None:
        self._start = time.monotonic() if shown else float("inf")
        self._progress: Progress | None = None
        self._task: TaskID | None = None

    def __enter__(self) -> Watcher:
        return self

    def __exit__(self, *_: Any) -> None:
        if self._progress is not None:
            self._progress.stop()
            self._progress = None

    def __call__(self, items: Sequence[T], doing: str) -> Iterable[T]:
        """The items one after the other; `doing` says what happens to them."""
        return items if self._start == float("inf") else self._counted(items, doing)

    def _counted(self, items: Sequence[T], doing: str) -> Iterator[T]:
        for number, item in enumerate(items):
            if self._progress is None and time.monotonic() - self._start > AFTER:
                self._progress = _bar()
                self._progress.start()
                self._task = self._progress.add_task("")
            if self._progress is not None and self._task is not None:
                self._progress.update(self._task, description=doing, completed=number, total=len(items))
            yield item


def _bar() -> Progress:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn

    columns = (SpinnerColumn("line"), TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    return Progress(*columns, console=Console(stderr=True), transient=True)


def is_wanted() -> bool:
    """Whether somebody sits at a terminal that can show it. CI systems set CI, and keep all that is ever written."""
    return sys.stderr.isatty() and not os.environ.get("CI") and os.environ.get("TERM", "dumb") != "dumb"
