"""Makes shell text fit for the parser without moving anything: what is no shell, or is hard to parse, is blanked.

Every replacement keeps the length, so a byte offset in the result is a character offset in the text. Values are
read from the text itself; only the structure comes from the parser. What the grammar of tree-sitter-bash 0.25 does
not parse although bash does (seen in public scripts): `10#$x` in arithmetic, `${X:-a|b*}`, `${X:$N+1}`, a
backslash at the end of the file.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from typing import TYPE_CHECKING

from envdoctor.core.records import dataclass, field
from envdoctor.core.regexes import regex

if TYPE_CHECKING:
    from envdoctor.core.facts import Branch

_PLACEHOLDER = regex(
    r"<(?<=[=:/,@-]<)/?[A-Za-z][^<>\n\"'`$;&|]{0,200}>"
    r"|<(?<=\s<)(?:[A-Z][A-Z0-9_.-]*|[Yy]our[\w .-]{0,80}|[A-Za-z]\w*(?:[ -][A-Za-z]\w*){1,12})>(?=\s|$|[\"'/:])"
    r"|<(?<=\s<)[a-z][\w.-]*>(?=[ \t]*(?:\\?\n|\Z|\#|-))"
)
"""`X=<PATH>`, `--key <your key>`. `cmd <in >out`, `<(cmd)` and `<<EOF` are left: no blank stands before `>` there
unless several words do, and what follows a redirection's `>` is a word and no option."""
_OPERAND = regex(
    r"(\$\{!?\w+(?:\[[^\]\s]{0,100}\])?:?[-=+?])((?:[^{}$\"'`\\\n]|\$(?:[A-Za-z_]\w*(?!\w)|\{[A-Za-z_]\w*\}))+)(?=\})"
)
_SUBSTRING = regex(
    r"(\$\{\w+(?:\[[^\]\s]{0,100}\])?)(:[^-=+?{}\"'`\\\n][^{}\"'`\\\n]*|[#%/^,@](?:[^{}$\"'`\\\n]|\\[^\n])*)(?=\})"
)
_ARITHMETIC = regex(r"\$\(\((?:[^()]|\((?:[^()]|\([^()]{0,200}\)){0,50}\)){0,500}\)\)")
_BASE = regex(r"(?<=[^\w#])10#(?=[$\w])")
_HEREDOC = regex(r"(?<!<)<<(-?)[ \t]*(?:\"([\w.!-]+)\"|'([\w.!-]+)'|\\?([A-Za-z_][\w.-]*))")
_NOT_LINE_END = regex(r"[^\n]")
_VALUE = r"(?:[^\s\"'`$;&|<>()\\]|\"(?:[^\"\\`$]|\\.|\$(?!\())*\"|'[^']*'|\$(?!\()|\$\([^()\n\"'`]*\)|\\.)*"
LOOK_AHEAD = 200
"""Characters of the following lines that decide how a line of assignments ends."""
_PAIR = regex(r"=\S*[ \t]+[A-Za-z_]\w*\+?=\S*[ \t]*\n")
_PAIRS = regex(
    rf"((?:^|[;{{]|\bthen|\bdo|\belse)[ \t]*(?:[A-Za-z_]\w*\+?={_VALUE}[ \t]+)+[A-Za-z_]\w*\+?={_VALUE}[ \t]*)\n"
    r"(?!\s*;)(?=[ \t]*(?:fi|done|esac|else|\})[ \t]*(?:[\n;]|\Z)|(?![ \t]*\w+[ \t]*(?:\n|\Z)))",
    re.MULTILINE,
)
"""Lines of several assignments and nothing else. The grammar runs on to the next line, and takes a time that grows
with the square of their number where a closing word follows; a word alone on that line may end a here-document."""
_NOT_ASCII = regex(r"[^\x01-\x7f]")
_BLANK_CARRIAGE = regex(r"\r(?=\n|\Z)")


@dataclass(slots=True)
class MaskedScript:
    """`data` for the parser; `holes` are the spans of templates and placeholders, whose value nobody can tell.

    `careful` is the text before the ends of lines of assignments were marked, where they were: inside an array that
    is an error.
    """

    data: bytes
    careful: bytes | None
    holes: list[tuple[int, int]] = field(default_factory=list)
    branches: list[tuple[int, int, Branch]] = field(default_factory=list)

    def around(self, offset: int) -> tuple[Branch, ...]:
        """The template conditions around a position, outermost first."""
        found = [(start, branch) for start, end, branch in self.branches if start <= offset < end]
        return tuple(branch for _, branch in sorted(found, key=lambda item: item[0]))

    def touches(self, start: int, end: int) -> bool:
        """Whether a template or placeholder stands in `text[start:end]`."""
        at = bisect_left(self.holes, (end, 0)) - 1
        return at >= 0 and self.holes[at][1] > start


