"""Instructions of a Dockerfile: continuations, comments between them, here-documents, parser directives.

Rules from BuildKit's parser: an instruction goes on while its line ends in the escape character; comment lines and
empty lines inside it are dropped; blanks at the start of a continued line stay; here-documents follow RUN, COPY, ADD.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from envdoctor.core.records import dataclass, field
from envdoctor.core.regexes import regex
from envdoctor.core.source import Source

GAP = "\0"
"""Stands for a character that the builder drops (escape at a line end, comment lines), so that offsets hold."""

_DIRECTIVE = regex(r"[ \t]*#[ \t]*(\w+)[ \t]*=[ \t]*(\S+)[ \t]*\r?(?:\n|$)")
_KEYWORD = regex(r"[ \t]*([A-Za-z]+)(?=\s|$)[ \t]*")
_HERE = regex(r"(?<!<)\d*<<(-?)([\"']?)([A-Za-z_][\w.]*)\2(?=[\s;|&>)]|$)")
_HERE_KEYWORDS = ("RUN", "COPY", "ADD")


@dataclass(frozen=True, slots=True)
class HereDocument:
    """A here-document: where its body is, and the end of the line that closes it."""

    word: str
    start: int
    end: int
    closed: int


@dataclass(slots=True)
class Instruction:
    """One instruction; `lines` are the spans of its lines without escapes and line ends, from `body` on."""

    keyword: str
    start: int
    body: int
    lines: list[tuple[int, int]]
    documents: list[HereDocument] = field(default_factory=list)

    @property
    def end(self) -> int:
        """Where the last line of the instruction itself ends, before its here-documents."""
        return self.lines[-1][1]

    def flat(self, text: str) -> str:
        """The body as one line, as long as it is in `text`: what is dropped is GAP."""
        pieces: list[str] = []
        done = self.body
        for start, end in self.lines:
            pieces += [GAP * (start - done), text[start:end]]
            done = end
        return "".join(pieces)

    def shell(self, source: Source, begin: int) -> Source:
        """The body from offset `begin` on as shell text, with its here-documents."""
        lines: list[str] = []
        anchors: list[tuple[int, int]] = []
        kept = [(max(start, begin), end) for start, end in self.lines if end >= begin]
        for number, (start, end) in enumerate(kept):
            lines.append(source.text[start:end] + ("\\" if number < len(kept) - 1 else ""))
            anchors.append(source.point(start))
        for document in self.documents:
            for start, end in physical_lines(source.text, document.start, document.closed):
                lines.append(source.text[start:end])
                anchors.append(source.point(start))
        return source.replaced("\n".join(lines), anchors)


def physical_lines(text: str, start: int, stop: int) -> Iterator[tuple[int, int]]:
    """Spans of the lines of `text[start:stop]`, without their line ends."""
    while start < stop:
        end = text.find("\n", start, stop)
        end = stop if end == -1 else end
        yield start, end
        start = end + 1


def escape_of(text: str) -> str:
    """The escape character: a backslash, or what a `# escape=` directive at the top says."""
    at = 0
    while match := _DIRECTIVE.match(text, at):
        if match[1].lower() == "escape" and match[2] == "`":
            return "`"
        at = match.end()
    return "\\"


def instructions(text: str) -> Iterator[Instruction]:
    """The instructions of a file whose line ends are `\\n`, in order. Lines that start none are skipped."""
    escape = escape_of(text)
    missing: set[str] = set()
    at, stop = 0, len(text)
    while at < stop:
        end = _line_end(text, at)
        line = text[at:end].strip()
        match = _KEYWORD.match(text, at, end)
        if not line or line.startswith("#") or not match:
            at = end + 1
            continue
        lines, at = _continued(text, match.end(), escape)
        found = Instruction(match[1].upper(), match.start(1), match.end(), lines)
        if found.keyword in _HERE_KEYWORDS:
            at = _here_documents(text, found, at, missing)
        yield found


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end == -1 else end


def _continued(text: str, at: int, escape: str) -> tuple[list[tuple[int, int]], int]:
    """Spans of the lines of an instruction that starts at `at`, and where the next line begins."""
    lines: list[tuple[int, int]] = []
    first = True
    while at <= len(text):
        end = _line_end(text, at)
        line = text[at:end].strip()
        if not first and (not line or line.startswith("#")):
            at = end + 1
            continue
        first = False
        content = at + len(text[at:end].rstrip())
        if not (content > at and text[content - 1] == escape):
            return [*lines, (at, content)], end + 1
        lines.append((at, content - 1))
        at = end + 1
    return lines or [(len(text), len(text))], at


def _here_documents(text: str, instruction: Instruction, at: int, missing: set[str]) -> int:
    """Give the instruction its here-documents; returns where the line after them begins.

    A word that no later line closes is none (old builders read `<<WORD` as shell text); `missing` remembers them.
    """
    for match in _HERE.finditer(instruction.flat(text)):
        tabs = "\t*" if match[1] else ""
        closing = re.compile(rf"^{tabs}{re.escape(match[3])}[ ]*$", re.MULTILINE)
        found = None if match[0] in missing else closing.search(text, at)
        if not found:
            missing.add(match[0])
            break
        instruction.documents.append(HereDocument(match[3], at, found.start(), found.end()))
        at = found.end() + 1
    return at
