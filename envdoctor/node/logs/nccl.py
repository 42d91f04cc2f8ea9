"""Reads NCCL and RCCL debug logs: which settings were read, what the library chose, what it refused.

A log is evidence of two different strengths. `NCCL_X set by environment to v` says that the library read the variable;
a line `... Bytes -> Algo ... proto ...` says what one call really did. Shapes differ by release: NCCL writes a choice
line from 2.20.3 (numbers) and by name from 2.24; RCCL from ROCm 6.2; older releases write none, so that a missing line
there means nothing. Sources: NVIDIA/nccl src/debug.cc, src/enqueue.cc, src/graph/tuning.cc and ROCm/rccl src/init.cc.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from envdoctor.core.facts import Component, Place, Setting, Value

ALGORITHMS = ("TREE", "RING", "COLLNETDIRECT", "COLLNETCHAIN", "NVLS", "NVLSTREE", "PAT")
"""Index -> name, as the numeric choice lines of NCCL 2.20.3 to 2.23 count them."""
PROTOCOLS = ("LL", "LL128", "SIMPLE")
ITEM_SIZES = (1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1)
"""ncclDataType_t -> bytes (int8, uint8, int32, uint32, int64, uint64, half, float, double, bfloat16, two fp8)."""

LEVEL = re.compile(r"\bNCCL (?P<level>INFO|WARN|TRACE|ABORT|CALL|VERSION|ERROR|DEBUG)\b ?")
BEFORE = re.compile(
    r"(?:\[\d{4}-\d\d-\d\d[ T][\d:.]+\] )?"
    r"(?P<host>[^\s:\[\]<>]+):(?P<pid>\d+):\d+ \[(?P<device>-?\d+)\] (?:[\d.]+ )?(?:[\w./-]+:\d+ )?$"
)
LONGEST_PREFIX = 400
"""A host name has at most 255 characters."""
VERSION = re.compile(
    r"\b(?P<library>NCCL|RCCL) version ?(?:: ?)?(?P<version>\d[\w.]*)(?:[+-](?P<build>\S+))?(?P<rest>.*)"
)
RAW = re.compile(r"^(?P<key>HIP version|ROCm version|Hostname|Librccl path) +: (?P<value>.*\S)")
READ = re.compile(r"\b(?P<name>(?:R|N|MS)CCL\w*_\w+) set (?:by environment )?to\b ?(?P<value>.*)$")
INVALID = re.compile(r"\bInvalid value (?P<given>.*) for (?P<name>\w+), using default (?P<used>\S+?)\.?$")
CHANNELS = re.compile(
    r"User asked for a (?P<end>minimum|maximum) of (?P<given>\d+) channels, setting it to (?P<used>\d+)"
)
GIT = re.compile(r"\b(?P<library>NCCL|RCCL) git version (?P<build>.*\S)")
TOKEN = re.compile(r'Unrecognized (?P<what>.*?)token "(?P<token>[^"]*)" when parsing "(?P<given>[^"]*)"')
CHOICE = re.compile(
    r"^(?:(?P<function>\w+): *)?(?P<bytes>\d+) Bytes -> Algo (?P<algorithm>\w+)\*? proto (?P<protocol>\w+)"
    r"(?:.*channel\{Lo\.\.Hi\}=\{(?P<low>\d+)\.\.(?P<high>\d+)\})?"
)
OPERATION = re.compile(
    r"^(?P<other>mscclpp_nccl)?(?P<function>[A-Z]\w+): opCount [0-9a-f]+ .*? count (?P<elements>\d+) "
    r"datatype (?P<type>\d+) .*?\[nranks=(?P<ranks>\d+)\]"
)
TRANSPORT = re.compile(
    r"^Channel (?P<channel>\d+)(?:/\d+)? : (?P<source>\d+)\[\w+\] -> (?P<target>\d+)\[\w+\].*? via (?P<via>\S+)"
)
ORDER = re.compile(r"^(?P<kind>Channel|Trees) (?P<text>\d+/\d+ : [\d ]+|\[\d+\] .*)$")
COMMUNICATOR = re.compile(
    r"\bcomm \S+ rank (?P<rank>\d+) n[rR]anks (?P<ranks>\d+)\b.*?(?:- Init (?P<state>COMPLETE|START))?$"
)
NODES = re.compile(r"\bnRanks \d+ nNodes (?P<nodes>\d+) ")
BYPASS = re.compile(r"^(?P<function>\w+)(?: impl selected: algo (?P<algorithm>\S+)|: taking (?P<path>.+? path)\b)")


@dataclass(frozen=True, slots=True)
class Origin:
    """The process that wrote a line; None for lines without a prefix (the printf banners)."""

    host: str
    pid: int
    device: int


@dataclass(frozen=True, slots=True)
class LoggedRead:
    """The library read a variable. `value` is what it understood: a word given for a number reads as 0."""

    name: str
    value: str
    place: Place
    origin: Origin | None = None


@dataclass(frozen=True, slots=True)
class Refusal:
    """The library said that it did not take a value. `used` is what it took instead, None where it gave up."""

    name: str
    given: str
    used: str | None
    text: str
    place: Place
    origin: Origin | None = None


@dataclass(frozen=True, slots=True)
class Choice:
    """What one call did: upper-case algorithm and protocol, message size in bytes. Only rank 0 writes it."""

    function: str
    bytes: int
    algorithm: str
    protocol: str
    channels: tuple[int, int] | None
    place: Place
    origin: Origin | None = None


@dataclass(frozen=True, slots=True)
class Operation:
    """One collective call as the COLL subsystem logs it; `bytes` is None for an unknown data type."""

    function: str
    bytes: int | None
    ranks: int
    place: Place
    origin: Origin | None = None


@dataclass(frozen=True, slots=True)
class Transport:
    """How one rank sends to another on one channel: `P2P/IPC`, `SHM/direct/direct`, `NET/Socket/0`, ..."""

    channel: int
    source: int
    target: int
    via: str
    place: Place


@dataclass(frozen=True, slots=True)
class Note:
    """Another line that matters: a warning, a ring or tree order, a path besides the usual algorithms."""

    kind: str
    text: str
    place: Place
    origin: Origin | None = None


@dataclass(slots=True)
class DebugLog:
    """Everything read from one log, each list in the order of the file."""

    path: str
    components: list[Component] = field(default_factory=list)
    reads: list[LoggedRead] = field(default_factory=list)
    refusals: list[Refusal] = field(default_factory=list)
    choices: list[Choice] = field(default_factory=list)
    operations: list[Operation] = field(default_factory=list)
    transports: list[Transport] = field(default_factory=list)
    warnings: list[Note] = field(default_factory=list)
    orders: list[Note] = field(default_factory=list)
    bypasses: list[Note] = field(default_factory=list)
    ranks: int = 0
    """The largest communicator that was completed."""
    nodes: int = 0

    def value_of(self, name: str) -> str | None:
        """What the library understood for a variable at its last reading, None if the log shows no reading."""
        return next((read.value for read in reversed(self.reads) if read.name == name), None)

    def library_paths(self) -> tuple[str, ...]:
        """Files that the library itself names as the code in use (`Librccl path`), without repeats."""
        return tuple(dict.fromkeys(item.detail for item in self.components if item.detail))

    def bypassed(self, function: str = "AllReduce") -> tuple[int, ...]:
        """Message sizes that some other path than the usual algorithms took: called, and no choice line for them.

        Empty where it cannot be told: without any choice line in the log (older releases write none) or without
        COLL lines.
        """
        chosen = {choice.bytes for choice in self.choices if choice.function in ("", function)}
        if not chosen:
            return ()
        pids = {choice.origin.pid for choice in self.choices if choice.origin}
        called = {
            operation.bytes
            for operation in self.operations
            if operation.function == function and operation.origin and operation.origin.pid in pids
        }
        return tuple(sorted(size for size in called if size is not None and size not in chosen))

    def settings(self) -> list[Setting]:
        """The settings that the library read, as events of the process environment, one a variable and value."""
        found: dict[tuple[str, str], Place] = {}
        for read in self.reads:
            found.setdefault((read.name, read.value), read.place)
        return [
            Setting("set", name, Value("literal", value), place, "process-environment", order)
            for order, ((name, value), place) in enumerate(found.items())
        ]


def read_log(text: str, path: str, node: str = "") -> DebugLog:
    """What a debug log says. Lines of several processes may be mixed, and merged into one line."""
    log = DebugLog(path)
    last_version = -1
    for number, line in enumerate(text.splitlines(), 1):
        if "CCL" not in line and " version " not in line and "Librccl" not in line:
            continue
        for origin, level, message, column in messages(line):
            place = Place(path, number, column, number, column + len(message), node)
            if " version" in message and (found := VERSION.search(message)):
                last_version = add_version(log, found, place)
            elif " git version" in message and (found := GIT.search(message)):
                log.components.append(Component(f"{found['library'].lower()}-build", found["build"], place))
            elif origin is None:
                add_raw(log, RAW.match(message), place, last_version)
            elif level == "WARN":
                log.warnings.append(Note("warning", message, place, origin))
                add_refusal(log, message, place, origin)
            else:
                add_message(log, message, place, origin)
    return log


def read_logs(texts: Iterable[tuple[str, str]], node: str = "") -> DebugLog:
    """One log out of several files of one run, given as (path, text)."""
    whole = DebugLog("")
    for path, text in texts:
        part = read_log(text, path, node)
        whole.path = whole.path or part.path
        for name in ("components", "reads", "refusals", "choices", "operations", "transports", "warnings", "orders",
                     "bypasses"):  # fmt: skip
            getattr(whole, name).extend(getattr(part, name))
        whole.ranks, whole.nodes = max(whole.ranks, part.ranks), max(whole.nodes, part.nodes)
    return whole


def messages(line: str) -> Iterator[tuple[Origin | None, str, str, int]]:
    """(origin, level, message, column from 1) of each message in a line.

    Processes that share one stdout write into each other's lines, so a line may hold several prefixes.
    """
    found = []
    for level in LEVEL.finditer(line):
        before = BEFORE.search(line, max(0, level.start() - LONGEST_PREFIX), level.start())
        if before:
            origin = Origin(before["host"], int(before["pid"]), int(before["device"]))
            found.append((before.start(), level.end(), origin, level["level"]))
    if not found:
        yield None, "", line.rstrip(), 1
    for index, (_, start, origin, kind) in enumerate(found):
        end = found[index + 1][0] if index + 1 < len(found) else len(line)
        yield origin, kind, line[start:end].rstrip(), start + 1


def add_version(log: DebugLog, found: re.Match[str], place: Place) -> int:
    """Add the library's banner; the index of the component, for the path that a later line may name."""
    version = found["version"].rstrip("-")
    build = " ".join(part for part in (found["build"], found["rest"].strip()) if part)
    name = found["library"].lower()
    same = [index for index, item in enumerate(log.components) if (item.name, item.version) == (name, version)]
    if same:
        return same[-1]
    log.components.append(Component(name, version, place))
    if build:
        log.components.append(Component(f"{name}-build", build, place))
        return len(log.components) - 2
    return len(log.components) - 1


