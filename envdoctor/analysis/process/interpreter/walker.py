"""The walk itself: runs operations, keeps within bounds, knows where a path ends, and notes what it meets.

What an operation does stands in the modules above this one, which are handed in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from math import prod
from typing import TYPE_CHECKING

from envdoctor.analysis.process.beginnings.root import Root
from envdoctor.analysis.process.interpreter.notes import WalkNotes
from envdoctor.analysis.process.interpreter.shell.asides import Asides
from envdoctor.analysis.process.interpreter.slots import Guard
from envdoctor.analysis.process.interpreter.state import Function, Shell, drop_excluded, met
from envdoctor.analysis.process.interpreter.text import Piece, Text, expansion_at, source_of, unquoted
from envdoctor.analysis.process.results import RankStart, Unfollowed
from envdoctor.analysis.project import Project
from envdoctor.analysis.references.paths import folder
from envdoctor.core.facts import Place
from envdoctor.core.operations import Body, Operation
from envdoctor.core.regexes import regex
from envdoctor.knowledge.launchers import Launchers
from envdoctor.readers.kinds import kind_of

if TYPE_CHECKING:
    from envdoctor.knowledge.catalog.model import Variable

MOST_OPERATIONS = 12_000
"""Operations of one root; generated scripts of any length must end."""
NAMES_OF_ONE = 10
"""Names, as a power of two, that cost as much as one operation more: a branch copies and joins all of them."""
MOST_IN_ALL = 400_000
"""Operations of a scan."""
MOST_OF_SCRIPT = 20_000
"""Operations of one script over all of its callers, each of which is gone through."""
DEEPEST_FILES = 12
"""Files that source and start one another."""
DEEPEST_BODY = 80
"""Bodies inside one another (branches, functions, texts): each takes some frames of Python's own stack."""
DEEPEST_TEXT = 8
"""Text inside text inside text (`eval`, `bash -c`)."""
MOST_STARTS = 5_000
"""Rank starts that are told."""
LONGEST_TEXT = 20_000
"""Characters of a text that is run."""
LONGEST_PATH = 400
MOST_RECENT = 50
"""Starts that are looked back on, to see whether a script has started any."""
MOST_LOOPS = 3
"""Loops inside one another that are gone through twice."""
SCRIPT_ENDS = (".sh", ".bash", ".py", ".sbatch", ".slurm")
SHELLS = ("bash", "sh", "zsh", "ksh", "dash", "ash")
_HARMLESS = """
    : . [ [[ alias basename break case cat cd chmod clear conda continue cp cut date declare df dirname do done echo
    elif else esac eval exit export false fi for free function head hostname if in kill let ln local logger ls lscpu
    mamba mkdir ml module mv nproc pipefail popd printf pushd pwd pyenv read readlink readonly realpath return rm
    scontrol sed select seq set setenv shift shopt sleep sort source squeue sync tail tee test then time touch tr trap
    true type ulimit umask unalias uname unset uniq until wait wc which while whoami { } ( )
"""
_ARGUMENT = regex(r"\$\{?[0-9@*#]")
HARMLESS = frozenset(_HARMLESS.split())
"""Words that begin a command without starting a program that asks for settings of the accelerator."""
StartProgram = Callable[["Walker", Shell, Sequence[Text], Place, "Text | None", bool, int], "Shell | None"]
"""Starts a program: the shell, its words, their place, its input, whether the shell forks it, how many carry it."""
Handler = Callable[["Walker", Operation, Shell], "Shell | None"]


class PathFrame:
    """What ends a path: a function or sourced file (`return`), a process (`exit`), a loop (`break`)."""

    __slots__ = ("ended", "kind", "times")

    def __init__(self, kind: str, times: int = 1) -> None:
        self.kind = kind
        self.times = times
        self.ended: list[Shell | None] = []


