"""What is being looked at, on standard error, while it takes its time; only where a person watches a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from envdoctor.node.probes.base import ProbeStatus


@contextmanager
def progress(wanted: bool = True) -> Iterator[Callable[[ProbeStatus], None] | None]:
    """A function to tell of each probe that ended; None where nobody watches."""
    if not (wanted and sys.stderr.isatty()):
        yield None
        return
    from rich.console import Console

    console = Console(stderr=True)  # it follows NO_COLOR and TERM=dumb itself
    with console.status("examining this node") as status:
        yield lambda probe: status.update(f"examined: {probe.name} ({probe.seconds:.1f} s)")


@contextmanager
def progress_text(title: str) -> Iterator[Callable[[str], None]]:
    """A function to tell of each step of something long; it says nothing where nobody watches."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console

    with Console(stderr=True).status(title) as status:
        yield lambda step: status.update(f"{title}: {step}")
