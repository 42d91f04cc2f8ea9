"""What each launcher, container runtime and scheduler does with the variables of its caller.

The knowledge stands in `rules/launchers/*.toml`, one file per launcher. Shape of a file:

```toml
title = "Open MPI"
local = "inherits"                # what ranks beside the caller get: inherits, list, none, n/a
remote = "list"                   # what ranks on other nodes get
confidence = "measured"           # measured, read (in sources or a manual) or unverified
evidence = ["..."]
notes = ["..."]

[shared]                          # keys that every [[command]] of this file takes over

[[command]]                       # how its words are read; the shell reader uses these rows and nothing else here
programs = "mpirun mpiexec"       # blank between them
subcommands = "run, create"       # comma between them; absent: the program itself
modules = "torch.distributed.run" # `python -m` of these is the same command
options = [{ flags = "-x --x", form = "assignment", channel = "launcher-argument" }]
valued = "-np --hostfile"         # other flags that take a value
sizes = "-np"                     # flags that say how many ranks or nodes there are
bare = "--oversubscribe"          # flags known to take none, where those that do are not all known
operands = 1                      # words between options and command: image, host
inner = "words"                   # words, shell, script, python, dashes, none: what follows
assigns = true                    # NAME=VALUE words before the command are settings
launch = false                    # only passes the command on (nohup)
container = true                  # what it runs has an environment of its own
segments = true                   # `:` starts another set of options and command
ranks = true                      # starts the ranks themselves

[[delivery]]                      # what gets through; several where one program name has several meanings
launchers = "mpirun mpiexec"      # commands as facts name them: program and subcommand, comma between them
only_with = "-x --mca"            # flags of which one is there, or the command may be another program of that name
elsewhere = "hosts"               # always, or hosts: only where other hosts are plainly named
hosts = "-H --host"               # flags that name hosts; hosts_file: name a file of hosts; nodes: say how many
passes = "named"                  # what goes without further flags: everything, named, nothing
everything = "-E"                 # flags after which everything goes; `--launcher=slurm`: this value of a flag
nothing = "--cleanenv"            # flags after which only what is named goes
list = "--export"                 # a flag whose list says what goes; ALL in it: everything
unknown = "--env-file"            # flags after which it cannot be told
prefixes = ["NCCL"]               # names that start so go by themselves
files = [".deepspeed_env"]        # files that add variables
inherits_under = "slurm"          # a batch system under which everything goes
says = "passes on only ..."        # what a finding says of it
remedy = "add -x {name}"
sure = "high"                     # how sure a finding is: high, medium (absent), low
names_only = "--container-env"   # flags that take names and no values: `--container-env=A=1` gives nobody the 1
single = "-x"                     # flags that take one variable each: `-x A,B` passes neither
wrong_flags = { "-x" = "excludes nodes" }   # flags that look as if they passed a variable, and what they do
```
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from envdoctor.core.facts import Channel
from envdoctor.knowledge.files import load_compiled, suggestion

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
FILE_KEYS: dict[str, type | tuple[type, ...]] = {
    "title": str, "local": str, "remote": str, "confidence": str, "evidence": list, "notes": list, "shared": dict,
    "command": list, "delivery": list,
}  # fmt: skip
COMMAND_KEYS: dict[str, type | tuple[type, ...]] = {
    "programs": str, "subcommands": str, "modules": str, "options": list, "valued": str, "bare": str, "sizes": str,
    "operands": int, "inner": str, "assigns": bool, "launch": bool, "container": bool, "segments": bool, "ranks": bool,
}  # fmt: skip
DELIVERY_KEYS: dict[str, type | tuple[type, ...]] = {
    "launchers": str, "only_with": str, "elsewhere": str, "hosts": str, "hosts_file": str, "nodes": str, "passes": str,
    "everything": str, "nothing": str, "list": str, "unknown": str, "prefixes": list, "files": list,
    "inherits_under": str, "remedy": str, "wrong_flags": dict, "single": str, "names_only": str,
    "says": str, "sure": str,
}  # fmt: skip
ALLOWED = {
    "local": ("inherits", "list", "none", "n/a"), "remote": ("inherits", "list", "none", "n/a"),
    "confidence": ("measured", "read", "unverified"), "elsewhere": ("always", "hosts"),
    "passes": ("everything", "named", "nothing"), "sure": ("high", "medium", "low"),
    "inner": ("words", "shell", "script", "python", "dashes", "none"),
}  # fmt: skip


NOTHING: Mapping[str, str] = MappingProxyType({})


class LauncherError(ValueError):
    """A launcher file that cannot be used; the message names the file and the key."""


class Option(NamedTuple):
    """Flags, blank between them, that carry variables in one form."""

    flags: str
    form: Form
    channel: Channel = "launcher-argument"


class Command(NamedTuple):
    """How the words of a command are read; the keys are those of `[[command]]`."""

    programs: str
    subcommands: str = ""
    modules: str = ""
    options: tuple[Option, ...] = ()
    valued: str = ""
    """Other flags that take a value: without them it is not known where the command begins."""
    bare: str = ""
    """Flags known to take no value, where those that do are not all known."""
    operands: int = 0
    """Words between options and command: the image, the host, the seconds of `timeout`."""
    inner: Inner = "words"
    assigns: bool = False
    """`NAME=VALUE` words before the command are settings (`env A=1 cmd`, `sudo A=1 cmd`)."""
    launch: bool = True
    """Worth a fact of its own; False: only passes the command on (`nohup`, `timeout`)."""
    container: bool = False
    segments: bool = False
    """`:` starts another set of options and command (`mpirun -np 1 a : -np 1 b`)."""
    ranks: bool = False
    """Starts ranks, or the program that becomes one."""
    sizes: str = ""
    """Flags that say how many ranks or nodes there are."""

    def option(self, flag: str) -> Option | None:
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
def _options(row: Command) -> dict[str, Option]:
    return {flag: option for option in row.options for flag in option.flags.split()}


@cache
def _valued(row: Command) -> frozenset[str]:
    return frozenset(row.valued.split())


class Delivery(NamedTuple):
    """What gets through one way of starting a command; the keys are those of `[[delivery]]`."""

    title: str
    launchers: frozenset[str]
    only_with: frozenset[str] = frozenset()
    elsewhere: Literal["always", "hosts"] = "always"
    hosts: frozenset[str] = frozenset()
    hosts_file: frozenset[str] = frozenset()
    nodes: frozenset[str] = frozenset()
    passes: Passes = "everything"
    everything: frozenset[str] = frozenset()
    nothing: frozenset[str] = frozenset()
    lists: frozenset[str] = frozenset()
    unknown: frozenset[str] = frozenset()
    prefixes: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    inherits_under: str = ""
    remedy: str = ""
    says: str = ""
    sure: Literal["high", "medium", "low"] = "medium"
    single: frozenset[str] = frozenset()
    names_only: frozenset[str] = frozenset()
    wrong_flags: Mapping[str, str] = NOTHING
    confidence: str = "measured"
    evidence: tuple[str, ...] = ()


class Launchers(NamedTuple):
    """Everything known of launchers: rows in order of their files, and deliveries by the command's name."""

    commands: tuple[Command, ...]
    deliveries: tuple[Delivery, ...]

    def deliveries_of(self, launcher: str) -> list[Delivery]:
        """What a command of this name may be."""
        return [d for d in self.deliveries if launcher in d.launchers]

    def command_of(self, launcher: str) -> Command | None:
        """The row of a command by its name in facts, or None."""
        return _by_name(self).get(launcher)

    def starts_ranks(self, launcher: str) -> bool:
        """Whether a command starts ranks, or a program that becomes one."""
        row = self.command_of(launcher)
        return launcher == "python" or (row is not None and row.ranks)

    def sizes_of(self, launcher: str) -> frozenset[str]:
        """The flags of a command that say how many ranks or nodes there are, with dashes for underscores."""
        row = self.command_of(launcher)
        return frozenset(row.sizes.replace("_", "-").split()) if row is not None else frozenset()