def mask(text: str) -> MaskedScript:
    """Shell text as bytes of the same length."""
    holes: list[tuple[int, int]] = []
    branches: list[tuple[int, int, Branch]] = []
    if "{{" in text or "{%" in text:
        from envdoctor.readers.shared import template_mask

        templates = template_mask.mask(text)
        text, branches = templates.text, templates.branches
        holes += templates.spans
    if "<" in text:
        holes += [match.span() for match in _PLACEHOLDER.finditer(text)]
        text = _PLACEHOLDER.sub(_filler, text)
    careful = _simplified(_without_heredocs(text) if "<<" in text else text)
    marked = _with_line_ends(careful)
    return MaskedScript(marked.encode(), None if marked is careful else careful.encode(), sorted(holes), branches)


def _without_heredocs(text: str) -> str:
    """The bodies of here-documents filled: they are read on their own, and the grammar at times misses their end."""
    pieces: list[str] = []
    missing: set[str] = set()
    done = body = 0
    for match in _HEREDOC.finditer(text):
        line_start = text.rfind("\n", 0, match.start()) + 1
        if match.start() < done or not _opens(text[line_start : match.start()]):
            continue
        line_end = text.find("\n", match.end())
        body = max(done, line_end + 1) if line_end != -1 else len(text)
        delimiter = match[2] or match[3] or match[4]
        end = None if delimiter in missing else _terminator(text, body, delimiter, match[1] == "-")
        if end is None:
            missing.add(delimiter)
        else:
            pieces += [text[done:body], _NOT_LINE_END.sub("x", text[body:end])]
            done = end
    pieces.append(text[done:])
    return "".join(pieces)


def _opens(before: str) -> bool:
    """Whether `<<` after this part of a line is an operator: no comment, no open quote, no arithmetic."""
    return not (before.lstrip().startswith("#") or before.count('"') % 2 or before.count("'") % 2 or "((" in before)


def _terminator(text: str, start: int, delimiter: str, tabs: bool) -> int | None:
    """Where the line with the delimiter begins."""
    at = text.find(delimiter, start)
    while at != -1:
        line_start = text.rfind("\n", 0, at) + 1
        end = at + len(delimiter)
        indent = text[line_start:at]
        if (not indent or (tabs and not indent.strip("\t"))) and text[end : end + 1] in ("", "\n", "\r"):
            return line_start
        at = text.find(delimiter, end)
    return None


def _with_line_ends(text: str) -> str:
    """Lines of several assignments and nothing else ended by `;`."""
    ends: list[int] = []
    for candidate in _PAIR.finditer(text):
        start = text.rfind("\n", 0, candidate.start()) + 1
        if match := _PAIRS.search(text, start, candidate.end() + LOOK_AHEAD):
            ends.append(match.end() - 1)
    if not ends:
        return text
    characters = list(text)
    for end in ends:
        characters[end] = ";"
    return "".join(characters)


def _simplified(text: str) -> str:
    if "\r" in text:
        text = _BLANK_CARRIAGE.sub(" ", text)
    if not text.isascii() or "\0" in text:
        text = _NOT_ASCII.sub(".", text)
    if "${" in text:
        text = _OPERAND.sub(lambda m: m[1] + re.sub(r"\W", "x", m[2]), text)
        text = _SUBSTRING.sub(lambda m: m[1] + ":" + "1" * (len(m[2]) - 1), text)
    if "((" in text:
        text = _ARITHMETIC.sub(_ones, text)
        if "10#" in text:
            text = _BASE.sub("10+", text)
    stripped = text.rstrip()
    if stripped.endswith("\\"):
        text = stripped[:-1] + " " + text[len(stripped) :]
    return text


def _filler(match: re.Match[str]) -> str:
    return "x" * len(match[0])


def _ones(match: re.Match[str]) -> str:
    """`$((...))` with its inside made one number; line ends stay."""
    whole = match[0]
    if "$(" in whole[3:] or "`" in whole:
        return whole
    return "$((" + re.sub(r"[^\n]", "1", whole[3:-2]) + "))"
