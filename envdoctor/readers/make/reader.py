"""Makefiles: variables, exported or not, and recipe lines, each of which a shell of its own runs.

Source: GNU make manual, measured with 4.3: a variable reaches recipes only if it is exported; `export A` anywhere in
the file counts for all of it; quotes and the blanks before a comment belong to the value; `$` is doubled to reach the
shell. A variable that is not exported has the channel "argument": it is one of make's own.
"""

from __future__ import annotations

import re

from envdoctor.core.facts import Branch, FileFacts, Inclusion, Op, Scope, Setting, Use, Value
from envdoctor.core.records import replace
from envdoctor.core.regexes import regex
from envdoctor.core.source import Source
from envdoctor.readers.kinds import kind_of
from envdoctor.readers.make.lines import logical_lines, recipe_source, resolved
from envdoctor.readers.shared.collector import MOST_SETTINGS, Collector, comment_at
from envdoctor.readers.shared.statement_reader import MOST_COMMANDS, TELLING
from envdoctor.readers.shared.substitution import parts_of, value_of

OPS: dict[str, Op] = {"?=": "default", "+=": "append"}

_MODIFIERS = r"[ ]*(?:(?P<modifiers>(?:(?:override|export|private)[ \t]+)+))?"
_ASSIGNMENT = regex(
    _MODIFIERS + r"(?P<name>[A-Za-z_][\w.-]*)[ \t]*(?P<sign>\?=|::?:?=|\+=|!=|=)[ \t]*"
    r"(?P<value>[^#\n\\]*(?:\\(?:.|\n)[^#\n\\]*)*)"
)
_RULE = regex(r"(?P<targets>[^\s=:#][^=:#\n]*)::?(?!=)(?P<rest>[^\n]*)")
_EXPORT = regex(r"[ ]*(?P<word>export|unexport)\b(?P<names>[^=#\n]*)$")
_CONDITION = regex(r"[ \t]*(ifdef|ifndef|ifeq|ifneq|else|endif)\b")
_INCLUDE = regex(r"[ ]*[-s]?include[ \t]+(\S+)")
_DEFINE = regex(r"[ ]*(?:override[ \t]+|export[ \t]+)*define\b")
_REFERENCE = regex(r"\$[({]([A-Za-z_]\w*)[)}]")
_DEFINED = regex(r"[ \t]*ifn?def[ \t]+([A-Za-z_]\w*)")
_CONTINUED = regex(r"[ \t]*\\\n[ \t]*")
_PREFIX = regex(r"[ \t]*[@+-]*[ \t]*")


def read(source: Source, kind: str) -> FileFacts:
    """Facts of a makefile."""
    reader = Make(source, kind)
    for start, end in logical_lines(source.text):
        if reader.out.full:
            break
        reader.line(start, end)
    reader.flush()
    reader.finish()
    return reader.out.facts


