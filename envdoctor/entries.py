"""What a Python program does: its calls in the order in which they run, from the entry across the project's modules.

Nothing is run. Each function counts once, where it is first called; what is called from places that cannot be told
(methods of objects, callbacks) comes at the end and is marked as having no order.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Literal

from envdoctor.entry_modules import Modules, Target
from envdoctor.facts import Argument, Branch, Call, Definition, FileFacts, Inclusion, Place

MAIN = re.compile(r"__name__\s*==\s*[\"']__main__[\"']")
ENTRY_FUNCTIONS = ("main", "train", "run", "cli", "main_worker", "worker")
"""Functions that an entry starts by a command-line framework, where its own call cannot be seen."""
SELF_RETURNING = re.compile(
    r"\.(?:cuda|cpu|to|half|float|double|bfloat16|train|eval|requires_grad_|share_memory|compile)\(\)"
)
"""Methods that return the object itself, so that what follows is still a method of it."""
CALLED = re.compile(
    r"__(?:call|getitem|getitems|iter|next)__$|forward$|call$|build$|(?:train|fit|run|step|epoch|update|compute|loss"
    r"|collate|setup|prepare|configure|on_)|\w*_(?:step|epoch|loop|dataloader|loader|dataset|batch)$"
)
"""Methods that frameworks and loops call on an object."""
UNUSED = re.compile(r"val|eval|test|predict|infer|generat|export|example|sample")
"""Methods that are no part of a training."""
MOST_STEPS = 20_000
DEEPEST = 40
NEAR = 2
"""Calls from the entry on within which every module is read; further off only those that say something."""

ProcessKind = Literal["main", "spawn", "fork", "loader"]


@dataclass(frozen=True, slots=True)
class Process:
    """A process of the program. `spawn`: a fresh interpreter; `fork`: with all that its parent had; `loader`: a
    worker of a data loader."""

    kind: ProcessKind = "main"
    number: int = 0


@dataclass(frozen=True, slots=True)
class Step:
    """One call as it runs: `conditions` are those around it and around the calls that lead to it."""

    call: Call
    index: int
    process: Process
    conditions: tuple[Branch, ...] = ()
    ordered: bool = True
    at_import: bool = False
    function: Definition | None = None
    local: bool = False
    """Whether the call leads into a function or class of the project."""
    site: Place | None = None
    """The place in the entry that leads here."""
    likely: bool = True
    """Whether the call plainly runs: methods that nothing is seen to call may run or not."""
    bases: frozenset[str] = frozenset()
    """Base classes of the project's class that is made here, by their dotted names."""


@dataclass(slots=True)
class Program:
    """An entry and all that it runs."""

    path: str
    facts: FileFacts
    steps: list[Step] = field(default_factory=list)
    files: dict[str, FileFacts] = field(default_factory=dict)
    memory: dict[object, object] = field(default_factory=dict)

    def imports(self) -> set[str]:
        """The dotted names that the files of the program import."""
        return {i.target for facts in self.files.values() for i in facts.inclusions if i.kind == "import"}


SPAWNERS: dict[str, ProcessKind] = {
    "torch.multiprocessing.spawn": "spawn", "torch.multiprocessing.start_processes": "spawn",
    "torch_xla.distributed.xla_multiprocessing.spawn": "fork", "multiprocessing.Process": "fork",
    "torch.multiprocessing.Process": "fork", "accelerate.notebook_launcher": "fork",
}  # fmt: skip
"""Calls that start a function in other processes. `multiprocessing` forks on Linux (until Python 3.14)."""