def add_raw(log: DebugLog, found: re.Match[str] | None, place: Place, version: int) -> None:
    """Add a line of RCCL's five-line banner (from ROCm 6.3): HIP and ROCm version, and the file in use."""
    if found is None:
        return
    key, value = found["key"], found["value"]
    if key == "Librccl path":
        owner = log.components[version] if version >= 0 else Component("rccl", "", place)
        located = Component(owner.name, owner.version, place, value)
        if located not in log.components:
            log.components.append(located)
    elif key != "Hostname":
        log.components.append(Component(key.split()[0].lower(), value.rstrip("-"), place))


def add_refusal(log: DebugLog, message: str, place: Place, origin: Origin | None) -> None:
    """Add what the library would not take."""
    if found := INVALID.search(message):
        log.refusals.append(Refusal(found["name"], found["given"], found["used"], message, place, origin))
    elif found := CHANNELS.search(message):
        name = "NCCL_MAX_NCHANNELS" if found["end"] == "maximum" else "NCCL_MIN_NCHANNELS"
        log.refusals.append(Refusal(name, found["given"], found["used"], message, place, origin))
    elif found := TOKEN.search(message):
        # The line does not name the variable: it is the one read last with that value.
        name = next((read.name for read in reversed(log.reads) if read.value == found["given"]), "")
        log.refusals.append(Refusal(name, found["given"], None, message, place, origin))
    elif "no algorithm/protocol available" in message:
        log.refusals.append(Refusal("NCCL_ALGO", log.value_of("NCCL_ALGO") or "", None, message, place, origin))


