"""What each launcher, container runtime and scheduler does with the variables of its caller.

The knowledge stands in `rules/launchers/*.toml`, one file per launcher. The records below describe every key of such a
file, once: how it is written, what it says, and what is read from it; `docs/launchers.md` lists them. A file without
evidence or without an example is refused, and so is one that names a command which another file has already.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, get_args

from envdoctor.core.facts import Channel
from envdoctor.core.records import dataclass, field
from envdoctor.knowledge.files import load_compiled, loads_toml, suggestion
from envdoctor.knowledge.toml_records import (
    FLAG,
    FLAGS,
    NAMES,
    NUMBER,
    SOME_TEXT,
    SOME_TEXTS,
    TABLE_OF_TEXTS,
    TEXT,
    TEXTS,
    TableError,
    ValueKind,
    check,
    choice,
    key,
    tables,
    values_of,
)

Form = Literal[
    "assignment", "list", "names", "pair", "words", "env-file", "configuration", "json", "ssh", "script", "unset",
]  # fmt: skip
"""assignment: `-x A=1`, `-x A`. list: `--export=ALL,A=1,B`. names: `-genvlist A,B`. pair: `-genv A 1`. words: every
following word up to the next option. json: `{"env_vars": {...}}`. ssh: `-o SendEnv=A`. script: shell text.
unset: `env -u A`."""

Inner = Literal["words", "shell", "script", "python", "dashes", "none"]
"""What follows the options: a command, text for a remote shell, a shell script file, a Python entry, a command after
`--`, or nothing that runs here."""

Passes = Literal["everything", "named", "nothing"]
Elsewhere = Literal["always", "hosts"]
Sure = Literal["high", "medium", "low"]
GETS = choice(("inherits", "list", "none", "n/a"))
NOTHING: Mapping[str, str] = MappingProxyType({})


class LauncherError(ValueError):
    """A launcher file that cannot be used; the message names the file and the key."""


@dataclass(frozen=True, slots=True)
class LauncherOption:
    """Flags that carry variables in one form: `{ flags = "-x --x", form = "assignment" }`."""

    flags: str = field(metadata=key(SOME_TEXT, "the flags, blank between them"))
    form: Form = field(metadata=key(choice(get_args(Form)), "how the variables stand in the value"))
    channel: Channel = field(
        default="launcher-argument", metadata=key(choice(get_args(Channel)), "what the facts call a setting from there")
    )


@dataclass(frozen=True, slots=True)
class LauncherCommand:
    """`[[command]]`: how the words of a command are read. The shell reader uses these rows and nothing else."""

    programs: str = field(metadata=key(SOME_TEXT, "the names of the program, blank between them"))
    subcommands: str = field(default="", metadata=key(TEXT, "comma between them; absent: the program itself"))
    modules: str = field(default="", metadata=key(TEXT, "`python -m` of these is the same command; blank between them"))
    options: tuple[LauncherOption, ...] = field(
        default=(),
        metadata=key(tables(LauncherOption), "flags that carry variables: `flags`, `form` and perhaps `channel`"),
    )
    valued: str = field(
        default="",
        metadata=key(TEXT, "other flags that take a value: they say where the command begins"),
    )
    bare: str = field(
        default="", metadata=key(TEXT, "flags known to take no value, where those that do are not all known")
    )
    operands: int = field(
        default=0, metadata=key(NUMBER, "words between options and command: image, host, the seconds of `timeout`")
    )
    inner: Inner = field(
        default="words",
        metadata=key(
            choice(get_args(Inner)),
            "what follows: a command, text for a remote shell, a script file, a Python entry, a command behind `--`, "
            "or nothing that runs here",
        ),
    )
    assigns: bool = field(
        default=False, metadata=key(FLAG, "NAME=VALUE words before the command are settings (`env A=1 cmd`)")
    )
    launch: bool = field(
        default=True, metadata=key(FLAG, "worth a fact of its own; false: only passes the command on (`nohup`)")
    )
    container: bool = field(default=False, metadata=key(FLAG, "what it runs has an environment of its own"))
    segments: bool = field(
        default=False, metadata=key(FLAG, "`:` starts another set of options and command (`mpirun -np 1 a : -np 1 b`)")
    )
    ranks: bool = field(default=False, metadata=key(FLAG, "starts ranks, or the program that becomes one"))
    sizes: str = field(default="", metadata=key(TEXT, "flags that say how many ranks or nodes there are"))

    def option(self, flag: str) -> LauncherOption | None:
        """The option a flag belongs to, if it carries variables."""
        return _options(self).get(flag)

    def takes_value(self, flag: str) -> bool:
        """Whether a flag that carries no variables takes the next word as its value."""
        return flag in _valued(self)

    def is_bare(self, flag: str) -> bool:
        """Whether a flag is known to take no value."""
        return flag in self.bare.split()

    def subcommand_words(self) -> list[list[str]]:
        """The subcommands, each as its words."""
        return [subcommand.split() for subcommand in self.subcommands.split(",")] if self.subcommands else []

    def names(self) -> Iterator[str]:
        """The command as facts name it: `mpirun`, `docker run`."""
        for program in self.programs.split():
            for words in self.subcommand_words() or [[]]:
                yield " ".join([program, *words])


@cache
def _options(row: LauncherCommand) -> dict[str, LauncherOption]:
    return {flag: option for option in row.options for flag in option.flags.split()}


@cache
def _valued(row: LauncherCommand) -> frozenset[str]:
    return frozenset(row.valued.split())


NO_WORDS: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Delivery:
    """`[[delivery]]`: what gets through one way of starting a command; several where one name has several meanings."""

    launchers: frozenset[str] = field(metadata=key(NAMES, "commands as facts name them: program and subcommand"))
    passes: Passes = field(metadata=key(choice(get_args(Passes)), "what goes without further flags"))
    only_with: frozenset[str] = field(
        default=NO_WORDS,
        metadata=key(FLAGS, "flags of which one is there, or the command may be another program of that name"),
    )
    elsewhere: Elsewhere = field(
        default="always",
        metadata=key(choice(get_args(Elsewhere)), "hosts: only where other hosts are plainly named"),
    )
    hosts: frozenset[str] = field(default=NO_WORDS, metadata=key(FLAGS, "flags that name hosts"))
    hosts_file: frozenset[str] = field(default=NO_WORDS, metadata=key(FLAGS, "flags that name a file of hosts"))
    nodes: frozenset[str] = field(default=NO_WORDS, metadata=key(FLAGS, "flags that say how many nodes there are"))
    everything: frozenset[str] = field(
        default=NO_WORDS,
        metadata=key(FLAGS, "flags after which everything goes; `--launcher=slurm`: this value of a flag"),
    )
    nothing: frozenset[str] = field(
        default=NO_WORDS, metadata=key(FLAGS, "flags after which only what is named goes (`--cleanenv`)")
    )
    lists: frozenset[str] = field(
        default=NO_WORDS, metadata=key(FLAGS, "a flag whose list says what goes; ALL in it: everything", name="list")
    )
    unknown: frozenset[str] = field(default=NO_WORDS, metadata=key(FLAGS, "flags after which it cannot be told"))
    prefixes: tuple[str, ...] = field(default=(), metadata=key(TEXTS, "names that start so go by themselves"))
    files: tuple[str, ...] = field(default=(), metadata=key(TEXTS, "files that add variables"))
    inherits_under: str = field(default="", metadata=key(TEXT, "a batch system under which everything goes"))
    says: str = field(default="", metadata=key(TEXT, "what a finding says of it"))
    remedy: str = field(default="", metadata=key(TEXT, "what a finding advises; {name} is the variable"))
    sure: Sure = field(default="medium", metadata=key(choice(get_args(Sure)), "how sure a finding is"))
    names_only: frozenset[str] = field(
        default=NO_WORDS,
        metadata=key(FLAGS, "flags that take names and no values: `--container-env=A=1` gives nobody the 1"),
    )
    single: frozenset[str] = field(
        default=NO_WORDS, metadata=key(FLAGS, "flags that take one variable each: `-x A,B` passes neither")
    )
    wrong_flags: Mapping[str, str] = field(
        default=NOTHING,
        metadata=key(TABLE_OF_TEXTS, "flags that look as if they passed a variable, and what they do"),
    )
    title: str = ""
    confidence: str = "unverified"
    evidence: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LauncherExample:
    """`[[example]]`: a command line as people write it, and what is made of it; a test and documentation at once."""

    line: str = field(metadata=key(SOME_TEXT, "the command, one line or several"))
    launches: tuple[str, ...] = field(
        default=(), metadata=key(TEXTS, "commands that are found: `mpirun -> python train.py`, with what each runs")
    )
    gives: tuple[str, ...] = field(
        default=(), metadata=key(TEXTS, "variables that the line gives (`A=1`), hands on (`A`) or takes away (`-A`)")
    )
    reads: tuple[str, ...] = field(default=(), metadata=key(TEXTS, "files that the line reads or runs"))
    loses: bool = field(
        default=False, metadata=key(FLAG, "an NCCL_ALGO that the shell exported before does not reach the command")
    )
    note: str = field(default="", metadata=key(TEXT, "what is to be seen"))


@dataclass(frozen=True, slots=True)
class LauncherFile:
    """A file under `rules/launchers/`."""

    title: str = field(metadata=key(SOME_TEXT, "the launcher's name"))
    evidence: tuple[str, ...] = field(metadata=key(SOME_TEXTS, "what was measured, or which source or manual says so"))
    examples: tuple[LauncherExample, ...] = field(
        metadata=key(tables(LauncherExample, full=True), "command lines and what is made of them", name="example")
    )
    local: str = field(default="", metadata=key(GETS, "what ranks beside the caller get"))
    remote: str = field(default="", metadata=key(GETS, "what ranks on other nodes get"))
    confidence: str = field(
        default="unverified",
        metadata=key(choice(("measured", "read", "unverified")), "measured, read in sources or a manual, or neither"),
    )
    notes: tuple[str, ...] = field(default=(), metadata=key(TEXTS, "what else people should know"))
    shares: tuple[str, ...] = field(
        default=(),
        metadata=key(
            TEXTS,
            "files that have the commands of which a `[[delivery]]` of this file speaks: one name, several programs; "
            "such a delivery needs `only_with`",
        ),
    )
    shared: Mapping[str, Any] = field(
        default=NOTHING,
        metadata=key(ValueKind("a table", dict), "keys that every `[[command]]` of this file takes over"),
    )
    commands: tuple[LauncherCommand, ...] = field(
        default=(), metadata=key(tables(LauncherCommand), "how words are read", name="command")
    )
    deliveries: tuple[Delivery, ...] = field(
        default=(), metadata=key(tables(Delivery), "what gets through", name="delivery")
    )


@dataclass(slots=True)
class Launchers:
    """Everything known of launchers: rows in order of their files, and deliveries by the command's name."""

    commands: tuple[LauncherCommand, ...]
    deliveries: tuple[Delivery, ...]
    by_name: dict[str, LauncherCommand] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        self.by_name.update((name, row) for row in self.commands for name in row.names())

    def deliveries_of(self, launcher: str) -> list[Delivery]:
        """What a command of this name may be."""
        return [d for d in self.deliveries if launcher in d.launchers]

    def command_of(self, launcher: str) -> LauncherCommand | None:
        """The row of a command by its name in facts, or None."""
        return self.by_name.get(launcher)

    def starts_ranks(self, launcher: str) -> bool:
        """Whether a command starts ranks, or a program that becomes one."""
        row = self.command_of(launcher)
        return launcher == "python" or (row is not None and row.ranks)

    def sizes_of(self, launcher: str) -> frozenset[str]:
        """The flags of a command that say how many ranks or nodes there are, with dashes for underscores."""
        row = self.command_of(launcher)
        return frozenset(row.sizes.replace("_", "-").split()) if row is not None else frozenset()


