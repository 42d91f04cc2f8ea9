"""`[[delivery]]`: how launcher files said what gets through before they had `[[edge]]`.

TO BE DELETED in one stroke with all that reads it: this module, `LauncherFile.deliveries`, `Launchers.deliveries`,
the `delivery` part of `envdoctor/knowledge/launchers.py` and of `tools/generate_docs.py`, and every `[[delivery]]`
table under `rules/launchers/`.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal, get_args

from envdoctor.core.records import dataclass, field
from envdoctor.knowledge.toml_records import FLAGS, NAMES, TABLE_OF_TEXTS, TEXT, TEXTS, choice, key

Passes = Literal["everything", "named", "nothing"]
Elsewhere = Literal["always", "hosts"]
Sure = Literal["high", "medium", "low"]
NO_WORDS: frozenset[str] = frozenset()
NOTHING: Mapping[str, str] = MappingProxyType({})


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
