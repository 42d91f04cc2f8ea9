"""Helm, Go and Jinja templates around YAML and Dockerfiles: blanked in place, so that every position holds.

A line that holds nothing but templates becomes empty lines (a line of blanks would count for the indentation of a
block scalar); a template inside a line becomes a word of the same length.
Conditions (`{{ if }}`, `{% if %}`) are kept as branches: what stands in two arms never both happens.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from itertools import islice

from envdoctor.core.facts import Branch
from envdoctor.core.records import dataclass, field
from envdoctor.core.regexes import regex

LONGEST = 4000
"""Characters a template may span; a longer one is read as text, so that the search stays bounded."""
MOST_BRANCHES = 2000
MOST_UNCLOSED = 10_000
"""Templates that are not closed, after which a text is taken as it stands."""
FILLER = "_"

_CLOSINGS = {"{{": "}}", "{%": "%}", "{#": "#}"}
_OPENING = regex(r"\{[{%]|(?<!\$)\{#")
_CONTROL = regex(r"\{[{%][-~+]?\s*(else if|elif|else|end\w*|if|with|range|for|define|block|macro)\b")
_BLOCK_COMMENT = regex(r"\{\{-?\s*/\*")


@dataclass(slots=True)
class MaskedTemplate:
    """`text` has the length of the original; `branches` are (start, end, branch), in the order of their ends."""

    text: str
    spans: list[tuple[int, int]] = field(default_factory=list)
    branches: list[tuple[int, int, Branch]] = field(default_factory=list)

    def touches(self, start: int, end: int) -> bool:
        """Whether a template stands in `text[start:end]`."""
        at = bisect_left(self.spans, (end, 0)) - 1
        return at >= 0 and self.spans[at][1] > start

    def around(self, offset: int) -> tuple[Branch, ...]:
        """The branches around a position, outermost first."""
        found = [(start, branch) for start, end, branch in self.branches if start <= offset < end]
        return tuple(branch for _, branch in sorted(found, key=lambda item: item[0]))


def mask(text: str) -> MaskedTemplate:
    """Text with its templates masked; the text itself where there are none."""
    if "{{" not in text and "{%" not in text:
        return MaskedTemplate(text)
    spans = list(_templates(text))
    pieces: list[str] = []
    done = 0
    for start, end in _joined(text, spans):
        begin, cover = _cover(text, start, end)
        pieces += [text[done:begin], cover]
        done = end
    pieces.append(text[done:])
    return MaskedTemplate("".join(pieces), spans, list(islice(_branches(text, spans), MOST_BRANCHES)))


class _Ends:
    """Where marks stand next: each is looked for once, however often it is asked for."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.found: dict[str, int] = {}

    def within(self, mark: str, start: int, limit: int) -> int:
        """The offset of a mark in `text[start:limit]`; -1 where there is none."""
        at = self.found.get(mark, 0)
        if at != -1 and at < start:
            at = self.found[mark] = self.text.find(mark, start)
        return at if at != -1 and at + len(mark) <= limit else -1


def _templates(text: str) -> Iterator[tuple[int, int]]:
    """Spans of `{{ }}`, `{% %}` and `{# #}`; what is not closed within LONGEST characters is no template."""
    at = unclosed = 0
    ends = _Ends(text)
    while unclosed < MOST_UNCLOSED and (match := _OPENING.search(text, at)):
        start = match.start()
        closings = [_CLOSINGS[match.group()]]
        if _BLOCK_COMMENT.match(text, start):
            closings = ["*/ -}}", "*/}}", "}}"]
        for closing in closings:
            end = ends.within(closing, start + 2, start + LONGEST)
            if end != -1:
                break
        unclosed += end == -1
        at = end + len(closing) if end != -1 else start + 1
        if end != -1 and (match.group() != "{#" or "\n" not in text[start:at]):
            yield start, at


def _joined(text: str, spans: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Spans with those that touch on one line, blanks between them only, made one."""
    pending: tuple[int, int] | None = None
    for start, end in spans:
        if pending and not text[pending[1] : start].strip(" \t"):
            pending = (pending[0], end)
            continue
        if pending:
            yield pending
        pending = (start, end)
    if pending:
        yield pending


def _cover(text: str, start: int, end: int) -> tuple[int, str]:
    """Where the cover begins, and it: line ends for a template with its lines for itself, else filler."""
    line = text.rfind("\n", 0, start) + 1
    stop = text.find("\n", end)
    if not text[line:start].strip() and not text[end : stop if stop != -1 else len(text)].strip():
        return line, "\n" * (end - line)
    first, *others = text[start:end].split("\n")
    indent = _indent(text[line:start])
    return start, "\n".join([re.sub(r"[^\r]", FILLER, first), *(_further(other, indent) for other in others)])


def _further(line: str, indent: int) -> str:
    """A further line of a template: blank where it would end the scalar that it stands in."""
    own = _indent(line)
    return line[:own] + re.sub(r"[^\r]", FILLER if own > indent else " ", line[own:])


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _branches(text: str, spans: list[tuple[int, int]]) -> Iterator[tuple[int, int, Branch]]:
    stack: list[tuple[int, str, str, int]] = []  # where the arm starts, identity or "", condition, number of the arm
    for start, end in spans:
        match = _CONTROL.match(text, start)
        word = match.group(1) if match else ""
        if not word:
            continue
        if word.startswith(("end", "else", "elif")):
            if not stack:
                continue
            began, identity, condition, arm = stack.pop()
            if identity:
                yield began, start, Branch(identity, str(arm), condition)
            if not word.startswith("end"):
                stack.append((end, identity, text[start:end], arm + 1))
        else:
            stack.append((end, f"template:{start}" if word in ("if", "with") else "", text[start:end], 0))
