"""Helpers of the tests of roots: the roots of a text as short lines."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from envdoctor.analysis.process.beginnings.common import span
from envdoctor.analysis.process.roots import Root, roots_of
from envdoctor.core.facts import Branch, FileFacts, Scope
from envdoctor.core.operations import Script, literal, plain
from envdoctor.core.source import Source
from envdoctor.readers.kinds import kind_of
from envdoctor.readers.registry import read
from envdoctor.readers.shared.collector import Collector


@contextmanager
def handed(scripts: list[Script]) -> Iterator[None]:
    """Takes down the shell text that readers find in a file, each line as one command with the words it has."""
    original = Collector.embed

    def embed(
        self: Collector, source: Source, kind: str, scope: Scope, branch: tuple[Branch, ...] = (), **more: Any
    ) -> None:
        if kind == "shell" and source.text.strip():
            scripts.append(Script(commands(source), scope, branch, self.order))
        original(self, source, kind, scope, branch, **more)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Collector, "embed", embed)
        yield


def commands(source: Source) -> tuple[Any, ...]:
    """Each line of a text that is no comment as a call."""
    found, at = [], 0
    for text in source.text.split("\n"):
        line, column = source.point(at)
        at += len(text) + 1
        if text.strip() and not text.lstrip().startswith("#"):
            words = tuple(plain(word, line, column) for word in text.split())
            found.append(("call", line, column, line, column + len(text), (), words, ()))
    return tuple(found)


def parts_of(text: str, path: str, kind: str = "") -> tuple[FileFacts, list[Script]]:
    """Facts and scripts of a text under a name."""
    found = kind or kind_of(path, text[:200].encode(), docs=True)
    assert found, path
    scripts: list[Script] = []
    with handed(scripts):
        facts = read(Source(path, text), found)
    if found == "shell":
        scripts = [Script(commands(Source(path, text)), shell="bash")]
    return facts, scripts


def roots_in(text: str, path: str, kind: str = "") -> list[Root]:
    """The roots of a text, of which every script is in one at least."""
    facts, scripts = parts_of(text, path, kind)
    return roots_of(facts, scripts, text)


def words(root: Root) -> list[str]:
    """What a root runs: the words of its commands."""
    return ran(root.script)


def ran(script: Script | None) -> list[str]:
    """The words of the commands of a script; other operations by their name."""
    body = script.body if script else ()
    return [" ".join(literal(word) or "?" for word in one[6]) if one[0] == "call" else one[0] for one in body]


def given(root: Root) -> dict[str, str]:
    """What is set when it starts: the last of a name, those that are passed on with a question mark."""
    found: dict[str, str] = {}
    for setting in root.settings:
        if setting.op == "unset":
            found.pop(setting.name, None)
        else:
            found[setting.name] = "?" if setting.op == "pass" else setting.value.text
    return found


def lost(scripts: list[Script], roots: list[Root]) -> list[int]:
    """Lines of scripts that no root runs."""
    held = {point for root in roots if root.script for point in points(root.script)}
    return [span(script)[0][0] for script in scripts if script.body and not points(script) & held]


def points(script: Script) -> set[tuple[int, int]]:
    """Where the operations of a script stand."""
    return {(one[1], one[2]) for one in script.body}
