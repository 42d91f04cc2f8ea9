"""States the facts of files in small command languages: what csh, fish and Tcl modulefiles have in common."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from envdoctor.core.facts import Branch, Channel, Exported, Inclusion, Op, Place, Scope, Setting, Use, Value
from envdoctor.core.regexes import regex
from envdoctor.core.source import Source
from envdoctor.readers.shared.collector import MOST_SETTINGS, Collector, comment_at
from envdoctor.readers.shared.statements import StatementWord

MOST_COMMANDS = 2000
"""Commands of one file that are handed to the shell reader, which takes a tree for each."""

_NAME = regex(r"[A-Za-z_]\w*")
_REFERENCE = regex(r"\$[?#]?\{?[?#]?([A-Za-z_]\w*)")
_END = regex(r"[\"'}]?[ \t]*;")
TELLING = regex(
    r"\$\{?[A-Z]|\b[A-Za-z_]\w*=|(?<![\w.-])(?:torchrun|python[\d.]*|mpirun|mpiexec|orterun|srun|sbatch|salloc|deepspeed"
    r"|accelerate|docker|podman|ray|bash|sh|horovodrun|singularity|apptainer|ssh|pdsh|jsrun|flux|aprun)\s"
)
"""What a command has to hold for the shell reader to make a fact of it."""


class StatementReader:
    """Gathers the facts of one file; `scope` and `branches` are those of the statement at hand."""

    def __init__(self, source: Source, kind: str, channel: Channel) -> None:
        self.source = source
        self.out = Collector(source, kind)
        self.channel = channel
        self.scope = Scope()
        self.branches: list[Branch] = []
        self.commands = 0

    def branch(self) -> tuple[Branch, ...]:
        """The conditions around the statement at hand."""
        return tuple(self.branches)

    def setting(
        self,
        op: Op,
        name: StatementWord,
        value: Value,
        value_word: StatementWord | None,
        exported: Exported = "yes",
        end: int = 0,
    ) -> None:
        """State a setting from its name to the end of its value, or to `end`."""
        if self.out.full or not _NAME.fullmatch(name.text):
            return
        stop = max(end, value_word.end if value_word else 0, name.end)
        self.out.add(
            Setting(
                op, name.text, value, self.source.place(name.start, stop), self.channel, 0, exported,
                self.scope, self.branch(),
                comment=comment_at(self.source, name.start, self.comment_start(stop)),
                name_place=self.inside(name), value_place=self.inside(value_word) if value_word else None,
            )
        )  # fmt: skip

    def comment_start(self, at: int) -> int:
        """Where a comment may stand behind a statement: after the `;` that ends it."""
        match = _END.match(self.source.text, at)
        return match.end() if match else at

    def inside(self, word: StatementWord) -> Place:
        """The place of a word without its quotes."""
        if not word.offsets:
            return self.source.place(word.start, word.end)
        return self.source.place(word.offsets[0], word.offsets[-1] + 1)

    def inclusion(self, word: StatementWord) -> None:
        """A file that this one sources."""
        if word.text:
            place = self.inside(word)
            self.out.add(Inclusion("source", word.text, place, 0, self.branch()))

    def use(self, name: str, start: int, end: int) -> None:
        """A variable that the file itself looks at."""
        self.out.facts.uses.append(Use(name, self.source.place(start, end), self.out.order))
        self.out.order += 1

    def uses_in(self, start: int, end: int) -> None:
        """Variables that a condition looks at."""
        for match in _REFERENCE.finditer(self.source.text, start, end):
            if len(self.out.facts.uses) < MOST_SETTINGS:
                self.use(match[1], *match.span())

    def command(self, start: int, end: int) -> None:
        """A command that is written as any shell takes it."""
        if self.commands >= MOST_COMMANDS or not TELLING.search(self.source.text, start, end):
            return
        self.commands += 1
        if self.commands == MOST_COMMANDS:
            self.out.problem(f"more than {MOST_COMMANDS} commands: the rest was left out", start, end)
        before = len(self.out.facts.problems)
        self.out.embed(self.source.part(start, end), "shell", self.scope, self.branch())
        del self.out.facts.problems[before:]

    def finish(self) -> None:
        """Say what was left out."""
        if self.out.full:
            self.out.problem(f"more than {MOST_SETTINGS} settings: the rest was left out", 0, 0)


def joined(words: Iterable[StatementWord], glue: str, known: Mapping[str, str] | None = None) -> Value:
    """Several words as one value (`set -x A 1 2` of fish, `prepend-path` with more than one folder)."""
    values = [word.value(known) for word in words]
    text = glue.join(value.text for value in values)
    kinds = {value.kind for value in values}
    if kinds <= {"literal"}:
        return Value("literal", text)
    if "unknown" in kinds:
        return Value("unknown", text)
    fallbacks = [value.known for value in values]
    known_text = None if None in fallbacks else glue.join(str(fallback) for fallback in fallbacks)
    references = tuple(dict.fromkeys(name for value in values for name in value.references))
    return Value("template", text, references, known_text)
