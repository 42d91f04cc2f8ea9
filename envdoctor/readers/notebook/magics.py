"""Lines of a notebook that are no Python, written as what they do, each character with its place.

Source: IPython: `%env A=1` sets `os.environ`, the text behind `=` as it stands; `!command` runs a shell that is gone
afterwards, as `%%bash` does; `{name}` in them is a Python variable, and `$name` in a magic.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from envdoctor.core.records import dataclass, field
from envdoctor.core.regexes import regex
from envdoctor.readers.shared.quoted_text import Text

OS = "_notebook_os"
"""The name under which `os` is imported in front of the cells that need it."""
PASSING = {"time", "timeit", "capture", "prun", "memit", "heat", "mprun", "lprun", "debug", "px", "autopx"}
"""Cell magics that run the cell as Python."""
SHELL_CELLS = {"bash", "sh", "zsh", "system", "sx", "!"}

# Databricks notebooks write the language of a cell with one percent sign.
_CELL_MAGIC = regex(r"\s*(%%|%(?=sh\b|(?:md|sql|scala|r|fs)\b[ \t]*\n))([!\w]+)([^\n]*)\n?")
_LINE = regex(r"(?P<indent>[ \t]*)(?P<target>[A-Za-z_][\w, ]*=[ \t]*)?(?P<sign>!{1,2}|%)(?P<rest>[^\n]*)")
_AUTOMATIC = regex(
    r"(?P<indent>[ \t]*)(?P<target>)(?P<sign>)(?P<rest>(?:pip3?|conda|mamba|ls|ll|cd|pwd|cat|mkdir|cp|mv|rm|rmdir|head"
    r"|tail|env|set_env)\b(?![ \t]*[=(\[,:+]|\.)[^\n]*)"
)
_HELP = regex(r"[ \t]*\?{1,2}[\w.]|[ \t]*[\w.]+\?{1,2}[ \t]*$")
_ENV = regex(r"(?:set_)?env[ \t]+([A-Za-z_]\w*)(?:[ \t]*=[ \t]*|[ \t]+)([^\n]*)")
_FIELD = regex(r"\{([A-Za-z_]\w*)\}")
_VARIABLE = regex(r"\{([A-Za-z_]\w*)\}|\$([A-Za-z_]\w*)")
_QUOTING = {"\\": "\\\\", "'": "\\'", "\n": "\\n", "\r": "\\r"}


@dataclass(slots=True)
class Converted:
    """Python text of a cell, and files that it writes: name, text."""

    pieces: list[str] = field(default_factory=list)
    offsets: list[int] = field(default_factory=list)
    files: list[tuple[str, Text]] = field(default_factory=list)
    needs_os: bool = False

    def add(self, text: str, at: int) -> None:
        """Text that stands for one place."""
        self.pieces.append(text)
        self.offsets += [at] * len(text)

    def copy(self, text: Text) -> None:
        """Text as it stands."""
        self.pieces.append(text[0])
        self.offsets += text[1]

    @property
    def text(self) -> str:
        """The Python text."""
        return "".join(self.pieces)


def convert(cell: Text) -> Converted:
    """A cell with its magics written as Python."""
    out = Converted()
    text, offsets = _dedented(cell)
    at = 0
    while match := _CELL_MAGIC.match(text, at):
        rest = text[match.end() :], offsets[match.end() :]
        if match[2] not in PASSING:
            _whole(out, match, rest, offsets[match.start(1)])
            return out
        at = match.end()
    _lines(out, text, offsets, at)
    return out


def _dedented(cell: Text) -> Text:
    """A cell without the indentation that its first line has."""
    text, offsets = cell
    indent = text[: len(text) - len(text.lstrip(" \t"))]
    if not indent:
        return cell
    kept: list[tuple[int, int]] = []
    at = 0
    while at < len(text):
        end = _line_end(text, at)
        kept.append((at + len(indent) * text.startswith(indent, at), min(end + 1, len(text))))
        at = end + 1
    return "".join(text[a:b] for a, b in kept), [offset for a, b in kept for offset in offsets[a:b]]


def _whole(out: Converted, match: re.Match[str], rest: Text, at: int) -> None:
    """A cell of another language."""
    name, arguments = match[2], match[3].split()
    program = arguments[0].rsplit("/")[-1] if name == "script" and arguments else name
    if program in SHELL_CELLS:
        _run(out, rest, at, "system")
        out.add("\n", at)
    elif name in ("writefile", "file") and arguments:
        out.files.append((arguments[-1], rest))


def _lines(out: Converted, text: str, offsets: Sequence[int], at: int) -> None:
    """The lines of a cell of Python."""
    while at < len(text):
        end = _line_end(text, at)
        match = _LINE.match(text, at, end) or _AUTOMATIC.match(text, at, end)
        if match:
            while text[at:end].endswith("\\") and end < len(text):
                end = _line_end(text, end + 1)
            _magic(out, match, (text[:end], offsets[:end]))
        elif _HELP.match(text, at, end):
            out.add("pass", offsets[at])
        else:
            out.copy((text[at:end], offsets[at:end]))
        if end < len(text):
            out.copy(("\n", offsets[end : end + 1]))
        at = end + 1


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end == -1 else end


def _magic(out: Converted, match: re.Match[str], line: Text) -> None:
    """One line that is no Python; `line` is the cell up to its end."""
    out.copy((match["indent"], line[1][match.start("indent") : match.end("indent")]))
    if match["target"]:
        out.copy((match["target"], line[1][match.start("target") : match.end("target")]))
    start = match.start("rest")
    rest = line[0][start:], line[1][start:]
    at = line[1][match.start("sign")]
    environment = _ENV.match(rest[0])
    if match["sign"].startswith("!"):
        _run(out, rest, at, "popen" if match["target"] else "system")
    elif environment and environment[2]:
        _environment(out, environment, rest, at)
    elif rest[0].startswith(("system ", "sx ")):
        cut = rest[0].index(" ") + 1
        _run(out, (rest[0][cut:], rest[1][cut:]), at, "system")
    else:
        out.add("None" if match["target"] else "pass", at)


def _environment(out: Converted, match: re.Match[str], rest: Text, at: int) -> None:
    """`%env A=1`."""
    out.needs_os = True
    name, value = match.span(1), (match.start(2), match.start(2) + len(match[2].rstrip()))
    out.add(f"{OS}.environ['", at)
    out.copy((rest[0][slice(*name)], rest[1][slice(*name)]))
    out.add("'] = ", at)
    _literal(out, (rest[0][slice(*value)], rest[1][slice(*value)]), at, _VARIABLE)


def _run(out: Converted, command: Text, at: int, function: str) -> None:
    """A command that a shell of its own runs."""
    out.needs_os = True
    out.add(f"{OS}.{function}(", at)
    _literal(out, command, at, _FIELD)
    out.add(")", at)


def _literal(out: Converted, text: Text, at: int, fields: re.Pattern[str]) -> None:
    """Text as a Python string; an f-string where Python variables stand in it."""
    found = list(fields.finditer(text[0]))
    out.add("f'" if found else "'", text[1][0] if text[1] else at)
    done = 0
    for match in found:
        _quoted(out, text, done, match.start(), True)
        out.add("{" + next(group for group in match.groups() if group) + "}", text[1][match.start()])
        done = match.end()
    _quoted(out, text, done, len(text[0]), bool(found))
    out.add("'", text[1][-1] if text[1] else at)


def _quoted(out: Converted, text: Text, start: int, end: int, formatted: bool) -> None:
    for index in range(start, end):
        char = text[0][index]
        if formatted and char in "{}":
            out.add(char * 2, text[1][index])
        else:
            out.add(_QUOTING.get(char, char), text[1][index])