class Make:
    """Reads the lines of one makefile."""

    def __init__(self, source: Source, kind: str) -> None:
        self.source = source
        self.text = source.text
        self.out = Collector(source, kind)
        self.known: dict[str, str] = {}
        self.exported: set[str] = set()
        self.unexported: set[str] = set()
        self.export_all = ".EXPORT_ALL_VARIABLES" in source.text
        self.one_shell = ".ONESHELL" in source.text
        self.branches: list[Branch] = []
        self.targets = ""
        self.recipe: list[tuple[int, int]] = []
        self.defining = False
        self.commands = 0
        self.own: list[int] = []

    def line(self, start: int, end: int) -> None:
        """One logical line."""
        line = self.text[start:end]
        if self.defining:
            self.defining = not line.strip().startswith("endef")
        elif line.startswith("\t") and self.targets:
            self.recipe.append((start, end))
            if not self.one_shell:
                self.flush()
        elif line.strip() and not line.lstrip().startswith("#"):
            self.flush()
            self.directive(line, start, end)

    def directive(self, line: str, start: int, end: int) -> None:
        """A line that is no recipe."""
        if _DEFINE.match(line):
            self.defining = True
        elif _CONDITION.match(line):
            self.condition(line, start, end)
        elif match := _EXPORT.match(line):
            self.export(match, start)
        elif match := _INCLUDE.match(line):
            self.include(match, start)
        elif assigned := _ASSIGNMENT.match(self.text, start, end):
            self.assignment(assigned, "")
        elif rule := _RULE.match(self.text, start, end):
            self.rule(rule)

    def export(self, match: re.Match[str], start: int) -> None:
        """`export A B`, `unexport A`, and `export` alone, which means all."""
        names = match["names"].split()
        if match["word"] == "unexport":
            self.unexported.update(names)
        elif not names:
            self.export_all = True
        else:
            self.exported.update(names)
            at = start + match.start("names")
            for found in re.compile(r"[A-Za-z_]\w*").finditer(self.text, at, start + match.end("names")):
                place = self.source.place(*found.span())
                comment = comment_at(self.source, found.start(), found.end())
                setting = Setting("export", found[0], Value("unknown"), place, "shell", 0, branch=tuple(self.branches))
                self.out.add(replace(setting, comment=comment, name_place=place))

    def include(self, match: re.Match[str], start: int) -> None:
        """`include file`: a makefile, or a file of variables."""
        env_file = kind_of(match[1]) == "env-file"
        place = self.source.place(start + match.start(1), start + match.end(1))
        self.out.add(Inclusion("env-file" if env_file else "source", match[1], place, 0, tuple(self.branches)))

    def condition(self, line: str, start: int, end: int) -> None:
        """`ifdef`, `ifeq`, `else`, `endif`."""
        word = line.split(None, 1)[0]
        if word == "endif":
            if self.branches:
                self.branches.pop()
            return
        self.uses(start, end)
        if match := _DEFINED.match(self.text, start, end):
            self.use(match[1], *match.span(1))
        if word.startswith("else"):
            if self.branches:
                last = self.branches.pop()
                self.branches.append(Branch(last.id, f"else {start}", line.strip()))
        else:
            self.branches.append(Branch(f"if:{start}", "if", line.strip()))

    def rule(self, match: re.Match[str]) -> None:
        """`targets: prerequisites`, or a variable of these targets alone."""
        start, end = match.span("rest")
        targets = match["targets"].strip()
        specific = _ASSIGNMENT.match(self.text, start + len(match["rest"]) - len(match["rest"].lstrip()), end)
        if specific:
            self.assignment(specific, targets)
            return
        self.targets = targets
        self.uses(*match.span())

    def assignment(self, match: re.Match[str], targets: str) -> None:
        """`A = 1` in its forms; whether it is exported shows at the end of the file."""
        name, sign = match["name"], match["sign"]
        if not name.isidentifier():
            return
        if "export" in (match["modifiers"] or "").split():
            self.exported.add(name)
        start, end = match.span("value")
        text = _CONTINUED.sub(" ", self.text[start:end])
        value = Value("unknown", text) if sign == "!=" else value_of(parts_of(text), text, self.known)
        if value.known is not None and sign != "+=" and not targets:
            self.known[name] = value.known
        self.own.append(len(self.out.facts.settings))
        self.out.add(
            Setting(
                OPS.get(sign, "set"), name, value, self.source.place(match.start("name"), max(end, match.end("sign"))),
                "shell", 0, "no", Scope("subshell", targets) if targets else Scope(), tuple(self.branches),
                comment=comment_at(self.source, match.start("name"), end),
                name_place=self.source.place(*match.span("name")), value_place=self.source.place(start, end),
            )
        )  # fmt: skip

    def flush(self) -> None:
        """Read the recipe lines collected so far with one shell."""
        spans, self.recipe = self.recipe, []
        if not spans or self.commands >= MOST_COMMANDS:
            return
        prefix = _PREFIX.match(self.text, *spans[0])
        spans[0] = (prefix.end() if prefix else spans[0][0], spans[0][1])
        shell = recipe_source(self.source, spans)
        if not TELLING.search(shell.text):
            return
        self.commands += 1
        line = self.source.point(spans[0][0])[0]
        before = len(self.out.facts.problems)
        first = len(self.out.facts.settings)
        self.out.embed(shell, "shell", Scope("subshell", f"{self.targets}, line {line}"), tuple(self.branches))
        del self.out.facts.problems[before:]
        settings = self.out.facts.settings
        settings[first:] = [resolved(setting, self.known) for setting in settings[first:]]

    def uses(self, start: int, end: int) -> None:
        """Variables that a condition or a rule looks at."""
        for match in _REFERENCE.finditer(self.text, start, end):
            self.use(match[1], *match.span())

    def use(self, name: str, start: int, end: int) -> None:
        """State a use."""
        if len(self.out.facts.uses) < MOST_SETTINGS:
            self.out.facts.uses.append(Use(name, self.source.place(start, end), self.out.order))
            self.out.order += 1

    def finish(self) -> None:
        """Say which variables are exported: `export` counts for the whole file."""
        settings = self.out.facts.settings
        for index in self.own:
            if index < len(settings):
                name = settings[index].name
                exported = (self.export_all or name in self.exported) and name not in self.unexported
                changes = {"exported": "yes"} if exported else {"channel": "argument"}
                settings[index] = replace(settings[index], **changes)  # type: ignore[arg-type]
        if self.out.full:
            self.out.problem(f"more than {MOST_SETTINGS} settings: the rest was left out", 0, 0)
