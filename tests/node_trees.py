"""Recorded nodes for tests: copies of them with edits, examined and judged as `envdoctor live` does it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from functools import cache
from pathlib import Path

from recorded import copy_of, editable, folder_of, put_back, remove
from support import known_rules

from envdoctor.core.findings import Finding
from envdoctor.node.live.examination import Examination
from envdoctor.node.live.run import LiveRequest, examine_node

Edit = Mapping[str, str]
"""`file` is a path in the folder of a recorded node, `code` its new content; with `replace`, `code` takes the place of
that text; with `without`, lines that hold that text go; with `remove`, the file or folder goes."""


def edited(name: str, to: Path, edits: Iterable[Edit] = ()) -> Path:
    """A copy of a recorded node below `to`, with edits."""
    folder = copy_of(name, to)
    make(edits, folder)
    return folder


@contextmanager
def changed(name: str, edits: Sequence[Edit]) -> Iterator[Path]:
    """The folder of a recorded node with edits, which are undone at the end, so that no copy of the node is needed."""
    folder = editable(name)
    try:
        make(edits, folder)
        yield folder
    finally:
        put_back(name, {edit["file"] for edit in edits})


def judged_with(edits: Sequence[Edit], name: str, **asked: object) -> Examination:
    """A recorded node with edits, examined and judged."""
    with changed(name, edits) as folder:
        return judged(folder, **asked)


def make(edits: Iterable[Edit], folder: Path) -> None:
    """Make edits in the folder of a node. What is to be replaced must be there."""
    for edit in edits:
        path = folder / edit["file"]
        if "remove" in edit:
            assert os.path.lexists(path), f"{path} is not there"
            remove(path)
            continue
        if "without" in edit:
            lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
            kept = [line for line in lines if edit["without"] not in line]
            assert kept != lines, f"{path} does not hold {edit['without']!r}"
            path.write_text("".join(kept), encoding="utf-8")
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        text = edit["code"]
        if "replace" in edit:
            old = path.read_text(encoding="utf-8")
            assert edit["replace"] in old, f"{path} does not hold {edit['replace']!r}"
            text = old.replace(edit["replace"], text, 1)
        path.write_text(text, encoding="utf-8")


def judged(folder: Path, **asked: object) -> Examination:
    """A recorded node, examined and judged by all rules."""
    return examine_node(LiveRequest(recorded=folder, **{"rules": known_rules(), **asked}))  # type: ignore[arg-type]


def judged_as_recorded(name: str) -> Examination:
    """The same for a node without edits, done once for all tests. Its lists are for reading."""
    return copy(_judged(name))


@cache
def _judged(name: str) -> Examination:
    return judged(folder_of(name))


def names_at(findings: Iterable[Finding], *severities: str) -> set[str]:
    """Names of the rules that speak, at some severities or at all."""
    return {f.name for f in findings if not severities or f.severity in severities}