def build(paths: Sequence[Path]) -> dict[str, Any]:
    """Parse and check launcher files into one table, ready to be kept as JSON: {file: content}."""
    table: dict[str, Any] = {}
    owners: dict[str, str] = {}
    for path in paths:
        where = f"launchers/{path.name}"
        content = _parsed(path, where)
        _take_names(content, where, owners)
        table[path.stem] = content
    for stem, content in table.items():
        _check_deliveries(content, stem, owners)
    return table


def _parsed(path: Path, where: str) -> dict[str, Any]:
    """One file, checked."""
    try:
        content = _with_shared(loads_toml(path.read_text(encoding="utf-8")))
        check(content, LauncherFile)
    except (ValueError, TableError) as error:
        raise LauncherError(f"{where}: {error}") from error
    return content


def _with_shared(content: dict[str, Any]) -> dict[str, Any]:
    """A file with its `[shared]` keys put into each command."""
    shared = content.pop("shared", {})
    if not isinstance(shared, dict):
        raise TableError("shared: expected a table")
    rows = content.get("command")
    if isinstance(rows, list):
        content["command"] = [{**shared, **row} if isinstance(row, dict) else row for row in rows]
    return content


def _take_names(content: Mapping[str, Any], where: str, owners: dict[str, str]) -> None:
    """Note whose the commands of a file are; a name that is taken already is refused."""
    for index, row in enumerate(content.get("command", ()), 1):
        command = LauncherCommand(**values_of(row, LauncherCommand))
        named = [("programs", name) for name in command.names()]
        for key_name, name in [*named, *(("modules", f"python -m {module}") for module in command.modules.split())]:
            if name in owners:
                raise LauncherError(f"{where}: command {index}: {key_name}: {name} is already in {owners[name]}")
            owners[name] = where


