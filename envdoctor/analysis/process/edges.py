"""What goes from one process to the one that it starts: the steps of a launcher's `[[edge]]`, taken for one command.

`find(launchers, words)` (here again from `envdoctor.knowledge.launch.find`) reads the words of a command, and `cross`
says what its process gets. Nothing here knows a launcher by name.

The order in which a `Crossing` is applied: `start`; `keeps` and `drops` on what the caller has; `image`; `renames`;
`reads` and `gives`, each over or under what is there by then; `sets`; `resets`; `remembers`. Where two of one kind give
the same name, the later one holds.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import Generic, Literal, NamedTuple

from envdoctor.core.records import dataclass, field, replace
from envdoctor.core.regexes import regex
from envdoctor.knowledge.launch.edges import EdgeStep, LaunchEdge
from envdoctor.knowledge.launch.find import (
    Directive,
    Invocation,
    L,
    LaunchWord,
    directives,
    find,
    find_row,
    headed,
    with_header,
)
from envdoctor.knowledge.launch.flags import MistakenFlag, goes_elsewhere, mistaken
from envdoctor.knowledge.launch.words import CommandSegment, LauncherArgument, json_pairs, pieces

__all__ = [
    "NOWHERE", "Crossing", "Directive", "EdgeSurroundings", "EnvironmentFile", "Given", "Invocation", "LaunchWord",
    "LauncherValue", "MistakenFlag", "cross", "directives", "edge_of", "find", "find_row", "headed", "with_header",
]  # fmt: skip

GivenOp = Literal["set", "pass", "unset"]
OPAQUE = "options held in a variable"
NO_EDGE = "no launcher file says what it hands on"
_NAME = regex(r"[A-Za-z_]\w*\*?\Z")
_NOTHING = ("NONE", "NIL")
_DEPENDS = ("start", "keep", "drop", "give", "listed", "read_flag", "obey", "unknown", "image")
"""Verbs that decide what arrives of the caller: where flags decide about them, options that nobody knows matter."""


class EdgeSurroundings(NamedTuple):
    """What a command stands in, as far as its crossing depends on it.

    `batch` is the batch system in force (`slurm`), empty where none shows. `hosts_in` counts the hosts in a file of the
    tree, None where it is not there. `variable` gives the value that the caller has of a variable (parts that are not
    known as they are written), None where it has none. `lines_of` gives the names in a file of variables that is in the
    tree or written by the script; empty: there is none; None: it is written in a way that nobody can follow.
    """

    batch: str = ""
    hosts_in: Callable[[str], int | None] = lambda path: None
    variable: Callable[[str], str | None] = lambda name: None
    lines_of: Callable[[str], Collection[str] | None] = lambda path: ()


@dataclass(frozen=True, slots=True)
class Given(Generic[L]):
    """One variable that the words of a command give, hand on or take away.

    `wins`: over replaces what is there, under counts only where nothing is. `maybe`: it may not arrive. `stars`: the
    name ends in `*` and stands for all that begin so, "yes" or "maybe".
    """

    op: GivenOp
    name: L
    value: L | None
    wins: str
    flag: str
    maybe: bool = False
    stars: str = ""


class LauncherValue(NamedTuple):
    """A variable that the launcher sets by itself; `value` is None where it cannot be told."""

    name: str
    value: str | None
    wins: str


@dataclass(frozen=True, slots=True)
class EnvironmentFile(Generic[L]):
    """A file of variables that the launcher reads; `word` is None where no word names it."""

    path: str
    word: L | None
    grammar: str
    wins: str
    flag: str = ""
    maybe: bool = False


@dataclass(slots=True)
class Crossing(Generic[L]):
    """What a started process gets. `unknown`: why nobody can tell what else. `remote` is None where it is not known.

    `says` stands behind the launcher's name in a finding: `--cleanenv empties the environment`.
    """

    name: str
    kind: str = "process"
    start: str = "caller"
    keeps: list[str] = field(default_factory=list)
    drops: list[str] = field(default_factory=list)
    gives: list[Given[L]] = field(default_factory=list)
    reads: list[EnvironmentFile[L]] = field(default_factory=list)
    renames: list[str] = field(default_factory=list)
    sets: list[LauncherValue] = field(default_factory=list)
    resets: list[str] = field(default_factory=list)
    remembers: list[tuple[str, str]] = field(default_factory=list)
    image: str = ""
    fixed_at: str = ""
    expand: str = "here"
    daemon: str = ""
    begins: bool = False
    unknown: str = ""
    more: bool = False
    """Words that nobody knows may give variables: `env $SETTINGS command`."""
    remote: bool | None = False
    says: str = ""
    remedy: str = ""
    sure: str = "medium"
    title: str = ""
    evidence: tuple[str, ...] = ()
    mistaken: list[MistakenFlag[L]] = field(default_factory=list)


NOWHERE = EdgeSurroundings()


def edge_of(invocation: Invocation[L], around: EdgeSurroundings = NOWHERE) -> LaunchEdge | None:
    """What a command is by its name, and by the flags and variables that tell programs of one name apart."""

    def is_meant(edge: LaunchEdge) -> bool:
        if not (edge.only_with or edge.with_variable) or invocation.flags.has(edge.only_with):
            return True
        return any(around.variable(name) is not None for name in edge.with_variable)

    return next(filter(is_meant, invocation.launchers.edges_of(invocation.name)), None)


def cross(invocation: Invocation[L], around: EdgeSurroundings = NOWHERE, part: int = 0) -> Crossing[L]:
    """What the process gets that a command starts; `part` is the segment (`mpirun ... : ...`)."""
    segment = invocation.segments[part]
    edge = edge_of(invocation, around)
    if edge is None:
        return _plain(invocation, segment)
    found = _Crossing(invocation, edge, part, around)
    for step in edge.steps:
        if found.holds(step):
            found.take(step)
    found.settle()
    return found.result


def _plain(invocation: Invocation[L], segment: CommandSegment[L]) -> Crossing[L]:
    """A command without an edge: a wrapper hands on what it has and what its flags give; of others nothing is known."""
    result: Crossing[L] = Crossing(invocation.name)
    if not invocation.row.wrapper:
        result.unknown = NO_EDGE
    for argument in segment.arguments:
        if argument.form in ("env-file", "configuration"):
            result.reads.append(
                EnvironmentFile(argument.words[0].text, argument.words[0], "unknown", "over", argument.flag)
            )
        elif argument.form != "script":
            result.gives += [g for g in _given(argument, EdgeStep()) if g is not None]
    return result


class _Crossing(Generic[L]):
    """Takes the steps of an edge."""

    def __init__(self, invocation: Invocation[L], edge: LaunchEdge, part: int, around: EdgeSurroundings) -> None:
        self.edge = edge
        self.segment = invocation.segments[part]
        self.first = invocation.segments[0] if part else None
        self.flags = invocation.flags
        self.around = around
        self.list_text = ""
        self.lead = ""
        self.result: Crossing[L] = Crossing(
            invocation.name, edge.kind, daemon=edge.daemon, begins=edge.begins,
            remote=goes_elsewhere(edge, self.flags, around.hosts_in, around.variable),
            says=edge.says, remedy=edge.remedy, sure=edge.sure, title=edge.title, evidence=edge.evidence,
        )  # fmt: skip
        self._judge_flags()
        self.result.more = invocation.row.assigns and bool(self.flags.opaque)
        if self.flags.opaque and not invocation.row.wrapper and _depends_on_flags(edge):
            self._unknown(OPAQUE)

    def _judge_flags(self) -> None:
        self.result.mistaken += mistaken(self.edge, self.flags, self.segment)
        if self.result.remote is None and any(step.where for step in self.edge.steps):
            self._unknown("whether other hosts take part is not known")

    def holds(self, step: EdgeStep) -> bool:
        """Whether all conditions of a step hold."""
        if (step.if_flags and not self.flags.has(step.if_flags)) or (step.unless and self.flags.has(step.unless)):
            return False
        if step.where and self.result.remote is not (step.where == "remote"):
            return False
        if (step.under and self.around.batch not in step.under) or self.around.batch in step.not_under:
            return False
        return not step.variable or self.around.variable(step.variable) is not None

    def take(self, step: EdgeStep) -> None:
        """Take one step."""
        verb = step.verb
        if verb == "rename":
            self.result.renames.extend(reversed(step.rename))
        elif verb in ("keep", "drop", "reset"):
            getattr(self.result, f"{verb}s").extend(getattr(step, verb))
        elif verb in ("image", "fixed_at", "expand"):
            setattr(self.result, verb, getattr(step, verb))
        elif verb == "start":
            self._start(step.start, next((flag for flag in step.if_flags if self.flags.has((flag,))), ""))
        elif verb == "unknown":
            self._unknown(step.unknown)
        elif verb == "set":
            self.result.sets += [_value(text, step.wins) for text in step.set]
        elif verb == "remember" and self.list_text and self.list_text.upper() != "ALL":
            self.result.remembers.append((step.remember, self.list_text))
        else:
            self._read_words(step, verb)

    def _read_words(self, step: EdgeStep, verb: str) -> None:
        if verb == "give":
            for argument in self._of_first(step):
                self._give(replace(step, maybe=step.maybe or step.reaches == "maybe"), argument)
            for argument in self._arguments(step.give):
                self._give(step, argument)
        elif verb == "listed":
            for argument in list(self._arguments(step.listed))[-1:]:
                self._listed(step, argument)
        elif verb == "obey":
            self._obey(step)
        elif verb == "read":
            self._read(step)
        elif verb == "read_flag":
            self._read_flag(step)

    def settle(self) -> None:
        """What is said of it begins with what decided; a daemon may run already, or begin here."""
        if self.result.start == "daemon" and self.result.begins:
            self._unknown(f"whether {self.result.daemon} runs already is not known")
        if self.lead:
            self.result.says = f"{self.lead} {self.result.says}".rstrip()

    def _start(self, start: str, lead: str) -> None:
        self.result.start = start
        self.lead = lead if start != "caller" else ""

    def _unknown(self, why: str) -> None:
        self.result.unknown = self.result.unknown or why

    def _arguments(self, flags: Collection[str]) -> Iterator[LauncherArgument[L]]:
        return (argument for argument in self.segment.arguments if argument.flag in flags)

    def _of_first(self, step: EdgeStep) -> list[LauncherArgument[L]]:
        """What the first of several parts of a command gives to this one too."""
        if self.first is None or not step.reaches:
            return []
        return [argument for argument in self.first.arguments if argument.flag in step.give]

    def _give(self, step: EdgeStep, argument: LauncherArgument[L]) -> None:
        flag = argument.flag
        for given in _given(argument, step):
            if given is None:
                self._unknown(f"{flag} is given what is not known" if flag != "=" else OPAQUE)
            elif flag in self.edge.names_only and given.op == "set":
                continue
            elif "*" not in given.name.text or step.stars:
                self.result.gives.append(given)

    def _listed(self, step: EdgeStep, argument: LauncherArgument[L]) -> None:
        """`--export=ALL,A=1,B`."""
        self.list_text = argument.words[0].text
        items: list[tuple[L, bool]] = []
        everything = False
        for word in pieces(argument):
            if word.text.upper() in _NOTHING:
                break
            if word.text.upper() == "ALL":
                everything = True
            elif word.text.startswith("~"):
                self.result.drops.append(word.text[1:])
            elif word.text:
                items.append((word, everything))
        if not everything:
            self._start("empty", f"with {argument.flag}={self.list_text}")
        for word, behind in items:
            under = everything and (step.wins == "under" or not behind)
            given = _one(word, argument, EdgeStep(wins="under" if under else "over"))
            if given is None:
                self._unknown(f"{argument.flag} is given what is not known")
            elif "*" not in given.name.text:
                self.result.gives.append(given)

    def _obey(self, step: EdgeStep) -> None:
        """A list that a variable of the caller holds."""
        name = next((name for name in step.obey if self.around.variable(name) is not None), "")
        text = (self.around.variable(name) or "") if name else "ALL"
        if "$" in text or "`" in text:
            self._unknown(f"{name} holds what is not known")
            return
        parts = [part.strip() for part in text.split(",")]
        kept = parts[: next((at for at, part in enumerate(parts) if part.upper() in _NOTHING), len(parts))]
        if any(part.upper() == "ALL" for part in kept):
            return
        self.list_text = text
        self._start("empty", f"obeys {name}={text}:")
        for part in kept:
            label, equals, value = part.partition("=")
            if equals:
                self.result.sets.append(LauncherValue(label, value, "over"))
            elif label:
                self.result.keeps.append(label)

    def _read(self, step: EdgeStep) -> None:
        names = self.around.lines_of(step.read)
        if names is None:
            self._unknown(f"what {step.read} holds is not known")
        elif names:
            self.result.reads.append(EnvironmentFile(step.read, None, step.grammar, step.wins, "", step.maybe))

    def _read_flag(self, step: EdgeStep) -> None:
        for argument in self._arguments(step.read_flag):
            word = argument.words[0]
            self.result.reads.append(
                EnvironmentFile(word.text, word, step.grammar, step.wins, argument.flag, step.maybe)
            )
            matters = step.wins == "over" or self.result.start != "caller"
            if matters and (not word.known or not self.around.lines_of(word.text)):
                self._unknown(f"what {word.text} holds is not known")


def _value(text: str, wins: str) -> LauncherValue:
    name, equals, value = text.partition("=")
    return LauncherValue(name, value if equals else None, wins)


def _depends_on_flags(edge: LaunchEdge) -> bool:
    """Whether options that nobody knows may change what arrives of the caller."""
    if edge.only_with or any(step.where for step in edge.steps):
        return True
    return any(
        step.verb in _DEPENDS
        and (step.if_flags or step.unless or step.give or step.listed or step.read_flag)
        and not (step.read_flag and step.wins == "under")
        for step in edge.steps
    )


def _given(argument: LauncherArgument[L], step: EdgeStep) -> Iterator[Given[L] | None]:
    """The variables in one argument; None for one whose name is not known."""
    if argument.form == "pair" and len(argument.words) == 2:
        yield Given("set", argument.words[0], argument.words[1], step.wins, argument.flag, step.maybe)
    elif argument.form == "json":
        pairs = list(json_pairs(argument.words[0]))
        if not pairs and not argument.words[0].known:
            yield None
        for name, value in pairs:
            yield Given("set", name, value, step.wins, argument.flag, step.maybe)
    elif argument.form not in ("script", "env-file", "configuration"):
        for word in pieces(argument):
            given = _one(word, argument, step)
            if given is not None or not word.known:
                yield given


def _one(word: L, argument: LauncherArgument[L], step: EdgeStep) -> Given[L] | None:
    """`A=1` sets, `A` hands on, `A-` and `-A` take away; None: it is none of these, or its name is not known."""
    flag, maybe, stars = argument.flag, step.maybe, step.stars
    pair = word.assignment()
    if pair is not None and argument.form != "unset":
        return Given("set", pair[0], pair[2], step.wins, flag, maybe)
    text = word.text
    if text.startswith("-") or text.endswith("-") or argument.form == "unset":
        name = word.part(1) if text.startswith("-") else word.part(0, len(text.rstrip("-")))
        op: GivenOp = "unset"
    else:
        name, op = word, "pass"
    if not word.known or not _NAME.match(name.text):
        return None
    return Given(op, name, None, step.wins, flag, maybe, stars if name.text.endswith("*") else "")
