"""The formats of a node report: one class each behind one interface."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Protocol, cast

from envdoctor.node.live.examination import Examination

FORMATS = {
    "text": "envdoctor.reports.node.text:TextNodeReport",
    "json": "envdoctor.reports.node.json:JsonNodeReport",
    "markdown": "envdoctor.reports.node.markdown:MarkdownNodeReport",
    "html": "envdoctor.reports.node.html:HtmlNodeReport",
}


class NodeFormat(Protocol):
    """What every format offers."""

    def render(self, examination: Examination) -> str:
        """The whole report, ending in a line break."""
        ...


def node_format(name: str, *, colour: bool = False, details: bool = False, hints: bool = False,
                 ascii_only: bool = False) -> NodeFormat:  # fmt: skip
    """The report of a format. `details`: every fact with its place; `hints`: findings of severity info too."""
    module, cls = FORMATS[name].split(":")
    make = cast("Callable[..., NodeFormat]", getattr(importlib.import_module(module), cls))
    return make(colour=colour, details=details, hints=hints, ascii_only=ascii_only)
