"""A running job on this node: the ranks that belong together, what each has loaded, and where they differ.

The environment of a process is the one at its exec: what the program sets later does not show in /proc.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from envdoctor.core.credentials import MASKED, is_credential
from envdoctor.node.probes.base import Facts
from envdoctor.node.probes.files import NodeFiles
from envdoctor.node.probes.libraries.search import FILE_NAME, library_in_use
from envdoctor.node.probes.node import GPU_LIBRARY
from envdoctor.node.probes.process import read_environment, read_mapped

RANKS = ("RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID")
"""Variables that tell a rank's number, the most telling first: batch shells have SLURM_PROCID too."""
IDENTITY = ("MASTER_ADDR", "MASTER_PORT", "TORCHELASTIC_RUN_ID", "PMIX_NAMESPACE", "SLURM_JOB_ID", "SLURM_STEP_ID")
"""Variables that are the same for all ranks of one job."""
DEVICES = ("ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES")
OWN = re.compile(r"RANK|LOCAL_?ID|PROCID|NODEID|TASK_PID|VISIBLE_DEVICES|VISIBLE_DEVICE|TORCHELASTIC|HOSTID")
"""Names of variables that differ from rank to rank in good order."""


@dataclass(frozen=True, slots=True)
class JobProcess:
    """A process as /proc shows it. `libraries`: GPU libraries that it has mapped."""

    pid: int
    parent: int
    environment: Mapping[str, str] = field(repr=False)
    libraries: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Rank:
    """One rank: its number, its process, the collectives library it calls ("" where that is not known)."""

    number: int
    pid: int
    library: str
    settings: Mapping[str, str]


@dataclass(slots=True)
class Job:
    """A job on this node. `asked` is the process that was named, `examined` the rank whose facts are shown."""

    asked: int
    examined: int
    ranks: list[Rank] = field(default_factory=list)


def parents(files: NodeFiles) -> dict[int, int]:
    """Process -> its parent, of all that /proc shows."""
    found = {}
    for name in files.names("/proc", "[0-9]*"):
        # The name of a program stands in parentheses and may hold any character; the parent is the second field after.
        fields = (files.read_text(f"/proc/{name}/stat") or "").rpartition(")")[2].split()
        if name.isdecimal() and len(fields) > 1 and fields[1].isdecimal():
            found[int(name)] = int(fields[1])
    return found


def descendants(tree: Mapping[int, int], pid: int) -> list[int]:
    """Processes below one, nearest first."""
    found, layer = [], [pid]
    while layer:
        layer = [child for child, parent in tree.items() if parent in layer and child not in found]
        found += layer
    return found


def read_process(files: NodeFiles, pid: int, parent: int) -> JobProcess:
    """The process; what may not be read is empty."""
    libraries = tuple(path for path in read_mapped(files, f"/proc/{pid}") if GPU_LIBRARY.search(path))
    return JobProcess(pid, parent, read_environment(files, f"/proc/{pid}"), libraries)


def telling(environments: Sequence[Mapping[str, str]]) -> str:
    """The variable that numbers the ranks here; "" where none does."""
    return next((name for name in RANKS if any(env.get(name, "").isdecimal() for env in environments)), "")


def identity(environment: Mapping[str, str]) -> tuple[str | None, ...]:
    """What tells a job from others."""
    return tuple(environment.get(name) for name in IDENTITY)


def members(files: NodeFiles, pid: int) -> tuple[str, list[JobProcess]]:
    """(variable that numbers the ranks, processes of the job that have it) around a rank, or below a launcher."""
    tree = parents(files)
    below = [read_process(files, child, tree[child]) for child in descendants(tree, pid)]
    own = read_process(files, pid, tree.get(pid, 0))
    name = telling([own.environment, *(process.environment for process in below)])
    if not name:
        return "", []
    if not own.environment.get(name, "").isdecimal():
        return name, [process for process in below if process.environment.get(name, "").isdecimal()]
    wanted = identity(own.environment)
    others = [read_process(files, other, parent) for other, parent in tree.items() if other != pid]
    same = [p for p in others if p.environment.get(name, "").isdecimal() and identity(p.environment) == wanted]
    return name, [own, *same]


