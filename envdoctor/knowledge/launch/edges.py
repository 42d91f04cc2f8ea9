"""`[[edge]]`: what a started process gets of the environment of the one that starts it, as an ordered list of steps.

A step has exactly one verb, the keys that belong to it, and conditions. All conditions of a step have to hold.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Literal, get_args

from envdoctor.core.records import dataclass, field
from envdoctor.knowledge.toml_records import (
    FLAG,
    FLAGS,
    NAMES,
    SOME_TEXT,
    TABLE_OF_TEXTS,
    TEXT,
    TableError,
    ValueKind,
    choice,
    key,
    tables,
)

Start = Literal["caller", "empty", "image", "daemon", "login", "job"]
"""caller: all that the caller exports. empty: nothing. image: what an image or a pod sets. daemon: what a process has
that runs already (`daemon` of the edge names it; where none is known to run, this start may be what begins it). login:
what a login gives. job: what a batch system gives its jobs."""
Wins = Literal["over", "under"]
Fixed = Literal["daemon", "pane", "cluster", "next"]
Expands = Literal["here", "there", "never"]
Where = Literal["remote", "local"]
Grammar = Literal["lines", "docker", "shell", "dotenv", "bash", "yaml", "json", "unknown"]
Started = Literal["process", "container", "remote", "job", "daemon", "service", "login"]
Sure = Literal["high", "medium", "low"]
Stars = Literal["yes", "maybe"]
Reach = Literal["all", "maybe"]
NO_WORDS: frozenset[str] = frozenset()
NOTHING: Mapping[str, str] = MappingProxyType({})
WORDS = ValueKind("words, blank between them", str, lambda text: tuple(text.split()), full=True)


@dataclass(frozen=True, slots=True)
class EdgeStep:
    """One of the `steps` of an `[[edge]]`: `{ give = "-x --x", wins = "over" }`."""

    start: str = field(default="", metadata=key(choice(get_args(Start)), "what it starts from; the last counts"))
    keep: tuple[str, ...] = field(
        default=(), metadata=key(WORDS, "names and `PREFIX*` of the caller that go along although the start drops them")
    )
    drop: tuple[str, ...] = field(
        default=(), metadata=key(WORDS, "names and `PREFIX*` that do not go along although the start keeps them")
    )
    give: tuple[str, ...] = field(
        default=(),
        metadata=key(WORDS, "flags that set, hand on or take away variables, by their `form`; `=`: NAME=VALUE words"),
    )
    listed: tuple[str, ...] = field(
        default=(),
        metadata=key(
            WORDS,
            "flags whose list says what goes. ALL in it: everything and what is named; NONE: nothing, and the list "
            "ends there; else only what is named; `~NAME`: not this one",
            name="list",
        ),
    )
    read: str = field(default="", metadata=key(SOME_TEXT, "a file of variables that the launcher reads by itself"))
    read_flag: tuple[str, ...] = field(default=(), metadata=key(WORDS, "flags that name files of variables"))
    rename: tuple[str, ...] = field(
        default=(),
        metadata=key(WORDS, "prefixes: names of the caller with one arrive without it too, the first wins"),
    )
    set: tuple[str, ...] = field(
        default=(), metadata=key(WORDS, "NAME=VALUE that the launcher sets itself; without `=VALUE` it sets some value")
    )
    reset: tuple[str, ...] = field(
        default=(), metadata=key(WORDS, "names that the launcher gives values of its own, whatever the caller has")
    )
    remember: str = field(
        default="",
        metadata=key(SOME_TEXT, "a variable of the started process that keeps the list, if it is not plain ALL"),
    )
    obey: tuple[str, ...] = field(
        default=(), metadata=key(WORDS, "variables of the caller of which the first that is set holds such a list")
    )
    image: str = field(
        default="",
        metadata=key(choice(get_args(Wins)), "variables of an image come too; over: they replace what the caller has"),
    )
    fixed_at: str = field(
        default="", metadata=key(choice(get_args(Fixed)), "the moment from which on what is set does not reach it")
    )
    expand: str = field(default="", metadata=key(choice(get_args(Expands)), "who expands `$X` in its words"))
    unknown: str = field(default="", metadata=key(SOME_TEXT, "why nobody can tell what goes along"))
    wins: str = field(
        default="over",
        metadata=key(choice(get_args(Wins)), "over: replaces what is there; under: only where nothing is"),
    )
    grammar: str = field(default="", metadata=key(choice(get_args(Grammar)), "how the file that is read is written"))
    maybe: bool = field(
        default=False, metadata=key(FLAG, "what is given may not arrive: versions or the other side decide")
    )
    reaches: str = field(
        default="",
        metadata=key(
            choice(get_args(Reach)),
            "what the first of several parts (`:`) gives goes to the others too: all, or maybe; absent: not",
        ),
    )
    stars: str = field(
        default="",
        metadata=key(choice(get_args(Stars)), "`PREFIX*` that is given stands for all such names; absent: for none"),
    )
    if_flags: tuple[str, ...] = field(
        default=(),
        metadata=key(
            WORDS,
            "flags of which one is there; `--launcher=slurm` asks for the value, `--preserve-env=` for none",
            name="if",
        ),
    )
    unless: tuple[str, ...] = field(default=(), metadata=key(WORDS, "flags of which none is there"))
    where: str = field(
        default="",
        metadata=key(choice(get_args(Where)), "remote: for ranks on other hosts; local: no other hosts are named"),
    )
    under: tuple[str, ...] = field(default=(), metadata=key(WORDS, "batch systems of which one is in force"))
    not_under: tuple[str, ...] = field(default=(), metadata=key(WORDS, "batch systems of which none is in force"))
    variable: str = field(default="", metadata=key(SOME_TEXT, "a variable that the caller has"))

    @property
    def verb(self) -> str:
        """The field that says what the step does."""
        return next((name for name in VERBS if getattr(self, name)), "")


VERBS = (
    "start", "keep", "drop", "give", "listed", "read", "read_flag", "rename", "set", "reset", "remember", "obey",
    "image", "fixed_at", "expand", "unknown",
)  # fmt: skip
"""The fields of a step that say what it does."""
_MODIFIERS = {
    "wins": ("give", "list", "read", "read_flag", "set"), "grammar": ("read", "read_flag"),
    "maybe": ("give", "read", "read_flag"), "stars": ("give",), "reaches": ("give",),
}  # fmt: skip
"""Keys that only some verbs take."""
_VERB_KEYS = tuple("list" if name == "listed" else name for name in VERBS)


def check_step(step: Mapping[str, Any], where: str) -> None:
    """Refuse a step without a verb, with two of them, or with a key that does not belong to its verb."""
    verbs = [name for name in _VERB_KEYS if name in step]
    if len(verbs) != 1:
        found = f"has {' and '.join(verbs)}" if verbs else "has no verb"
        raise TableError(f"{where}: {found}; a step has one of {', '.join(_VERB_KEYS)}")
    if not step[verbs[0]].strip():
        raise TableError(f"{where}: {verbs[0]}: expected words")
    for name, takers in _MODIFIERS.items():
        if name in step and verbs[0] not in takers:
            raise TableError(f"{where}: {name}: belongs to {', '.join(takers)}, not to {verbs[0]}")
    if verbs[0] in ("read", "read_flag") and "grammar" not in step:
        raise TableError(f"{where}: grammar: missing (one of {', '.join(get_args(Grammar))}: how the file is written)")


@dataclass(frozen=True, slots=True)
class LaunchEdge:
    """`[[edge]]`: one way of starting a command. Several of one name: the first counts whose
    `only_with` or `with_variable` is there, or that has neither."""

    launchers: frozenset[str] = field(metadata=key(NAMES, "commands as facts name them: program and subcommand"))
    kind: Started = field(metadata=key(choice(get_args(Started)), "what the started process is"))
    steps: tuple[EdgeStep, ...] = field(
        metadata=key(tables(EdgeStep, full=True), "what happens to variables on the way, in this order")
    )
    only_with: frozenset[str] = field(
        default=NO_WORDS,
        metadata=key(FLAGS, "flags of which one is there, or the command may be another program of that name"),
    )
    with_variable: frozenset[str] = field(
        default=NO_WORDS, metadata=key(FLAGS, "variables of the caller of which one tells that it is this program")
    )
    hosts: frozenset[str] = field(default=NO_WORDS, metadata=key(FLAGS, "flags that name hosts"))
    hosts_file: frozenset[str] = field(default=NO_WORDS, metadata=key(FLAGS, "flags that name a file of hosts"))
    hosts_variable: frozenset[str] = field(
        default=NO_WORDS, metadata=key(FLAGS, "variables of the caller that name such a file, where no flag does")
    )
    nodes: frozenset[str] = field(default=NO_WORDS, metadata=key(FLAGS, "flags that say how many nodes there are"))
    daemon: str = field(
        default="", metadata=key(SOME_TEXT, "the daemon that starts it, or that is started: `tmux`, `ray`")
    )
    begins: bool = field(
        default=False, metadata=key(FLAG, "where the daemon does not run, this begins it, with what the caller has")
    )
    says: str = field(default="", metadata=key(TEXT, "what a finding says of it, behind the launcher's name"))
    remedy: str = field(default="", metadata=key(TEXT, "what a finding advises; {name} is the variable"))
    sure: Sure = field(default="medium", metadata=key(choice(get_args(Sure)), "how sure a finding is"))
    names_only: frozenset[str] = field(
        default=NO_WORDS,
        metadata=key(FLAGS, "flags that take names and no values: `--container-env=A=1` gives nobody the 1"),
    )
    single: frozenset[str] = field(
        default=NO_WORDS, metadata=key(FLAGS, "flags that take one variable each: `-x A,B` passes neither")
    )
    mistaken: Mapping[str, str] = field(
        default=NOTHING,
        metadata=key(TABLE_OF_TEXTS, "flags that look as if they passed a variable, and what they do"),
    )
    title: str = ""
    confidence: str = "unverified"
    evidence: tuple[str, ...] = ()