def add_message(log: DebugLog, message: str, place: Place, origin: Origin | None) -> None:
    """Add one INFO message, if it is of a kind that matters."""
    if found := READ.search(message):
        value = found["value"]
        log.reads.append(
            LoggedRead(found["name"], value[:-1] if re.fullmatch(r"-?\d+\.", value) else value, place, origin)
        )
    elif " Bytes -> Algo " in message:
        add_choice(log, CHOICE.match(message), place, origin)
    elif found := OPERATION.match(message):
        kind = int(found["type"])
        size = int(found["elements"]) * ITEM_SIZES[kind] if kind < len(ITEM_SIZES) else None
        log.operations.append(Operation(found["function"], size, int(found["ranks"]), place, origin))
        if found["other"]:
            log.bypasses.append(Note("MSCCL++", message, place, origin))
    elif found := TRANSPORT.match(message):
        pair = int(found["source"]), int(found["target"])
        log.transports.append(Transport(int(found["channel"]), *pair, found["via"], place))
    elif found := ORDER.match(message):
        log.orders.append(Note(found["kind"].lower(), " ".join(found["text"].split()), place, origin))
    else:
        add_other(log, message, place, origin)


def add_choice(log: DebugLog, found: re.Match[str] | None, place: Place, origin: Origin | None) -> None:
    """Add a choice line, its numbers turned into names."""
    if found is None:
        return
    algorithm, protocol = named(found["algorithm"], ALGORITHMS), named(found["protocol"], PROTOCOLS)
    channels = (int(found["low"]), int(found["high"])) if found["low"] else None
    size = int(found["bytes"])
    log.choices.append(Choice(found["function"] or "", size, algorithm, protocol, channels, place, origin))


def named(word: str, names: tuple[str, ...]) -> str:
    """The name for a number, or the word itself in upper case."""
    return names[int(word)] if word.isdigit() and int(word) < len(names) else word.upper()


def add_other(log: DebugLog, message: str, place: Place, origin: Origin | None) -> None:
    """Communicators, paths besides the usual algorithms, and refused numbers (which are written at INFO)."""
    if found := COMMUNICATOR.search(message):
        if found["state"] == "COMPLETE":
            log.ranks = max(log.ranks, int(found["ranks"]))
        if nodes := NODES.search(message):
            log.nodes = max(log.nodes, int(nodes["nodes"]))
    elif found := BYPASS.match(message):
        log.bypasses.append(Note(found["algorithm"] or found["path"], message, place, origin))
    elif message.startswith(("Using MSCCL files", "MSCCL: Initialization finished")):
        log.bypasses.append(Note("MSCCL", message, place, origin))
    elif "disqualified" in message or "NVLS multicast support is available" in message:
        log.orders.append(Note("path", message, place, origin))
    else:
        add_refusal(log, message, place, origin)
