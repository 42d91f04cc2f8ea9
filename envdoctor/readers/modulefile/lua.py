"""Modulefiles in Lua (Lmod): `setenv("A", "1")`, and `os.getenv("A")` of any Lua file."""

from __future__ import annotations

import re

from envdoctor.core.facts import Branch, FileFacts, Op, Setting, Use, Value
from envdoctor.core.records import dataclass
from envdoctor.core.regexes import regex
from envdoctor.core.source import Source
from envdoctor.readers.shared.collector import MOST_SETTINGS, Collector, comment_at
from envdoctor.readers.shared.quoted_text import unescaped

LONGEST_SHOWN = 200
SETTERS: dict[str, Op] = {"setenv": "set", "pushenv": "set", "prepend_path": "append", "append_path": "append"}

_TOKEN = regex(
    r"(?P<comment>--(?!\[=*\[)[^\n]*)|(?P<long>(?:--)?\[(=*)\[)"
    r"|(?P<string>\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*')"
    r"|(?P<call>\b(?P<function>setenv|pushenv|prepend_path|append_path|unsetenv|os\.getenv)\s*\(\s*)"
    r"|(?P<local>\blocal\s+([A-Za-z_]\w*)\s*=\s*)"
    r"|(?P<word>\b(?:if|elseif|else|for|while|function|repeat|do|then|end|until)\b)"
)
_STRING = regex(r"\"((?:[^\"\\\n]|\\.)*)\"|'((?:[^'\\\n]|\\.)*)'|(\d[\d.]*)|([A-Za-z_]\w*)")
_GLUE = regex(r"\s*\.\.\s*")
_GETENV = regex(r"os\.getenv\s*\(\s*[\"'](\w+)[\"']")


@dataclass(slots=True)
class Expression:
    """What a Lua expression gives, and its span."""

    value: Value
    start: int
    end: int
    is_string: bool


def read(source: Source, kind: str) -> FileFacts:
    """Facts of a Lua file."""
    reader = Lua(source, kind)
    reader.read()
    return reader.out.facts


class Lua:
    """Reads one file; `blocks` holds a branch for each open `if` and None for other blocks."""

    def __init__(self, source: Source, kind: str) -> None:
        self.source = source
        self.out = Collector(source, kind)
        self.known: dict[str, str] = {}
        self.blocks: list[Branch | None] = []

    def read(self) -> None:
        """All calls of the file, in source order."""
        at, text = 0, self.source.text
        while (match := _TOKEN.search(text, at)) and not self.out.full:
            at = match.end()
            if match["long"]:
                closing = "]" + match[3] + "]"
                end = text.find(closing, at)
                at = end + len(closing) if end != -1 else len(text)
            elif match["call"]:
                at = self.call(match)
            elif match["local"]:
                found = self.expression(at)
                if found and found.value.kind == "literal":
                    self.known[match[match.re.groupindex["local"] + 1]] = found.value.text
                at = found.end if found and found.is_string else at
            elif match["word"]:
                self.block(match["word"], match.start())
        if self.out.full:
            self.out.problem(f"more than {MOST_SETTINGS} settings: the rest was left out", 0, 0)

    def block(self, word: str, at: int) -> None:
        """Follow the blocks, of which only `if` makes branches."""
        if word in ("for", "while"):
            return  # their `do` opens the block
        if word in ("if", "do", "function", "repeat"):
            self.blocks.append(Branch(f"if:{at}", "if", self.condition(at)) if word == "if" else None)
        elif word in ("end", "until") and self.blocks:
            self.blocks.pop()
        elif word in ("elseif", "else") and self.blocks and (last := self.blocks[-1]):
            self.blocks[-1] = Branch(last.id, f"{word} {at}", self.condition(at))

    def condition(self, at: int) -> str:
        """The text of a condition on its line."""
        line = self.source.text[at : at + LONGEST_SHOWN].split("\n", 1)[0]
        return line.partition(" then")[0].strip()

    def call(self, match: re.Match[str]) -> int:
        """A call that sets, removes or reads a variable; returns the offset behind what was read of it."""
        function = match["function"]
        name = _STRING.match(self.source.text, match.end())
        if name is None or name.lastindex not in (1, 2):
            return match.end()
        group = name.lastindex
        span = name.span(group)
        if function == "os.getenv":
            self.out.facts.uses.append(Use(name[group], self.source.place(*match.span()), self.out.order))
            self.out.order += 1
            return name.end()
        if not name[group].isidentifier():
            return name.end()
        if function == "unsetenv":
            self.add("unset", span, None, match.start())
            return name.end()
        comma = re.compile(r"\s*,\s*").match(self.source.text, name.end())
        given = self.expression(comma.end()) if comma else None
        if given:
            self.add(SETTERS[function], span, given, match.start())
        return given.end if given else name.end()

    def add(self, op: Op, name: tuple[int, int], given: Expression | None, start: int) -> None:
        """State a setting."""
        end = given.end if given else name[1]
        value_place = None
        if given:
            value_place = self.source.place(given.start + given.is_string, given.end - given.is_string)
        self.out.add(
            Setting(
                op, self.source.text[slice(*name)], given.value if given else Value("unknown"),
                self.source.place(start, end), "module-file", 0, branch=tuple(b for b in self.blocks if b),
                comment=comment_at(self.source, start, self.line_end(end), sign="--"),
                name_place=self.source.place(*name), value_place=value_place,
            )
        )  # fmt: skip

    def line_end(self, at: int) -> int:
        """The offset behind the bracket that closes a call, where a comment may stand."""
        close = self.source.text.find(")", at, at + LONGEST_SHOWN)
        return close + 1 if close != -1 else at

    def expression(self, at: int) -> Expression | None:
        """Strings and known names joined by `..`; anything else is unknown up to the comma or bracket after it."""
        text, start = self.source.text, at
        pieces: list[str] = []
        while match := _STRING.match(text, at):
            group = match.lastindex or 0
            piece = self.known.get(match[0]) if group == 4 else unescaped(match[group])
            at = match.end()
            glue = _GLUE.match(text, at)
            if piece is None or (glue is None and text[at : at + 1] in ("(", "[", ".")):
                break
            pieces.append(piece)
            if glue is None:
                return Expression(Value("literal", "".join(pieces)), start, at, len(pieces) == 1 and group < 3)
            at = glue.end()
        return self.unknown(start)

    def unknown(self, start: int) -> Expression | None:
        """An expression whose value is not known; the variables of the environment in it are references."""
        depth, at, text = 0, start, self.source.text
        limit = min(len(text), start + LONGEST_SHOWN)
        while at < limit and text[at] != "\n" and not (depth == 0 and text[at] in "),"):
            depth += (text[at] == "(") - (text[at] == ")")
            at += 1
        if at == start:
            return None
        shown = text[start:at]
        references = tuple(match[1] for match in _GETENV.finditer(shown))
        return Expression(Value("template" if references else "unknown", shown, references), start, at, False)
