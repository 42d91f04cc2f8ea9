"""What the shell reader knows while it walks through one text, and how it states facts."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence

from envdoctor.core.facts import (
    Branch,
    Channel,
    Exported,
    FileFacts,
    Inclusion,
    Launch,
    Op,
    Place,
    Problem,
    Scope,
    Setting,
    Use,
    Value,
    exclusive,
)
from envdoctor.core.records import dataclass, field, replace
from envdoctor.core.regexes import regex
from envdoctor.core.source import Source
from envdoctor.readers.shared.embedded import MappedSource, deeper, merge, next_order, read_embedded
from envdoctor.readers.shell.syntax.mask import MaskedScript
from envdoctor.readers.shell.syntax.words import Word, value_of

PROCESS = Scope()
LONGEST_CONDITION = 100
COMMENT_LINES = 20
MOST_EXPANSIONS = 5
MOST_WORDS = 1000
MOST_ALTERNATIVES = 8
MOST_FACTS = 50_000
"""Facts of one text; a script of 100 KB has some 2,000."""
_TRAILING = regex(r"[ \t;&)}]*(?:\b(?:fi|done|esac)\b[ \t;]*)?#(.*)")


class FullError(Exception):
    """There are more facts than anybody wants to read."""


_NO_COMMENT = regex(r"#(?:!|SBATCH\b|PBS\b|BSUB\b|FLUX:)")


@dataclass(slots=True)
class ShellOutput:
    """Where the output of a command goes.

    kind is "file" (`target` is its name), the kind of text it is read as ("shell", "python"), "pipe", "argument", or
    "capture" (`target` is the variable).
    """

    kind: str
    target: str = ""


@dataclass(slots=True)
class ShellContext:
    """What is around a statement. One object is shared by many statements: never changed, only derived from."""

    scope: Scope = PROCESS
    branch: tuple[Branch, ...] = ()
    output: ShellOutput | None = None
    depth: int = 0
    """How many substitutions are around it."""
    recovered: bool = False
    """Whether the statement was parsed for itself, out of an error."""

    def scoped(self, scope: Scope) -> ShellContext:
        """The same in another scope."""
        return ShellContext(scope, self.branch, self.output, self.depth, self.recovered)

    def within(self, branch: tuple[Branch, ...]) -> ShellContext:
        """The same under other conditions."""
        return ShellContext(self.scope, branch, self.output, self.depth, self.recovered)

    def into(self, output: ShellOutput | None) -> ShellContext:
        """The same with its output going elsewhere."""
        return ShellContext(self.scope, self.branch, output, self.depth, self.recovered)


@dataclass(slots=True)
class VariableDefinition:
    """Words that were put into a variable: one for a string, any number for an array."""

    words: list[Word]
    branch: tuple[Branch, ...]
    append: bool = False


@dataclass(slots=True)
class Surroundings:
    """What text inside text takes over from the text around it."""

    order: int = 0
    scope: Scope = PROCESS
    branch: tuple[Branch, ...] = ()
    definitions: dict[str, list[VariableDefinition]] = field(default_factory=dict)
    loops: dict[str, list[Word]] = field(default_factory=dict)


ReadAround = Callable[[Source, Surroundings], FileFacts]
"""Reads shell text in given surroundings: shell text inside shell text knows the variables around it."""


class ShellState:
    """The facts found so far, and what is known of variables, options and order."""

    def __init__(self, source: Source, masked: MaskedScript, around: Surroundings, read: ReadAround) -> None:
        self.source = source
        self.text = source.text
        self.masked = masked
        self.facts = FileFacts(source.path, "shell")
        self.around = around
        self._read = read
        self.order = around.order
        self.definitions = around.definitions
        self.loops = around.loops
        self.allexport = False
        self.tolerant = False
        self.row = (0, -1)
        self.line = 0
        self.plain = source.anchors is None and not isinstance(source, MappedSource)
        self.guards: list[int] = []
        self.read_on: list[tuple[int, int]] = []
        self.bare: list[int] = []
        self.exports: list[Setting] = []

    def next_order(self) -> int:
        """The number of the next fact."""
        self.order += 1
        return self.order - 1

    def place(self, start: int, end: int) -> Place:
        """The place of a part of the text; most follow on one line, so that the line is remembered."""
        first, last = self.row
        if not first <= start <= end < last:
            if not self.plain:
                return self.source.place(start, end)
            starts = self.source.starts()
            index = bisect_right(starts, start) - 1
            first = starts[index]
            last = starts[index + 1] if index + 1 < len(starts) else len(self.text) + 1
            if end >= last:
                return self.source.place(start, end)
            self.row = first, last
            self.line = index + 1
        return Place(self.source.path, self.line, start - first + 1, self.line, end - first + 1, "", self.source.cell)

    def place_of(self, word: Word) -> Place:
        """Where a word stands."""
        return self.place(word.start, word.end) if word.source is self.source else word.place()

    def setting(
        self,
        op: Op,
        name: Word,
        value: Word | None,
        context: ShellContext,
        *,
        channel: Channel = "shell",
        exported: Exported = "yes",
        via: str = "",
        comment: str = "",
        known: bool | None = None,
        label: str = "",
        carrier: Word | None = None,
    ) -> Setting:
        """State one setting. `label` is the variable where the word is more than its name (`SINGULARITYENV_A`);
        `carrier` is the word that gives the value where the name stands elsewhere (`export $v=1` in a loop).
        """
        name_place = self.place_of(name)
        if value is None:
            given, place, given_place = Value("unknown"), name_place, None
        else:
            given, given_place = self.value(value, known), self.value_place(value)
            if carrier is not None:
                place = self.place_of(carrier)
            elif name.source is value.source is self.source:
                place = self.place(name.start, max(value.end, name.end))
            else:
                place = span_place(name, value)
        branch = added(context.branch, name.branch)
        if self.masked.branches and name.source is self.source:
            branch = self.masked.around(name.start) + branch
        order = self.order
        self.order = order + 1
        fact = Setting(
            op, label or name.text, given, place, channel, order, exported, context.scope, branch, via, comment,
            name_place, given_place,
        )  # fmt: skip
        self.facts.settings.append(fact)
        if order - self.around.order > MOST_FACTS:
            raise FullError
        return fact

    def note_bare(self, fact: Setting) -> None:
        """Remember an assignment just stated, which counts as exported if its name is exported elsewhere."""
        if fact.exported == "no":
            self.bare.append(len(self.facts.settings) - 1)
        else:
            self.exports.append(fact)

    def value(self, word: Word, known: bool | None = None) -> Value:
        """What a word gives."""
        if known is None:
            known = word.source is not self.source or not self.masked.touches(word.start, word.end)
        return value_of(word, known)

    def use(self, name: str, place: Place) -> None:
        """State that the script does something with a variable."""
        self.facts.uses.append(Use(name, place, self.next_order()))
        if self.order - self.around.order > MOST_FACTS:
            raise FullError

    def launch(
        self, launcher: str, words: Sequence[str], place: Place, context: ShellContext, inner: Sequence[str] = ()
    ) -> None:
        """State that a command carries another one, or starts ranks."""
        self.facts.launches.append(
            Launch(launcher, tuple(words), place, self.next_order(), context.scope, context.branch, inner=tuple(inner))
        )

    def value_place(self, word: Word) -> Place:
        """Where a value stands, without the quotes around the whole of it."""
        offsets = word.offsets
        if not offsets or offsets[-1] - offsets[0] + 1 != len(offsets):
            return self.place_of(word)
        place = self.place if word.source is self.source else word.source.place
        return place(offsets[0], offsets[-1] + 1)

    def inclusion(self, kind: str, word: Word, context: ShellContext) -> None:
        """State that another file is pulled in."""
        fact = Inclusion(kind, word.text, word.place(), self.next_order(), context.branch, context.scope)  # type: ignore[arg-type]
        self.facts.inclusions.append(fact)

    def problem(self, message: str, start: int, end: int) -> None:
        """State that a part could not be read."""
        self.facts.problems.append(Problem(message, self.place(start, end)))

    def expanded(self, word: Word, depth: int = 0) -> list[Word]:
        """The words that `$NAME` or `"${NAME[@]}"` becomes, as far as the text says; else the word itself."""
        name = word.variable() if word.expansions else ""
        if not name or name not in self.definitions or depth >= MOST_EXPANSIONS:
            return [word]
        alternatives = self.alternatives(name)
        if not word.quoted:
            alternatives = [[piece for whole in words for piece in whole.split()] for words in alternatives]
        if len(alternatives) > 1 and not all(not words or words[0].text.startswith("-") for words in alternatives):
            return [word]
        if any(words and words[0].computed for words in alternatives):
            return [word]
        result: list[Word] = []
        for piece in [piece for words in alternatives for piece in words]:
            if len(result) < MOST_WORDS:
                result += [w.under(piece.branch).seen_at(word) for w in self.expanded(piece, depth + 1)]
        return result or ([word] if word.quoted or not alternatives else [])

    def alternatives(self, name: str) -> list[list[Word]]:
        """The words a variable may hold, once for each assignment that may be the last one."""
        known = self.definitions.get(name, [])
        result: list[list[Word]] = []
        for index, first in enumerate(known):
            if first.append and index:
                continue
            chain = [first, *(d for d in known[index + 1 :] if d.append and not exclusive(d.branch, first.branch))]
            words = [w.under(d.branch) for d in chain for w in d.words]
            result.append(words)
        return result[:MOST_ALTERNATIVES]

    def embed_word(self, word: Word, kind: str, scope: Scope, branch: tuple[Branch, ...]) -> None:
        """Read the text of a word, and remember that its variables are looked at there."""
        if kind == "shell" and word.source is self.source:
            self.read_on.append((word.start, word.end))
        self.embed(word.as_source(), kind, scope, branch)

    def embed(self, source: Source, kind: str, scope: Scope, branch: tuple[Branch, ...]) -> None:
        """Read text inside this text, and take its facts over."""
        if not source.text.strip():
            return
        if kind == "shell":
            around = Surroundings(self.order, scope, branch, dict(self.definitions), dict(self.loops))
            with deeper() as allowed:
                facts = self._read(source, around) if allowed else FileFacts(source.path, "shell")
        else:
            facts = read_embedded(source, kind, self.order, scope, branch)
        self.order = next_order(facts, self.order)
        merge(self.facts, facts)

    def comment(self, start: int, end: int) -> str:
        """The comment behind a statement on its line, or else the lines of comment right above it."""
        text = self.text
        line_end = _line_end(text, end)
        if line_end != end and text.find("#", end, line_end) != -1:
            match = _TRAILING.match(text, end, line_end)
            if match and text[match.start(1) - 2] in " \t;&)}":
                return match[1].lstrip("#").strip()
        line_start = text.rfind("\n", 0, start) + 1
        if not line_start or (line_start != start and text[line_start:start].strip() not in ("", "{", "(")):
            return ""
        above: list[str] = []
        while line_start > 0 and len(above) < COMMENT_LINES:
            previous = text.rfind("\n", 0, line_start - 1) + 1
            line = text[previous : line_start - 1].lstrip()
            if not line.startswith("#") or _NO_COMMENT.match(line):
                break
            above.append(line.lstrip("#").strip())
            line_start = previous
        return "\n".join(reversed(above))

    def condition(self, start: int, end: int) -> str:
        """Source text of a condition on one line, cut where it is long."""
        text = " ".join(self.text[start : min(end, start + 4 * LONGEST_CONDITION)].split()).rstrip("; ")
        return text if len(text) <= LONGEST_CONDITION else text[: LONGEST_CONDITION - 3] + "..."

    def branch_id(self, kind: str, start: int) -> str:
        """The identity of a construct, unique over all files."""
        line, column = self.source.point(start)
        return f"{self.source.path}:{line}:{column}:{kind}"

    def scope_name(self, what: str, start: int) -> str:
        """The name of a scope that has none of its own."""
        line, column = self.source.point(start)
        return f"{what} {line}:{column}"

    def finish(self) -> FileFacts:
        """Settle which bare assignments are exported elsewhere in the text, and give the facts out."""
        by_name: dict[str, list[Setting]] = {}
        for export in self.exports:
            by_name.setdefault(export.name, []).append(export)
        for index in self.bare:
            fact = self.facts.settings[index]
            if exports := by_name.get(fact.name):
                self.facts.settings[index] = replace(fact, exported=_settled(fact, exports))
        if self.guards:
            assigned = {fact.name for fact in self.facts.settings if fact.op in ("set", "default", "append")}
            dropped = {index for index in self.guards if self.facts.uses[index].name in assigned}
            self.facts.uses = [use for index, use in enumerate(self.facts.uses) if index not in dropped]
        return self.facts


def _settled(fact: Setting, exports: Iterable[Setting]) -> Exported:
    """yes: an export in the same scope that holds whenever the assignment does; unknown: another export might."""
    result: Exported = "no"
    for export in exports:
        if exclusive(fact.branch, export.branch):
            continue
        same = export.scope == fact.scope or export.scope == PROCESS
        if same and fact.branch[: len(export.branch)] == export.branch:
            return "yes"
        result = "unknown"
    return result


def added(branch: tuple[Branch, ...], more: tuple[Branch, ...]) -> tuple[Branch, ...]:
    """Branches of a statement and those under which one of its words is there."""
    return branch + tuple(b for b in more if b not in branch) if more else branch


def span_place(first: Word, last: Word) -> Place:
    """From the start of one word to the end of another; the first alone where they stand in different texts."""
    if first.source is last.source:
        return first.source.place(first.start, max(last.end, first.end))
    return first.place()


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end == -1 else end
