"""Recorded nodes for tests: copies of them with edits, examined and judged as `envdoctor live` does it."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path

from recorded import copy_of

from envdoctor.findings import Finding
from envdoctor.live.examination import Examination
from envdoctor.live.run import Request, examine_node

Edit = Mapping[str, str]
"""`file` is a path in the folder of a recorded node, `code` its new content; with `replace`, `code` takes the place of
that text; with `without`, lines that hold that text go; with `remove`, the file or folder goes."""


def edited(name: str, to: Path, edits: Iterable[Edit] = ()) -> Path:
    """A copy of a recorded node below `to`, with edits. What is to be replaced must be there."""
    folder = copy_of(name, to)
    for edit in edits:
        path = folder / edit["file"]
        if "remove" in edit:
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
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
    return folder


def judged(folder: Path, **asked: object) -> Examination:
    """A recorded node, examined and judged."""
    return examine_node(Request(recorded=folder, **asked))  # type: ignore[arg-type]


def names_at(findings: Iterable[Finding], *severities: str) -> set[str]:
    """Names of the rules that speak, at some severities or at all."""
    return {f.name for f in findings if not severities or f.severity in severities}
