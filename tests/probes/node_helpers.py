"""Recorded nodes, small trees and helpers for the tests of probes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from recorded import told

from envdoctor.node.probes.base import Depth, Facts, NodeView
from envdoctor.node.probes.files import NodeFiles
from envdoctor.node.probes.keys import Scalar
from envdoctor.node.probes.node import examine
from envdoctor.node.probes.report import Node
from envdoctor.node.probes.runner import MISSING, CommandResult, RecordedRunner

NOT_FACTS = {"name", "summary", "recorded", "expect"}
"""Keys of node.toml that say something about the recording and not about the node."""


class Answers:
    """A runner with answers for some commands, by their first words; any other command is missing."""

    def __init__(self, answers: Mapping[str, CommandResult | str] | None = None, logs: Sequence[str] = ()) -> None:
        self.answers = dict(answers or {})
        self.texts = logs
        self.asked: list[str] = []

    def run(self, argv: Sequence[str], timeout: float) -> CommandResult:
        line = " ".join(argv)
        self.asked.append(line)
        for words, answer in self.answers.items():
            if line.startswith(words):
                return CommandResult(tuple(argv), 0, answer) if isinstance(answer, str) else answer
        return CommandResult(tuple(argv), MISSING)

    def logs(self) -> Sequence[tuple[str, str]]:
        return [(f"run {number}", text) for number, text in enumerate(self.texts)]


def failed(rc: int = 1, **more: Any) -> CommandResult:
    """An answer of a helper that failed."""
    return CommandResult(("helper",), rc, **more)


def write(root: Path, files: Mapping[str, str | bytes]) -> Path:
    """Write files at paths of a node below `root`; "-> target" makes a link."""
    for path, content in files.items():
        real = root / path.lstrip("/")
        real.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, bytes):
            real.write_bytes(content)
        elif content.startswith("-> "):
            real.symlink_to(content[3:])
        else:
            real.write_text(content)
    return root


def view_of(
    root: Path, files: Mapping[str, str | bytes] | None = None, *, runner: Answers | None = None,
    environment: Mapping[str, str] | None = None, mapped: Sequence[str] = (), **more: Any,
) -> NodeView:  # fmt: skip
    """A view of a small tree."""
    write(root, files or {})
    return NodeView(
        NodeFiles(root), runner or Answers(), Facts(), environment=environment or {}, mapped=list(mapped), **more
    )


def observed(facts: Facts, key: str) -> list[Scalar]:
    """Values of all observations of a key, in order."""
    return [o.value for o in facts.observations if o.key == key]


def by_detail(facts: Facts, key: str) -> dict[str, Scalar]:
    """Observations of a key by what they are about."""
    return {o.detail: o.value for o in facts.observations if o.key == key}


def examined(folder: Path, depth: Depth = "torch", **more: Any) -> Node:
    """A recorded node, examined."""
    return examine(folder / "root", RecordedRunner(folder / "commands"), depth, **more)


def expected(name: str) -> dict[str, Any]:
    """The facts of a recorded node's node.toml."""
    return {key: value for key, value in told(name).items() if key not in NOT_FACTS}
