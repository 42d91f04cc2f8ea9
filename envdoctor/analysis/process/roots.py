"""Where processes begin in a project: a script that somebody starts, a batch job, a step of CI, a container, a service.

Each root has what is set when it starts, and what it runs. Which of them start one another the walk finds out.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import cast

from envdoctor.analysis.process.beginnings.root import Root, RootKind
from envdoctor.core.facts import FileFacts
from envdoctor.core.operations import Script

__all__ = ["Root", "RootKind", "roots_of"]

Beginnings = Callable[[FileFacts, Sequence[Script], str], list[Root]]

GENERAL = "envdoctor.analysis.process.beginnings.general"
FACTS_BODY = "envdoctor.analysis.process.beginnings.facts_body"
MODULES = {
    "shell": "envdoctor.analysis.process.beginnings.shell", "dockerfile": "envdoctor.analysis.process.beginnings.image",
    "yaml": "envdoctor.analysis.process.beginnings.manifests", "ini": "envdoctor.analysis.process.beginnings.service",
    "conf": "envdoctor.analysis.process.beginnings.service",
    "make": "envdoctor.analysis.process.beginnings.make", "justfile": "envdoctor.analysis.process.beginnings.make",
    "python": "envdoctor.analysis.process.beginnings.python",
    "notebook": "envdoctor.analysis.process.beginnings.notebook",
    "csh": FACTS_BODY, "fish": FACTS_BODY, "modulefile": FACTS_BODY, "lua-modulefile": FACTS_BODY,
}  # fmt: skip
"""Kind of a file -> the module that knows what begins in it; for others what the facts say of scopes is all."""


def roots_of(facts: FileFacts, scripts: Sequence[Script], text: str) -> list[Root]:
    """The processes that begin in a file, in order. `scripts` are the bodies of its shell text."""
    module = importlib.import_module(MODULES.get(facts.kind, GENERAL))
    filled = [script for script in scripts if script.body]
    return cast("Beginnings", module.roots)(facts, filled, text)
