"""The records of a launcher file under `rules/launchers/`: every key, how it is written and what it says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from types import MappingProxyType
from typing import Any, Literal, get_args

from envdoctor.core.facts import Channel
from envdoctor.core.records import dataclass, field
from envdoctor.knowledge.launch.edges import LaunchEdge
from envdoctor.knowledge.toml_records import (
    FLAG,
    NUMBER,
    REGEX,
    SOME_TEXT,
    SOME_TEXTS,
    TEXT,
    TEXTS,
    ValueKind,
    choice,
    key,
    tables,
)

Form = Literal[
    "assignment", "list", "names", "pair", "words", "env-file", "configuration", "json", "ssh", "script", "unset",
]  # fmt: skip
"""assignment: `-x A=1`, `-x A`. list: `--export=ALL,A=1,B`. names: `-genvlist A,B`. pair: `-genv A 1`. words: every
following word up to the next option. json: `{"env_vars": {...}}`. ssh: `-o SendEnv=A`. script: shell text.
unset: `env -u A`."""

Inner = Literal["words", "shell", "script", "python", "dashes", "keys", "none"]
"""What follows the options: a command, text for a remote shell, a shell script file, a Python entry, a command after
`--`, text that is typed into a shell that runs already, or nothing that runs here."""

Tells = Literal[
    "nodes", "ranks", "ranks-per-node", "node-rank", "address", "port", "endpoint", "job", "devices", "device-list",
    "image", "host",
    "hosts",
]  # fmt: skip
"""What a flag or operand tells of the job: how many nodes it has, all ranks, ranks on each node, which node this is,
where the first rank listens (address, port, or both in one word), the name of the job, how many devices each node gets,
which devices, the image of the container, the host that the command runs on, a file or list of hosts that may say how
many nodes there are."""

GETS = choice(("inherits", "list", "none", "n/a"))
NOTHING: Mapping[str, str] = MappingProxyType({})
ENTRIES = "-m --module --no_python --no-python"


@dataclass(frozen=True, slots=True)
class LauncherOption:
    """Flags that carry variables in one form: `{ flags = "-x --x", form = "assignment" }`."""

    flags: str = field(
        metadata=key(SOME_TEXT, "the flags, blank between them; `--mca=NAME`: this name behind one of `pairs`")
    )
    form: Form = field(metadata=key(choice(get_args(Form)), "how the variables stand in the value"))
    channel: Channel = field(
        default="launcher-argument", metadata=key(choice(get_args(Channel)), "what the facts call a setting from there")
    )
    attached: bool = field(
        default=False, metadata=key(FLAG, "the value stands behind `=` or is not there (`--preserve-env`)")
    )
    delimiter: str = field(default=",", metadata=key(SOME_TEXT, "what stands between the parts of a list"))


@dataclass(frozen=True, slots=True)
class JobFlag:
    """Flags that tell something of the job: `{ tells = "nodes", flags = "--nnodes" }`."""

    tells: Tells = field(metadata=key(choice(get_args(Tells)), "what is told"))
    flags: str = field(default="", metadata=key(TEXT, "the flags, blank between them"))
    operand: int = field(default=0, metadata=key(NUMBER, "in place of flags: the operand that tells it, from 1"))
    setting: str = field(
        default="", metadata=key(TEXT, "the key in the file of `job_file` that tells it where no flag does")
    )
    value: str = field(
        default="",
        metadata=key(REGEX, "where more stands in the value: a regular expression whose group is what is told"),
    )
    refuses: str = field(default="", metadata=key(TEXT, "flags that the command does not take beside these"))
    overrides: str = field(
        default="", metadata=key(TEXT, "variables that choose devices too and that lose against this flag")
    )


@dataclass(frozen=True, slots=True)
class LauncherCommand:
    """`[[command]]`: how the words of a command are read. The shell reader uses these rows and nothing else."""

    programs: str = field(metadata=key(SOME_TEXT, "the names of the program, blank between them"))
    subcommands: str = field(default="", metadata=key(TEXT, "comma between them; absent: the program itself"))
    modules: str = field(default="", metadata=key(TEXT, "`python -m` of these is the same command; blank between them"))
    options: tuple[LauncherOption, ...] = field(
        default=(),
        metadata=key(tables(LauncherOption), "flags that carry variables: `flags`, `form` and perhaps more"),
    )
    valued: str = field(
        default="",
        metadata=key(TEXT, "other flags that take a value: they say where the command begins"),
    )
    bare: str = field(
        default="", metadata=key(TEXT, "flags known to take no value, where those that do are not all known")
    )
    pairs: str = field(default="", metadata=key(TEXT, "flags that take a name and its value (`--mca plm rsh`)"))
    joins: bool = field(
        default=False, metadata=key(FLAG, "flags of one letter may be written together: `-nE`, `-uroot`")
    )
    before: str = field(
        default="", metadata=key(TEXT, "flags with a value that may stand between program and subcommand")
    )
    groups: str = field(
        default="", metadata=key(TEXT, "words that may stand between program and subcommand (`docker container run`)")
    )
    like: str = field(
        default="", metadata=key(TEXT, "a variable or function whose name holds one of these words stands for it")
    )
    operands: int = field(
        default=0, metadata=key(NUMBER, "words between options and command: image, host, the seconds of `timeout`")
    )
    stops: bool = field(default=False, metadata=key(FLAG, "behind the operands nothing is an option (`docker run`)"))
    inner: Inner = field(
        default="words",
        metadata=key(
            choice(get_args(Inner)),
            "what follows: a command, text for a remote shell, a script file, a Python entry, a command behind `--`, "
            "text typed into a shell that runs (`tmux send-keys`), or nothing that runs here",
        ),
    )
    entries: str = field(
        default=ENTRIES, metadata=key(TEXT, "flags with which the entry of a Python program may begin")
    )
    entrypoint: str = field(
        default="", metadata=key(TEXT, "flags whose value is the program, of which what follows is arguments")
    )
    stdin: str = field(
        default="",
        metadata=key(choice(("shell", "script")), "where nothing follows, standard input is shell text or a script"),
    )
    header: str = field(
        default="",
        metadata=key(TEXT, "words behind `#` of lines in the head of a script that hold flags of this command"),
    )
    assigns: bool = field(
        default=False, metadata=key(FLAG, "NAME=VALUE words before the command are settings (`env A=1 cmd`)")
    )
    launch: bool = field(
        default=True, metadata=key(FLAG, "worth a fact of its own; false: only passes the command on (`nohup`)")
    )
    wrapper: bool = field(
        default=False, metadata=key(FLAG, "hands on the caller's environment, whatever its flags; needs no `[[edge]]`")
    )
    container: bool = field(default=False, metadata=key(FLAG, "what it runs has an environment of its own"))
    segments: bool = field(
        default=False, metadata=key(FLAG, "`:` starts another set of options and command (`mpirun -np 1 a : -np 1 b`)")
    )
    ranks: bool = field(default=False, metadata=key(FLAG, "starts ranks, or the program that becomes one"))
    sizes: str = field(default="", metadata=key(TEXT, "flags that say how many ranks or nodes there are"))
    job: tuple[JobFlag, ...] = field(
        default=(),
        metadata=key(tables(JobFlag), "flags that tell of the job: its nodes, ranks, devices, where it meets"),
    )
    job_file: str = field(
        default="", metadata=key(TEXT, "flags whose value is a YAML file with what `setting` of `job` names")
    )
    state: str = field(
        default="", metadata=key(TEXT, "a daemon that gets the variables, for what it starts later (`tmux setenv`)")
    )

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
    return frozenset((*row.valued.split(), *row.entrypoint.split()))


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
    keeps: tuple[str, ...] = field(
        default=(),
        metadata=key(TEXTS, "names that the shell exported before and that arrive with their values"),
    )
    drops: tuple[str, ...] = field(
        default=(),
        metadata=key(TEXTS, "names that the shell exported before and that do not arrive so"),
    )
    unknown: bool = field(default=False, metadata=key(FLAG, "whether they reach it cannot be told"))
    under: str = field(default="", metadata=key(SOME_TEXT, "the batch system that it runs in"))
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
            "files that have the commands of which an `[[edge]]` of this file speaks: one name, several programs; such "
            "an edge needs `only_with`",
        ),
    )
    batch: str = field(
        default="", metadata=key(SOME_TEXT, "the batch system whose commands these are: `slurm`, as `under` names it")
    )
    batch_variables: str = field(
        default="", metadata=key(SOME_TEXT, "how the variables begin that this batch system gives its jobs: `SLURM_`")
    )
    tools: str = field(default="", metadata=key(SOME_TEXT, "programs that are no ranks of a job, whatever starts them"))
    shared: Mapping[str, Any] = field(
        default=NOTHING,
        metadata=key(ValueKind("a table", dict), "keys that every `[[command]]` of this file takes over"),
    )
    commands: tuple[LauncherCommand, ...] = field(
        default=(), metadata=key(tables(LauncherCommand), "how words are read", name="command")
    )
    edges: tuple[LaunchEdge, ...] = field(
        default=(), metadata=key(tables(LaunchEdge), "what happens to variables on the way", name="edge")
    )