class Walker:
    """Walks the roots of one project. Files are read when they are entered."""

    def __init__(
        self, project: Project, launchers: Launchers, wanted: Callable[[str], Variable | None],
        roots_of: Callable[[str], Sequence[Root]], handlers: Mapping[str, Handler], start: StartProgram,
    ) -> None:  # fmt: skip
        self.project = project
        self.launchers = launchers
        self.wanted = wanted
        self.roots_of = roots_of
        self.handlers = handlers
        self.start = start
        self.notes = WalkNotes()
        self.asides = Asides(self.may_be_starter)
        self.texts: dict[tuple[str, str], tuple[Piece, ...]] = {}
        self.contexts: dict[str, int] = {}
        self.spent: dict[str, int] = {}
        self.batches: dict[str, str] = {}
        self.daemons: set[str] = set()
        self.count = 0
        self.programs = 0
        self.bound_at: dict[tuple[object, ...], tuple[int, int]] = {}
        self.operations = 0
        self.limit = MOST_OPERATIONS
        self.depth = 0
        self.root: Root | None = None
        self.hinting = False
        self.entered: set[Function] = set()
        self.files: list[str] = []
        self._text_depth = 0
        self._nested = 0
        self._carrier: Place | None = None
        self._frames: list[PathFrame] = []
        self._active: list[Function] = []
        self._known: dict[str, bool] = {}

    def began(self, root: Root) -> None:
        """A root is next: nothing is open, and it has operations of its own."""
        self.root = root
        self.daemons = set()  # those that the root has started, or given variables
        self.limit = min(self.operations + MOST_OPERATIONS, MOST_IN_ALL)
        self._frames, self._active, self.files, self.depth, self._text_depth = [], [], [root.path], 0, 0

    # Running

    def run(self, operations: Body, shell: Shell | None) -> Shell | None:
        """Run operations one after the other; None: the path ended."""
        if shell is not None and self._nested >= DEEPEST_BODY:
            self.notes.bound("bodies inside bodies", shell.path)
            shell.forget()
            return shell
        self._nested += 1
        try:
            return self._run_each(operations, shell)
        finally:
            self._nested -= 1

    def _run_each(self, operations: Body, shell: Shell | None) -> Shell | None:
        for operation in operations:
            if shell is None:
                return None
            self.operations += 1 + (len(shell.visible) >> NAMES_OF_ONE)
            if self.operations > self.limit:
                self.notes.bound("operations", shell.path)
                return shell
            shell = self.handlers[operation[0]](self, operation, shell)
        return shell

    def run_text(self, text: Text, shell: Shell) -> Shell | None:
        """Run text in a shell: what `eval`, `bash -c` and a here-document hold."""
        from envdoctor.readers.shell.bodies.reader import body  # the shell's parser: a scan of Python does without

        if self._text_depth >= DEEPEST_TEXT or len(text.text) > LONGEST_TEXT:
            self.notes.bound("text inside text", shell.path)
            shell.forget()
            return shell
        if any(not piece.known and _ARGUMENT.match(piece.text) for piece in text.pieces):
            shell.arguments = None  # those in the text are of the shell around
        source = source_of(unquoted(text), shell.path)
        path = shell.path
        around = self._carrier
        self._text_depth += 1
        self._carrier = text.used
        try:
            shell.path = source.path
            after = self.run(body(source), shell)
        finally:
            self._text_depth -= 1
            self._carrier = around
            shell.path = path
        if after is not None:
            after.path = path
        return after

    def in_text(self) -> bool:
        """Whether the commands come from text: what was put into it may be assignments too."""
        return self._text_depth > 0

    def placed(self, place: Place) -> Place:
        """Where a command of a text is shown: where it is written, if that lies in the word that is run; else there."""
        word = self._carrier
        if word is None or (word.path == place.path and word.line <= place.line <= word.end_line):
            return place
        return word

    def run_file(self, path: str, operations: Body, shell: Shell, kind: str) -> Shell | None:
        """Run the body of a file, which `return` or `exit` ends."""
        self.files.append(path)
        around, self._carrier = self._carrier, None
        before = self.operations
        try:
            with self._frame(kind) as ended:
                after = self.run(operations, shell)
        finally:
            self.files.pop()
            self._carrier = around
            self.spent[path] = self.spent.get(path, 0) + self.operations - before
        return self.meet_all([after, *ended])

    def aside(self, operations: Body, shell: Shell) -> None:
        """Run what leaves nothing behind: a command substitution, where it may start ranks."""
        if self.asides.may_start(operations, shell.functions):
            with self.exiting():
                self.run(operations, shell.copy())

    def meet_all(self, shells: Sequence[Shell | None]) -> Shell | None:
        """One shell of all paths that are still there."""
        result: Shell | None = None
        for shell in shells:
            if result is None or shell is None:
                result = result or shell
                continue
            atom = next((a for a in result.guard if a.opposite() in shell.guard), None)
            both: Guard = tuple(a for a in result.guard if a in shell.guard)
            result = met(result, shell, atom, both)
        return result

    # What ends a path

    @contextmanager
    def _frame(self, kind: str, times: int = 1) -> Iterator[list[Shell | None]]:
        frame = PathFrame(kind, times)
        self._frames.append(frame)
        try:
            yield frame.ended
        finally:
            self._frames.pop()

    def loop(self, times: int = 1) -> AbstractContextManager[list[Shell | None]]:
        """A loop, which `break` ends, and how often it is gone through."""
        return self._frame("loop", times)

    def times(self) -> int:
        """How often the loops around are gone through together."""
        return prod(frame.times for frame in self._frames)

    def exiting(self) -> AbstractContextManager[list[Shell | None]]:
        """A process, which `exit` ends."""
        return self._frame("process")

    @contextmanager
    def within(self, function: Function) -> Iterator[list[Shell | None]]:
        """A function, which `return` ends."""
        self.depth += 1
        self._active.append(function)
        self.entered.add(function)
        try:
            with self._frame("function") as ended:
                yield ended
        finally:
            self._active.pop()
            self.depth -= 1

    def _end(self, kinds: Sequence[str], shell: Shell, until: str = "") -> Shell | None:
        """The path is over; what it has waits at the frame that it ends."""
        for frame in reversed(self._frames):
            if frame.kind in kinds:
                frame.ended.append(shell)
                return None
            if frame.kind == until:
                return None
        return None

    def returns(self, shell: Shell) -> Shell | None:
        """`return`: the function or sourced file ends; elsewhere it is an error, which changes nothing."""
        kinds = [frame.kind for frame in self._frames]
        around = next((kind for kind in reversed(kinds) if kind in ("function", "source", "process")), "")
        if around == "process" and "function" not in kinds and "source" not in kinds:
            return shell
        return self._end(("function", "source"), shell, until="process")

    def exits(self, shell: Shell) -> Shell | None:
        """`exit`: the process ends."""
        return self._end(("process",), shell)

    def leaves(self, kind: str, shell: Shell, count: int) -> Shell | None:
        """`break` ("loop") and `continue` ("round"), out of `count` loops; where no loop is, nothing happens."""
        around: list[PathFrame] = []
        for frame in reversed(self._frames):
            if frame.kind in ("function", "process"):
                break
            around += [frame] if frame.kind == kind else []
        if not around:
            return shell
        around[min(max(count, 1), len(around)) - 1].ended.append(shell)
        return None

    def round(self) -> AbstractContextManager[list[Shell | None]]:
        """One time through a loop, which `continue` ends."""
        return self._frame("round")

    def in_loop(self) -> bool:
        """Whether a loop is around."""
        return any(frame.kind == "loop" for frame in self._frames)

    def may_repeat(self) -> bool:
        """Whether a loop is gone through again: not deep inside others."""
        return sum(frame.kind == "loop" for frame in self._frames) <= MOST_LOOPS

    def is_active(self, function: Function) -> bool:
        """Whether a function is being run already."""
        return any(one is function or one == function for one in self._active)

    # Names and programs

    def is_known(self, name: str) -> bool:
        """Whether the catalogue knows a name."""
        if name not in self._known:
            self._known[name] = self.wanted(name) is not None
        return self._known[name]

    def is_starter(self, program: str) -> bool:
        """Whether some launcher file has a program of this name that runs another one."""
        return any(row.inner != "none" or row.options for row in self.launchers.by_program.get(program, ()))

    def may_be_starter(self, program: str) -> bool:
        """Whether a word, as a program, may start ranks: a shell, a launcher, a script."""
        name = program.rsplit("/", 1)[-1]
        if name in HARMLESS or (self.launchers.is_tool(name) and not self.is_starter(name)):
            return False
        return name in SHELLS or self.is_starter(name) or name.endswith(SCRIPT_ENDS)

    def may_start(self, fields: Sequence[Text]) -> bool:
        """Whether a command may start ranks, or something that does: tools and builtins do not."""
        program = fields[0].text.rsplit("/", 1)[-1]
        if program in SHELLS or self.is_starter(program) or fields[0].variable():
            return True
        if program in HARMLESS:
            return False
        if self.launchers.is_tool(program):
            return False
        return "/" in fields[0].text or "." in program or len(fields) > 1

    def under_ranks(self, shell: Shell) -> bool:
        """Whether a launcher of ranks is on the way here."""
        return any(one.ranks for one in shell.process.chain)

    def started_since(self, child: Shell) -> bool:
        """Whether a process that has just ended started ranks itself."""
        callers = child.process.callers
        return any(
            s.callers[: len(callers)] == callers and s.place.path == child.script
            for s in self.notes.starts[-MOST_RECENT:]
        )

    def rank(
        self, shell: Shell, place: Place, program: str, path: str, arguments: Sequence[Text], opaque: bool = False
    ) -> None:
        """Note a process that becomes a rank."""
        if len(self.notes.starts) >= MOST_STARTS or self.root is None:
            return
        self.count += 1
        lost = {n: kept for n, pairs in shell.lost.items() if (kept := drop_excluded(pairs, shell.guard))}
        self.notes.starts.append(
            RankStart(
                self.root, place, shell.process.chain, program, path, tuple(a.text for a in arguments), shell.told(),
                lost, shell.guard, shell.process.layer, shell.process.callers, opaque, self.hinting,
                shell.process.kind != "wrapper", self.count, shell.open, shell.process.job,
                frozenset(number for number, a in enumerate(arguments) if not a.sure),
            )
        )  # fmt: skip

    def unfollowed(self, place: Place, shell: Shell, why: str, what: str) -> None:
        """Note a launch that ends where nobody can look."""
        chain = tuple(one.name for one in shell.process.chain)
        self.notes.unfollowed[Unfollowed(place, chain, why, what)] = None

    # Files

    def find(self, word: Text, shell: Shell) -> str | None:
        """The file of the tree that a word means where it is used: also one that an image holds a copy of."""
        return shell.copied.get(word.text) or self.find_text(word.text, shell)

    def find_text(self, text: str, shell: Shell) -> str | None:
        """The same for text."""
        if not text or len(text) > LONGEST_PATH or "\n" in text:
            return None
        return self.project.references.find(text, folder(shell.path), {})

    def body_of(self, path: str) -> Body:
        """The operations of a file of the tree."""
        kind = kind_of(path)
        if kind in (None, "shell"):
            scripts = self.project.facts.scripts(path)
            return scripts[0].body if scripts else ()
        return next((r.script.body for r in self.roots_of(path) if r.script is not None), ())

    def may_enter(self, path: str) -> bool:
        """Whether a file can be run once more: not inside itself, and not below too many others."""
        return path not in self.files and len(self.files) < DEEPEST_FILES

    def may_source(self, path: str) -> bool:
        """The same for a file that is sourced, which often asks itself whether it was before."""
        return self.files.count(path) < 2 and len(self.files) < DEEPEST_FILES

    def written(self, path: str, line: int, column: int) -> str:
        """The source of an expansion that begins at a place."""
        return expansion_at(self.project.files.text(path), line, column)
