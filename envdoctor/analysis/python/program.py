"""What a Python program does, in the order in which it runs: calls of its own functions are followed, modules that it
imports from the project run where they are imported.

Conditions stay with the steps. What cannot be followed (methods of unknown objects, callbacks) is left out, so that
the order of what is there can be trusted, and its completeness cannot.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import NamedTuple

from envdoctor.core.facts import Branch, Call, Definition, FileFacts, Inclusion, Launch, Scope, Setting, Use
from envdoctor.core.records import dataclass, field
from envdoctor.core.regexes import regex

Fact = Setting | Use | Launch | Inclusion | Call


class Step(NamedTuple):
    """One fact on the way of a program, with the scope and the conditions under which it happens."""

    fact: Fact
    path: str
    scope: Scope
    branch: tuple[Branch, ...]


_RETURN = regex(r"\s+return\b")
_SKIPPING = regex(r"\b(?:and|or|lambda|else)\b(?!\s*:)")
MOST_STEPS = 20_000
DEEPEST = 24
Import = Callable[[str, str], FileFacts | None]
"""The facts of a module: dotted name and importing file in, None for modules that are not of the project."""


NEEDLES = {
    "process-group": ("init_process_group", "init_distributed", "deepspeed.initialize"),
    "first-communicator": (
        "init_process_group", "init_distributed", "deepspeed.initialize", "all_reduce", "all_gather", "barrier",
        "broadcast", "reduce_scatter", "DistributedDataParallel",
    ),
    "runtime-init": ("torch.cuda.", ".cuda(", "'cuda", '"cuda'),
    "allocator-init": ("torch.cuda.", ".cuda(", "'cuda", '"cuda'),
    "first-gemm": (".cuda(", ".backward(", "matmul"),
    "first-conv": ("conv", ".backward("), "backend-start": ("jax.",),
}  # fmt: skip
"""When a variable is read -> words of which a module holds one if it can bring a program to that point.

