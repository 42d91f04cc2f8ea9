"""How findings are shown: one class per format behind one interface. Reports know only findings."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable
from typing import Protocol, cast

from envdoctor.engine import Result

FORMATS = {
    "text": "envdoctor.reports.text:TextReport",
    "concise": "envdoctor.reports.concise:ConciseReport",
    "json": "envdoctor.reports.json:JsonReport",
}
"""Format name -> module and class; imported when the format is asked for."""
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069]")


class Report(Protocol):
    """What every format offers."""

    def render(self, result: Result) -> str:
        """The whole report, ending in a line break."""
        ...


def report(name: str, colour: bool = False) -> Report:
    """The report of a format; `colour` is for formats that people read."""
    module, cls = FORMATS[name].split(":")
    make = cast("Callable[[bool], Report]", getattr(importlib.import_module(module), cls))
    return make(colour)


def printable(text: str) -> str:
    """Text from a scanned file, with control characters shown instead of sent to the terminal."""
    return CONTROL.sub(lambda m: f"\\x{ord(m[0]):02x}" if ord(m[0]) < 256 else f"\\u{ord(m[0]):04x}", text)


def counted(number: int, word: str) -> str:
    """`1 finding`, `2 findings`."""
    return f"{number} {word}" if number == 1 else f"{number} {word}s"
