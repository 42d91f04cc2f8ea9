"""From what the processes of a run recorded to one verdict a setting: who asked for it, when, and whether in time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from envdoctor.node.trace.records import EXEC_FAILED, FORKED, VALUE_HIDDEN, Recording, TraceRecord

RANK_VARIABLES = ("RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "MV2_COMM_WORLD_RANK", "SLURM_PROCID")
"""Strongest first. Only the first one that any process of the run has is used: under srun, the agent of torchrun has
SLURM_PROCID, which counts nodes there, beside the RANK of its workers."""
LOCAL_RANK = "LOCAL_RANK"
"""A process with RANK and without LOCAL_RANK, in a run where others have both, is a launcher: the PyTorch operator of
Kubernetes gives containers a RANK that counts nodes."""
WORLD_SIZE = ("WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MV2_COMM_WORLD_SIZE", "SLURM_NTASKS")
CONTEXT = (*RANK_VARIABLES, LOCAL_RANK, *WORLD_SIZE)

HIDDEN = "(not recorded)"


@dataclass(slots=True)
class TracedProcess:
    """One program in one process. `seconds` counts from the start of the run, as all times here do."""

    key: tuple[str, int]
    pid: int
    parent_pid: int
    program: str
    seconds: float
    fork_of: tuple[str, int] | None
    records: list[TraceRecord] = field(default_factory=list)
    values: dict[str, str] = field(default_factory=dict)
    """What each variable was set to last, at the start or later; also where it was unset after that."""
    rank: int | None = None


@dataclass(frozen=True, slots=True)
class Asked:
    """One library of one rank asked and got `value` (None: not set), `count` times, first after `seconds`."""

    library: str
    rank: int | None
    seconds: float
    count: int
    value: str | None


@dataclass(frozen=True, slots=True)
class GivenSetting:
    """The variable was set while the program ran, by code of `library`."""

    library: str
    rank: int | None
    seconds: float
    value: str


@dataclass(frozen=True, slots=True)
class Late:
    """`library` asked after `asked` seconds, the setting came after `given`, and it never asked again."""

    library: str
    rank: int | None
    asked: float
    given: float


@dataclass(frozen=True, slots=True)
class TracedSetting:
    """What a run shows of one variable with one value; `value` None: asked for, and set by nobody."""

    variable: str
    value: str | None
    asked: tuple[Asked, ...]
    given: tuple[GivenSetting, ...]
    late: tuple[Late, ...]
    ranks: tuple[int, ...]
    """Ranks in which it was set; empty where the program has no ranks."""


@dataclass(frozen=True, slots=True)
class Run:
    """A traced run: its processes and its settings."""

    processes: tuple[TracedProcess, ...]
    settings: tuple[TracedSetting, ...]
    ranks: tuple[int, ...]
    world_size: int | None
    untraced: tuple[str, ...]
    """Programs that were started and left no record of their own."""
    lost: int


def merge(
    recordings: Sequence[Recording],
    started: float,
    *,
    relevant: Callable[[str], bool] = lambda name: True,
    unset: bool = False,
) -> Run:
    """The settings of a run, in order of their names, of the variables that are `relevant`.

    `started` is the real-time second at which the command was started; `unset` adds names that were asked for and
    set by nobody.
    """
    processes = _processes(recordings, started)
    _give_ranks(processes)
    names = {
        r.name for p in processes for r in p.records if r.kind in ("environment", "set", *(("ask",) if unset else ()))
    }
    settings: list[TracedSetting] = []
    for name in sorted(filter(relevant, names)):
        settings += _settings_of(name, processes)
    return Run(
        processes=tuple(processes),
        settings=tuple(settings),
        ranks=tuple(sorted({p.rank for p in processes if p.rank is not None})),
        world_size=max(_world_sizes(processes), default=0) or None,
        untraced=tuple(_untraced(recordings)),
        lost=sum(recording.lost for recording in recordings),
    )


class _Processes(list[TracedProcess]):
    """The processes of a run, and how they come from each other."""

    def __init__(self, processes: Iterable[TracedProcess], started: float) -> None:
        super().__init__(processes)
        self.started = started
        self._by_key = {process.key: process for process in self}
        self._by_parent: dict[tuple[str, int], list[TracedProcess]] = defaultdict(list)
        for process in self:
            self._by_parent[process.key[0], process.parent_pid].append(process)

    def asks_seen(self, process: TracedProcess) -> Iterator[TraceRecord]:
        """Questions of a process and, before it was forked, of those it is a copy of: it kept their answers."""
        yield from process.records
        before, key = process, process.fork_of
        while key is not None and key in self._by_key:
            parent = self._by_key[key]
            forked = before.seconds + self.started
            yield from (record for record in parent.records if record.kind == "ask" and record.first < forked)
            before, key = parent, parent.fork_of

    def started_by(self, process: TracedProcess, since: float) -> Iterator[TracedProcess]:
        """Programs that a process started, itself or through others, after a moment."""
        todo, done = [(process.key[0], process.pid)], set()
        while todo:
            parent = todo.pop()
            if parent not in done:
                done.add(parent)
                children = [c for c in self._by_parent.get(parent, ()) if c.seconds + self.started >= since]
                todo += [(child.key[0], child.pid) for child in children]
                yield from children


def _processes(recordings: Iterable[Recording], started: float) -> _Processes:
    found: dict[tuple[str, int], TracedProcess] = {}
    for recording in recordings:
        for record in recording.records:
            key = (recording.host, record.process)
            if record.kind == "process":
                own = (recording.host, record.unit)
                parent = key if record.flags & FORKED else None
                found[own] = TracedProcess(
                    own, record.pid, record.parent_pid, record.library, record.first - started, parent
                )
            elif key in found:
                found[key].records.append(record)
    for process in found.values():
        process.records.sort(key=lambda record: record.first)
        process.values = _last_values(process.records)
    return _Processes(found.values(), started)


def _last_values(records: Iterable[TraceRecord]) -> dict[str, str]:
    """What each variable was set to last. A value that was set twice counts from its last time."""
    events = [record for record in records if record.kind in ("environment", "set")]
    return {record.name: _value(record) or "" for record in sorted(events, key=lambda record: record.last)}


def _value(record: TraceRecord) -> str | None:
    return HIDDEN if record.flags & VALUE_HIDDEN else record.value


def _give_ranks(processes: Sequence[TracedProcess]) -> None:
    chosen = next((name for name in RANK_VARIABLES if any(_number(p, name) is not None for p in processes)), None)
    if chosen is None:
        return
    local = chosen == "RANK" and any("RANK" in p.values and LOCAL_RANK in p.values for p in processes)
    for process in processes:
        if not local or LOCAL_RANK in process.values:
            process.rank = _number(process, chosen)


def _number(process: TracedProcess, name: str) -> int | None:
    text = process.values.get(name, "")
    return int(text) if text.isdecimal() and len(text) < 10 else None


def _world_sizes(processes: Iterable[TracedProcess]) -> Iterator[int]:
    for process in processes:
        if process.rank is not None:
            sizes = (_number(process, name) for name in WORLD_SIZE)
            yield next((size for size in sizes if size), 0)


def _settings_of(name: str, processes: _Processes) -> list[TracedSetting]:
    """One setting for each value that the ranks (or, without ranks, the programs that asked for anything) had."""
    groups: dict[str | None, list[TracedProcess]] = defaultdict(list)
    for process in _that_count(name, processes):
        groups[process.values.get(name)].append(process)
    if len(groups) > 1:
        groups.pop(None, None)
    counted = {process.key for group in groups.values() for process in group}
    others = [process for process in processes if process.key not in counted]
    settings = []
    for at, (value, group) in enumerate(groups.items()):
        members = group + (others if at == 0 else [])
        settings.append(
            TracedSetting(
                variable=name,
                value=value,
                asked=tuple(_asked(name, members, processes.started)),
                given=tuple(_given(name, group, processes.started)),
                late=tuple(_late(name, group, processes)),
                ranks=tuple(sorted({p.rank for p in group if p.rank is not None and value is not None})),
            )
        )
    return settings


def _that_count(name: str, processes: Sequence[TracedProcess]) -> list[TracedProcess]:
    """The processes whose values are shown: launchers and shells matter only for what no other process has."""
    asking = [process for process in processes if any(record.kind == "ask" for record in process.records)]
    ranks = {process.rank for process in asking}
    ranked = [process for process in processes if process.rank not in ranks] + asking
    for chosen in ([process for process in ranked if process.rank is not None], asking):
        if any(name in process.values for process in chosen):
            return chosen
    return list(processes)


def _asked(name: str, processes: Iterable[TracedProcess], started: float) -> list[Asked]:
    groups: dict[tuple[str, int | None, str | None], list[TraceRecord]] = defaultdict(list)
    for process in processes:
        for record in process.records:
            if record.kind == "ask" and record.name == name:
                groups[record.library, process.rank, _value(record)].append(record)
    asked = [
        Asked(library, rank, min(r.first for r in records) - started, sum(r.count for r in records), value)
        for (library, rank, value), records in groups.items()
    ]
    return sorted(asked, key=lambda a: (a.seconds, a.library, -1 if a.rank is None else a.rank))


def _given(name: str, processes: Iterable[TracedProcess], started: float) -> list[GivenSetting]:
    given = [
        GivenSetting(record.library, process.rank, record.first - started, _value(record) or "")
        for process in processes
        for record in process.records
        if record.kind == "set" and record.name == name
    ]
    return sorted(given, key=lambda g: g.seconds)


def _late(name: str, group: Iterable[TracedProcess], run: _Processes) -> list[Late]:
    """Libraries that asked, got something else, and did not ask again after the variable got its last value.

    A program that sets a variable for its children is not late where a child's library did get it.
    """
    late = []
    for process in group:
        sets = [record for record in process.records if record.kind == "set" and record.name == name]
        if not sets:
            continue
        last = max(sets, key=lambda record: record.last)
        later = [r for child in run.started_by(process, last.last) for r in child.records]
        asks: dict[str, list[TraceRecord]] = defaultdict(list)
        for record in [*run.asks_seen(process), *later]:
            if record.kind == "ask" and record.name == name:
                asks[record.library].append(record)
        for library, records in asks.items():
            first = min(records, key=lambda record: record.first)
            if first.first < last.last and all(_value(record) != _value(last) for record in records):
                late.append(Late(library, process.rank, first.first - run.started, last.first - run.started))
    return sorted(late, key=lambda item: (item.asked, item.library))


def _untraced(recordings: Iterable[Recording]) -> Iterator[str]:
    """Programs that a traced process became or started, and that left no record: static, set-user-id, other libc."""
    seen = set()
    for recording in recordings:
        if recording.lost:
            continue
        starts = [record for record in recording.records if record.kind == "exec" and not record.flags & EXEC_FAILED]
        times: dict[int, list[float]] = defaultdict(list)
        for record in recording.records:
            if record.kind == "process":
                times[record.pid].append(record.first)
        for record in starts:
            if record.value not in seen and not any(time >= record.first for time in times[record.pid]):
                seen.add(record.value)
                yield record.value or ""
