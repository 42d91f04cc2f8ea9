"""Puts the block that a level needs in front of a launch (ED601).

A block stands above the statement that launches in a script, in the mapping of the same container in a manifest, as
`ENV` in an image, where the program begins in Python.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from envdoctor.core.facts import FileFacts, Launch, Place, Setting
from envdoctor.core.findings import Edit, Finding, Fix
from envdoctor.core.regexes import regex
from envdoctor.fixes.spans import on_line
from envdoctor.fixes.workshop import Workshop, unsafe

if TYPE_CHECKING:
    from tree_sitter import Node

BODIES = ("program", "do_group", "compound_statement", "if_statement", "else_clause", "elif_clause")
_GIVEN = regex(r"(?<!\S)([A-Z][A-Z0-9_]*)=(\S+)")
_BLOCK = regex(r"(?:export|set in the environment of all ranks:) (?=[A-Z])")
_ENTRIES = ("kubernetes", "compose")


def block(finding: Finding, facts: FileFacts, workshop: Workshop) -> Fix | None:
    """One block for a file and a pass: the launches behind it have it too."""
    if not workshop.is_first(finding):
        return None
    wanted = _settings_of(finding)
    if workshop.program(facts) is not None:
        from envdoctor.fixes.python import start

        return start.environment(finding, wanted, workshop.tree)
    description = f"set {' '.join(f'{name}={value}' for name, value in wanted)}"
    return unsafe(description, _block(finding.place, wanted, facts, workshop.lines(facts.path)))


def _settings_of(finding: Finding) -> list[tuple[str, str]]:
    """The block that a finding asks for, as its help gives it; empty where it is none. Files (NCCL_GRAPH_FILE) are left
    out: a path that names nothing ends the run."""
    found = _BLOCK.match(finding.help)
    given = _GIVEN.findall(finding.help[found.end() :]) if found else []
    return [(name, value) for name, value in given if not value.startswith("/")]


def _block(place: Place, wanted: Sequence[tuple[str, str]], facts: FileFacts, lines: Sequence[str]) -> Edit | None:
    """The block where the environment of the launch at a place is made."""
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
    line = _first_line(place, lines)
    if line is None:
        return None
    text = lines[line - 1]
    indent = text[: len(text) - len(text.lstrip())]
    while line > 1 and lines[line - 2].startswith(f"{indent}#") and not re.match(r"#(?:!|SBATCH|PBS)", lines[line - 2]):
        line -= 1
    return Edit(on_line(place.path, line, 0, 0), "".join(f"{indent}{one}\n" for one in code))


def _first_line(place: Place, lines: Sequence[str]) -> int | None:
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
