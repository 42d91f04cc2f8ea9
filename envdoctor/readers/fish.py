"""fish scripts: `set -gx A 1`, `set -e A`, `export A=1`, and their commands, which the shell reader reads.

Source: fish documentation, `set`: only `-x` puts a variable into the environment; without it a variable that is
exported already stays so. `set -q A` asks whether A is set. Several values reach a child joined by blanks.
"""

from __future__ import annotations

import re

from envdoctor.core.facts import Branch, Exported, FileFacts, Op, Scope, Value
from envdoctor.core.records import dataclass
from envdoctor.core.regexes import regex
from envdoctor.core.source import Source
from envdoctor.readers.shared.statement_reader import StatementReader, joined
from envdoctor.readers.shared.statements import Language, Scanner, Statement, StatementWord

LANGUAGE = Language(in_double='"$\\', in_single="'\\", brackets={"(": ")"}, multiline=True)
PREFIXES = ("and", "or", "not", "begin", "builtin", "command", "if", "while")
OPENING = ("if", "while", "begin", "for", "switch", "function")
PRINTING = ("echo", "printf")
LONG = {
    "export": "x", "unexport": "u", "global": "g", "universal": "U", "local": "l", "function": "f", "erase": "e",
    "query": "q", "append": "a", "prepend": "p", "path": "", "unpath": "", "show": "S", "names": "n",
}  # fmt: skip
ASSIGNMENT = regex(r"([A-Za-z_]\w*)=")


def read(source: Source, kind: str) -> FileFacts:
    """Facts of a fish script."""
    reader = Fish(source, kind)
    for statement in Scanner(source, LANGUAGE).statements():
        if reader.out.full:
            break
        reader.statement(statement.words, statement)
    reader.finish()
    return reader.out.facts


@dataclass(slots=True)
class FishBlock:
    """An open block: whether it made a branch, and the scope that holds again after it."""

    branching: bool
    scope: Scope


class Fish(StatementReader):
    """Reads the statements of one script."""

    def __init__(self, source: Source, kind: str) -> None:
        super().__init__(source, kind, "shell")
        self.exported: set[str] = set()
        self.blocks: list[FishBlock] = []

    def statement(self, words: list[StatementWord], statement: Statement) -> None:
        """One statement, or what follows a keyword in front of it."""
        head = words[0].text
        if head in ("end", "case", "else"):
            self.control(words)
            if [word.text for word in words[:2]] == ["else", "if"] and len(words) > 2:
                self.statement(words[2:], statement)
        elif head in OPENING:
            self.enter(words, branching=head in ("if", "switch"))
            if head in PREFIXES and len(words) > 1:
                self.statement(words[1:], statement)
        elif head in PREFIXES and len(words) > 1:
            self.statement(words[1:], statement)
        else:
            self.simple(head, words, statement)

    def simple(self, head: str, words: list[StatementWord], statement: Statement) -> None:
        """A statement that is no part of a block."""
        if head == "set":
            self.set(words[1:])
        elif head == "export":
            self.export(words[1:])
        elif head in ("source", ".") and len(words) > 1:
            self.inclusion(words[1])
        elif head not in PRINTING:
            self.command(words[0].start, statement.end)

    def set(self, words: list[StatementWord]) -> None:
        """`set [options] NAME [VALUE...]`."""
        flags = ""
        while words and words[0].text.startswith("-") and len(words[0].text) > 1:
            text = words.pop(0).text
            flags += LONG.get(text[2:], "") if text.startswith("--") else text[1:]
        if not words or set(flags) & set("Sn"):
            return
        if "q" in flags:
            for word in words:
                self.use(word.text, word.start, word.end)
            return
        if "e" in flags:
            for word in words:
                self.setting("unset", word, Value("unknown"), None)
            return
        self.assign(words[0], words[1:], flags)

    def assign(self, name: StatementWord, values: list[StatementWord], flags: str) -> None:
        """State what `set` does to one variable."""
        if "x" in flags:
            self.exported.add(name.text)
        elif "u" in flags:
            self.exported.discard(name.text)
        elif not values and flags:
            return
        exported: Exported = "yes" if name.text in self.exported else "no"
        op: Op = "append" if "a" in flags or "p" in flags else "set"
        glue = ":" if name.text.endswith("PATH") else " "
        value = joined(values, glue) if values else Value("literal", "")
        end = values[-1].end if values else name.end
        self.setting(op, name, value, values[0] if len(values) == 1 else None, exported, end)

    def export(self, words: list[StatementWord]) -> None:
        """`export A=1`, which fish has for those who are used to it."""
        for word in words:
            if match := ASSIGNMENT.match(word.text):
                name, value = _parts(word, match)
                self.exported.add(name.text)
                self.setting("set", name, value.value(), value)
            else:
                self.exported.add(word.text)
                self.setting("export", word, Value("unknown"), None)

    def enter(self, words: list[StatementWord], branching: bool) -> None:
        """A block begins; that of a function has a scope of its own."""
        self.blocks.append(FishBlock(branching, self.scope))
        if words[0].text == "function" and len(words) > 1:
            self.scope = Scope("function", words[1].text)
        if branching:
            self.branches.append(Branch(f"if:{words[0].start}", "if", self.shown(words)))

    def control(self, words: list[StatementWord]) -> None:
        """`end`, and another arm of an open `if` or `switch`."""
        if not self.blocks:
            return
        if words[0].text == "end":
            block = self.blocks.pop()
            self.scope = block.scope
            if block.branching:
                self.branches.pop()
        elif self.blocks[-1].branching:
            last = self.branches.pop()
            self.branches.append(Branch(last.id, f"{words[0].text} {words[0].start}", self.shown(words)))

    def shown(self, words: list[StatementWord]) -> str:
        """The source text of words, on one line."""
        return " ".join(self.source.text[words[0].start : words[-1].end].split())


def _parts(word: StatementWord, match: re.Match[str]) -> tuple[StatementWord, StatementWord]:
    """Name and value of `A=1`."""
    middle, at = match.end(1), match.end()
    name = StatementWord(
        word.start, word.start + middle, word.text[:middle], word.offsets[:middle], word.template[:middle]
    )
    start = word.offsets[at] if at < len(word.offsets) else word.end
    return name, StatementWord(start, word.end, word.text[at:], word.offsets[at:], word.template[at:], word.computed)