def one_for_each_rank(name: str, processes: Sequence[JobProcess]) -> dict[int, JobProcess]:
    """Rank -> the process that does its work: the topmost with a GPU library, else the topmost.

    A wrapper script and workers of data loaders have the rank's environment too.
    """
    found: dict[int, JobProcess] = {}
    for number in sorted({int(process.environment[name]) for process in processes}):
        mine = [process for process in processes if int(process.environment[name]) == number]
        working = [process for process in mine if process.libraries] or mine
        pids = {process.pid for process in working}
        tops = [process for process in working if process.parent not in pids]
        found[number] = min(tops or working, key=lambda process: process.pid)
    return found


def find_job(files: NodeFiles, pid: int, known: Callable[[str], bool]) -> Job:
    """The job that a process belongs to, or that it started; a job without ranks where nothing tells of any."""
    name, processes = members(files, pid)
    chosen = one_for_each_rank(name, processes)
    job = Job(pid, pid)
    for number, process in chosen.items():
        mapped = [path for path in process.libraries if FILE_NAME.match(path)]
        used = library_in_use(files, mapped, process.environment).path or ""
        job.ranks.append(Rank(number, process.pid, used, shown_settings(process.environment, known)))
    pids = [rank.pid for rank in job.ranks]
    own = next((p for p in processes if p.pid == pid), None)
    if pids and pid not in pids:
        same_rank = own and chosen.get(int(own.environment[name]))
        job.examined = same_rank.pid if same_rank else pids[0]
    return job


def shown_settings(environment: Mapping[str, str], known: Callable[[str], bool]) -> dict[str, str]:
    """The known variables of a rank, credentials masked."""
    return {n: MASKED if is_credential(n, v) else v for n, v in sorted(environment.items()) if known(n)}


def differing(ranks: Sequence[Rank]) -> dict[str, dict[str, list[int]]]:
    """Variable -> value ("" where unset) -> ranks, for those that should be the same for all and are not."""
    found: dict[str, dict[str, list[int]]] = {}
    for name in sorted({name for rank in ranks for name in rank.settings}):
        values: dict[str, list[int]] = {}
        for rank in ranks:
            values.setdefault(rank.settings.get(name, ""), []).append(rank.number)
        if len(values) > 1 and not OWN.search(name):
            found[name] = values
    return found


def bound_gpu(settings: Mapping[str, str]) -> str:
    """The one GPU that a rank can see; "" where it sees several or none is named."""
    named = [f"{name}={settings[name]}" for name in DEVICES if re.fullmatch(r"[0-9]+", settings.get(name, ""))]
    return named[0] if named else ""


def state(facts: Facts, job: Job) -> None:
    """Facts of the job."""
    if not job.ranks:
        return
    facts.observe("job.ranks", len(job.ranks), "/proc")
    for rank in job.ranks:
        if rank.library:
            facts.observe("job.rank_library", rank.library, f"/proc/{rank.pid}/maps", detail=f"rank {rank.number}")
    for name, values in differing(job.ranks).items():
        told = "; ".join(f"{value or 'unset'} on rank {spans(ranks)}" for value, ranks in values.items())
        facts.observe("job.differs", told, f"/proc/{job.examined}/environ", detail=name)
    bound: dict[str, list[int]] = {}
    for rank in job.ranks:
        bound.setdefault(bound_gpu(rank.settings), []).append(rank.number)
    for gpu, ranks in bound.items():
        if gpu and len(ranks) > 1:
            facts.observe("job.gpu_ranks", spans(ranks), f"/proc/{job.examined}/environ", detail=gpu)


def spans(numbers: Sequence[int]) -> str:
    """`0-3, 6` of [0, 1, 2, 3, 6]."""
    groups: list[list[int]] = []
    for number in sorted(numbers):
        if groups and number == groups[-1][-1] + 1:
            groups[-1].append(number)
        else:
            groups.append([number])
    return ", ".join(str(g[0]) if len(g) == 1 else f"{g[0]}-{g[-1]}" for g in groups)
