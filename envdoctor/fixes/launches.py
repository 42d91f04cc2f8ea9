"""Puts the block that a level needs in front of a launch (ED601), and mends commands that are misread (ED604).

A block stands above the statement that launches in a script, in the mapping of the same container in a manifest, as
`ENV` in an image. Pure functions of a finding, the facts and the lines of its file.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from envdoctor.core.facts import FileFacts, Launch, Place, Setting
from envdoctor.core.findings import Edit, Finding
from envdoctor.core.regexes import regex
from envdoctor.fixes.remove import out_of_words, statement_line
from envdoctor.fixes.spans import on_line, whole_lines

if TYPE_CHECKING:
    from tree_sitter import Node

BODIES = ("program", "do_group", "compound_statement", "if_statement", "else_clause", "elif_clause")
_GIVEN = regex(r"(?<!\S)([A-Z][A-Z0-9_]*)=(\S+)")
_BLOCK = regex(r"(?:export|set in the environment of all ranks:) (?=[A-Z])")
_CLOCK = regex(r"[ \t]*(?:sudo[ \t]+(?:-\w[ \t]+)*)?(?:\S*/)?(?:rocm-smi|amd-smi)[ \t][^;&|<>`$(\\]*\Z")
_CLOCK_WORDS = regex(r"-\w|--\w[\w-]*(?:=\S+)?|\d+(?:,\d+)*|all|set")
_DIRECTIVE = regex(r"#SBATCH\b")
_ENTRIES = ("kubernetes", "compose")


def settings_of(finding: Finding) -> list[tuple[str, str]]:
    """The block that a finding asks for, as its help gives it; empty where it is none. Files (NCCL_GRAPH_FILE) are left
    out: a path that names nothing ends the run."""
    found = _BLOCK.match(finding.help)
    given = _GIVEN.findall(finding.help[found.end() :]) if found else []
    return [(name, value) for name, value in given if not value.startswith("/")]


def block(finding: Finding, facts: FileFacts, lines: Sequence[str]) -> Edit | None:
    """The block where the environment of the launch is made."""
    wanted, place = settings_of(finding), finding.place
    if not wanted or not 0 < place.line <= len(lines):
        return None
    if facts.kind == "shell":
        return _above(place, lines, [f"export {name}={_quoted(value)}" for name, value in wanted])
    if facts.kind == "dockerfile":
        return _in_image(place, lines, " ".join(f"{name}={_quoted(value)}" for name, value in wanted))
    if facts.kind == "yaml":
        return _in_mapping(place, facts, lines, wanted)
    return None


def _quoted(value: str) -> str:
    return value if re.fullmatch(r"[\w.,:/+=-]+", value) else f'"{value}"'


def _above(place: Place, lines: Sequence[str], code: Sequence[str]) -> Edit | None:
    """Lines above the statement that launches, and above the comments that go with it."""
    line = first_line(place, lines)
    if line is None:
        return None
    text = lines[line - 1]
    indent = text[: len(text) - len(text.lstrip())]
    while line > 1 and lines[line - 2].startswith(f"{indent}#") and not re.match(r"#(?:!|SBATCH|PBS)", lines[line - 2]):
        line -= 1
    return Edit(on_line(place.path, line, 0, 0), "".join(f"{indent}{one}\n" for one in code))


def first_line(place: Place, lines: Sequence[str]) -> int | None:
    """The line on which the statement around a launch starts, where it starts the line; None within quotes and the
    like."""
    from envdoctor.readers.shell.syntax.mask import mask
    from envdoctor.readers.shell.syntax.parse import parse

    tree = parse(mask("\n".join(lines)).data)
    if tree is None:
        return None
    point = (place.line - 1, len(lines[place.line - 1][: place.column - 1].encode("utf-8", "replace")))
    node = tree.root_node.descendant_for_point_range(point, point)
    node = _statement(node) if node is not None else None
    while node is not None and lines[node.start_point.row][: node.start_point.column].strip():
        node = node.prev_named_sibling  # `cd x; torchrun y`: above all of the line
    if node is None or lines[node.start_point.row][: node.start_point.column].strip():
        return None
    return node.start_point.row + 1


def _statement(node: Node) -> Node | None:
    """The statement that a node belongs to: the outermost one that stands in the same body."""
    here: Node | None = node
    while here is not None and here.parent is not None:
        if here.type in (
            "ERROR",
            "heredoc_body",
            "command_substitution",
            "process_substitution",
            "string",
            "raw_string",
        ):
            return None
        parent = here.parent
        if parent.type in BODIES and not _is_condition(here, parent):
            return here
        here = parent
    return None


def _is_condition(node: Node, parent: Node) -> bool:
    """What stands between `if` and `then` has no line of its own to put something above."""
    if parent.type not in ("if_statement", "elif_clause"):
        return False
    then = next((child for child in parent.children if child.type == "then"), None)
    return then is None or node.start_byte < then.start_byte


def _in_image(place: Place, lines: Sequence[str], code: str) -> Edit | None:
    """`ENV` above the instruction that launches."""
    line = place.line
    while line > 1 and lines[line - 2].rstrip().endswith("\\"):
        line -= 1
    if not re.match(r"[ \t]*(?i:CMD|ENTRYPOINT|RUN)\b", lines[line - 1]):
        return None
    while line > 2 and lines[line - 2].startswith("#"):
        line -= 1
    return Edit(on_line(place.path, line, 0, 0), f"ENV {code}\n")


def _in_mapping(place: Place, facts: FileFacts, lines: Sequence[str], wanted: Sequence[tuple[str, str]]) -> Edit | None:
    """Below the last entry of the environment of the container that launches."""
    launch = next((x for x in facts.launches if x.place == place), None)
    if launch is None:
        return None
    for setting in sorted((s for s in facts.settings if _beside(s, launch)), key=lambda s: -s.place.line):
        if (made := _entries(setting, lines, wanted)) is not None:
            return made
    return None


def _beside(setting: Setting, launch: Launch) -> bool:
    return setting.channel in _ENTRIES and setting.scope == launch.scope and setting.op == "set"


def _entries(setting: Setting, lines: Sequence[str], wanted: Sequence[tuple[str, str]]) -> Edit | None:
    """Entries in the form of one that is there: `- name:` and `value:`, `NAME: value`, or `- NAME=value`."""
    name, value = setting.name_place, setting.value_place
    if name is None or value is None or value.end_line != value.line:
        return None
    text = lines[name.line - 1]
    indent = text[: len(text) - len(text.lstrip())]
    key = rf"[\"']?{re.escape(setting.name)}[\"']?"
    if re.match(rf"[ \t]*- name:[ \t]*{key}[ \t]*(?:#.*)?\Z", text) and value.line == name.line + 1:
        form = '{indent}- name: {name}\n{indent}  value: "{value}"'
    elif value.line == name.line and re.match(rf"[ \t]*{key}:[ \t]", text):
        form = '{indent}{name}: "{value}"'
    elif value.line == name.line and re.match(rf"[ \t]*- {re.escape(setting.name)}=", text):
        form = "{indent}- {name}={value}"
    else:
        return None
    code = "".join("\n" + form.format(indent=indent, name=n, value=v) for n, v in wanted)
    end = len(lines[value.line - 1])
    return Edit(on_line(name.path, value.line, end, end), code)


def mended(finding: Finding, lines: Sequence[str]) -> tuple[Edit, ...]:
    """A misread command put right: a directive moved up, a clock cap taken out, a build type given."""
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


def without_word(finding: Finding, lines: Sequence[str]) -> tuple[Edit, ...]:
    """A launch without an argument that its mode refuses; the help of the finding names it."""
    found = re.fullmatch(r"without (--[\w-]+)", finding.help)
    place = finding.place
    if found is None or not 0 < place.line <= place.end_line <= len(lines):
        return ()
    word = re.compile(rf"(?<!\S){re.escape(found[1])}(?!\S)")
    hits = [(n, m) for n in range(place.line, place.end_line + 1) for m in word.finditer(lines[n - 1])]
    if len(hits) != 1:
        return ()
    number, match = hits[0]
    edit = out_of_words(place.path, lines, number, match.start(), match.end())
    return (edit,) if edit is not None else ()


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