_NAMES: dict[int, dict[str, Command]] = {}


def _by_name(launchers: Launchers) -> dict[str, Command]:
    key = id(launchers)
    if key not in _NAMES:
        _NAMES[key] = {name: row for row in launchers.commands for name in row.names()}
    return _NAMES[key]


def build(paths: Sequence[Path]) -> dict[str, Any]:
    """Parse and check launcher files into one table, ready to be kept as JSON: {file: content}."""
    import tomli

    table: dict[str, Any] = {}
    for path in paths:
        try:
            content = tomli.loads(path.read_text(encoding="utf-8"))
        except (tomli.TOMLDecodeError, UnicodeDecodeError) as error:
            raise LauncherError(f"launchers/{path.name}: {error}") from error
        check_file(content, f"launchers/{path.name}")
        table[path.stem] = content
    return table


def check_file(content: Mapping[str, Any], where: str) -> None:
    """Check one parsed file; `where` is how errors name it."""
    _check_table(content, FILE_KEYS, where, ("title",))
    for index, row in enumerate(content.get("command", ()), 1):
        merged = {**content.get("shared", {}), **row}
        _check_table(merged, COMMAND_KEYS, f"{where}: command {index}", ("programs",))
        for option in merged.get("options", ()):
            _check_table(option, {"flags": str, "form": str, "channel": str}, f"{where}: command {index}: options",
                         ("flags", "form"))  # fmt: skip
    for index, row in enumerate(content.get("delivery", ()), 1):
        _check_table(row, DELIVERY_KEYS, f"{where}: delivery {index}", ("launchers", "passes"))


