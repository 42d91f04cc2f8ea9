"""A loop that exports the lines of a file: `while read -r line; do export "$line"; done < vars.env`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from envdoctor.analysis.process.interpreter import assign
from envdoctor.analysis.process.interpreter.shell import written
from envdoctor.analysis.process.interpreter.state import Shell
from envdoctor.analysis.process.interpreter.text import Text
from envdoctor.analysis.process.interpreter.walker import Walker
from envdoctor.core.facts import Place
from envdoctor.core.operations import Body, Operation, Redirect, literal

_LINE = re.compile(r"[^\n]*\n")
_NAMED = re.compile(r"[ \t]*([A-Za-z_]\w*)=(.*)", re.ASCII)
_SPLIT = re.compile(r"[\s*?\[]")
_WITHOUT_VALUE = re.compile(r"[ \t]*(?:#.*)?")


class _Loop(NamedTuple):
    """How lines are read: the variables, whether backslashes and blanks stay, whether the last one needs no end."""

    names: tuple[str, ...]
    raw: bool
    separator: str | None
    unended: bool


def exported_lines(walker: Walker, redirects: Sequence[Redirect], body: Body, shell: Shell) -> bool:
    """Bind what such a loop exports; False: it is none, or nobody knows what the file holds."""
    loop = _reading(body)
    if loop is None or not _exports(body[0][4], loop) or "export" in shell.functions:
        return False
    text = written.input_of(walker, redirects, shell)
    if text is None or not text.known or (not loop.raw and "\\" in text.text):
        return False
    found = list(_lines(text, loop))
    if any(line is None for line in found):
        return False
    for name, value in (line for line in found if line is not None):
        at = name.origin()
        place = Place(at.path, at.line, at.column, at.line, at.column + len(name.text))
        assign.bind(walker, shell, name.text, value, place, assign.BindingManner("file", "yes"))
    for variable in loop.names:
        shell.blur(variable)
    return True


def _reading(body: Body) -> _Loop | None:
    """`while IFS= read -r line || [ -n "$line" ]`."""
    if len(body) != 1 or body[0][0] != "while" or body[0][5] or len(body[0][3]) != 1:
        return None
    condition = body[0][3][0]
    unended = condition[0] == "or" and len(condition[3]) == 1 and condition[4][-1][0] == "test"
    call = condition[3][0] if unended else condition
    if call[0] != "call" or not call[6] or literal(call[6][0]) != "read" or call[7]:
        return None
    words = [literal(word) or "" for word in call[6][1:]]
    names = tuple(word for word in words if word.isidentifier())
    if [word for word in words if word not in names] not in ([], ["-r"]):
        return None
    return _Loop(names, "-r" in words, _separator(call), unended)


def _separator(call: Operation) -> str | None:
    """What IFS is while a line is read; None: blanks."""
    for one in call[5]:
        if one[0] == "assign" and one[3] == "IFS":
            return literal(one[6]) or ""
    return None


def _exports(body: Body, loop: _Loop) -> bool:
    """`export "$line"`, `export "$key=$value"` and nothing else."""
    if len(body) != 1 or body[0][0] != "declare" or body[0][3:5] != ("export", "") or len(body[0][5]) != 1:
        return False
    word = body[0][5][0]
    if word[0] == "assign" or any(part[0] == "ref" and (part[2] or part[3]) for part in word[4]):
        return False
    shown = tuple(part[1] for part in word[4])
    if loop.separator == "=":
        return len(loop.names) == 2 and shown == (loop.names[0], "=", loop.names[1]) and _is_quoted(word[4])
    plain = loop.separator in (None, "") and len(loop.names) == 1 and shown == loop.names
    return plain and word[4][0][0] == "ref"


def _is_quoted(parts: Sequence[Operation]) -> bool:
    return all(part[0] == "text" or part[5] for part in parts)


def _lines(text: Text, loop: _Loop) -> Iterator[tuple[Text, Text] | None]:
    """Name and value of each line; None: nobody knows what is made of it."""
    whole = text.text
    ended = _LINE.finditer(whole if whole.endswith("\n") or not loop.unended else whole + "\n")
    for match in ended:
        line = match[0][:-1]
        if _WITHOUT_VALUE.fullmatch(line):
            continue
        found = _NAMED.fullmatch(line)
        if found is None or _SPLIT.search(found[2]) or (loop.separator is not None and line[:1].isspace()):
            yield None
            continue
        start = match.start()
        yield (
            text.part(start + found.start(1), start + found.end(1)),
            text.part(start + found.start(2), start + found.end(2)),
        )
