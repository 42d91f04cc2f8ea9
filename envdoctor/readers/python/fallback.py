"""Plain assignments of a Python file that cannot be parsed (Python 2, a slip, a template), line by line."""

from __future__ import annotations

import re

from envdoctor.core.facts import FileFacts, Op, Scope, Setting, Value
from envdoctor.core.regexes import regex
from envdoctor.readers.python.names.code import Code

STRING = r"(?P<{0}q>['\"])(?P<{0}>[^'\"\\\n]*)(?P={0}q)"
CALLS = r"(?:(?P<set>os\.environ\[\s*)|(?P<default>os\.environ\.setdefault\(\s*)|(?P<put>os\.putenv\(\s*))"
LINE = regex(
    r"(?P<indent>[ \t]*)" + CALLS + STRING.format("name") + r"(?(set)\s*\]\s*=(?!=)|\s*,)\s*" + STRING.format("value")
    + r"(?(set)|\s*\))\s*;?\s*(?:#+(?P<comment>.*))?$"
)  # fmt: skip
FUNCTION = regex(r"([ \t]*)(?:async\s+)?def\s+(\w+)")
LONG = regex(r"'''|\"\"\"")
LINE_LENGTH = 1000


def read_lines(code: Code, facts: FileFacts) -> None:
    """Add the settings of lines that are a plain assignment to `os.environ` and nothing else."""
    if "environ" not in code.text and "putenv" not in code.text:
        return
    inside_text = False
    functions: list[tuple[int, str]] = []
    for row in range(len(code.starts)):
        line = code.line(row)
        marks = len(LONG.findall(line))
        if not inside_text and not marks and len(line) < LINE_LENGTH:
            if function := FUNCTION.match(line):
                _enter(functions, len(function[1]), function[2])
            elif match := LINE.match(line):
                _leave(functions, len(match["indent"]))
                facts.settings.append(_setting(code, row, match, ".".join(name for _, name in functions)))
        inside_text ^= marks % 2 == 1


def _enter(functions: list[tuple[int, str]], indent: int, name: str) -> None:
    _leave(functions, indent)
    functions.append((indent, name))


def _leave(functions: list[tuple[int, str]], indent: int) -> None:
    """Forget the functions that a line with this indentation is no longer part of."""
    while functions and functions[-1][0] >= indent:
        functions.pop()


def _setting(code: Code, row: int, match: re.Match[str], function: str) -> Setting:
    start = code.starts[row]
    op: Op = "default" if match["default"] else "set"
    end = match.start("comment") if match["comment"] is not None else match.end()
    whole = start + match.end("indent"), start + len(match[0][:end].rstrip("# \t"))
    return Setting(
        op, match["name"], Value("literal", match["value"]), code.between(*whole), "python-environ", row,
        scope=Scope("function", function) if function else Scope(), comment=(match["comment"] or "").strip(),
        name_place=code.between(start + match.start("name"), start + match.end("name")),
        value_place=code.between(start + match.start("value"), start + match.end("value")),
    )  # fmt: skip