class Walker:
    """Follows one entry."""

    def __init__(self, modules: Modules, entry: FileFacts) -> None:
        self.modules = modules
        self.home = str(PurePosixPath(entry.path).parent)
        self.program = Program(entry.path, entry)
        self._seen: set[tuple[str, str, Process, bool]] = set()
        self._entered: set[tuple[str, str]] = set()
        self._loaded = {entry.path}
        self._lineages: dict[tuple[str, str], list[Target]] = {}
        self._site: Place | None = None
        self._classes: dict[tuple[str, str], tuple[Target, Process, Place | None]] = {}
        self._process = Process()
        self._ordered = True
        self._likely = True
        self._importing = 0
        self._processes = 0

    def walk(self) -> Program:
        """The program of the entry."""
        entry = self.program.facts
        self._import(entry)
        for name in ENTRY_FUNCTIONS:
            definition = self.modules.outline(entry).definitions.get(name)
            if definition is not None and not self._was_seen(entry.path, name):
                self._enter(Target(entry, definition), (), 0)
                break
        self._rest()
        return self.program

    def _was_seen(self, path: str, name: str) -> bool:
        return (path, name) in self._entered

    def _import(self, facts: FileFacts, depth: int = 0, conditions: tuple[Branch, ...] = ()) -> None:
        """Run what a module runs when it is imported."""
        self.program.files.setdefault(facts.path, facts)
        self._importing += facts is not self.program.facts
        self._run(facts, None, conditions, depth)
        self._importing -= facts is not self.program.facts

    def _run(self, facts: FileFacts, function: Definition | None, outer: tuple[Branch, ...], depth: int) -> None:
        is_entry = facts is self.program.facts
        site = self._site
        for event in self.modules.outline(facts).events.get(function.name if function else "", ()):
            if len(self.program.steps) >= MOST_STEPS:
                return
            conditions = outer
            if event.branch:
                if any(_never(branch, is_entry) for branch in event.branch):
                    continue
                conditions = outer + _scoped(event.branch, facts.path)
            if is_entry:
                self._site = event.place
            if isinstance(event, Call):
                self._call(event, facts, function, conditions, depth)
            elif function is not None or is_entry:
                self._imported(event, facts, conditions, depth)
        self._site = site

    def _imported(self, event: Inclusion, facts: FileFacts, conditions: tuple[Branch, ...], depth: int) -> None:
        module = self.modules.module(event.target, facts.path, self.home)
        if module is None or module[0] in self._loaded:
            return
        for path in self.modules.imports.loaded(module[0], self._loaded):
            other = self.modules.read_file(path)
            if other is not None:
                self._import(other, depth + 1, conditions)

    def _call(
        self, call: Call, facts: FileFacts, function: Definition | None, conditions: tuple[Branch, ...], depth: int
    ) -> None:
        self.modules.telling_only = depth > NEAR
        target = self.callee(call.name, facts) if call.kind == "call" else None
        self.program.steps.append(
            Step(
                call, len(self.program.steps), self._process, conditions, self._ordered, self._importing > 0,
                function, target is not None, self._site, self._likely, self._bases(target),
            )
        )  # fmt: skip
        self._started(call, facts, conditions, depth)
        if target is None:
            return
        if target.definition.kind == "class":
            self._made(target, conditions, depth)
        else:
            self._enter(target, conditions, depth)

    def _bases(self, target: Target | None) -> frozenset[str]:
        """The dotted names of all base classes of a class of the project."""
        if target is None or target.definition.kind != "class" or not target.definition.bases:
            return frozenset()
        return frozenset(b for t in self._lineage(target) for b in t.definition.bases)

    def _lineage(self, target: Target) -> list[Target]:
        key = (target.facts.path, target.definition.name)
        if key not in self._lineages:
            self._lineages[key] = self.modules.lineage(target, self.home)
        return self._lineages[key]

    def callee(self, name: str, facts: FileFacts) -> Target | None:
        """The function, class or method that a call of this name runs, if it is the project's own."""
        head, called, rest = name.partition("()")
        target = self.modules.resolve(head, facts, self.home)
        if target is None or not called:
            return target
        if target.definition.kind != "class":
            return None
        rest = SELF_RETURNING.sub("", rest)
        if rest == "()" or not rest:
            return self.modules.method(target, "forward", self.home) or self.modules.method(
                target, "__call__", self.home
            )
        if rest[0] == "." and "(" not in rest and "." not in rest[1:]:
            return self.modules.method(target, rest[1:], self.home)
        return None

    def _made(self, target: Target, conditions: tuple[Branch, ...], depth: int) -> None:
        """An object of one of the project's classes is made: its `__init__` runs, the rest may run later."""
        key = (target.facts.path, target.definition.name)
        self._classes.setdefault(key, (target, self._process, self._site))
        for part in self._lineage(target):
            name = f"{part.definition.name}.__init__"
            start = self.modules.outline(part.facts).definitions.get(name)
            if start is not None:
                self._enter(Target(part.facts, start), conditions, depth)

    def _enter(self, target: Target, conditions: tuple[Branch, ...], depth: int) -> None:
        """Run a function, once in each process."""
        facts, definition = target
        key = (facts.path, definition.name, self._process, self._ordered)
        if key in self._seen or depth > DEEPEST:
            return
        self._seen.add(key)
        self._entered.add(key[:2])
        self.program.files.setdefault(facts.path, facts)
        self._run(facts, definition, conditions, depth + 1)

    def _started(self, call: Call, facts: FileFacts, conditions: tuple[Branch, ...], depth: int) -> None:
        """Functions that are handed over: run in another process, in a loader's worker, or at some time."""
        if "." not in call.name and not any(a.names for a in call.arguments):
            return
        kind = SPAWNERS.get(call.name)
        for argument in call.arguments:
            for target in self._handed(argument, facts):
                if argument.keyword == "worker_init_fn":
                    self._aside(target, Process("loader"), conditions, depth, ordered=False)
                elif kind is not None:
                    self._processes += 1
                    self._aside(target, Process(kind, self._processes), conditions, depth)
                else:
                    self._aside(target, self._process, conditions, depth, ordered=False)

    def _handed(self, argument: Argument, facts: FileFacts) -> Iterator[Target]:
        for name in argument.names:
            if "(" not in name:
                target = self.modules.resolve(name, facts, self.home)
                if target is not None and target.definition.kind == "function":
                    yield target

    def _aside(
        self, target: Target, process: Process, conditions: tuple[Branch, ...], depth: int, ordered: bool = True
    ) -> None:
        before = (self._process, self._ordered)
        self._process, self._ordered = process, self._ordered and ordered
        self._enter(target, conditions, depth)
        self._process, self._ordered = before

    def _rest(self) -> None:
        """Methods of the objects that were made: those that frameworks call, and then those that may run or not."""
        self._ordered = False
        for likely in (True, False):
            self._likely = likely
            done: set[tuple[str, str]] = set()
            while waiting := [key for key in self._classes if key not in done]:
                for key in waiting:
                    done.add(key)
                    self._methods(*self._classes[key])

    def _methods(self, owner: Target, process: Process, site: Place | None) -> None:
        lineage = self._lineage(owner)
        loader = is_dataset({*self._bases(owner), owner.definition.name})
        self._site = site
        for part in lineage:
            for definition in self.modules.outline(part.facts).methods.get(part.definition.name, ()):
                if loader or not self._was_seen(part.facts.path, definition.name):
                    self._method(Target(part.facts, definition), process, loader)
        self._process = Process()
        self._site = None

    def _method(self, target: Target, process: Process, loader: bool) -> None:
        method = target.definition.name.rpartition(".")[2]
        if self._likely and not (CALLED.match(method) and not UNUSED.search(method)):
            return
        self._process = Process("loader") if loader and method != "__init__" else process
        self._enter(target, (), 0)


