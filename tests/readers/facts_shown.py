"""Helpers of the reader tests: facts as short lines, and what stands at a place."""

from __future__ import annotations

import time
from pathlib import Path

from envdoctor.core.facts import FileFacts, Place, Setting
from envdoctor.core.source import Source
from envdoctor.readers.kinds import kind_of
from envdoctor.readers.registry import read

FIXTURES = Path(__file__).parents[1] / "fixtures"


def facts_of(text: str, path: str, kind: str = "") -> FileFacts:
    """Facts of text under a name; its kind is what the name says unless it is given."""
    found = kind or kind_of(path, text[:200].encode("utf-8", "replace"), docs=True)
    assert found, path
    return read(Source(path, text), found)


def fixture(folder: str, name: str) -> tuple[str, FileFacts]:
    """Text and facts of a fixture."""
    text = (FIXTURES / folder / name).read_text(encoding="utf-8")
    return text, facts_of(text, name)


def excerpt(text: str, place: Place | None) -> str:
    """The text at a place of one line."""
    assert place is not None
    assert place.line == place.end_line, place
    return text.split("\n")[place.line - 1][place.column - 1 : place.end_column - 1]


def shown(setting: Setting) -> str:
    """A setting on one line: where, what, how exported, by what channel, in which scope and branch, its comment."""
    value = setting.value
    text = value.text if value.kind == "literal" else f"{value.kind}({value.text})"
    if value.references or value.fallback is not None:
        text += f"[{','.join(value.references)}|{value.fallback}]"
    scope = f" {setting.scope.kind}:{setting.scope.name}" if setting.scope.kind != "process" else ""
    branch = "".join(f" <{branch.condition}>" for branch in setting.branch)
    comment = f" # {setting.comment}" if setting.comment else ""
    cell = f" cell {setting.place.cell}" if setting.place.cell else ""
    head = f"{setting.place.line} {setting.op} {setting.name}={text} {setting.exported} {setting.channel}"
    return head + scope + branch + cell + comment


def shown_all(facts: FileFacts) -> list[str]:
    """All settings of a file."""
    return [shown(setting) for setting in facts.settings]


def check_places(text: str, facts: FileFacts) -> None:
    """Every place lies in the text, and a name that is written as it is stands at its place."""
    lines = text.split("\n")
    for setting in facts.settings:
        for place in (setting.place, setting.name_place, setting.value_place):
            if place is None:
                continue
            assert (place.line, place.column) <= (place.end_line, place.end_column), place
            assert 1 <= place.line <= place.end_line <= len(lines), place
            assert 1 <= place.column <= len(lines[place.line - 1]) + 1, place
            assert 1 <= place.end_column <= len(lines[place.end_line - 1]) + 1, place
    for problem in facts.problems:
        assert problem.place.line <= len(lines)


def check_bounded(text: str, path: str, seconds: float = 15) -> FileFacts:
    """A large text is read in bounded time."""
    spent, facts = timed(text, path)
    assert spent < seconds
    return facts


def timed(text: str, path: str) -> tuple[float, FileFacts]:
    """Seconds of processor time that reading a text takes, and its facts."""
    start = time.process_time()
    facts = facts_of(text, path)
    assert len(facts.settings) <= 10_001
    return time.process_time() - start, facts


TRIES = 3


def check_repeated(line: str, path: str, size: int = 500_000) -> FileFacts:
    """So many characters of one line again and again: what takes four times a quarter does not grow with the square.

    Compared with itself, since a slower machine is slower with both.
    """
    for _ in range(TRIES):  # other work on the machine makes one of the two slow, and never the same one each time
        quarter, _ = timed(line * (size // 4 // len(line)), path)
        whole, facts = timed(line * (size // len(line)), path)
        if whole < 8 * quarter + 0.5:
            return facts
    raise AssertionError(f"{path}: {whole:.2f} s of processor time, a quarter of it takes {quarter:.2f} s")
