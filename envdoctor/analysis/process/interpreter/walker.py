"""The walk itself: runs operations, follows calls and files, keeps within bounds, and notes what it meets."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING

from envdoctor.analysis.process import edges
from envdoctor.analysis.process.beginnings.root import Root
from envdoctor.analysis.process.interpreter import assign, expand, processes, written
from envdoctor.analysis.process.interpreter.commands import BUILTINS, env_file_in
from envdoctor.analysis.process.interpreter.records import (
    Ended,
    Mistaken,
    RankStart,
    Replaced,
    Unfollowed,
    Walked,
)
from envdoctor.analysis.process.interpreter.slots import Alternative, Exported, Guard, Known, Loss, Origin, Slot
from envdoctor.analysis.process.interpreter.state import Function, Process, Shell, drop_excluded, met
from envdoctor.analysis.process.interpreter.statements import HANDLERS
from envdoctor.analysis.process.interpreter.text import Piece, Text
from envdoctor.analysis.project import Project
from envdoctor.analysis.references.paths import folder
from envdoctor.core.facts import FileFacts, Place, Setting
from envdoctor.core.operations import Body
from envdoctor.core.regexes import regex
from envdoctor.knowledge.launch.find import Invocation, directives, find, headed, with_header
from envdoctor.knowledge.launchers import Launchers
from envdoctor.readers.kinds import kind_of
from envdoctor.readers.shell.bodies.reader import body

if TYPE_CHECKING:
    from envdoctor.knowledge.catalog.model import Variable

MOST_OPERATIONS = 20_000
"""Operations of one root; generated scripts of any length must end."""
MOST_IN_ALL = 400_000
"""Operations of a scan."""
MOST_CONTEXTS = 8
"""Callers of one script that are each gone through."""
DEEPEST_FILES = 12
"""Files that source and start one another."""
DEEPEST_TEXT = 8
"""Text inside text inside text (`eval`, `bash -c`)."""
MOST_STARTS = 5_000
"""Rank starts that are told."""
LONGEST_TEXT = 20_000
"""Characters of a text that is run."""
HARMLESS = frozenset("""
    : . [ [[ alias basename break case cat cd chmod clear conda continue cp cut date declare df dirname do done echo
    elif else esac eval exit export false fi for free function head hostname if in let ln local logger ls lscpu mamba
    mkdir ml module mv nproc pipefail popd printf pushd pwd pyenv read readlink readonly realpath return rm scontrol
    sed select seq set setenv shift shopt sleep sort source squeue sync tail tee test then time touch tr trap true type
    ulimit umask unalias uname unset uniq until wait wc which while whoami { } ( )
""".split())
"""Words that begin a command without starting a program that asks for settings of the accelerator."""
_ACTIVATION = regex(r"activate|conda\.sh|profile|bashrc|modules|lmod|module|setvars\.sh|spack|venv|nvm\.sh|cargo/env")
"""Files outside of a project that are sourced for programs and paths."""


_NOWHERE = Place("", 1, 1, 1, 1)
_OUTSIDE = {
    "argument": Loss("build", _NOWHERE, "an argument of the build", "it is an argument of the build, which the container "
                     "does not get", "ENV {name}=...", "medium"),
    "python-environ": Loss("not-forwarded", _NOWHERE, "an environment of its own", "the ranks are started with an "
                           "environment of their own, which leaves it out", "env={{**os.environ, ...}}"),
}  # fmt: skip
"""What a file sets by a channel that its processes do not get: how that is said."""


class Frame:
    """What ends a path: a function or sourced file (`return`), a process (`exit`), a loop (`break`)."""

    __slots__ = ("ended", "kind")

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.ended: list[Shell | None] = []


class Walker:
    """Walks the roots of one project. Files are read when they are entered."""

    def __init__(
        self, project: Project, launchers: Launchers, wanted: Callable[[str], Variable | None],
        roots_of: Callable[[str], Sequence[Root]],
    ) -> None:  # fmt: skip
        self.project = project
        self.launchers = launchers
        self.wanted = wanted
        self.roots_of = roots_of
        self.quiet = HARMLESS
        self.tools = launchers.tools
        self.texts: dict[tuple[str, str], tuple[Piece, ...]] = {}
        self.starts: list[RankStart] = []
        self.replaced: dict[tuple[object, ...], Replaced] = {}
        self.mistaken: dict[Mistaken, None] = {}
        self.unfollowed_ones: dict[Unfollowed, None] = {}
        self.ends: list[Ended] = []
        self.gaps: dict[tuple[str, int, str], None] = {}
        self.bounded: dict[str, None] = {}
        self.sourced: dict[str, dict[str, None]] = {}
        self.absent: dict[str, dict[tuple[str, int], None]] = {}
        self.contexts: dict[str, int] = {}
        self.count = 0
        self.operations = 0
        self.limit = MOST_OPERATIONS
        self.depth = 0
        self.text_depth = 0
        self.root: Root | None = None
        self.hinting = False
        self._frames: list[Frame] = []
        self._active: list[Function] = []
        self._files: list[str] = []
        self._functions: dict[Function, bool] = {}
        self._known: dict[str, bool] = {}
        self._batches: dict[str, str] = {}
        self._written_at: dict[str, tuple[object, tuple[int, Guard, int]]] = {}

    # Running

    def run(self, operations: Body, shell: Shell | None) -> Shell | None:
        """Run operations one after the other; None: the path ended."""
        for operation in operations:
            if shell is None:
                return None
            self.operations += 1
            if self.operations > self.limit:
                self.bound("operations", shell.path)
                return shell
            shell = HANDLERS[operation[0]](self, operation, shell)
        return shell

    def run_text(self, text: Text, shell: Shell) -> Shell | None:
        """Run text in a shell: what `eval`, `bash -c` and a here-document hold."""
        whole = text.text
        if self.text_depth >= DEEPEST_TEXT or len(whole) > LONGEST_TEXT:
            self.bound("text inside text", shell.path)
            return shell
        source = written.source_of(text, shell.path)
        path = shell.path
        self.text_depth += 1
        try:
            shell.path = source.path
            after = self.run(body(source), shell)
        finally:
            self.text_depth -= 1
            shell.path = path
        if after is not None:
            after.path = path
        return after

    def aside(self, operations: Body, shell: Shell) -> None:
        """Run what leaves nothing behind: a command substitution."""
        if not any(self._worth(operation) for operation in operations):
            return
        with self.exiting():
            self.run(operations, shell.copy())

    def _worth(self, operation: tuple[object, ...]) -> bool:
        """Whether an operation of a substitution may start something: most only ask for a path or a date."""
        if operation[0] != "call" or not operation[6]:
            return operation[0] not in ("assign", "declare", "test")
        words: Sequence[tuple[object, ...]] = operation[6]  # type: ignore[assignment]
        parts: Sequence[tuple[object, ...]] = words[0][4]  # type: ignore[assignment]
        return not parts or parts[0][0] != "text" or parts[0][1] not in HARMLESS

    def meet_all(self, shells: Sequence[Shell | None], guard: Guard) -> Shell | None:
        """One shell of all paths that are still there."""
        result: Shell | None = None
        for shell in shells:
            if shell is None:
                continue
            if result is None:
                result = shell
                continue
            atom = next((a for a in result.guard if a.opposite() in shell.guard), None)
            result = met(result, shell, atom, tuple(a for a in result.guard if a in shell.guard))
        del guard
        return result

    def bound(self, what: str, path: str) -> None:
        """A bound was reached: what lies beyond is not known."""
        self.bounded[f"{path}: {what}"] = None

    # What ends a path

    @contextmanager
    def _frame(self, kind: str) -> Iterator[list[Shell | None]]:
        frame = Frame(kind)
        self._frames.append(frame)
        try:
            yield frame.ended
        finally:
            self._frames.pop()

    def loop(self) -> AbstractContextManager[list[Shell | None]]:
        """A loop, which `break` ends."""
        return self._frame("loop")

    def exiting(self) -> AbstractContextManager[list[Shell | None]]:
        """A process, which `exit` ends."""
        return self._frame("process")

    @contextmanager
    def within(self, function: Function) -> Iterator[list[Shell | None]]:
        """A function, which `return` ends."""
        self.depth += 1
        self._active.append(function)
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
        """`return`: the function or sourced file ends."""
        return self._end(("function", "source"), shell, until="process")

    def exits(self, shell: Shell) -> Shell | None:
        """`exit`: the process ends."""
        return self._end(("process",), shell)

    def breaks(self, shell: Shell) -> Shell | None:
        """`break`: the loop ends."""
        return self._end(("loop",), shell, until="function")

    def in_loop(self) -> bool:
        """Whether a loop is around."""
        return any(frame.kind == "loop" for frame in self._frames)

    def may_repeat(self) -> bool:
        """Whether a loop is gone through again: not deep inside others."""
        return sum(frame.kind == "loop" for frame in self._frames) <= 3

    # Functions

    def defined(self, path: str, name: str, line: int) -> None:
        """A function is there from here on."""
        del path, name, line

    def called(self, function: Function) -> None:
        """A function ran."""
        self._functions[function] = True

    def is_active(self, function: Function) -> bool:
        """Whether a function is being run already."""
        return any(one is function or one == function for one in self._active)

    def unknown_call(self, place: Place, what: str, shell: Shell) -> None:
        """A call that is not followed."""
        self.bound(f"{what} at line {place.line}", shell.path)

    # Names

    def is_known(self, name: str) -> bool:
        """Whether the catalogue knows a name."""
        if name not in self._known:
            self._known[name] = self.wanted(name) is not None
        return self._known[name]

    def wrote(self, origin: Origin, text: Text | None, shell: Shell, old: Slot | None) -> None:
        """Note where one value plainly takes the place of another."""
        before = self._written_at.get(origin.name)
        now = (shell.commands, shell.guard, shell.nested)
        self._written_at[origin.name] = (origin.key, now)
        if origin.default or origin.likely or text is None or not text.known or shell.open or self.in_loop():
            return
        if old is None or len(old) != 1:
            return
        one = old[0]
        if one.kind != "literal" or one.text == text.text or not one.origins:
            return
        first = one.origins[0]
        if first.default or first.likely:
            return
        if first.operation in ("prefix", "flag") and first.layer < origin.layer and origin.operation != "prefix":
            how = "nearer"
        elif first.layer == origin.layer and before == (first.key, now) and not one.guard:
            how = "twice"
        else:
            return
        key = (how, first.key, origin.key)
        self.replaced.setdefault(key, Replaced(how, first, one.text, origin, text.text))

    def loses_to(
        self, name: str, place: Place, value: Text, before: Slot, launcher: str, shell: Shell
    ) -> None:
        """A flag that counts only where the caller has nothing, and the caller has something."""
        if not self.is_known(name) or len(before) != 1 or before[0].kind != "literal" or not before[0].origins:
            return
        if not value.known or before[0].text == value.text:
            return
        origin = Origin(name, place, "flag", shell.process.layer)
        key = ("nearer", origin.key, before[0].origins[0].key)
        self.replaced.setdefault(
            key, Replaced("nearer", origin, value.text, before[0].origins[0], before[0].text, launcher)
        )

    def opened(self, word: Text, shell: Shell) -> None:
        """Text that nobody knows ran in this shell: it may have exported what was there."""
        del word
        self.may_have_more(shell)
        for name, slot in shell.visible.items():
            if any(a.exported == "no" and a.origins for a in slot):
                shell.visible[name] = tuple(a._replace(exported="maybe") if a.exported == "no" else a for a in slot)

    def unknown_exports(self, field: Text, shell: Shell) -> None:
        """`export $(grep -v '^#' .env | xargs)`: the file is read; else nobody knows what is exported."""
        name = env_file_in(field.text)
        path = self.find_text(name, field.used, shell) if name else None
        if path is None:
            self.opened(field, shell)
            return
        self.load(path, shell, "file")

    def load(self, path: str, shell: Shell, operation: str, under: bool = False, maybe: bool = False) -> None:
        """Bind the settings of a file of variables; `under`: only those that are not there yet."""
        facts = self.project.facts.whole(path)
        there = set(shell.visible) if under else set()
        for setting in facts.settings if facts is not None else ():
            if setting.name not in there:
                self.give(setting, shell, operation)
                if maybe and setting.name in shell.visible:
                    slot = shell.visible[setting.name]
                    shell.visible[setting.name] = tuple(a._replace(exported="maybe") for a in slot)

    def give(self, setting: Setting, shell: Shell, operation: str) -> None:
        """Bind what a file says that a process has."""
        name, place = setting.name, setting.name_place or setting.place
        if setting.op == "unset":
            assign.unset(shell, name)
        elif setting.op == "pass":
            shell.bind(name, (Alternative("unknown", f"${name}", "maybe"),))
        elif setting.op in ("set", "default", "append"):
            value = setting.value
            text = value.known if value.kind != "unknown" else None
            origin = (Origin(name, place, operation, shell.process.layer, setting.op == "default"),)
            exported: Exported = "no" if setting.exported == "no" else "yes"
            kind: Known = "literal" if text is not None else "unknown"
            shown = value.text if text is None else text
            shell.lost.pop(name, None)
            shell.bind(name, (Alternative(kind, shown, exported, origin if self.is_known(name) else ()),))

    def may_have_more(self, shell: Shell) -> None:
        """A login or an unknown file may bind what is not there, and what was lost on the way here."""
        shell.open = True
        shell.lost = {}

    def may_lack(self, shell: Shell) -> None:
        """Nobody can tell what of this arrives."""
        for name, slot in shell.visible.items():
            shell.visible[name] = tuple(a._replace(exported="maybe") if a.exported == "yes" else a for a in slot)
        shell.lost = {n: tuple((a, x) for a, x in pairs if x.kind != "not-forwarded") for n, pairs in shell.lost.items()}

    # Programs

    def may_start(self, fields: Sequence[Text], shell: Shell) -> bool:
        """Whether a command may start ranks, or something that does: tools and what nobody knows alone do not."""
        program = fields[0].text.rsplit("/", 1)[-1]
        if program in self.quiet or (program in self.tools and program not in processes.SHELLS):
            return False
        if program in processes.SHELLS or self.is_named_starter(program) or fields[0].variable():
            return True
        return "/" in fields[0].text or "." in program or len(fields) > 1

    def is_named_starter(self, program: str) -> bool:
        """Whether some launcher file has a program of this name."""
        return self.launchers.is_program(program) and program not in self.tools

    def is_starter(self, fields: Sequence[Text], shell: Shell) -> bool:
        """Whether the words of a command decide what ranks get or do."""
        program = fields[0].text.rsplit("/", 1)[-1]
        return program in processes.SHELLS or program in shell.functions or (
            program not in BUILTINS and program not in self.quiet and self.is_named_starter(program)
        ) or self.find(fields[0], shell) is not None  # fmt: skip

    def asks_only(self, found: Invocation[Text]) -> bool:
        """`srun --help` starts nothing."""
        return found.row.ranks and any(w.text in ("--help", "--version", "-V") for w in found.words[found.length :])

    def under_ranks(self, shell: Shell) -> bool:
        """Whether a launcher of ranks is on the way here."""
        return any(one.ranks for one in shell.process.chain)

    def under_starter(self, shell: Shell) -> bool:
        """Whether any launcher is on the way here."""
        return bool(shell.process.chain)

    def names(self, shell: Shell) -> tuple[str, ...]:
        """The launchers on the way here."""
        return tuple(one.name for one in shell.process.chain)

    def unfollowed(self, one: Unfollowed) -> None:
        """A launch that ends where nobody can look."""
        self.unfollowed_ones[one] = None

    def mistook(self, one: Mistaken) -> None:
        """A flag that does something else than it seems to."""
        self.mistaken[one] = None

    def started_since(self, child: Shell) -> bool:
        """Whether a process started ranks itself."""
        return any(s.callers[: len(child.process.callers)] == child.process.callers and s.place.path == child.script
                   for s in self.starts[-50:])  # fmt: skip

    def rank(
        self, shell: Shell, place: Place, program: str, path: str, arguments: Sequence[Text], opaque: bool = False
    ) -> None:
        """Note a process that becomes a rank."""
        if len(self.starts) >= MOST_STARTS or self.root is None:
            return
        self.count += 1
        names = self._told(shell)
        lost = {n: kept for n, pairs in shell.lost.items() if (kept := drop_excluded(pairs, shell.guard))}
        self.starts.append(
            RankStart(
                self.root, place, shell.process.chain, program, path, tuple(a.text for a in arguments), names, lost,
                shell.guard, shell.process.layer, shell.process.callers, opaque, self.hinting,
                shell.process.kind != "wrapper", self.count,
            )
        )  # fmt: skip

    def _told(self, shell: Shell) -> dict[str, Slot]:
        return {name: slot for name in shell.visible if (slot := shell.held(name))}

    def program(self, shell: Shell, place: Place, program: str, path: str, arguments: Sequence[Text]) -> None:
        """A Python program starts: a rank, and what it starts itself gets what it has."""
        self.rank(shell, place, program, path, arguments)
        if not path or path in self._files or len(self._files) >= DEEPEST_FILES or self.contexts.get(path, 0) >= 2:
            return
        self.contexts[path] = self.contexts.get(path, 0) + 1
        self._files.append(path)
        for root in self.roots_of(path):
            if root.script is not None:
                inner = shell.copy()
                inner.process = inner.process._replace(callers=(*inner.process.callers, place))
                self._begin(root, inner)
        self._files.pop()

    # Files

    def find(self, word: Text, shell: Shell) -> str | None:
        """The file of the tree that a word means where it is used: also one that an image holds a copy of."""
        return shell.copied.get(word.text) or self.find_text(word.text, word.used, shell)

    def find_text(self, text: str, used: Place, shell: Shell) -> str | None:
        """The same for text."""
        if not text or len(text) > 400 or "\n" in text:
            return None
        return self.project.references.find(text, folder(shell.path or used.path), {})

    def module(self, word: Text, shell: Shell) -> str:
        """The file that `python -m` runs."""
        return self.project.references.program(word.text, shell.path) or ""

    def missing(self, path: str, word: Text, place: Place) -> None:
        """A file that is pulled in and is not there."""
        self.absent.setdefault(path, {})[word.text, place.line] = None

    def is_harmless_source(self, text: str) -> bool:
        """Whether a file outside of the project only gives programs and paths."""
        return _ACTIVATION.search(text) is not None or text.startswith(("/etc/", "/dev/", "<("))

    def _body(self, path: str) -> Body:
        kind = kind_of(path)
        if kind in (None, "shell"):
            scripts = self.project.facts.scripts(path)
            return scripts[0].body if scripts else ()
        return next((r.script.body for r in self.roots_of(path) if r.script is not None), ())

    def enter(self, path: str, child: Shell, arguments: tuple[Text, ...], place: Place) -> Shell | None:
        """Run a script of the tree in a process that was made for it."""
        if path in self._files or len(self._files) >= DEEPEST_FILES:
            self.bound("scripts that start one another", path)
            return None
        self.contexts[path] = self.contexts.get(path, 0) + 1
        if self.contexts[path] > MOST_CONTEXTS:
            self.bound(f"more than {MOST_CONTEXTS} callers", path)
            self.unfollowed(Unfollowed(place, self.names(child), "started from many places", path))
            return None
        child.path = child.script = path
        child.arguments, child.functions, child.arrays, child.maps = arguments, {}, {}, {}
        child.stdin = None
        child.process = child.process._replace(callers=(*child.process.callers, place), kind=child.process.kind)
        return self._in_file(path, child, "process")

    def _in_file(self, path: str, shell: Shell, kind: str) -> Shell | None:
        self._files.append(path)
        try:
            with self._frame(kind) as ended:
                after = self.run(self._body(path), shell)
        finally:
            self._files.pop()
        return self.meet_all([after, *ended], shell.guard)

    def source(self, path: str, arguments: tuple[Text, ...], place: Place, shell: Shell) -> Shell | None:
        """Run a file of the tree in this very shell."""
        if path in self._files or len(self._files) >= DEEPEST_FILES:
            self.bound("files that source one another", path)
            return shell
        self.sourced.setdefault(shell.path, {})[path] = None
        self.contexts.setdefault(path, 0)
        before, kept = shell.path, shell.arguments
        shell.path = path
        if arguments:
            shell.arguments = arguments
        kind = kind_of(path)
        after: Shell | None = shell
        if kind not in (None, "shell", "csh", "fish") and not self.project.facts.scripts(path):
            self._source_variables(path, shell)
        else:
            after = self._in_file(path, shell, "source")
        if after is not None:
            after.path, after.arguments = before, kept
        return after

    def _source_variables(self, path: str, shell: Shell) -> None:
        """A file of variables under `source`: assignments, exported only where everything is."""
        facts = self.project.facts.whole(path)
        for setting in facts.settings if facts is not None else ():
            exported = shell.allexport if setting.exported == "no" or setting.op != "export" else "yes"
            place = setting.name_place or setting.place
            text = written.literal(setting.value.known, setting.value_place or place)
            assign.bind(self, shell, setting.name, text, place, assign.Manner("assign", exported))

    def written(self, path: str, line: int, column: int) -> str:
        """The source of an expansion that begins at a place."""
        return written.expansion_at(self.project.files.text(path), line, column)

    # Surroundings of launchers

    def surroundings(self, shell: Shell) -> edges.EdgeSurroundings:
        """What a launcher's own rules ask for besides its words."""
        return edges.EdgeSurroundings(
            self.batch(shell),
            lambda written_path: self._hosts_in(written_path, shell),
            lambda name: self._value(name, shell),
            lambda name: self._lines_of(name, shell),
        )

    def batch(self, shell: Shell) -> str:
        """The batch system that is in force, as far as the script or its callers show it."""
        for one in reversed(shell.process.chain):
            if one.name in self.launchers.batches:
                return self.launchers.batches[one.name]
        for path in dict.fromkeys((shell.path, shell.script, *(place.path for place in shell.process.callers))):
            if system := self._batch_in(path):
                return system
        return ""

    def _batch_in(self, path: str) -> str:
        """The batch system whose directives, commands or variables a script shows."""
        if path not in self._batches:
            text = self.project.files.text(path)
            found = next((self.launchers.batches.get(d.name, "") for d in directives(self.launchers, text)), "")
            marks = (system for mark, system in self.launchers.marks.items() if mark in text)
            facts = self.project.facts.whole(path)
            started = (self.launchers.batches.get(launch.launcher, "") for launch in (facts.launches if facts else ()))
            self._batches[path] = found or next(filter(None, started), "") or next(marks, "")
        return self._batches[path]

    def _hosts_in(self, text: str, shell: Shell) -> int | None:
        path = self.find_text(text, shell.process.place, shell)
        return written.hosts(self.project.files.text(path)) if path is not None else None

    def _value(self, name: str, shell: Shell) -> str | None:
        if name in shell.remembered:
            return shell.remembered[name]
        slot = shell.held(name)
        if slot is None or len(slot) != 1 or slot[0].kind == "unset":
            return None
        return slot[0].text if slot[0].kind == "literal" else "?"

    def _lines_of(self, name: str, shell: Shell) -> Sequence[str] | None:
        """The names in a file that a launcher reads by itself: of the tree, or written on the way; None: not known."""
        base = name.rsplit("/", 1)[-1]
        for kept_name, kept in shell.files.items():
            if kept_name.rsplit("/", 1)[-1] == base:
                return written.names_in(processes.flat([p for t in kept for p in t.pieces])) if kept is not None else None
        homes = dict.fromkeys((folder(shell.path), self.project.files.prefix()))
        for home in homes:
            path = posixpath.normpath(posixpath.join(home, name))
            if self.project.references.has(path):
                return written.names_in(self.project.files.text(path))
        return None if base in self.project.files.text(shell.path) else ()

    def read_file(self, shell: Shell, file: edges.EnvironmentFile[Text], place: Place) -> None:
        """A file of variables that a launcher reads."""
        written.read_file(self, shell, file, place)

    def image(self, shell: Shell, image: Text, place: Place, launcher: str) -> None:
        """A container without a command runs what its image says."""
        del launcher
        self.unfollowed(Unfollowed(place, self.names(shell), "image not in the tree", image.text))

    # Roots

    def begin(self, root: Root, previous: Shell | None = None) -> Shell | None:
        """Run a root; the shell at its end is given back."""
        self.root = root
        self.limit = min(self.operations + MOST_OPERATIONS, MOST_IN_ALL)
        if self.operations >= MOST_IN_ALL:
            self.bound("operations of the scan", root.path)
            return None
        self._frames, self._active, self._files, self.depth, self.text_depth = [], [], [root.path], 0, 0
        shell = Shell(Process(root.kind, Place(root.path, root.line, 1, root.line, 1), 0), root.path)
        if previous is not None:
            self._after(root, shell, previous)
        count = self.count
        after = self._begin(root, shell)
        self._uncalled(after)
        if after is not None and self.count == count:
            self.ends.append(Ended(root, self._told(after)))
        return after

    def _begin(self, root: Root, shell: Shell) -> Shell | None:
        for inclusion in root.env_files:
            path = self.project.references.find(inclusion.target, folder(root.path), {})
            if path is not None:
                self.load(path, shell, "file")
            else:
                self.may_have_more(shell)
        for setting in root.settings:
            self.give(setting, shell, "manifest")
        self._header(root, shell)
        if root.kind in ("image", "build") and (facts := self.project.facts.whole(root.path)) is not None:
            shell.copied = self.project.references.copied(facts)
        for setting in root.unexported:
            self._meant(setting, shell)
        if root.script is None:
            return shell
        shell.path = root.path
        with self._frame("process") as ended:
            after = self.run(root.script.body, shell)
        return self.meet_all([after, *ended], shell.guard)

    def _meant(self, setting: Setting, shell: Shell) -> None:
        """A setting of the file that its author may have meant for the process, and that never gets there."""
        place = setting.name_place or setting.place
        origin = Origin(setting.name, place, "manifest", 0)
        value = setting.value.known
        one = Alternative("literal" if value is not None else "unknown", value or "", "no", (origin,))
        loss = _OUTSIDE.get(setting.channel, Loss("not-exported", place, f"a variable of {self._kind(setting)} itself"))
        loss = loss._replace(place=Place(shell.path, shell.process.place.line, 1, shell.process.place.line, 1))
        if self.is_known(setting.name) and setting.name not in shell.visible:
            shell.lose(setting.name, (one,), loss)

    def _kind(self, setting: Setting) -> str:
        return kind_of(setting.place.path) or "the file"

    def _header(self, root: Root, shell: Shell) -> None:
        """Directives in the head of a job: they count as flags of the command that submits it."""
        if root.kind != "job" or root.script is None:
            return
        for found in self.headers(root.script.body, shell):
            crossing = edges.cross(found, self.surroundings(shell))
            shell.remembered.update(crossing.remembers)
            for given in crossing.gives:
                processes.give(self, shell, given, {}, found.name, given.name.used)

    def headers(self, operations: Body, shell: Shell) -> list[Invocation[Text]]:
        """What the directives in the head of a script say, a command of flags for each batch system."""
        by_name: dict[str, list[Text]] = {}
        for operation in operations:
            if operation[0] != "directive":
                break
            name = self.launchers.headers.get(operation[3])
            if name is not None:
                words = [expand.text_of(self, word, shell) for word in operation[4]]
                by_name.setdefault(name, []).extend(words)
        found = (headed(self.launchers, name, words) for name, words in by_name.items())
        return [one for one in found if one is not None]

    def submitted(self, found: Invocation[Text], shell: Shell) -> Invocation[Text]:
        """A command that submits a script, with the directives of the script, which its own flags follow."""
        inner = found.segments[0].inner
        path = self.find(inner[0], shell) if inner else None
        for header in self.headers(self._body(path), shell) if path is not None else ():
            if header.name == found.name:
                return with_header(found, header)
        return found

    def _after(self, root: Root, shell: Shell, previous: Shell) -> None:
        """What the step before had exported, and this one does not get."""
        what = {"step": "a step of its own", "build": "a layer of the image, whose shell ends with it",
                "recipe": "a line of a recipe, which has a shell of its own", "cell": "a shell that ends with the line",
                }.get(previous.process.kind, "a shell of its own")  # fmt: skip
        loss = Loss(previous.process.kind, previous.process.place, what)
        for name, slot in previous.visible.items():
            gone = [a for a in slot if a.exported == "yes" and any(o.operation == "export" for o in a.origins)]
            shell.lose(name, gone, loss)
        for name, pairs in previous.lost.items():
            for alternative, before in pairs:
                if before.kind == loss.kind:
                    shell.lose(name, (alternative,), before)

    def _uncalled(self, shell: Shell | None) -> None:
        """Functions that nobody calls: what they start is told as a hint."""
        if shell is None:
            return
        self.hinting = True
        for name, function in list(shell.functions.items()):
            if function not in self._functions and function.path == shell.script and self.operations < self.limit:
                inner = shell.copy()
                inner.in_function, inner.arguments = True, None
                with self.exiting(), self.within(function):
                    self.run(function.body, inner)
                del name
        self.hinting = False

    def result(self) -> Walked:
        """All that was noted."""
        return Walked(
            tuple(self.starts), tuple(self.replaced.values()), tuple(self.mistaken), tuple(self.unfollowed_ones),
            tuple(self.ends), tuple(self.gaps), self.operations, tuple(self.bounded),
            {path: tuple(found) for path, found in self.sourced.items()},
            {path: tuple(found) for path, found in self.absent.items()},
        )  # fmt: skip

    def gap(self, path: str, line: int, text: str) -> None:
        """Text that could not be read."""
        self.gaps[path, line, text[:80]] = None

    def facts(self, path: str) -> FileFacts | None:
        """The facts of a file of the tree."""
        return self.project.facts.whole(path)

    def ended(self, shell: Shell, after: Shell | None, kind: str, place: Place) -> None:
        """A shell of its own has ended."""
        processes.ended_without_start(shell, after, kind, place)


def known_values(shell: Shell) -> Mapping[str, str | None]:
    """The values that are plain, by name."""
    return {n: s[0].text for n, s in shell.visible.items() if len(s) == 1 and s[0].kind == "literal"}


__all__ = ["Walker", "find", "known_values"]
