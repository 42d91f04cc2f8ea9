"""Justfiles: `export A := "1"`, exported parameters (`recipe $A="1":`), and recipes.

Source: just manual: a variable reaches recipes with `export`, or all do with `set export`; each line of a recipe has
a shell of its own, unless the recipe begins with `#!`.
"""

from __future__ import annotations

import re

from envdoctor.core.facts import FileFacts, Inclusion, Op, Scope, Setting, Use, Value
from envdoctor.core.regexes import regex
from envdoctor.core.source import Source
from envdoctor.readers.kinds import shebang_kind
from envdoctor.readers.make.lines import just_source, logical_lines, resolved
from envdoctor.readers.shared.collector import MOST_SETTINGS, Collector, comment_at
from envdoctor.readers.shared.quoted_text import unescaped
from envdoctor.readers.shared.statement_reader import MOST_COMMANDS, TELLING

_ASSIGNMENT = regex(r"(export[ \t]+)?([A-Za-z_][\w-]*)[ \t]*:=[ \t]*([^\n]*)")
_SETTING = regex(r"set[ \t]+([\w-]+)(?:[ \t]*:=[ \t]*([^\n]*))?")
_HEADER = regex(r"@?([A-Za-z_][\w-]*)([^:\n]*):(?!=)")
_PARAMETER = regex(r"\$([A-Za-z_]\w*)(?:=(\"[^\"\n]*\"|'[^'\n]*'|[^\s:]+))?")
_STRING = regex(r"\"((?:[^\"\\]|\\.)*)\"|'([^']*)'")
_ENV_CALL = regex(r"\benv(?:_var(?:_or_default)?)?\(\s*[\"'](\w+)[\"']\s*(?:,\s*(?:\"([^\"\n]*)\"|'([^'\n]*)'))?\s*\)")


def read(source: Source, kind: str) -> FileFacts:
    """Facts of a justfile."""
    reader = Just(source, kind)
    for start, end in logical_lines(source.text):
        if reader.out.full:
            break
        reader.line(start, end)
    reader.flush()
    if reader.out.full:
        reader.out.problem(f"more than {MOST_SETTINGS} settings: the rest was left out", 0, 0)
    return reader.out.facts


