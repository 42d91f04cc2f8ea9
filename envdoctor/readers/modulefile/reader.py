"""Environment modulefiles: `setenv A 1` in Tcl, `setenv("A", "1")` in Lua.

Sources: modulefile(5) of Environment Modules, Lmod user guide: `setenv` and `pushenv` export a variable,
`prepend-path` and `append-path` add to it. A modulefile of another kind of code gives the variables it looks at.
"""

from __future__ import annotations

import re

from envdoctor.core.facts import Branch, FileFacts, Op, Value
from envdoctor.core.records import replace
from envdoctor.core.regexes import regex
from envdoctor.core.source import Source
from envdoctor.readers.shared.statement_reader import StatementReader, joined
from envdoctor.readers.shared.statements import Language, Scanner, Statement, StatementWord

TCL = Language(
    in_double='"$\\[]{}', braces=True, brackets={"[": "]"}, operators=False, multiline=True
)  # fmt: skip
DEEPEST = 20
PATHS = ("prepend-path", "append-path", "prepend_path", "append_path")
SETTERS: dict[str, Op] = {"setenv": "set", "pushenv": "set", **dict.fromkeys(PATHS, "append")}

_ENVIRONMENT = regex(r"\$(?:::)?env\(([A-Za-z_]\w*)\)|\[\s*getenv\s+([A-Za-z_]\w*)[^\]]*\]")
_EXISTS = regex(r"\binfo\s+exists\s+(?:::)?env\((\w+)\)")


def read(source: Source, kind: str) -> FileFacts:
    """Facts of a modulefile; kind "lua-modulefile" is that of Lmod."""
    if kind == "lua-modulefile":
        from envdoctor.readers.modulefile import lua as modulefile_lua

        return modulefile_lua.read(source, kind)
    reader = Tcl(source, kind)
    reader.body(0, len(source.text), 0)
    reader.finish()
    return reader.out.facts


class Tcl(StatementReader):
    """Reads the statements of one modulefile; `known` is what its own variables hold."""

    def __init__(self, source: Source, kind: str) -> None:
        super().__init__(source, kind, "module-file")
        self.known: dict[str, str] = {}

    def body(self, start: int, end: int, depth: int) -> None:
        """Statements of the file, or of a block in braces."""
        for statement in Scanner(self.source, TCL, start, end).statements():
            if self.out.full:
                break
            self.statement(statement, depth)

    def statement(self, statement: Statement, depth: int) -> None:
        """One statement."""
        words = statement.words
        head = words[0].text
        if head in SETTERS:
            self.setter(head, words[1:])
        elif head == "unsetenv":
            for word in words[1:2]:
                self.setting("unset", word, Value("unknown"), None)
        elif head == "set" and len(words) == 3:
            self.variable(words[1], words[2])
        elif head in ("if", "switch", "foreach", "while", "for", "eval", "catch"):
            self.block(words, depth)
        elif head == "source" and len(words) > 1:
            self.inclusion(words[1])
        elif head not in ("puts", "proc", "module-whatis"):
            self.looked_at(words[0].start, words[-1].end)

    def setter(self, head: str, words: list[StatementWord]) -> None:
        """`setenv NAME VALUE`, `prepend-path [-d SIGN] NAME VALUE...`."""
        glue = ":"
        while words and words[0].text.startswith("-"):
            option = words.pop(0).text
            if option in ("-d", "--delim") and words:
                glue = words.pop(0).text
            elif option.startswith("--delim="):
                glue = option.partition("=")[2]
        values = words[1:]
        if not words or (not values and head != "setenv"):
            return
        value = joined([_plain(word) for word in values], glue, self.known) if values else Value("literal", "")
        value = _with_environment(value, self.source.text[words[0].start : words[-1].end])
        self.setting(SETTERS[head], words[0], value, values[0] if len(values) == 1 else None, end=words[-1].end)

    def variable(self, name: StatementWord, value: StatementWord) -> None:
        """`set NAME VALUE`: a variable of the file, or of the environment as `env(NAME)`."""
        if match := re.fullmatch(r"(?:::)?env\((\w+)\)", name.text):
            at = match.start(1)
            inner = StatementWord(name.start, name.end, match[1], name.offsets[at : match.end(1)], match[1])
            self.setting("set", inner, value.value(self.known), value)
            return
        self.looked_at(value.start, value.end)
        known = value.text if value.braced else value.value(self.known).known
        if known is None:
            self.known.pop(name.text, None)
        else:
            self.known[name.text] = known

    def block(self, words: list[StatementWord], depth: int) -> None:
        """A command with bodies in braces; each body of an `if` is an arm of it."""
        head, start, condition = words[0].text, words[0].start, ""
        for number, word in enumerate(words[1:], 1):
            before = words[number - 1].text
            if not word.braced or (head == "if" and before in ("if", "elseif")) or depth >= DEEPEST:
                condition = f"{before} {word.text}" if before in ("if", "elseif") else word.text
                self.looked_at(word.start, word.end)
            elif head == "switch":
                self.cases(word, start, depth)
            else:
                branch = [Branch(f"if:{start}", str(number), " ".join(condition.split()))] if head == "if" else []
                self.arm(word, branch, depth)

    def arm(self, word: StatementWord, branch: list[Branch], depth: int) -> None:
        """A body in braces, under a branch where it has one."""
        self.branches += branch
        self.body(word.start + 1, max(word.end - 1, word.start + 1), depth + 1)
        del self.branches[len(self.branches) - len(branch) :]

    def cases(self, word: StatementWord, start: int, depth: int) -> None:
        """The patterns and bodies of a `switch`."""
        for statement in Scanner(self.source, TCL, word.start + 1, max(word.end - 1, word.start + 1)).statements():
            pattern, *bodies = statement.words
            for body in bodies:
                if body.braced:
                    self.arm(body, [Branch(f"if:{start}", f"case {pattern.start}", f"case {pattern.text}")], depth)

    def looked_at(self, start: int, end: int) -> None:
        """Variables of the environment that the file looks at."""
        for match in _ENVIRONMENT.finditer(self.source.text, start, end):
            self.use(match[1] or match[2], *match.span())
        for match in _EXISTS.finditer(self.source.text, start, end):
            self.use(match[1], *match.span())


def _plain(word: StatementWord) -> StatementWord:
    """A word whose `$env(NAME)` and `[getenv NAME]` stand as references to the environment."""
    template = _ENVIRONMENT.sub(lambda match: f"${{{match[1] or match[2]}}}", word.template)
    computed = word.computed and "[" in template
    return replace(word, template=template, computed=computed)


def _with_environment(value: Value, text: str) -> Value:
    """A value without the file's own variables among its references: they are none of the environment."""
    if value.kind != "template":
        return value
    outside = {match[1] or match[2] for match in _ENVIRONMENT.finditer(text)}
    references = tuple(name for name in value.references if name in outside)
    return Value("template", value.text, references, value.fallback)