def _check_deliveries(content: Mapping[str, Any], stem: str, owners: Mapping[str, str]) -> None:
    """A delivery speaks of commands of its own file, or of those of a file that `shares` names."""
    where = f"launchers/{stem}.toml"
    shared = [f"launchers/{other}.toml" for other in content.get("shares", ())]
    if missing := [file for file in shared if file not in owners.values()]:
        raise LauncherError(f"{where}: shares: {missing[0]} has no commands")
    for index, row in enumerate(content.get("delivery", ()), 1):
        for name in sorted(NAMES.read(row["launchers"])):
            fault = _fault_of_name(name, "only_with" in row, where, shared, owners)
            if fault:
                raise LauncherError(f"{where}: delivery {index}: {fault}")


def _fault_of_name(name: str, told_apart: bool, where: str, shared: Sequence[str], owners: Mapping[str, str]) -> str:
    """What is wrong with a name in a delivery; empty: nothing."""
    owner = owners.get(name)
    if owner is None:
        return f"launchers: no [[command]] is called {name}{suggestion(name, list(owners))}"
    if owner == where:
        return ""
    if owner not in shared:
        stem = owner.removeprefix("launchers/").removesuffix(".toml")
        return f'launchers: {name} is in {owner}: say shares = ["{stem}"] if it is another program of that name'
    return "" if told_apart else f"only_with: missing: {name} is in {owner} too, and something has to tell them apart"


def launchers_from(table: Mapping[str, Any]) -> Launchers:
    """The launchers of a table that `build` made."""
    files = table.values()
    commands = tuple(
        LauncherCommand(**values_of(row, LauncherCommand)) for file in files for row in file.get("command", ())
    )
    deliveries = tuple(_delivery(row, file) for file in files for row in file.get("delivery", ()))
    return Launchers(commands, deliveries)


def _delivery(row: Mapping[str, Any], file: Mapping[str, Any]) -> Delivery:
    """One delivery, with what its file says of all of them."""
    of_file = {key: file[key] for key in ("title", "confidence") if key in file}
    return Delivery(**values_of(row, Delivery), **of_file, evidence=tuple(file["evidence"]))


def load_files() -> list[LauncherFile]:
    """The launcher files that come with envdoctor, with their examples."""
    table = load_compiled("launchers", "launchers", build)
    return [LauncherFile(**values_of(content, LauncherFile)) for content in table.values()]


@cache
def load_launchers() -> Launchers:
    """The launchers that come with envdoctor."""
    return launchers_from(load_compiled("launchers", "launchers", build))
