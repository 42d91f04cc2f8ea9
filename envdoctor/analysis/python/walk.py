"""Follows one entry through the modules of its project, call by call."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath

from envdoctor.analysis.python.events import MAIN, Event, Process, ProcessKind, Timeline
from envdoctor.analysis.python.modules import Modules, Resolved
from envdoctor.core.facts import Argument, Branch, Call, Definition, FileFacts, Inclusion, Place
from envdoctor.core.regexes import regex

ENTRY_FUNCTIONS = ("main", "train", "run", "cli", "main_worker", "worker")
"""Functions that an entry starts by a command-line framework, where its own call cannot be seen."""
SELF_RETURNING = regex(
    r"\.(?:cuda|cpu|to|half|float|double|bfloat16|train|eval|requires_grad_|share_memory|compile)\(\)"
)
"""Methods that return the object itself, so that what follows is still a method of it."""
CALLED = regex(
    r"__(?:call|getitem|getitems|iter|next)__$|forward$|call$|build$|(?:train|fit|run|step|epoch|update|compute|loss"
    r"|collate|setup|prepare|configure|on_)|\w*_(?:step|epoch|loop|dataloader|loader|dataset|batch)$"
)
"""Methods that frameworks and loops call on an object."""
UNUSED = regex(r"val|eval|test|predict|infer|generat|export|example|sample")
"""Methods that are no part of a training."""
MOST_EVENTS = 20_000
DEEPEST = 40
NEAR = 2
"""Calls from the entry on within which every module is read; further off only those that say something."""


SPAWNERS: dict[str, ProcessKind] = {
    "torch.multiprocessing.spawn": "spawn", "torch.multiprocessing.start_processes": "spawn",
    "torch_xla.distributed.xla_multiprocessing.spawn": "fork", "multiprocessing.Process": "fork",
    "torch.multiprocessing.Process": "fork", "accelerate.notebook_launcher": "fork",
    "torch.multiprocessing.get_context().Process": "fork", "multiprocessing.get_context().Process": "fork",
    "concurrent.futures.ProcessPoolExecutor().submit": "fork",
}  # fmt: skip
"""Calls that start a function in other processes. `multiprocessing` forks on Linux (until Python 3.14)."""


START_METHODS = ("set_start_method", "get_context")
"""Calls that choose how `multiprocessing` starts processes."""
REMOTE = regex(r"(?:\.options\(\))?\.remote$")
"""How Ray runs a function or makes an actor, in a process of its own."""


class TimelineWalker:
    """Follows one entry."""

    def __init__(self, modules: Modules, entry: FileFacts) -> None:
        self.modules = modules
        self.home = str(PurePosixPath(entry.path).parent)
        self.timeline = Timeline(entry)
        self._seen: set[tuple[str, str, Process, bool]] = set()
        self._entered: set[tuple[str, str]] = set()
        self._loaded = {entry.path}
        self._lineages: dict[tuple[str, str, bool], list[Resolved]] = {}
        self._site: Place | None = None
        self._classes: dict[tuple[str, str], tuple[Resolved, Process, Place | None, bool]] = {}
        self._process = Process()
        self._ordered = True
        self._likely = True
        self._importing = 0
        self._processes = 0
        self._fresh = False

    def walk(self) -> Timeline:
        """The timeline of the entry."""
        entry = self.timeline.entry
        self._import(entry)
        for name in ENTRY_FUNCTIONS:
            definition = self.modules.outline(entry).definitions.get(name)
            if definition is not None and not self._was_seen(entry.path, name):
                self._enter(Resolved(entry, definition), (), 0)
                break
        self._rest()
        return self.timeline

    def _was_seen(self, path: str, name: str) -> bool:
        return (path, name) in self._entered

    def _import(self, facts: FileFacts, depth: int = 0, conditions: tuple[Branch, ...] = ()) -> None:
        """Run what a module runs when it is imported."""
        self.timeline.files.setdefault(facts.path, facts)
        self._importing += facts is not self.timeline.entry
        self._run(facts, None, conditions, depth)
        self._importing -= facts is not self.timeline.entry

    def _run(self, facts: FileFacts, function: Definition | None, outer: tuple[Branch, ...], depth: int) -> None:
        is_entry = facts is self.timeline.entry
        site = self._site
        for event in self.modules.outline(facts).events.get(function.name if function else "", ()):
            if len(self.timeline.events) >= MOST_EVENTS:
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
        near = depth <= NEAR
        target = self._callee(call.name, facts, near) if call.kind == "call" else None
        self.timeline.events.append(
            Event(
                call, len(self.timeline.events), self._process, conditions, self._ordered, self._importing > 0,
                function, target is not None, self._site, self._likely, self._bases(target, near),
            )
        )  # fmt: skip
        self._started(call, facts, conditions, depth)
        if target is None:
            if call.name.endswith(".remote"):
                self._remote(call, facts, conditions, depth)
            return
        self._reached(target, conditions, depth)

    def _reached(self, target: Resolved, conditions: tuple[Branch, ...], depth: int) -> None:
        if target.definition.kind == "class":
            self._made(target, conditions, depth)
        else:
            self._enter(target, conditions, depth)

    def _remote(self, call: Call, facts: FileFacts, conditions: tuple[Branch, ...], depth: int) -> None:
        """A function or an actor of Ray: it runs in a worker, a fresh process."""
        target = self.modules.resolve(REMOTE.sub("", call.name), facts, self.home, depth <= NEAR)
        if target is None or not any(d.startswith("ray.remote") for d in target.definition.decorators):
            return
        before = self._process
        self._processes += 1
        self._process = Process("remote", self._processes)
        self._reached(target, conditions, depth)
        self._process = before

    def _bases(self, target: Resolved | None, near: bool) -> frozenset[str]:
        """The dotted names of all base classes of a class of the project."""
        if target is None or target.definition.kind != "class" or not target.definition.bases:
            return frozenset()
        return frozenset(b for t in self._lineage(target, near) for b in t.definition.bases)

    def _lineage(self, target: Resolved, near: bool) -> list[Resolved]:
        key = (target.facts.path, target.definition.name, near)
        if key not in self._lineages:
            self._lineages[key] = self.modules.lineage(target, self.home, near)
        return self._lineages[key]

    def _callee(self, name: str, facts: FileFacts, near: bool) -> Resolved | None:
        """The function, class or method that a call of this name runs, if it is the project's own."""
        head, called, rest = name.partition("()")
        target = self.modules.resolve(head, facts, self.home, near)
        if target is None or not called:
            return target
        if target.definition.kind != "class":
            return None
        rest = SELF_RETURNING.sub("", rest)
        if rest == "()" or not rest:
            return self._method_of(target, "forward", near) or self._method_of(target, "__call__", near)
        if rest[0] == "." and "(" not in rest and "." not in rest[1:]:
            return self._method_of(target, rest[1:], near)
        return None

    def _method_of(self, owner: Resolved, name: str, near: bool) -> Resolved | None:
        return self.modules.method(owner, name, self.home, near)

    def _made(self, target: Resolved, conditions: tuple[Branch, ...], depth: int) -> None:
        """An object of one of the project's classes is made: its `__init__` runs, the rest may run later."""
        key = (target.facts.path, target.definition.name)
        near = depth <= NEAR
        self._classes.setdefault(key, (target, self._process, self._site, near))
        for part in self._lineage(target, near):
            name = f"{part.definition.name}.__init__"
            start = self.modules.outline(part.facts).definitions.get(name)
            if start is not None:
                self._enter(Resolved(part.facts, start), conditions, depth)

    def _enter(self, target: Resolved, conditions: tuple[Branch, ...], depth: int) -> None:
        """Run a function, once in each process."""
        facts, definition = target
        key = (facts.path, definition.name, self._process, self._ordered)
        if key in self._seen or depth > DEEPEST:
            return
        self._seen.add(key)
        self._entered.add(key[:2])
        self.timeline.files.setdefault(facts.path, facts)
        self._run(facts, definition, conditions, depth + 1)

    def _started(self, call: Call, facts: FileFacts, conditions: tuple[Branch, ...], depth: int) -> None:
        """Functions that are handed over: run in another process, in a loader's worker, or at some time."""
        kind = SPAWNERS.get(call.name)
        if call.name.endswith(START_METHODS):
            self._fresh |= any(a.literal in ("spawn", "forkserver") for a in call.arguments)
        if kind == "fork" and self._fresh:
            kind = "spawn"
        for argument in call.arguments:
            for target in self._handed(argument, facts, depth <= NEAR):
                if argument.keyword == "worker_init_fn":
                    self._aside(target, Process("loader"), conditions, depth, ordered=False)
                elif kind is not None:
                    self._processes += 1
                    self._aside(target, Process(kind, self._processes), conditions, depth)
                else:
                    self._aside(target, self._process, conditions, depth, ordered=False)

    def _handed(self, argument: Argument, facts: FileFacts, near: bool) -> Iterator[Resolved]:
        for name in argument.names:
            if "(" not in name:
                target = self.modules.resolve(name, facts, self.home, near)
                if target is not None and target.definition.kind == "function":
                    yield target

    def _aside(
        self, target: Resolved, process: Process, conditions: tuple[Branch, ...], depth: int, ordered: bool = True
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

    def _methods(self, owner: Resolved, process: Process, site: Place | None, near: bool) -> None:
        lineage = self._lineage(owner, near)
        loader = _is_dataset({*self._bases(owner, near), owner.definition.name})
        self._site = site
        for part in lineage:
            if not self._likely and not self.modules.seeds(part.facts.path):
                continue  # what may run or not counts only where it seeds
            for definition in self.modules.outline(part.facts).methods.get(part.definition.name, ()):
                if loader or not self._was_seen(part.facts.path, definition.name):
                    self._method(Resolved(part.facts, definition), process, loader)
        self._process = Process()
        self._site = None

    def _method(self, target: Resolved, process: Process, loader: bool) -> None:
        method = target.definition.name.rpartition(".")[2]
        if self._likely and not (CALLED.match(method) and not UNUSED.search(method)):
            return
        self._process = Process("loader") if loader and method != "__init__" else process
        self._enter(target, (), 0)


def _is_dataset(bases: Iterable[str]) -> bool:
    """Whether a class is one whose methods run in the workers of a data loader."""
    return any(base.rsplit(".", 1)[-1].endswith(("Dataset", "IterDataPipe", "MapDataPipe")) for base in bases)


def _never(branch: Branch, is_entry: bool) -> bool:
    """A branch that this program does not take: `__main__` of an imported module, or its opposite in the entry."""
    if not MAIN.search(branch.condition):
        return False
    return (branch.arm == "if") != is_entry


def _scoped(branches: tuple[Branch, ...], path: str) -> tuple[Branch, ...]:
    """The conditions of a file without `__main__`; their ids are made to differ from those of other files."""
    return tuple(Branch(f"{path}:{b.id}", b.arm, b.condition) for b in branches if not MAIN.search(b.condition))
