"""Where the names of a Python program lead: modules of the same project, and what is defined in them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import PurePosixPath
from typing import NamedTuple

from envdoctor.analysis.python.imports import Imports
from envdoctor.core.facts import Call, Definition, FileFacts, Inclusion
from envdoctor.core.records import dataclass, field
from envdoctor.core.regexes import regex

Read = Callable[[str], FileFacts | None]
"""Facts of a file of the project by its path, or None where it cannot be read."""
TELLING = regex(
    rb"seed|\brandom\.|import random|torch\.rand|\.backward\(|determinis|backends\.|Generator\(|spawn|flash_attn"
    rb"|hashlib"
)
"""Words of modules that seed, draw, train or set switches."""
SEEDING = regex(rb"seed|determinis|_rng_state")
"""Words of modules that seed or ask for determinism."""
DEPTH = 8
"""Imports that are followed from one module to the next (re-exports)."""


class Resolved(NamedTuple):
    """A function or class of the project, and the file that defines it."""

    facts: FileFacts
    definition: Definition


@dataclass(slots=True)
class ModuleOutline:
    """What a file defines, imports and runs, by the function it stands in (`""`: when it is imported)."""

    definitions: dict[str, Definition] = field(default_factory=dict)
    methods: dict[str, list[Definition]] = field(default_factory=dict)
    imports: dict[str, Inclusion] = field(default_factory=dict)
    stars: list[Inclusion] = field(default_factory=list)
    events: dict[str, list[Call | Inclusion]] = field(default_factory=dict)


def outline(facts: FileFacts) -> ModuleOutline:
    """The outline of a file; the events of each function are in the order in which Python evaluates them."""
    result = ModuleOutline()
    for definition in facts.definitions:
        result.definitions.setdefault(definition.name, definition)
        owner = definition.name.rpartition(".")[0]
        if owner and definition.kind == "function":
            result.methods.setdefault(owner, []).append(definition)
    for inclusion in facts.inclusions:
        if inclusion.kind != "import":
            continue
        if inclusion.bound == "*":
            result.stars.append(inclusion)
        else:
            result.imports.setdefault(inclusion.bound.split(".", 1)[0], inclusion)
    events: list[Call | Inclusion] = [*facts.calls, *(i for i in facts.inclusions if i.kind == "import")]
    for event in sorted(events, key=evaluation_order):
        result.events.setdefault(event.scope.name if event.scope.kind == "function" else "", []).append(event)
    return result


def evaluation_order(event: Call | Inclusion) -> tuple[int, int, int]:
    """The statement, and in it the end of the expression: arguments are evaluated before the call around them."""
    place = event.place
    return (event.order >> 10, place.end_line, place.end_column)


@dataclass(slots=True)
class Modules:
    """The Python files of a project, found by dotted names."""

    paths: frozenset[str]
    read_file: Read
    raw: Callable[[str], bytes | None]
    roots: tuple[str, ...] = ("", "src")
    imports: Imports = field(init=False)
    _telling: dict[str, bool] = field(default_factory=dict)
    _seeding: dict[str, bool] = field(default_factory=dict)
    _children: dict[str, set[str]] = field(default_factory=dict)
    _outlines: dict[str, ModuleOutline] = field(default_factory=dict)
    _found: dict[tuple[str, str, str], tuple[str, tuple[str, ...]] | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.imports = Imports(self.raw, self.module)

    def read(self, path: str, near: bool) -> FileFacts | None:
        """Facts of a module; None where it cannot be read.

        Far from the entry of a program only modules whose text speaks of what the checks look for are worth it.
        """
        return self.read_file(path) if near or self._tells(path) else None

    def _tells(self, path: str) -> bool:
        if path not in self._telling:
            self._telling[path] = TELLING.search(self.raw(path) or b"") is not None
        return self._telling[path]

    def seeds(self, path: str) -> bool:
        """Whether the text of a module speaks of seeds or determinism."""
        if path not in self._seeding:
            self._seeding[path] = SEEDING.search(self.raw(path) or b"") is not None
        return self._seeding[path]

    def outline(self, facts: FileFacts) -> ModuleOutline:
        """The outline of a file, made once."""
        if facts.path not in self._outlines:
            self._outlines[facts.path] = outline(facts)
        return self._outlines[facts.path]

    def resolve(self, name: str, facts: FileFacts, home: str, near: bool, depth: int = DEPTH) -> Resolved | None:
        """The function or class that a dotted name of `facts` means; `home` is the folder of the entry,
        `near` whether the call is near to it.

        A method is looked for in the base classes too. None where the name leads out of the project.
        """
        if depth <= 0 or not name or name[0] == "?":
            return None
        if name[0] == ".":
            own = self._defined(name[1:], facts, home, near, depth)
            if own is not None or name.split(".")[1] in self.outline(facts).definitions:
                return own
        module = self.module(name, facts.path, home)
        if module is None:
            return None if name[0] == "." else self._starred(name, facts, home, near, depth)
        path, rest = module
        other = self.read(path, near)
        if other is None or not rest:
            return None
        return self._exported(rest, other, home, near, depth - 1)

    def _exported(self, rest: tuple[str, ...], facts: FileFacts, home: str, near: bool, depth: int) -> Resolved | None:
        """What a module offers under a name: its own, or what it imports from elsewhere."""
        own = self._defined(".".join(rest), facts, home, near, depth)
        if own is not None:
            return own
        shape = self.outline(facts)
        if rest[0] in shape.imports:
            target = shape.imports[rest[0]].target
            return self.resolve(".".join([target, *rest[1:]]), facts, home, near, depth)
        return self._starred(".".join(rest), facts, home, near, depth)

    def _starred(self, name: str, facts: FileFacts, home: str, near: bool, depth: int) -> Resolved | None:
        """What a name means that came with a `from x import *`."""
        shape = self.outline(facts)
        if name.split(".", 1)[0] in shape.imports:
            return None
        for star in shape.stars:
            joint = "" if set(star.target) == {"."} else "."
            found = self.resolve(f"{star.target}{joint}{name}", facts, home, near, depth - 1)
            if found is not None:
                return found
        return None

    def _defined(self, name: str, facts: FileFacts, home: str, near: bool, depth: int) -> Resolved | None:
        definitions = self.outline(facts).definitions
        if name in definitions:
            return Resolved(facts, definitions[name])
        owner, _, method = name.rpartition(".")
        if owner in definitions and definitions[owner].kind == "class":
            return self.method(Resolved(facts, definitions[owner]), method, home, near, depth - 1)
        return None

    def method(self, owner: Resolved, name: str, home: str, near: bool, depth: int = DEPTH) -> Resolved | None:
        """A method of a class of the project or of its base classes."""
        if depth <= 0:
            return None
        own = self.outline(owner.facts).definitions.get(f"{owner.definition.name}.{name}")
        if own is not None:
            return Resolved(owner.facts, own)
        for base in owner.definition.bases:
            parent = self.resolve(base, owner.facts, home, near, depth - 1)
            if parent is not None and parent.definition.kind == "class":
                found = self.method(parent, name, home, near, depth - 1)
                if found is not None:
                    return found
        return None

    def lineage(self, owner: Resolved, home: str, near: bool, depth: int = DEPTH) -> list[Resolved]:
        """A class and those of its base classes that belong to the project, base classes first."""
        found: list[Resolved] = []
        for base in owner.definition.bases if depth > 0 else ():
            parent = self.resolve(base, owner.facts, home, near, depth - 1)
            if parent is not None and parent.definition.kind == "class":
                found += [t for t in self.lineage(parent, home, near, depth - 1) if t not in found]
        return [*found, owner]

    def module(self, name: str, importer: str, home: str) -> tuple[str, tuple[str, ...]] | None:
        """The file of the module that a dotted name begins with, and the rest of the name."""
        folder = importer.rpartition("/")[0] or "."
        key = (name, folder, home)
        if key not in self._found:
            self._found[key] = self._module(name, folder, home)
        return self._found[key]

    def _module(self, name: str, folder: str, home: str) -> tuple[str, tuple[str, ...]] | None:
        stripped = name.lstrip(".")
        parts = stripped.split(".") if stripped else []
        inside = self._inside()
        for base in self._bases(len(name) - len(stripped), folder, home):
            root = "" if base == "." else base
            if parts and parts[0] in inside.get(root, ()):
                for end in range(len(parts), 0, -1):
                    stem = "/".join([root, *parts[:end]] if root else parts[:end])
                    for path in (f"{stem}.py", f"{stem}/__init__.py"):
                        if path in self.paths:
                            return path, tuple(parts[end:])
            if name[0] == "." and root and f"{root}/__init__.py" in self.paths:
                return f"{root}/__init__.py", tuple(parts)
        return None

    def _inside(self) -> dict[str, set[str]]:
        """The names of modules and folders directly in each folder."""
        if not self._children:
            for path in self.paths:
                folder, _, name = path.rpartition("/")
                self._children.setdefault(folder, set()).add(name.removesuffix(".py"))
                while folder:
                    folder, _, name = folder.rpartition("/")
                    self._children.setdefault(folder, set()).add(name)
        return self._children

    def _bases(self, level: int, folder: str, home: str) -> Iterable[str]:
        """The folders that a name is looked for in: those of a relative import, or what Python's path would hold."""
        here = PurePosixPath(folder)
        if level:
            for _ in range(level - 1):
                here = here.parent
            return [str(here)]
        above = [p for p in (here, *here.parents) if f"{p}/__init__.py" not in self.paths]
        return dict.fromkeys([home, *self.roots, *(str(p) for p in above)])
