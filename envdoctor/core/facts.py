"""The vocabulary: facts that readers and probes state, and nothing about rules.

A fact is one thing read from somewhere, with its place. Readers turn files into facts, probes turn parts of a
node into facts; checks judge facts and never open a file.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

from envdoctor.core.records import dataclass, field

Op = Literal["set", "default", "append", "unset", "export", "pass"]
"""set: assigned; default: only if unset (`setdefault`, `: ${X:=v}`); append: `+=` or PATH-like growth;
unset: removed; export: made visible to children without a new value; pass: forwarded by name (`-x NAME`)."""

Exported = Literal["yes", "no", "unknown"]
ScopeKind = Literal["process", "subshell", "function", "command", "container", "manifest", "file"]
Channel = Literal[
    "shell", "image", "argument", "kubernetes", "compose", "ci", "task", "conf-file", "env-file", "batch-directive",
    "launcher-argument", "python-environ", "child-environment", "runtime-env", "module-file", "service",
    "process-environment", "configuration",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Place:
    """Where a fact stands: lines and columns count from 1, columns in characters, the end is exclusive.

    `node` names the node a live fact was read on; `cell` is the cell of a notebook, from 1.
    """

    path: str
    line: int
    column: int
    end_line: int
    end_column: int
    node: str = ""
    cell: int | None = None


@dataclass(frozen=True, slots=True)
class Value:
    """What a setting is given.

    literal: `text` is the value the process sees. template: `text` is the source text, `references` are the
    variables in it, and `fallback` is the value when they are all unset (`${X:-fallback}`) if that can be told.
    unknown: computed at run time; `text` is the source text for display.
    """

    kind: Literal["literal", "template", "unknown"]
    text: str = ""
    references: tuple[str, ...] = ()
    fallback: str | None = None

    @property
    def known(self) -> str | None:
        """The value to judge: the literal, or the fallback of a template, or None."""
        return self.text if self.kind == "literal" else self.fallback


@dataclass(frozen=True, slots=True)
class Scope:
    """How far a setting reaches. `name` is the function, container, stage or command; `""` is the whole file."""

    kind: ScopeKind = "process"
    name: str = ""


@dataclass(frozen=True, slots=True)
class Branch:
    """One condition around a fact. Two facts with one `id` and different `arm` never both happen."""

    id: str
    arm: str
    condition: str = ""


@dataclass(frozen=True, slots=True)
class Setting:
    """An event that gives, takes or forwards an environment variable, in source order (`order`, from 0)."""

    op: Op
    name: str
    value: Value
    place: Place
    channel: Channel
    order: int
    exported: Exported = "yes"
    scope: Scope = Scope()
    branch: tuple[Branch, ...] = ()
    via: str = ""
    """The command, launcher, image or manifest kind that carries the setting (`mpirun`, `docker run`, `Pod`)."""
    comment: str = ""
    """The comment on the same line, or the lines right above it."""
    name_place: Place | None = None
    value_place: Place | None = None
    guarded: bool = False
    """The value is data of a test double (monkeypatch, mock.patch.dict): no process ever gets it."""


@dataclass(frozen=True, slots=True)
class Use:
    """A place where the project's own code reads a variable and does something with it.

    Printing, listing or forwarding a variable under its own name is not a use.
    """

    name: str
    place: Place
    order: int


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument of a call: its keyword (`**` where a mapping is spread) or None, its literal value where it is one,
    and its source text.

    The literal may be that of a constant which the argument names. `names` are the dotted names in an argument that
    is no literal, resolved as the names of calls are: `("torch.distributed.get_rank()",)` for `rank`.
    """

    keyword: str | None
    text: str
    literal: str | int | float | bool | None = None
    is_literal: bool = False
    place: Place | None = None
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Call:
    """A Python call or attribute assignment, with its dotted name resolved through imports.

    Functions and classes of the same file have a dot in front (`.set_seed`, `.Net.forward`), relative imports the
    dots of the import, and what a call returns has parentheses (`torch.Generator().manual_seed`). A method of an
    object that cannot be told is `?.backward`; only those that say what kind of program it is are kept.

    Names with a colon in front are no names of Python: `:compiler.flag` is a flag that a build hands to a compiler,
    `:deepspeed.optimizer.type` an entry of a configuration of DeepSpeed, in Python or in a file of its own.
    """

    name: str
    kind: Literal["call", "assign"]
    arguments: tuple[Argument, ...]
    place: Place
    order: int
    scope: Scope = Scope()
    branch: tuple[Branch, ...] = ()
    comment: str = ""


@dataclass(frozen=True, slots=True)
class Definition:
    """A Python function or class: what is needed to follow a program in the order in which it runs.

    `name` is qualified (`Net.forward`); decorators and base classes are dotted names as those of calls.
    """

    name: str
    kind: Literal["function", "class"]
    place: Place
    order: int
    end_line: int
    parameters: tuple[str, ...] = ()
    decorators: tuple[str, ...] = ()
    bases: tuple[str, ...] = ()
    scope: Scope = Scope()
    branch: tuple[Branch, ...] = ()


@dataclass(frozen=True, slots=True)
class Launch:
    """A command that starts ranks or carries a command to another place (ssh, container, scheduler)."""

    launcher: str
    words: tuple[str, ...]
    place: Place
    order: int
    scope: Scope = Scope()
    branch: tuple[Branch, ...] = ()
    channel: Channel = "shell"
    inner: tuple[str, ...] = ()
    """The words of the command that the launcher runs, where they can be told."""


@dataclass(frozen=True, slots=True)
class Inclusion:
    """A file that another one pulls in: `source x.sh`, `--env-file x`, `env_file:`, `import local_module`, `COPY x`."""

    kind: Literal["source", "env-file", "import", "run", "configuration", "copy"]
    target: str
    place: Place
    order: int
    branch: tuple[Branch, ...] = ()
    scope: Scope = Scope()
    bound: str = ""
    """The name that an import binds (`b` of `from m import a as b`); `*` for all names of a module.
    Of a copy: where the file is put."""


@dataclass(frozen=True, slots=True)
class Component:
    """A library, driver or device with version and path."""

    name: str
    version: str
    place: Place
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Observation:
    """A property of a node; keys, units and types stand in `envdoctor.node.probes.keys`."""

    key: str
    value: str | int | float | bool | None
    place: Place
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Problem:
    """A part of a file that could not be read, and what that means for the rest."""

    message: str
    place: Place


@dataclass(slots=True)
class FileFacts:
    """Everything one reader states about one file, each list in source order."""

    path: str
    kind: str
    settings: list[Setting] = field(default_factory=list)
    uses: list[Use] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    launches: list[Launch] = field(default_factory=list)
    inclusions: list[Inclusion] = field(default_factory=list)
    components: list[Component] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    definitions: list[Definition] = field(default_factory=list)
    scripts: list[Any] = field(default_factory=list)
    """The shell texts in the file, only where `readers.scripts` asks for them."""


def exclusive(one: Iterable[Branch], other: Iterable[Branch]) -> bool:
    """Whether two facts can never both happen: one condition, different arms."""
    arms = {branch.id: branch.arm for branch in one}
    return bool(arms) and any(branch.id in arms and arms[branch.id] != branch.arm for branch in other)
