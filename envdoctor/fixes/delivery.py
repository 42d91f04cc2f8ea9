"""Lets a variable get through: `-x NAME`, `-e NAME`, ALL in the list of a launch; a real `export`, `source`, `%env`.

Commands that are misread (ED604) are mended here too. What is not plain in the lines gives no edit.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from envdoctor.core.facts import FileFacts, Place
from envdoctor.core.findings import Edit, Finding, Fix
from envdoctor.core.regexes import regex
from envdoctor.fixes.remove import statement_line
from envdoctor.fixes.spans import on_line, whole_lines
from envdoctor.fixes.workshop import Workshop, unsafe

_FLAG = regex(r"add (-x|-e|--env) (\w+)\Z")
_LIST = regex(r"(--export=)(?!ALL\b|NONE\b|NIL\b)(?=[A-Za-z_])")
LAUNCHERS = r"(?:\S*/)?(?:docker|podman|nerdctl)[ \t]+(?:run|exec)|(?:\S*/)?(?:mpirun|mpiexec|orterun|parallel)"
_CLOCK = regex(r"[ \t]*(?:sudo[ \t]+(?:-\w[ \t]+)*)?(?:\S*/)?(?:rocm-smi|amd-smi)[ \t][^;&|<>`$(\\]*\Z")
_CLOCK_WORDS = regex(r"-\w|--\w[\w-]*(?:=\S+)?|\d+(?:,\d+)*|all|set")
_DIRECTIVE = regex(r"#SBATCH\b")


def forward(finding: Finding, facts: FileFacts, workshop: Workshop) -> Fix | None:
    """The launches that a finding says lose a variable hand it on; no fix where one of them is not plain."""
    del facts
    lost = [related.place for related in finding.related if related.message == "lost here"]
    return unsafe(finding.help, *(_handed_on(finding, place, workshop.lines(place.path)) for place in lost))


def export(finding: Finding, facts: FileFacts, workshop: Workshop) -> Fix | None:
    """`export A = 1` without its blanks; `source` in front of a file of exports that is run; `%env` in a notebook."""
    del facts
    if finding.fix is not None:
        return finding.fix
    if "is three words" in finding.message:
        return unsafe(finding.help, _without_blanks(finding, workshop))
    if finding.help.startswith("%env "):
        return unsafe(finding.help, _magic(finding, workshop))
    if finding.help.startswith("source ") and finding.related:
        return unsafe(finding.help, _sourced(finding.related[0].place, workshop))
    return None


def _without_blanks(finding: Finding, workshop: Workshop) -> Edit | None:
    place = finding.place
    text = workshop.lines(place.path)[place.line - 1]
    found = re.search(rf"\bexport[ \t]+{finding.variable}([ \t]+=[ \t]*)(?=[^\s])", text)
    return Edit(on_line(place.path, place.line, found.start(1), found.end(1)), "=") if found else None


def _magic(finding: Finding, workshop: Workshop) -> Edit | None:
    """`%env` for `!export`, if the value is plain: it takes quotes as they are."""
    place = finding.place
    text = workshop.lines(place.path)[place.line - 1]
    found = re.search(rf"!export[ \t]+(?={finding.variable}=[\w.,:/+-]+(?:\\n)?\")", text)
    return Edit(on_line(place.path, place.line, found.start(), found.end()), "%env ") if found else None


def _sourced(launch: Place, workshop: Workshop) -> Edit | None:
    text = workshop.lines(launch.path)[launch.line - 1]
    shell = re.compile(r"(?:ba|z|k|da)?sh(?=[ \t]+[\w./])").match(text, launch.column - 1)
    return Edit(on_line(launch.path, launch.line, shell.start(), shell.end()), "source") if shell else None


def _handed_on(finding: Finding, place: Place, lines: Sequence[str]) -> Edit | None:
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


def mend(finding: Finding, facts: FileFacts, workshop: Workshop) -> Fix | None:
    """A misread command put right: a directive moved up, a clock cap taken out, a build type given."""
    return unsafe(finding.help, *_mended(finding, workshop.lines(facts.path)))


def _mended(finding: Finding, lines: Sequence[str]) -> tuple[Edit, ...]:
    place = finding.place
    if not 0 < place.line <= len(lines):
        return ()
    if finding.help == "move it above the first command":
        return _moved_directive(place, lines)
    if finding.help.startswith("-DCMAKE_BUILD_TYPE=Release"):
        return _build_type(place, lines)
    if "clock" in finding.message and _is_clock_only(lines[place.line - 1]):
        edit = statement_line(place.path, lines, place.line)
        return (edit,) if edit is not None else ()
    return ()


def _is_clock_only(text: str) -> bool:
    """Nothing but the cap, for some or all devices."""
    code = text.split(" #")[0].rstrip()
    words = code.split()
    tool = next((i for i, word in enumerate(words) if word.endswith("-smi")), None)
    return bool(_CLOCK.match(code)) and tool is not None and all(_CLOCK_WORDS.fullmatch(w) for w in words[tool + 1 :])


def _moved_directive(place: Place, lines: Sequence[str]) -> tuple[Edit, ...]:
    head = 0
    for number, text in enumerate(lines, 1):
        if text.strip() and not text.lstrip().startswith("#"):
            break
        if _DIRECTIVE.match(text) or number == 1:
            head = number
    if not head or head >= place.line:
        return ()
    end = len(lines[head - 1])
    moved = Edit(on_line(place.path, head, end, end), f"\n{lines[place.line - 1]}")
    return (moved, Edit(whole_lines(lines, place.path, place.line, place.line), ""))


def _build_type(place: Place, lines: Sequence[str]) -> tuple[Edit, ...]:
    for number in range(place.line, min(place.end_line, len(lines)) + 1):
        if found := re.search(r"(?<=CMAKE_BUILD_TYPE)((?::\w+)?=)Debug\b", lines[number - 1]):
            return (Edit(on_line(place.path, number, found.end(1), found.end()), "Release"),)
    text = lines[place.line - 1]
    command = re.compile(r"(?:\S*/)?cmake(?=\s)").match(text, place.column - 1)
    if command is None:
        return ()
    return (Edit(on_line(place.path, place.line, command.end(), command.end()), " -DCMAKE_BUILD_TYPE=Release"),)
