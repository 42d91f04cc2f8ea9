"""Lets a variable get through: `-x NAME`, `-e NAME`, ALL in the list of a launch; a real `export`, `source`, `%env`."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from envdoctor.core.facts import Place
from envdoctor.core.findings import Edit, Finding
from envdoctor.core.regexes import regex
from envdoctor.fixes.spans import on_line

_FLAG = regex(r"add (-x|-e|--env) (\w+)\Z")
_LIST = regex(r"(--export=)(?!ALL\b|NONE\b|NIL\b)(?=[A-Za-z_])")
LAUNCHERS = r"(?:\S*/)?(?:docker|podman|nerdctl)[ \t]+(?:run|exec)|(?:\S*/)?(?:mpirun|mpiexec|orterun|parallel)"
Lines = Callable[[str], Sequence[str]]


def forwarding(finding: Finding, lines: Lines) -> tuple[Edit, ...]:
    """Edits of the launches that a finding says lose a variable; none where one of them is not plain."""
    edits = []
    for related in finding.related:
        if related.message == "lost here":
            edit = _edit(finding, related.place, lines(related.place.path))
            if edit is None:
                return ()
            edits.append(edit)
    return tuple(edits)


def exporting(finding: Finding, lines: Lines) -> tuple[Edit, ...]:
    """`export A = 1` without its blanks; `source` in front of a file of exports that is run; `%env` in a notebook, if
    the value is plain: it takes quotes as they are."""
    place = finding.place
    if "is three words" in finding.message:
        text = lines(place.path)[place.line - 1]
        found = re.search(rf"\bexport[ \t]+{finding.variable}([ \t]+=[ \t]*)(?=[^\s])", text)
        return (Edit(on_line(place.path, place.line, found.start(1), found.end(1)), "="),) if found else ()
    if finding.help.startswith("%env "):
        text = lines(place.path)[place.line - 1]
        found = re.compile(rf"!export[ \t]+(?={finding.variable}=[\w.,:/+-]+(?:\\n)?\")").search(text)
        return (Edit(on_line(place.path, place.line, found.start(), found.end()), "%env "),) if found else ()
    if not finding.help.startswith("source ") or not finding.related:
        return ()
    launch = finding.related[0].place
    shell = re.compile(r"(?:ba|z|k|da)?sh(?=[ \t]+[\w./])").match(
        lines(launch.path)[launch.line - 1], launch.column - 1
    )
    if shell is None:
        return ()
    return (Edit(on_line(launch.path, launch.line, shell.start(), shell.end()), "source"),)


def _edit(finding: Finding, place: Place, lines: Sequence[str]) -> Edit | None:
    if not 0 < place.line <= len(lines):
        return None
    if finding.help == "add ALL to --export":
        return _list(place, lines)
    flag = _FLAG.match(finding.help)
    text = lines[place.line - 1]
    launcher = re.compile(rf"(?:{LAUNCHERS})(?=[ \t]|\Z)").match(text, place.column - 1)
    if flag is None or launcher is None or flag[2] != finding.variable:
        return None
    return Edit(on_line(place.path, place.line, launcher.end(), launcher.end()), f" {flag[1]} {flag[2]}")


def _list(place: Place, lines: Sequence[str]) -> Edit | None:
    """`--export=A,B` of the launch itself; a list that stands in the directives of the job is left alone."""
    for number in range(place.line, min(place.end_line, len(lines)) + 1):
        text = lines[number - 1]
        start = place.column - 1 if number == place.line else 0
        if found := _LIST.search(text, start):
            return Edit(on_line(place.path, number, found.end(1), found.end(1)), "ALL,")
    return None