def _never(branch: Branch, is_entry: bool) -> bool:
    """A branch that this program does not take: `__main__` of an imported module, or its opposite in the entry."""
    if not MAIN.search(branch.condition):
        return False
    return (branch.arm == "if") != is_entry


def _scoped(branches: tuple[Branch, ...], path: str) -> tuple[Branch, ...]:
    """The conditions of a file without `__main__`; their ids are made to differ from those of other files."""
    return tuple(Branch(f"{path}:{b.id}", b.arm, b.condition) for b in branches if not MAIN.search(b.condition))


def is_dataset(bases: Iterable[str]) -> bool:
    """Whether a class is one whose methods run in the workers of a data loader."""
    return any(base.rsplit(".", 1)[-1].endswith(("Dataset", "IterDataPipe", "MapDataPipe")) for base in bases)


def exclusive(first: tuple[Branch, ...], second: tuple[Branch, ...]) -> bool:
    """Whether two facts can never both happen: one condition, different arms."""
    arms = {b.id: b.arm for b in first}
    return any(b.id in arms and arms[b.id] != b.arm for b in second)


@dataclass(slots=True)
class Programs:
    """The programs of a project, by the file that starts them; each is followed once.

    `text` gives the text of a file, to see whether it is an entry; `is_test` names files that test the project.
    """

    modules: Modules
    text: Callable[[str], str]
    is_test: Callable[[str], bool]
    mentions: Callable[[str], bool] = lambda name: False
    """Whether any file of the project sets a variable of this name."""
    _programs: dict[str, Program | None] = field(default_factory=dict)

    def of(self, facts: FileFacts) -> Program | None:
        """The program that a file starts; None where it starts none (a library module, a test)."""
        path = facts.path
        if path not in self._programs:
            entry = facts.kind in ("python", "notebook") and not self.is_test(path) and self._starts(facts)
            self._programs[path] = Walker(self.modules, facts).walk() if entry else None
        return self._programs[path]

    def _starts(self, facts: FileFacts) -> bool:
        """A `__main__` block, a notebook, or calls that run when the file is run and are no mere definitions."""
        if facts.kind == "notebook" or MAIN.search(self.text(facts.path)):
            return True
        return any(c.kind == "call" and c.scope.kind != "function" for c in facts.calls)

    def launched(self, words: Iterable[str], path: str) -> Iterator[Program]:
        """The programs that the words of a command in the file `path` start."""
        listed = list(words)
        folder = str(PurePosixPath(path).parent)
        for index, word in enumerate(listed):
            found: str | None = None
            if word.endswith(".py"):
                options = (f"{folder}/{word}" if folder != "." else word, word)
                found = next((p for o in options if (p := _plain(o)) in self.modules.paths), None)
            elif index and listed[index - 1] == "-m":
                module = self.modules.module(word, path, folder)
                found = module[0] if module is not None and not module[1] else None
            facts = self.modules.read(found) if found else None
            program = self.of(facts) if facts is not None else None
            if program is not None:
                yield program


def _plain(path: str) -> str:
    """A path without `.` and `..` where they can be taken out."""
    parts: list[str] = []
    for part in path.split("/"):
        if part == ".." and parts and parts[-1] != "..":
            parts.pop()
        elif part not in (".", ""):
            parts.append(part)
    return "/".join(parts)
