"""The text of a file from its bytes, and whether its bytes are ours to read at all."""

from __future__ import annotations

from envdoctor.core.facts import Place, Problem
from envdoctor.core.records import dataclass, field

LARGEST = 5_000_000
"""Bytes above which a file is not read: real scripts and manifests are far smaller."""
LARGEST_NOTEBOOK = 50_000_000
"""The same for a notebook, which keeps what its cells printed. No more than this is taken of any file."""
SAMPLE = 8192
"""Bytes by which it is told whether a file holds text."""


@dataclass(slots=True)
class DecodedText:
    """A file's text, and what was wrong with its bytes."""

    text: str
    problems: list[Problem] = field(default_factory=list)


def decode(path: str, data: bytes) -> DecodedText:
    """The text of a file. Bytes that are not UTF-8 are replaced and reported with their line."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return DecodedText(data.decode("utf-16", "replace").replace("\r\n", "\n").replace("\r", "\n"))
    try:
        text = data.decode("utf-8-sig" if data.startswith(b"\xef\xbb\xbf") else "utf-8")
        problems: list[Problem] = []
    except UnicodeDecodeError as error:
        text = data.decode("utf-8", "replace").removeprefix("\ufeff")
        line = data.count(b"\n", 0, error.start) + 1
        said = "not UTF-8; the bytes that are not were replaced and the rest was read"
        problems = [Problem(said, line_of(path, line))]
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        problems.append(Problem("holds NUL bytes; the rest was read", line_of(path, line)))
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return DecodedText(text, problems)


def is_binary(data: bytes) -> bool:
    """Whether bytes hold no text, whatever the name of the file says."""
    sample = data[:SAMPLE]
    if sample.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\0" not in sample:
        return False
    strange = sample.count(0) + sample.decode("utf-8", "replace").count("\ufffd")
    return strange * 10 >= len(sample)


def refused(kind: str, data: bytes) -> str:
    """Why a file is not read; empty where it is."""
    limit = LARGEST_NOTEBOOK if kind == "notebook" else LARGEST
    if len(data) > limit:
        return f"larger than {limit / 1e6:.0f} MB: not read"
    return "holds no text: not read" if is_binary(data) else ""


def line_of(path: str, line: int) -> Place:
    """A place for what is said of a whole line."""
    return Place(path, line, 1, line, 1)
