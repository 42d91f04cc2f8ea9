"""Takes a setting out of a script, image, manifest or table, where nothing else hangs on it.

Only forms that are plain are touched: a statement alone on its line, one word among others, one entry of a table.
Pure functions of a setting and the lines of its file; what is not plain gives no edit.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from envdoctor.core.facts import Place, Setting
from envdoctor.core.findings import Edit
from envdoctor.core.regexes import regex
from envdoctor.fixes.spans import at, on_line, whole_lines

LEADS = {
    "shell": r"(?:(?:export|declare[ \t]+-\w*x\w*|typeset[ \t]+-\w*x\w*)[ \t]+)?",
    "csh": r"setenv[ \t]+", "fish": r"set(?:[ \t]+-{1,2}[\w-]+)+[ \t]+", "image": r"(?i:ENV)[ \t]+",
    "make": r"(?:export[ \t]+)?", "service": r"Environment=", "list": r"-[ \t]+", "plain": r"(?:export[ \t]+)?",
}  # fmt: skip
"""What stands in front of a name in a statement that does nothing but set it."""
TRAILING_COMMENT = r"[ \t]*(?:[ \t]#.*)?"
_SEPARATOR = regex(r"[ \t]*(?::=|\?=|=|:)?[ \t]*")
_FLAG = regex(r"(?:^|(?<=[ \t]))(?:-x|-e|--env)(?:[ \t]+|=)\Z")
_DEFAULT = regex(r"[ \t]*:[ \t]+(\"?)\$\{(\w+):?=[^}$`\"]*\}\1[ \t]*(?:[ \t]#.*)?")
_WORD = regex(r"[A-Za-z_]\w*=")
_OPENS = regex(r"(?:^|[\s;])(?:then|do|else|\{|\()[ \t]*(?:#.*)?\Z|[^(]\)[ \t]*(?:#.*)?\Z|(?:\(\)[ \t]*\{)[ \t]*\Z")
_CLOSES = regex(r"[ \t]*(?:fi|done|elif|else|esac|\}|\)|;;)")
_JOINS = regex(r"(?:\\|&&|\|\|?)[ \t]*\Z")


class Chunk(NamedTuple):
    """`NAME=value` on one line, with the quotes around it: offsets from 0, and the text in between the two."""

    line: int
    start: int
    end: int
    between: str


def removal(setting: Setting, lines: Sequence[str], kind: str) -> Edit | None:
    """The edit that takes a setting out, or None where that is not plain. `kind` is the kind of the file."""
    if setting.value.kind != "literal" and setting.op in ("set", "default", "append") and _runs(setting.value.text):
        return None
    if kind == "yaml" and (edit := _manifest_entry(setting, lines)):
        return edit
    if setting.channel == "launcher-argument":
        return _argument(setting, lines)
    if setting.channel == "shell" and kind not in ("csh", "fish", "make", "justfile"):
        return _statement(setting, lines) or _word(setting, lines) or _in_sequence(setting, lines)
    if setting.channel == "image":
        return _image(setting, lines)
    return _of_table(setting, lines, kind)


def _runs(text: str) -> bool:
    """A value that starts something when it is worked out: what it does would go as well."""
    return not text or "$(" in text or "`" in text or "$((" in text


def chunk_of(setting: Setting, lines: Sequence[str]) -> Chunk | None:
    """Where name and value stand, where both are on one line."""
    name = setting.name_place
    if name is None or setting.op == "default":
        return None
    shown = at(lines, name)
    if shown.strip("\"'") != setting.name:
        return None
    text, start, end = lines[name.line - 1], name.column - 1, name.end_column - 1
    between = ""
    if setting.value_place is not None:
        value = setting.value_place
        if value.line != name.line or value.end_line != name.line or value.column < name.end_column:
            return None
        between, end = text[end : value.column - 1], value.end_column - 1
        if between[-1:] in ('"', "'") and text[end : end + 1] == between[-1]:
            between, end = between[:-1], end + 1
    elif setting.op in ("set", "append"):
        return None
    if start and text[start - 1] in "\"'" and between.startswith(text[start - 1]):
        start, between = start - 1, between[1:]
    elif start and text[start - 1] in "\"'" and text[end : end + 1] == text[start - 1]:
        start, end = start - 1, end + 1
    return Chunk(name.line, start, end, between)


def _cut(setting: Setting, line: int, start: int, end: int, text: str = "") -> Edit:
    return Edit(on_line(setting.place.path, line, start, end), text)


def _lines(setting: Setting, lines: Sequence[str], first: int, last: int) -> Edit:
    return Edit(whole_lines(lines, setting.place.path, first, last), "")


def _alone(chunk: Chunk, lines: Sequence[str], lead: str, tail: str = TRAILING_COMMENT) -> bool:
    """Nothing else stands on the line."""
    text = lines[chunk.line - 1]
    return bool(re.fullmatch(rf"[ \t]*{lead}", text[: chunk.start]) and re.fullmatch(tail, text[chunk.end :]))


def _around(lines: Sequence[str], line: int) -> tuple[str, str]:
    """The nearest lines above and below that are neither blank nor comments."""

    def first(some: Sequence[str]) -> str:
        return next((text for text in some if text.strip() and not text.lstrip().startswith("#")), "")

    return first(lines[: line - 1][::-1]), first(lines[line:])


def _statement(setting: Setting, lines: Sequence[str]) -> Edit | None:
    """`export NAME=value` alone on its line; in a body that would be empty, `:` takes its place."""
    chunk = _default(setting, lines) or chunk_of(setting, lines)
    if chunk is None or not _alone(chunk, lines, LEADS["shell"], rf"[ \t]*;?{TRAILING_COMMENT}"):
        return None
    return statement_line(setting.place.path, lines, chunk.line, chunk.end)


def statement_line(path: str, lines: Sequence[str], line: int, end: int | None = None) -> Edit | None:
    """The line of a statement that stands alone on it away; in a body that would be empty, `:` takes its place.

    `end` is the offset of its end, behind which a comment may stay.
    """
    above, below = _around(lines, line)
    if line > 1 and _JOINS.search(lines[line - 2]):
        return None
    text = lines[line - 1]
    if _OPENS.search(above) and (_CLOSES.match(below) or not below):
        start = len(text) - len(text.lstrip())
        return Edit(on_line(path, line, start, len(text) if end is None else end), ":")
    return Edit(whole_lines(lines, path, line, line), "")


def _default(setting: Setting, lines: Sequence[str]) -> Chunk | None:
    """`: ${NAME:=value}`, which does nothing else."""
    line = setting.place.line
    text = lines[line - 1] if 0 < line <= len(lines) else ""
    found = _DEFAULT.fullmatch(text)
    if setting.op != "default" or found is None or found[2] != setting.name:
        return None
    return Chunk(line, len(text) - len(text.lstrip()), text.rindex("}") + 1 + len(found[1]), "")


def _word(setting: Setting, lines: Sequence[str]) -> Edit | None:
    """One word of several: `export A=1 NAME=2`, `NAME=1 A=2 command`."""
    chunk = chunk_of(setting, lines)
    if chunk is None or not chunk.between.startswith("="):
        return None
    if setting.scope.kind != "command" and not _has_neighbour(chunk, lines):
        return None
    return out_of_words(setting.place.path, lines, chunk.line, chunk.start, chunk.end)


def _has_neighbour(chunk: Chunk, lines: Sequence[str]) -> bool:
    """Another assignment stands right before or after in the same command."""
    text = lines[chunk.line - 1]
    before, after = text[: chunk.start].split(), text[chunk.end :].split()
    if not before and chunk.line > 1 and lines[chunk.line - 2].rstrip().endswith("\\"):
        before = lines[chunk.line - 2].rstrip()[:-1].split()
    if after[:1] == ["\\"] and chunk.line < len(lines):
        after = lines[chunk.line].split()
    return bool((before and _WORD.match(before[-1])) or (after and _WORD.match(after[0])))


def out_of_words(path: str, lines: Sequence[str], line: int, start: int, end: int) -> Edit | None:
    """Cut one word, and the blanks or the line that it leaves behind."""
    text = lines[line - 1]
    before, after = text[:start], text[end:]
    continued = line > 1 and lines[line - 2].rstrip(" \t").endswith("\\")
    if (before and before[-1] not in " \t\"'(;!") or (after and after[0] not in " \t\\"):
        return None
    if not before.strip() and re.fullmatch(r"[ \t]*\\[ \t]*", after):
        return Edit(whole_lines(lines, path, line, line), "")
    if not before.strip() and not after.strip() and continued:
        kept = lines[line - 2].rstrip(" \t")[:-1].rstrip(" \t")
        place = Place(path, line - 1, len(kept) + 1, line, len(text) + 1)
        return Edit(place, "") if kept.strip() else None
    if after.strip():
        return Edit(on_line(path, line, start, end + len(after) - len(after.lstrip(" \t"))), "")
    return Edit(on_line(path, line, len(before.rstrip(" \t")), end), "") if before.strip() else None


def _in_sequence(setting: Setting, lines: Sequence[str]) -> Edit | None:
    """`export NAME=value;` or `export NAME=value &&` with more behind it on the line."""
    chunk = chunk_of(setting, lines)
    if chunk is None or not chunk.between.startswith("="):
        return None
    text = lines[chunk.line - 1]
    head = re.search(r"(?:^[ \t]*|[;(\"'][ \t]*|&&[ \t]+|(?i:RUN)[ \t]+)(?P<own>export[ \t]+)?\Z", text[: chunk.start])
    tail = re.match(r"[ \t]*(?:;(?!;)|&&)[ \t]*(?=[^\s\\;&|)\"'#])", text[chunk.end :])
    if head is None or tail is None:
        return None
    start = head.start("own") if head["own"] else chunk.start
    return _cut(setting, chunk.line, start, chunk.end + tail.end())


def _image(setting: Setting, lines: Sequence[str]) -> Edit | None:
    """`ENV NAME=value`, alone or among others; the older form without `=` holds the whole rest of the line."""
    chunk = chunk_of(setting, lines)
    if chunk is None:
        return None
    continued = chunk.line > 1 and lines[chunk.line - 2].rstrip().endswith("\\")
    if not continued and _alone(chunk, lines, LEADS["image"], r"[ \t]*"):
        return _lines(setting, lines, chunk.line, chunk.line)
    if not chunk.between.startswith("=") or not _has_neighbour(chunk, lines):
        return None
    return out_of_words(setting.place.path, lines, chunk.line, chunk.start, chunk.end)


def _argument(setting: Setting, lines: Sequence[str]) -> Edit | None:
    """`-x NAME`, `-e NAME=value`, `--env=NAME=value`, or one entry of the list behind `--export=`."""
    chunk = chunk_of(setting, lines)
    if chunk is None or not (chunk.between.startswith("=") or (setting.op == "pass" and not chunk.between)):
        return None
    text = lines[chunk.line - 1]
    flag = _FLAG.search(text[: chunk.start])
    if flag is not None:
        return out_of_words(setting.place.path, lines, chunk.line, flag.start(), chunk.end)
    before, after = text[: chunk.start], text[chunk.end : chunk.end + 1]
    if re.search(r"--export=(?:[\w./:=-]+,)+\Z", before) and after in ("", " ", ","):
        return _cut(setting, chunk.line, chunk.start - 1, chunk.end)
    if before.endswith("--export=") and after == ",":
        return _cut(setting, chunk.line, chunk.start, chunk.end + 1)
    return None


def _manifest_entry(setting: Setting, lines: Sequence[str]) -> Edit | None:
    """`- name: NAME` and the `value:` on the next line."""
    name, value = setting.name_place, setting.value_place
    if name is None or value is None or value.line != name.line + 1 or value.end_line != value.line:
        return None
    first = re.fullmatch(rf"([ \t]*)- name:[ \t]*[\"']?{re.escape(setting.name)}[\"']?{TRAILING_COMMENT}",
                         lines[name.line - 1])  # fmt: skip
    if first is None or not re.match(rf"{first[1]}  value:[ \t]", lines[value.line - 1]):
        return None
    if re.match(rf"{first[1]}  ", lines[value.line] if value.line < len(lines) else "") or not _has_sibling(
        lines, name.line, value.line, first[1] + "- "
    ):
        return None
    return _lines(setting, lines, name.line, value.line)


def _has_sibling(lines: Sequence[str], first: int, last: int, indent: str) -> bool:
    """Another entry of the same list or mapping stands above or below, so that it does not end up empty."""
    above, _ = _around(lines, first)
    _, below = _around(lines, last)
    width = len(indent) - len(indent.lstrip())
    deep = len(above) - len(above.lstrip())
    under_parent = above.rstrip().endswith(":") and deep <= width and not above.startswith(indent)
    return (below.startswith(indent) and below[len(indent) : len(indent) + 1] not in (" ", "")) or (
        bool(above) and not under_parent and deep >= width
    )


def _of_table(setting: Setting, lines: Sequence[str], kind: str) -> Edit | None:
    """An entry of a file or mapping in which each stands on a line of its own."""
    chunk = chunk_of(setting, lines)
    if chunk is None or not (_SEPARATOR.fullmatch(chunk.between) or (setting.op == "pass" and not chunk.between)):
        return None
    text = lines[chunk.line - 1]
    if chunk.line > 1 and lines[chunk.line - 2].rstrip().endswith("\\"):
        return None
    if kind == "json" or (kind not in ("python", "toml") and text[chunk.start] == '"' and ":" in chunk.between):
        return _json_entry(setting, lines, chunk)
    if kind == "yaml" and setting.channel not in ("env-file", "conf-file"):
        lead = LEADS["list"] if text.lstrip().startswith("- ") else ""
        if (lead and ":" in chunk.between) or not _alone(chunk, lines, lead):
            return None
        indent = text[: len(text) - len(text.lstrip())] + ("- " if lead else "")
        siblings = _has_sibling(lines, chunk.line, chunk.line, indent)
        return _lines(setting, lines, chunk.line, chunk.line) if siblings else None
    leads = {"csh": "csh", "fish": "fish", "make": "make", "justfile": "make", "ini": "service", "shell": "plain"}
    lead = LEADS[leads.get(kind, "plain")]
    # A word behind the value would be part of it where the file has no comments at the end of a line.
    tail = TRAILING_COMMENT if kind in ("toml", "csh", "fish", "shell") else r"[ \t]*"
    return _lines(setting, lines, chunk.line, chunk.line) if _alone(chunk, lines, rf"(?:{lead})?", tail) else None


def _json_entry(setting: Setting, lines: Sequence[str], chunk: Chunk) -> Edit | None:
    """`"NAME": "value"`, on a line of its own or among others; the last entry takes the comma in front of it along."""
    text = lines[chunk.line - 1]
    before, after = text[: chunk.start], text[chunk.end :]
    if _alone(chunk, lines, "", r"[ \t]*,[ \t]*"):
        return _lines(setting, lines, chunk.line, chunk.line)
    if behind := re.match(r"[ \t]*,[ \t]*(?=\S)", after):
        return _cut(setting, chunk.line, chunk.start, chunk.end + behind.end())
    if front := re.search(r"[ \t]*,[ \t]*\Z", before):
        return _cut(setting, chunk.line, front.start(), chunk.end) if re.match(r"[ \t]*[}\n]|\Z", after) else None
    if before.rstrip().endswith("{") and after.lstrip().startswith("}"):
        return _cut(setting, chunk.line, chunk.start, chunk.end)
    if chunk.line == 1 or not _alone(chunk, lines, "", r"[ \t]*"):
        return None
    above = lines[chunk.line - 2].rstrip()
    if above.endswith("{"):
        return _lines(setting, lines, chunk.line, chunk.line)
    if not above.endswith(","):
        return None
    return Edit(Place(setting.place.path, chunk.line - 1, len(above), chunk.line, len(text) + 1), "")
