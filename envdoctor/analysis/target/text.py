"""Where in a file a hint stands: in a comment, in help text, in one arm of a branch, in a section of extras."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Mapping

from envdoctor.core.regexes import regex
from envdoctor.core.source import Source
from envdoctor.knowledge.targets.table import FileKind, TargetTable

DOCSTRING = regex(r"""^[ \t]*[rRbBuU]{0,2}(\"\"\"|''')(?:.*?)\1""", re.MULTILINE | re.DOTALL)
SHOWN = regex(r"^[ \t]*(?:echo|printf)\b(?![^\n]*[>|])[^\n]*", re.MULTILINE)
HELP_DOCUMENT = regex(
    r"^[ \t]*cat[ \t]*<<-?[ \t]*([\"']?)(\w+)\1[ \t]*$.{0,5000}?^[ \t]*\2[ \t]*$", re.MULTILINE | re.DOTALL
)
ALTERNATIVE_SECTION = regex(
    r"optional-dependencies|dependency-groups|extras|\.group\.|uv\.sources|uv\.index|\.source\b"
)
SECTION = regex(r"^\[+([^\]\n]+)\]", re.MULTILINE)
OPENS = regex(r"(if|case)\b(?!\s*:)(.*)")
ARM = regex(r"(elif|else)\b(.*)|([^\s()]+)\)")
CLOSES = regex(r"(?:fi|esac)\b")
CLOSES_BEHIND = regex(r"[;\s](?:fi|esac)\b")
TESTED = regex(r"(?:\[\[?|test\b|command\s+-v|which\b)[^\n]*&&")


class TextView:
    """A file as hints are looked for in it: cut to a bounded length, with lines joined that a backslash continues.

    Joining puts spaces where the line end was, so offsets in `text` are offsets in the file.
    """

    def __init__(self, path: str, text: str, kind: FileKind, table: TargetTable) -> None:
        limits: Mapping[str, int] = table.data["limits"]
        raw = text if len(text) <= limits["largest"] else text[: limits["head"]]
        self.kind = kind
        self.source = Source(path, raw)
        self.raw = raw
        self.text = _without_long_lines(_joined(raw) if kind.says("continued") else raw, limits["longest-line"])
        self._table = table
        self._hidden: list[tuple[int, int]] | None = None
        self._branches: list[tuple[int, int, bool]] | None = None

    def line(self, offset: int) -> str:
        """The line of the file that holds an offset."""
        return _around(self.raw, offset)

    def statement(self, offset: int) -> str:
        """The line that holds an offset, together with the lines that continue it."""
        return _around(self.text, offset)

    def is_silent(self, start: int, end: int) -> bool:
        """Whether a match touches a comment, a docstring or text that is only shown."""
        return self._commented(start) or self._commented(max(start, end - 1)) or self._shown(start)

    def _commented(self, offset: int) -> bool:
        if not self.kind.says("comment"):
            return False
        begin = self.raw.rfind("\n", 0, offset) + 1
        before = self.raw[begin:offset]
        lead = self.raw[begin:].lstrip(" \t") if not before.strip() else before.lstrip(" \t")
        if lead.startswith("#"):
            return not lead.startswith(tuple(self._table.data["directives"]))
        return "#" in before and _opens_comment(before)

    def _shown(self, offset: int) -> bool:
        if self._hidden is None:
            self._hidden = sorted(self._prose())
        index = bisect_right(self._hidden, (offset, len(self.raw))) - 1
        return index >= 0 and self._hidden[index][0] <= offset < self._hidden[index][1]

    def _prose(self) -> list[tuple[int, int]]:
        patterns = []
        if self.kind.says("prose"):
            patterns = [SHOWN, HELP_DOCUMENT]
        elif self.kind.says("strings"):
            patterns = [DOCSTRING]
        return [match.span() for pattern in patterns for match in pattern.finditer(self.raw)]

    def alternative(self, offset: int) -> str:
        """Why a hint here is one of several possibilities: "" (it is not), "branch", "hardware", "default", "extra"."""
        if self.kind.name == "dockerfile" and self.line(offset).lstrip().upper().startswith("ARG "):
            return "default"
        if self.kind.name == "setup" and "extras_require" in self.raw:
            return "extra"
        if self.kind.says("sections"):
            headers = list(SECTION.finditer(self.raw, 0, offset))
            return "extra" if headers and ALTERNATIVE_SECTION.search(headers[-1][1]) else ""
        return self._branch(offset) if self.kind.says("branches") else ""

    def _branch(self, offset: int) -> str:
        begin = self.raw.rfind("\n", 0, offset) + 1
        if tested := TESTED.match(self.raw[begin:offset].lstrip()):
            return "hardware" if re.search(self._table.data["hardware"], tested[0]) else "branch"
        if self._branches is None:
            self._branches = branches(self.raw, re.compile(self._table.data["hardware"]))
        line = self.source.point(offset)[0]
        around = [hardware for first, last, hardware in self._branches if first <= line <= last]
        if not around:
            return ""
        return "hardware" if any(around) else "branch"