def _check_table(
    table: Any, keys: Mapping[str, type | tuple[type, ...]], where: str, required: tuple[str, ...] = ()
) -> None:
    if not isinstance(table, Mapping):
        raise LauncherError(f"{where}: expected a table")
    for key, value in table.items():
        if key not in keys:
            raise LauncherError(f"{where}: {key}: unknown key{suggestion(key, list(keys))}")
        if not isinstance(value, keys[key]):
            raise LauncherError(f"{where}: {key}: unexpected {type(value).__name__}")
        if key in ALLOWED and value not in ALLOWED[key]:
            raise LauncherError(f"{where}: {key}: {value!r} is not one of {', '.join(ALLOWED[key])}")
    for key in required:
        if key not in table:
            raise LauncherError(f"{where}: {key}: missing")


def launchers_from(table: Mapping[str, Any]) -> Launchers:
    """The launchers of a table that `build` made."""
    commands = tuple(
        command_from({**content.get("shared", {}), **row})
        for content in table.values()
        for row in content.get("command", ())
    )
    deliveries = tuple(delivery_from(row, content) for content in table.values() for row in content.get("delivery", ()))
    return Launchers(commands, deliveries)


def command_from(row: Mapping[str, Any]) -> Command:
    """One row from its table."""
    options = (Option(o["flags"], o["form"], o.get("channel", "launcher-argument")) for o in row.get("options", ()))
    return Command(**{**row, "options": tuple(options)})


def delivery_from(row: Mapping[str, Any], content: Mapping[str, Any]) -> Delivery:
    """One delivery from its table and what the file says of all of them."""
    flags = ("only_with", "hosts", "hosts_file", "nodes", "everything", "nothing", "unknown", "single", "names_only")
    values: dict[str, Any] = {key: frozenset(row[key].split()) for key in flags if key in row}
    values["lists"] = frozenset(row.get("list", "").split())
    for key in ("elsewhere", "passes", "inherits_under", "remedy", "wrong_flags", "says", "sure"):
        if key in row:
            values[key] = row[key]
    return Delivery(
        title=content["title"],
        launchers=frozenset(" ".join(name.split()) for name in row["launchers"].split(",")),
        prefixes=tuple(row.get("prefixes", ())),
        files=tuple(row.get("files", ())),
        confidence=content.get("confidence", "unverified"),
        evidence=tuple(content.get("evidence", ())),
        **values,
    )


@cache
def load_launchers() -> Launchers:
    """The launchers that come with envdoctor."""
    return launchers_from(load_compiled("launchers", "launchers", build))
