"""The words of a launch taken apart: its flags with their values, and whether something among them cannot be told."""

from __future__ import annotations

import re
from collections.abc import Iterable

from envdoctor.core.facts import Launch
from envdoctor.core.numbers import whole
from envdoctor.core.records import dataclass, field
from envdoctor.core.regexes import regex
from envdoctor.knowledge.launchers import Delivery, LauncherCommand

_LIST_PART = regex(r"[^,\"']*(?:\"[^\"]*\"|'[^']*')?[^,\"']*")
_SEVERAL = regex(r"\$\{?\w*(?:HOSTS|NODES|SERVERS|WORKERS|(?:HOST|NODE)_?LIST)\}?", re.IGNORECASE)
"""A variable that by its name holds several hosts."""
_LOCAL = ("localhost", "127.0.0.1", "$(hostname)", "${HOSTNAME}", "$HOSTNAME")


@dataclass(slots=True)
class Flags:
    """The options of one launch: each flag with the values it was given, `""` where it has none.

    `opaque` are words that may hold any flag (`$OPTIONS`). `attached` are whole words of the form `--flag=value`.
    """

    values: dict[str, list[str]] = field(default_factory=dict)
    opaque: list[str] = field(default_factory=list)
    attached: set[str] = field(default_factory=set)
    operands: list[str] = field(default_factory=list)

    def has(self, flags: Iterable[str]) -> bool:
        """Whether one of some flags is there; `--flag=value` asks for that value."""
        return any(flag in self.values or flag in self.attached for flag in flags)

    def given(self, flags: Iterable[str]) -> list[str]:
        """The values of some flags, in no order among different flags."""
        return [value for flag in flags for value in self.values.get(flag, ())]


def flags_of(launch: Launch, row: LauncherCommand | None) -> Flags:
    """The options of a launch, up to the command that it runs."""
    found = Flags()
    words = list(launch.words[1:])
    subcommands = launch.launcher.split()[1:]
    end = _end_of_options(words, launch)
    at = 0
    while at < end:
        word = words[at]
        at += 1
        if word == "--":
            break
        if word in subcommands and not found.operands:
            continue
        if not word.startswith("-") or word == "-":
            if word == "-":
                found.values[word] = [""]
            else:
                found.operands.append(word)
            continue
        flag, equals, value = word.partition("=")
        takes = row is not None and (row.takes_value(flag) or row.option(flag) is not None)
        if equals:
            found.attached.add(word)
        elif takes and at < end:
            value = words[at]
            found.attached.add(f"{flag}={value}")
            at += 1
        found.values.setdefault(flag, []).append(value)
    last = row.operands if row is not None else 0
    found.opaque = [w for w in found.operands[: len(found.operands) - last] if w.startswith(("$", "`"))]
    return found


def _end_of_options(words: list[str], launch: Launch) -> int:
    """Where the command begins that the launcher runs."""
    inner = list(launch.inner)
    for at in range(len(words)):
        if inner and words[at] == inner[0] and words[at : at + len(inner)] == inner[: len(words) - at]:
            return at
    return len(words)


def listed(value: str) -> list[str]:
    """The parts of a list at its commas; quotes inside keep a part together."""
    return [part.strip() for part in _LIST_PART.findall(value) if part.strip()]


def is_local(host: str) -> bool:
    """Whether a host plainly is the one it is said on."""
    return host.split(":", 1)[0].rsplit("@", 1)[-1] in _LOCAL


def names_hosts(flags: Flags, delivery: Delivery, hosts_in: dict[str, int | None]) -> bool:
    """Whether a launch plainly goes to other hosts; `hosts_in` counts the lines of host files that are in the tree."""
    counts = flags.given(delivery.nodes)
    if counts and (nodes := whole(counts[-1])) is not None:
        return nodes > 1
    for value in flags.given(delivery.hosts):
        if len({host for host in listed(value) if not is_local(host)}) > 1 or _SEVERAL.fullmatch(value):
            return True
    return any(value and hosts_in.get(value, 2) != 1 for value in flags.given(delivery.hosts_file))
