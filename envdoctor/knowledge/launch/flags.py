"""What the flags of a command show: whether it goes to other hosts, and which look as if they passed a variable."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Generic, Literal

from envdoctor.core.numbers import whole
from envdoctor.core.records import dataclass
from envdoctor.core.regexes import regex
from envdoctor.knowledge.launch.edges import LaunchEdge
from envdoctor.knowledge.launch.find import L
from envdoctor.knowledge.launch.words import CommandFlags, CommandSegment, LauncherArgument, pieces

Mistake = Literal["no-variable", "several", "value"]
_PAIR = regex(r"([A-Z][A-Z0-9_]+)(?:=|\Z)")
_SEVERAL = regex(r"[A-Z][A-Z0-9_]+(?:,[A-Z][A-Z0-9_]+)+\Z|[A-Z][A-Z0-9_]+=[^,\s]*,(?:[A-Z][A-Z0-9_]+=[^,\s]*)+\Z")
_HOSTS = regex(r"\$\{?\w*(?:HOSTS|NODES|SERVERS|WORKERS|(?:HOST|NODE)_?LIST)\}?")
_HERE = ("localhost", "127.0.0.1", "$(hostname)", "${HOSTNAME}", "$HOSTNAME", "")


@dataclass(frozen=True, slots=True)
class MistakenFlag(Generic[L]):
    """A flag that looks as if it passed a variable.

    no-variable: it does something else (`says`). several: it takes one variable, `name` is the last of several. value:
    it takes names alone, so that the value goes nowhere.
    """

    how: Mistake
    flag: str
    name: str
    word: L
    says: str = ""


def mistaken(edge: LaunchEdge, flags: CommandFlags[L], segment: CommandSegment[L]) -> Iterator[MistakenFlag[L]]:
    """The flags of a command that look as if they passed a variable."""
    yield from _by_value(edge, flags)
    yield from _before_operand(edge, segment)


def _by_value(edge: LaunchEdge, flags: CommandFlags[L]) -> Iterator[MistakenFlag[L]]:
    """Flags that look as if they passed a variable: `srun -x A=1`, `mpirun -x A,B`, `--container-env=A=1`."""
    for flag, does in edge.mistaken.items():
        for word in flags.words.get(flag, ()):
            if match := _PAIR.match(word.text):
                yield MistakenFlag("no-variable", flag, match[1], word, does)
    for flag, word in _uses(flags, edge.single):
        if _SEVERAL.match(word.text):
            yield MistakenFlag("several", flag, word.text.split(",")[-1].split("=")[0], word)
    for flag, word in _uses(flags, edge.names_only):
        for piece in pieces(LauncherArgument("names", (word,), flag=flag)):
            if pair := piece.assignment():
                yield MistakenFlag("value", flag, pair[0].text, piece)


def _before_operand(edge: LaunchEdge, segment: CommandSegment[L]) -> Iterator[MistakenFlag[L]]:
    """A flag that takes no value, with NAME=VALUE behind it: `apptainer exec -e A=1 image.sif`."""
    first = segment.operands[0] if segment.operands else None
    if first is not None and first.assignment() and _PAIR.match(first.text):
        for flag, does in edge.mistaken.items():
            if flag in segment.flags.values and flag not in segment.flags.words:
                yield MistakenFlag("no-variable", flag, first.text.partition("=")[0], first, does)


def _uses(flags: CommandFlags[L], wanted: Iterable[str]) -> Iterator[tuple[str, L]]:
    """Some flags, each with the words it is given."""
    return ((flag, word) for flag in sorted(wanted) for word in flags.words.get(flag, ()))


def goes_elsewhere(
    edge: LaunchEdge, flags: CommandFlags[L], hosts_in: Callable[[str], int | None],
    variable: Callable[[str], str | None],
) -> bool | None:  # fmt: skip
    """Whether a command plainly starts something on other hosts; None: that cannot be told.

    `hosts_in` counts the hosts in a file, None where it is not there; `variable` says what the caller has.
    """
    if not (edge.hosts or edge.hosts_file or edge.nodes):
        return edge.kind == "remote"
    found: list[bool | None] = []
    if counts := flags.given(edge.nodes):
        number = whole(counts[-1])
        if number is not None:
            return number > 1
        found.append(None)
    found += [_several_hosts(value) for value in flags.given(edge.hosts)]
    found += [hosts_in(value) != 1 for value in flags.given(edge.hosts_file) if value]
    if not found:
        files = filter(None, map(variable, sorted(edge.hosts_variable)))
        found += [hosts_in(file) != 1 for file in files]
    if True in found:
        return True
    return None if None in found else False


def _several_hosts(value: str) -> bool | None:
    """Whether a list names more than one other host; None: one, or what it names is not known."""
    if _HOSTS.fullmatch(value.upper()):
        return True
    hosts = {host for host in _hosts(value) if host not in _HERE}
    if len(hosts) > 1:
        return True
    return None if hosts else False


def _hosts(value: str) -> Iterable[str]:
    return (part.strip().split(":", 1)[0].rsplit("@", 1)[-1] for part in value.split(","))