Only such modules are followed: a large project has hundreds that a program imports.
"""
NEEDLES["each-communicator"] = NEEDLES["first-communicator"]


def needles(stages: Iterable[str]) -> tuple[str, ...]:
    """The words of the modules worth following for variables that are read at some stages."""
    return tuple({word: None for stage in stages for word in NEEDLES.get(stage, ())})


def programs_of(facts: FileFacts, imported: Import, text: Callable[[str], str]) -> list[list[Step]]:
    """What a file does when it is run or imported, and what each function does that it does not call itself.

    In each of the lists the order is that of a run; between them there is none. Bounded in number and depth. `text`
    gives the text of a file by its path.
    """
    walk = _Walk(imported, text, facts.path)
    found = [_bounded(walk.module(facts, ()))]
    module = walk.known(facts)
    for name, definition in module.functions.items():
        if definition.kind == "function" and (facts.path, name) not in walk.entered:
            found.append(_bounded(walk.body(module, name, ())))
    return [found[0], *(steps for steps in found[1:] if steps)]


def _bounded(steps: Iterator[Step]) -> list[Step]:
    return list(islice(steps, MOST_STEPS))


@dataclass(slots=True)
class _Module:
    """The facts of a file by the function they stand in."""

    facts: FileFacts
    bodies: dict[str, list[Fact]]
    functions: dict[str, Definition]


def _evaluation_order(fact: Fact) -> tuple[int, int, int]:
    """The statement, and in it the end of the expression: arguments are evaluated before the call around them."""
    return (fact.order >> 10, fact.place.end_line, fact.place.end_column)


@dataclass(slots=True)
class _Walk:
    imported: Import
    text: Callable[[str], str]
    entry: str
    done: set[str] = field(default_factory=set)
    modules: dict[str, _Module] = field(default_factory=dict)
    active: list[tuple[str, str]] = field(default_factory=list)
    entered: set[tuple[str, str]] = field(default_factory=set)
    texts: dict[str, list[str]] = field(default_factory=dict)

    def module(self, facts: FileFacts, branch: tuple[Branch, ...]) -> Iterator[Step]:
        """Runs the top level of a module, once."""
        if facts.path in self.done or len(self.active) >= DEEPEST:
            return
        self.done.add(facts.path)
        yield from self.body(self.known(facts), "", branch)

    def known(self, facts: FileFacts) -> _Module:
        """A file's facts, sorted into functions."""
        if facts.path not in self.modules:
            bodies: dict[str, list[Fact]] = {}
            every: list[Fact] = [*facts.settings, *facts.calls, *facts.launches, *facts.inclusions]
            functions = {d.name: d for d in facts.definitions}
            for fact in sorted(every, key=_evaluation_order):
                scope = getattr(fact, "scope", Scope())
                inside = scope.kind == "function" or scope.name in functions
                bodies.setdefault(scope.name if inside else "", []).append(fact)
            self.modules[facts.path] = _Module(facts, bodies, functions)
        return self.modules[facts.path]

    def body(self, module: _Module, name: str, branch: tuple[Branch, ...]) -> Iterator[Step]:
        """The steps of a function, or of the top level for an empty name."""
        key = (module.facts.path, name)
        if key in self.active or len(self.active) >= DEEPEST:
            return
        self.active.append(key)
        self.entered.add(key)
        returned = self.returned(module, name)
        for fact in module.bodies.get(name, ()):
            own = branch + getattr(fact, "branch", ())
            if module.facts.path != self.entry and any(b.condition.startswith("__name__") for b in own[len(branch) :]):
                continue
            if returned and fact.place.line > returned:
                own += (Branch(f"{module.facts.path}:{returned}:return", "behind"),)
            if isinstance(fact, Call) and self.may_be_skipped(fact):
                own += (Branch(f"{fact.place.path}:{fact.place.line}:operand", "evaluated"),)
            if isinstance(fact, Inclusion):
                if fact.kind == "import" and (inner := self.imported(fact.target, module.facts.path)) is not None:
                    yield from self.module(inner, own)
                continue
            if isinstance(fact, Call):
                yield from self.called(fact, module, own)
            yield Step(fact, module.facts.path, getattr(fact, "scope", Scope()), own)
        self.active.pop()

    def lines(self, path: str) -> list[str]:
        """The lines of a file, split once."""
        if path not in self.texts:
            self.texts[path] = self.text(path).split("\n")
        return self.texts[path]

    def returned(self, module: _Module, name: str) -> int:
        """The line of the first `return` of a function that is not its last statement; 0: it has none.

        What stands behind it is not sure to run, as those see it who call the function.
        """
        definition = module.functions.get(name)
        if definition is None:
            return 0
        lines = self.lines(module.facts.path)[definition.place.line : definition.end_line]
        return next((definition.place.line + i for i, line in enumerate(lines, 1) if _RETURN.match(line)), 0)

    def may_be_skipped(self, call: Call) -> bool:
        """Whether a call is an operand or a part that Python may leave out: `a or f()`, `f() if a else b`, a lambda."""
        place = call.place
        lines = self.lines(place.path)[place.line - 1 : place.line]
        return bool(lines) and _SKIPPING.search(lines[0][: place.column - 1]) is not None

    def called(self, call: Call, module: _Module, branch: tuple[Branch, ...]) -> Iterator[Step]:
        """The steps of the project's own function that a call runs; arguments have run before."""
        if call.kind != "call":
            return
        if call.name.startswith(".") and not call.name.startswith(".."):
            name = call.name[1:]
            if name in module.functions:
                yield from self.run(module, name, branch)
                return
        target, _, name = call.name.rpartition(".")
        if not target or "(" in target:
            return
        inner = self.imported(target, module.facts.path)
        if inner is not None and inner.path != module.facts.path:
            other = self.known(inner)
            if name in other.functions:
                yield from self.run(other, name, branch)

    def run(self, module: _Module, name: str, branch: tuple[Branch, ...]) -> Iterator[Step]:
        """Runs a function, or the constructor of a class."""
        definition = module.functions[name]
        yield from self.body(module, f"{name}.__init__" if definition.kind == "class" else name, branch)