class Just:
    """Reads the lines of one justfile."""

    def __init__(self, source: Source, kind: str) -> None:
        self.source = source
        self.text = source.text
        self.out = Collector(source, kind)
        self.export_all = bool(re.search(r"(?m)^set[ \t]+export\b(?![ \t]*:=[ \t]*false)", source.text))
        self.recipe = ""
        self.script: list[tuple[int, int]] = []
        self.known: dict[str, str] = {}
        self.commands = 0

    def line(self, start: int, end: int) -> None:
        """One logical line."""
        line = self.text[start:end]
        if line[:1] in (" ", "\t"):
            if line.strip() and self.recipe:
                self.recipe_line(start, end)
            return
        if line.strip() and not line.startswith("#"):
            self.flush()
            self.top(start, end)

    def top(self, start: int, end: int) -> None:
        """A line that belongs to no recipe, or begins one."""
        if match := _ASSIGNMENT.match(self.text, start, end):
            self.recipe = ""
            self.assignment(match)
        elif match := _SETTING.match(self.text, start, end):
            if match[1] in ("dotenv-load", "dotenv-filename", "dotenv-path"):
                target = (match[2] or "").strip("\"' ") if match[1] != "dotenv-load" else ".env"
                self.out.add(Inclusion("env-file", target, self.source.place(*match.span()), 0))
        elif match := _HEADER.match(self.text, start, end):
            self.recipe = match[1]
            for parameter in _PARAMETER.finditer(self.text, *match.span(2)):
                self.parameter(parameter)

    def assignment(self, match: re.Match[str]) -> None:
        """`A := "1"`."""
        start, end = match.span(3)
        given = _STRING.match(self.text, start, end)
        behind = given.end() if given else end
        if given and self.text[behind:end].split("#")[0].strip():
            given, behind = None, end
        value, span = self.value(given, start, behind)
        exported = bool(match[1]) or self.export_all
        if value.known is not None:
            self.known[match[2].replace("-", "_")] = value.known
        self.state("set", match.span(2), value, span, behind, exported, Scope())

    def value(self, string: re.Match[str] | None, start: int, end: int) -> tuple[Value, tuple[int, int]]:
        """What an expression gives: a string, `env("A", "default")`, or something computed."""
        if string:
            group = 1 if string[1] is not None else 2
            text = unescaped(string[1]) if group == 1 else string[2]
            return Value("literal", text), string.span(group)
        end = start + len(self.text[start:end].split(" #", 1)[0].rstrip())
        text = self.text[start:end]
        if match := _ENV_CALL.fullmatch(text):
            return Value("template", text, (match[1],), match[2] if match[2] is not None else match[3]), (start, end)
        return Value("unknown", text), (start, end)

    def parameter(self, match: re.Match[str]) -> None:
        """`$A="1"` in the head of a recipe: exported to its lines; without a default it is given by the caller."""
        scope = Scope("subshell", self.recipe)
        if match[2] is None:
            self.state("pass", match.span(1), Value("unknown"), None, match.end(), True, scope)
            return
        quoted = match[2][0] in "\"'"
        span = match.start(2) + quoted, match.end(2) - quoted
        value = Value("literal", self.text[slice(*span)]) if quoted else Value("unknown", match[2])
        self.state("default", match.span(1), value, span, match.end(), True, scope)

    def state(
        self, op: Op, name: tuple[int, int], value: Value, value_span: tuple[int, int] | None, end: int,
        exported: bool, scope: Scope,
    ) -> None:  # fmt: skip
        """State a setting; a variable that is not exported is just's own."""
        if self.text[slice(*name)].isidentifier():
            self.out.add(
                Setting(
                    op, self.text[slice(*name)], value, self.source.place(name[0], max(end, name[1])),
                    "shell" if exported else "argument", 0, "yes" if exported else "no", scope,
                    comment=comment_at(self.source, name[0], end), name_place=self.source.place(*name),
                    value_place=self.source.place(*value_span) if value_span else None,
                )
            )  # fmt: skip
        if value.references:
            self.out.facts.uses.append(Use(value.references[0], self.source.place(name[0], end), self.out.order))
            self.out.order += 1

    def recipe_line(self, start: int, end: int) -> None:
        """One line of a recipe; those of a script are collected."""
        first = self.text[start:end].lstrip()
        if first.startswith("#!") or self.script:
            self.script.append((start, end))
        elif not first.startswith("#"):
            start = end - len(self.text[start:end].lstrip(" \t@-"))
            self.embed([(start, end)], "shell", self.source.point(start)[0])

    def flush(self) -> None:
        """Read the script collected so far."""
        if self.script:
            spans, self.script = self.script, []
            start = spans[0][0]
            kind = shebang_kind(self.text[start : spans[0][1]].lstrip().encode("utf-8", "replace"))
            indent = len(self.text[start : spans[0][1]]) - len(self.text[start : spans[0][1]].lstrip())
            dedented = [(first + indent, last) for first, last in spans if last - first > indent]
            if kind:
                self.embed(dedented, kind, self.source.point(start)[0])

    def embed(self, spans: list[tuple[int, int]], kind: str, line: int) -> None:
        """Hand lines to the reader of their kind."""
        source = just_source(self.source, spans)
        if self.commands < MOST_COMMANDS and (kind != "shell" or TELLING.search(source.text)):
            self.commands += 1
            before, first = len(self.out.facts.problems), len(self.out.facts.settings)
            self.out.embed(source, kind, Scope("subshell", f"{self.recipe}, line {line}"))
            del self.out.facts.problems[before:]
            settings = self.out.facts.settings
            settings[first:] = [resolved(setting, self.known) for setting in settings[first:]]