def branches(text: str, hardware: re.Pattern[str]) -> list[tuple[int, int, bool]]:
    """The `if` and `case` blocks of a shell script: first and last line, and whether a condition asks for hardware."""
    found: list[tuple[int, int, bool]] = []
    open_blocks: list[tuple[int, list[str]]] = []
    for number, raw in enumerate(text.split("\n"), start=1):
        line = raw.strip()
        if opens := OPENS.match(line):
            open_blocks.append((number, [opens[2]]))
        elif open_blocks and (arm := ARM.match(line)):
            open_blocks[-1][1].append(arm[2] or arm[3] or "")
        closes = CLOSES.match(line) or (opens and CLOSES_BEHIND.search(line))
        if open_blocks and closes:
            first, conditions = open_blocks.pop()
            found.append((first, number, any(hardware.search(c) for c in conditions)))
    return found


def _opens_comment(before: str) -> bool:
    """Whether a `#` in the line before a match starts a comment: outside quotes and not inside a word."""
    quote = ""
    previous = " "
    for character in before:
        if quote:
            quote = "" if character == quote else quote
        elif character in "\"'":
            quote = character
        elif character == "#" and previous in " \t;":
            return True
        previous = character
    return False


def _around(text: str, offset: int) -> str:
    begin = text.rfind("\n", 0, offset) + 1
    end = text.find("\n", offset)
    return text[begin : end if end >= 0 else len(text)]


def _joined(text: str) -> str:
    """Lines that end in a backslash joined with the next, at the same offsets."""
    return text.replace("\\\r\n", "   ").replace("\\\n", "  ") if "\\" in text else text


def _without_long_lines(text: str, longest: int) -> str:
    """Lines above a bound blanked: they are data, and expressions must not run away on them."""
    if len(text) <= longest or max(map(len, text.split("\n"))) <= longest:
        return text
    return "\n".join(line if len(line) <= longest else " " * len(line) for line in text.split("\n"))


def dockerfile_defaults(text: str) -> dict[str, str]:
    """Defaults that `ARG` and `ENV` lines of a Dockerfile give to names."""
    found: dict[str, str] = {}
    for match in re.finditer(r"^[ \t]*(?:ARG|ENV)[ \t]+(\w+)=[\"']?([^\s\"'$]+)", text, re.MULTILINE):
        found.setdefault(match[1], match[2])
    return found


def resolved(line: str, defaults: Mapping[str, str]) -> str:
    """A line with `${NAME}` and `$NAME` replaced where a default is known."""

    def value(match: re.Match[str]) -> str:
        return defaults.get(match[1] or match[2], match[0])

    return re.sub(r"\$\{(\w+)(?::?-[^}]*)?\}|\$(\w+)", value, line)
