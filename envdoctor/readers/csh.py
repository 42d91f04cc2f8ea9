"""csh and tcsh scripts: `setenv A 1`, `set A = 1`, and their commands, which the shell reader reads.

Sources: tcsh(1), measured with 6.24.07: `set` makes a shell variable, which children do not get; quotes of both kinds
take a backslash its meaning; `#` begins a comment in the middle of a word too; `$?A` asks whether A is set.
`A=1 command` and `export` are no csh.
"""

from __future__ import annotations

from envdoctor.core.facts import Branch, FileFacts, Value
from envdoctor.core.source import Source
from envdoctor.readers.shared.statement_reader import StatementReader
from envdoctor.readers.shared.statements import Language, Scanner, Statement, StatementWord

LANGUAGE = Language(brackets={"`": "`", "(": ")"}, comment_anywhere=True)
PRINTING = ("echo", "printf", "print")
LOOPS = ("foreach", "while")


def read(source: Source, kind: str) -> FileFacts:
    """Facts of a csh script."""
    reader = Csh(source, kind)
    reader.directives()
    for statement in Scanner(source, LANGUAGE).statements():
        if reader.out.full:
            break
        reader.statement(statement.words, statement)
    reader.finish()
    return reader.out.facts


class Csh(StatementReader):
    """Reads the statements of one script. `depths` counts the branches of each open block."""

    def __init__(self, source: Source, kind: str) -> None:
        super().__init__(source, kind, "shell")
        self.depths: list[int] = []

    def directives(self) -> None:
        """The comments at the head, in which directives of batch systems stand."""
        text, end = self.source.text, 0
        while end < len(text) and (text[end] in "#\n"):
            stop = text.find("\n", end)
            end = stop + 1 if stop != -1 else len(text)
        if end and any(mark in text[:end] for mark in ("#SBATCH", "#PBS", "#BSUB")):
            self.out.embed(self.source.part(0, end), "shell", self.scope)

    def statement(self, words: list[StatementWord], statement: Statement) -> None:
        """One statement, or what follows the condition of an `if` on the same line."""
        head = words[0].text
        if head == "setenv":
            self.setenv(words[1:])
        elif head == "set" and len(words) > 1:
            self.assign(words[1:])
        elif head in ("unsetenv", "unset"):
            for word in words[1:]:
                self.setting("unset", word, Value("unknown"), None)
        elif head == "source" and len(words) > 1:
            self.inclusion(words[-1])
        elif head.startswith(("if", "else", "endif", "switch", "endsw", "case", "default", "while", "foreach", "end")):
            self.control(words, statement)
        elif head not in PRINTING:
            self.command(words[0].start, statement.end)

    def setenv(self, words: list[StatementWord]) -> None:
        """`setenv NAME VALUE`; tcsh refuses more words."""
        if len(words) > 2:
            message = "setenv takes one name and one value; tcsh says 'Too many arguments' and sets nothing"
            self.out.problem(message, words[0].start, words[-1].end)
        elif words:
            value = words[1].value() if len(words) == 2 else Value("literal", "")
            self.setting("set", words[0], value, words[1] if len(words) == 2 else None)

    def assign(self, words: list[StatementWord]) -> None:
        """`set A=1`, `set A = 1`, `set A`: shell variables; one that was put into the environment stays apart."""
        name, sign, text = words[0].text.partition("=")
        at = len(name)
        first = StatementWord(words[0].start, words[0].start + at, name, words[0].offsets[:at], name)
        value: StatementWord | None = None
        if sign and text:
            value = _rest(words[0], at + 1)
        elif not sign and len(words) > 1 and words[1].text.startswith("="):
            value = _rest(words[1], 1) if words[1].text != "=" else words[2] if len(words) > 2 else None
        if not sign and len(words) > 1 and not words[1].text.startswith("="):
            return
        self.setting("set", first, value.value() if value else Value("literal", ""), value, "no")

    def control(self, words: list[StatementWord], statement: Statement) -> None:
        """`if (...) then`, `else`, `endif`, `switch`, loops, and `if (...) command`."""
        head = words[0].text
        if head in ("endif", "endsw", "end"):
            self.leave()
        elif head in ("else", "case", "default", "default:"):
            self.alternative(words, statement)
        elif head.startswith(("if", "switch", "while", "foreach")):
            rest = _after_condition(words)
            self.uses_in(words[0].start, rest[0].start if rest else statement.end)
            if head.startswith("if") and rest and rest[0].text != "then":
                self.branches.append(self.condition("if", words, rest))
                self.statement(rest, statement)
                self.branches.pop()
            else:
                self.enter(words, rest, loop=head.startswith(LOOPS))

    def condition(self, arm: str, words: list[StatementWord], rest: list[StatementWord], id_: str = "") -> Branch:
        """The branch of a condition."""
        stop = rest[0].start if rest else words[-1].end
        text = " ".join(self.source.text[words[0].start : stop].split())
        return Branch(id_ or f"if:{words[0].start}", arm, text)

    def enter(self, words: list[StatementWord], rest: list[StatementWord], loop: bool) -> None:
        """A block begins; a loop is no branch."""
        self.depths.append(0 if loop else 1)
        if not loop:
            self.branches.append(self.condition("if", words, rest))

    def leave(self) -> None:
        """A block ends."""
        if self.depths and self.depths.pop():
            self.branches.pop()

    def alternative(self, words: list[StatementWord], statement: Statement) -> None:
        """`else`, `else if (...) then`, `case x:`: another arm of the same block."""
        if not (self.depths and self.depths[-1]):
            return
        rest = _after_condition(words[1:]) if len(words) > 1 else []
        if len(words) > 1:
            self.uses_in(words[0].start, rest[0].start if rest else statement.end)
        last = self.branches.pop()
        self.branches.append(self.condition(f"else {words[0].start}", words, rest, last.id))


def _rest(word: StatementWord, at: int) -> StatementWord:
    """A word without its first `at` characters."""
    start = word.offsets[at] if at < len(word.offsets) else word.end
    return StatementWord(start, word.end, word.text[at:], word.offsets[at:], word.template[at:], word.computed)


def _after_condition(words: list[StatementWord]) -> list[StatementWord]:
    """The words after a condition in parentheses, which is one word."""
    for index, word in enumerate(words):
        if "(" in word.text:
            return words[index + 1 :]
    return []
