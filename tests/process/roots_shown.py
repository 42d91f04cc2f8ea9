"""Helpers of the tests of roots: the roots of a text as short lines."""

from __future__ import annotations

from envdoctor.analysis.process.beginnings.common import places, span
from envdoctor.analysis.process.roots import Root, roots_of
from envdoctor.core.facts import FileFacts
from envdoctor.core.operations import Body, Operation, Script, Word
from envdoctor.core.source import Source
from envdoctor.readers.kinds import kind_of
from envdoctor.readers.registry import read
from envdoctor.readers.scripts import scripts_of


def parts_of(text: str, path: str, kind: str = "") -> tuple[FileFacts, list[Script]]:
    """Facts and scripts of a text under a name."""
    found = kind or kind_of(path, text[:200].encode(), docs=True)
    assert found, path
    return read(Source(path, text), found), scripts_of(Source(path, text), found)


def roots_in(text: str, path: str, kind: str = "") -> list[Root]:
    """The roots of a text, of which every script is in one at least."""
    facts, scripts = parts_of(text, path, kind)
    return roots_of(facts, scripts, text)


def words(root: Root) -> list[str]:
    """What a root runs: the words of its commands."""
    return ran(root.script)


def ran(script: Script | None) -> list[str]:
    """What a script does, an operation a line."""
    return [_shown(one) for one in script.body if one[0] != "directive"] if script else []


def _shown(one: Operation) -> str:
    if one[0] == "call":
        return " ".join(_text(word) for word in one[6])
    if one[0] == "assign":
        return f"{one[3]}{one[5]}{_text(one[6])}"
    if one[0] == "declare":
        return f"{one[3]} " + " ".join(_shown(i) if i[0] == "assign" else _text(i) for i in one[5])
    if one[0] == "unset":
        return "unset " + " ".join(_text(word) for word in one[4])
    if one[0] == "test":
        return "[ " + (" ".join(_text(word) for word in one[4]) or one[3]) + " ]"
    if one[0] in ("and", "or"):
        return f"{_body(one[3])} {one[0]} {_body(one[4])}"
    if one[0] == "if":
        arms = [f"{_body(condition)} then {_body(body)}" for condition, body in one[3]]
        return "if " + " elif ".join(arms) + (f" else {_body(one[4])}" if one[4] is not None else "")
    return one[0]


def _body(body: Body) -> str:
    return "; ".join(map(_shown, body))


def _text(word: Word) -> str:
    if word[0] == "array":
        return "(" + " ".join(map(_text, word[1])) + ")"
    shown = {"text": lambda p: p[1], "ref": lambda p: "$" + p[1], "unknown": lambda p: "?", "command": lambda p: "$()"}
    return "".join(shown[part[0]](part) for part in word[4])


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
    """Where the operations and words of a script stand."""
    return set(places(script.body))
