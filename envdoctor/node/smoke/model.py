"""The words of the smoke test: what is asked for, what is run, what came out, what it means. Plain data only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from envdoctor.node.logs.nccl import DebugLog

Data = Literal["wide", "integer", "equal"]
Dtype = Literal["fp32", "bf16", "fp16"]
Mode = Literal["plain", "overlap", "halves", "ordered"]
Reduction = Literal["library", "pairs"]
Level = Literal["hygiene", "run-to-run", "placement", "topology"]
Kind = Literal["ghost", "misnamed", "unpinned", "late", "bad-value", "contradictory", "ineffective"]
Role = Literal["user", "restart", "pinned", "control", "without", "toggle", "traced", "topology", "blind"]
Status = Literal["ok", "refused", "hung", "died", "error", "not run"]
State = Literal["confirmed", "refuted", "not testable here"]
RuleName = Literal[
    "ranks-differ", "wrong-sum", "repeats-differ", "restart-differs", "no-effect", "host-staged", "inconclusive",
    "node-differs",
]  # fmt: skip

ITEM_SIZE: dict[str, int] = {"fp32": 4, "bf16": 2, "fp16": 2}


@dataclass(frozen=True, slots=True)
class Case:
    """One AllReduce to hash: what data, how many elements, in which way, how often.

    `shards`: into how many parts the global data is cut (0: one a rank). `order`: which part each place in the ring
    holds (empty: its own), which is another ring order for the same data.
    """

    data: Data
    dtype: Dtype
    count: int
    mode: Mode = "plain"
    repeats: int = 1
    shards: int = 0
    order: tuple[int, ...] = ()

    @property
    def bytes(self) -> int:
        """Size of the message."""
        return self.count * ITEM_SIZE[self.dtype]

    @property
    def id(self) -> str:
        """The name of the result: two cases with one id add the same numbers."""
        words = [self.data, self.dtype, str(self.bytes)]
        if self.mode != "plain":
            words.append(self.mode)
        if self.order:
            words.append("order" + "".join(f".{place}" for place in self.order))
        return "/".join(words)


@dataclass(frozen=True, slots=True)
class Experiment:
    """One launch of all ranks with its own environment.

    `changes` are against the user's settings (None: unset). `fresh`: in an interpreter that starts with the changed
    environment, since something in it is read when a library is loaded. `baseline`: the experiment that this one is
    compared with; `needs`: experiments without whose success this one says nothing. `ranks` 0: all of them.
    `reduction`: the library's AllReduce, or a sum by pairs of our own where the library has no choice of algorithm.
    """

    id: str
    role: Role
    why: str
    cases: tuple[Case, ...]
    changes: tuple[tuple[str, str | None], ...] = ()
    fresh: bool = False
    trace: bool = False
    late: tuple[tuple[str, str], ...] = ()
    baseline: str = ""
    needs: tuple[str, ...] = ()
    ranks: int = 0
    reduction: Reduction = "library"
    timeout: float = 25.0


@dataclass(frozen=True, slots=True)
class Suspect:
    """A finding to confirm: a variable of the user's settings and what is said of it.

    `meant`: the right name of a misnamed one. `values`: what contradictory sources give it. `other`: the variable
    that overrides it or takes its effect away.
    """

    name: str
    kind: Kind
    value: str = ""
    meant: str = ""
    other: str = ""
    values: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SmokeRequest:
    """What is asked of the smoke test.

    `settings`: the user's settings, to be applied over the environment. `load_time`: names that are read when a
    library is loaded or a process starts. `trace`: whether runs can be traced. `facts`: what else must be equal for
    saved hashes to be comparable (partition mode, hash of the library's file), by name.
    """

    settings: Mapping[str, str] = field(default_factory=dict)
    suspects: tuple[Suspect, ...] = ()
    level: Level = "run-to-run"
    thorough: bool = False
    toggles: tuple[tuple[str, str | None], ...] = ()
    load_time: frozenset[str] = frozenset()
    trace: bool = False
    sha256: bool = False
    facts: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TestedGpu:
    """One device as torch sees it; memory in bytes."""

    name: str
    arch: str
    free: int
    total: int
    units: int = 0


@dataclass(frozen=True, slots=True)
class TestedNode:
    """What the planner must know of the node. Versions are () where unknown; `library` is nccl, rccl or gloo."""

    platform: Literal["cuda", "rocm", "cpu"]
    gpus: tuple[TestedGpu, ...] = ()
    library: str = ""
    library_version: tuple[int, ...] = ()
    rocm_version: tuple[int, ...] = ()
    torch: str = ""
    shm_free: int | None = None


@dataclass(frozen=True, slots=True)
class RankResult:
    """What one rank wrote and how it ended. `hashes`: case id -> one hash a repeat."""

    rank: int
    pid: int = 0
    exit: int | None = None
    signal: int | None = None
    hung: bool = False
    unkillable: bool = False
    seconds: float = 0.0
    done: bool = False
    last: str = ""
    error: str = ""
    hashes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    sha256: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    wrong: Mapping[str, int] = field(default_factory=dict)
    communicator_seconds: float = 0.0
    cases_seconds: float = 0.0
    peak: int = 0
    libraries: tuple[Mapping[str, object], ...] = ()


@dataclass(frozen=True, slots=True)
class ExperimentResult:
    """One experiment's outcome. `log` holds what the library wrote; `trace` is the folder of trace files."""

    experiment: Experiment
    status: Status
    ranks: tuple[RankResult, ...] = ()
    reason: str = ""
    seconds: float = 0.0
    log: DebugLog = field(default_factory=lambda: DebugLog(""))
    trace: str = ""

    @property
    def id(self) -> str:
        """The experiment's name."""
        return self.experiment.id

    def agreed(self, case: str) -> str | None:
        """The hash of a case if all ranks and repeats agree, else None."""
        found = {hash_ for rank in self.ranks for hash_ in rank.hashes.get(case, ("",))}
        return found.pop() if len(found) == 1 and "" not in found else None

    def first(self, case: str) -> str | None:
        """The first hash of rank 0, None where the case was not reached."""
        hashes = self.ranks[0].hashes.get(case, ()) if self.ranks else ()
        return hashes[0] if hashes else None


@dataclass(frozen=True, slots=True)
class Ask:
    """A traced request for a variable: by which library, and what it got (None: not set)."""

    variable: str
    library: str
    value: str | None = None


@dataclass(frozen=True, slots=True)
class SmokeVerdict:
    """What one rule of the smoke test says, with the experiments and cases that show it."""

    rule: RuleName
    message: str
    reason: str = ""
    experiments: tuple[str, ...] = ()
    cases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SmokeConfirmation:
    """What the experiments say of one finding."""

    suspect: Suspect
    state: State
    reason: str
    experiments: tuple[str, ...] = ()
