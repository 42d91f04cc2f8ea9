"""`--format markdown`: for comments on pull requests and summaries of jobs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby

from envdoctor.core.findings import Finding
from envdoctor.core.numbers import counted
from envdoctor.core.regexes import regex
from envdoctor.engine import ScanResult
from envdoctor.reports.base import fixes, paragraphs, printable, totals

SPECIAL = regex(r"([\\`*\[\]<>#|~&$]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9]))")
MENTION = regex(r"(?<!\w)@(?=\w)")
MOST = 60_000
"""Characters after which further findings are only counted: GitHub refuses a comment of more than 65,536."""


def escaped(text: str) -> str:
    """Text that Markdown shows as it is, in one line; nothing in it becomes markup, HTML or a mention."""
    # Sites link mentions in the finished text, where a backslash is gone: a space without width keeps them apart.
    return MENTION.sub("@\u200b", SPECIAL.sub(r"\\\1", printable(" ".join(text.split()))))


def fenced(lines: list[str], language: str = "text") -> list[str]:
    """A block of literal text, whose fence is longer than any in it."""
    longest = max((len(run) for line in lines for run in re.findall(r"`+", line)), default=0)
    fence = "`" * max(3, longest + 1)
    return [f"{fence}{language}", *(printable(line) for line in lines), fence]


class MarkdownReport:
    """A line that sums up, then the findings by file, each with its line and what is known about it."""

    def __init__(self, colour: bool = False) -> None:
        del colour

    def render(self, result: ScanResult) -> str:
        """The comment, at most as long as a comment may be."""
        blocks = [f"### envdoctor\n\n{escaped(totals(result))}\n"]
        size, left = len(blocks[0]), len(result.findings)
        for block, findings in _blocks(result):
            if size + len(block) > MOST:
                break
            blocks.append(block)
            size, left = size + len(block), left - findings
        if left:
            blocks.append(f"\n{counted(left, 'further finding')} left out: too long for a comment.\n")
        blocks += [f"\nnote: {escaped(_at(p))}: {escaped(p.message)}\n" for p in result.problems if size < MOST]
        blocks += [f"\nnot done: {escaped(error)}\n" for error in result.errors if size < MOST]
        return "".join(blocks)


def _blocks(result: ScanResult) -> Iterator[tuple[str, int]]:
    """Pieces of the comment, and how many findings are in each."""
    for path, findings in groupby(result.findings, key=lambda f: f.place.path):
        yield f"\n#### {escaped(path)}\n", 0
        for finding in findings:
            line = result.excerpts.get((finding.place.path, finding.place.line))
            yield "\n".join(["", *_finding(finding, line)]) + "\n", 1


def _finding(finding: Finding, line: str | None) -> Iterator[str]:
    """A list item: severity, rule, line and message; below it the line itself and what is known."""
    state = f" \\[{finding.confirmation.state}\\]" if finding.confirmation else ""
    place = f"line {finding.place.line}"
    yield f"- **{finding.severity}** {finding.rule} {escaped(finding.name)}, {place}{state}: {escaped(finding.message)}"
    if line is not None and line.strip():
        yield ""
        yield from (f"  {row}" for row in fenced([line.strip()[:200]]))
        yield ""
    for heading, text in (*paragraphs(finding), *fixes(finding)):
        yield f"  - {heading}: {escaped(text)}"


def _at(finding: Finding) -> str:
    return f"{finding.place.path}:{finding.place.line}"
