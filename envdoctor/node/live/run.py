"""One examination from end to end: examine the node, or what was recorded of one, and judge it."""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from envdoctor.core.errors import UserError
from envdoctor.core.records import replace
from envdoctor.knowledge.catalog.load import load_catalog
from envdoctor.knowledge.files import loads_toml
from envdoctor.knowledge.rulebook import Rule, load_rulebook
from envdoctor.node.live import job as jobs
from envdoctor.node.live.examination import Examination
from envdoctor.node.live.judge import Judge
from envdoctor.node.live.variables import recordable
from envdoctor.node.probes.base import Depth, ProbeStatus
from envdoctor.node.probes.files import NodeFiles
from envdoctor.node.probes.libraries.library import library_file
from envdoctor.node.probes.node import examine
from envdoctor.node.probes.report import Node
from envdoctor.node.probes.runner import CommandRunner, RecordedRunner, SystemRunner

EXEC_ONLY = "the environment is that of process {} at its exec; what the program set later does not show there"


SUITES = {
    "amd": "bandwidth, memory and stress are not tested here: rvs (ROCm Validation Suite), rccl-tests, TransferBench",
    "nvidia": "bandwidth, memory and stress are not tested here: dcgmi diag, nccl-tests, nvbandwidth",
}
"""Vendor -> what a report says of the suites that test the hardware itself."""


@dataclass(frozen=True, slots=True)
class LiveRequest:
    """What is asked for. `rules`: None for all. `root` is the machine, or a container's root file system."""

    recorded: Path | None = None
    record: Path | None = None
    depth: Depth = "torch"
    pid: int | None = None
    script: Path | None = None
    level: str = "auto"
    rules: Sequence[Rule] | None = None
    root: Path = Path("/")
    gpus: int | None = None
    """How many GPUs this node should have, where the user says it."""
    told: Callable[[ProbeStatus], None] | None = None


def examine_node(request: LiveRequest) -> Examination:
    """Examine and judge. Raises `UserError` where what was asked for cannot be done."""
    begin = time.monotonic()
    catalog = load_catalog()
    rules = list(load_rulebook()) if request.rules is None else list(request.rules)
    known = recordable(catalog)
    job = None
    if request.pid is not None:
        job = find_job(request, known)
    node, runner = look(request, job, known)
    hash_library(node, request)
    if job is not None:
        jobs.state(node.facts, job)
    if request.gpus is not None:
        node.facts.observe("gpu.expected", request.gpus, "--gpus")
    if request.record is not None:
        write_record(request, node, runner, job, known)
    judge = Judge(rules, catalog, request.level)
    found, target, level = judge.findings(node)
    lines = probe_lines(rules, target.platform)
    result = Examination(node, found, target, level, request.depth, source(request), lines, job=job)
    result.notes = notes(request, job) + ([SUITES[node.vendor]] if node.vendor in SUITES else [])
    result.errors += judge.internal.messages()
    if request.script is not None:
        from envdoctor.node.live.script import judge_script

        judge_script(request.script, result, judge)
    result.seconds = round(time.monotonic() - begin, 3)
    return result


def find_job(request: LiveRequest, known: Callable[[str], bool]) -> jobs.Job:
    """The job of the process that was named."""
    files = NodeFiles(request.root)
    assert request.pid is not None
    if not files.exists(f"/proc/{request.pid}/stat"):
        raise UserError(f"--pid {request.pid}: there is no such process")
    if files.read_text(f"/proc/{request.pid}/environ") is None:
        raise UserError(f"--pid {request.pid}: its environment may not be read; be its user, or root")
    return jobs.find_job(files, request.pid, known)


def look(request: LiveRequest, job: jobs.Job | None, known: Callable[[str], bool]) -> tuple[Node, CommandRunner]:
    """The node, examined, and the runner that it was examined through."""
    root, runner = request.root, SystemRunner() if request.recorded is None else None
    if request.recorded is not None:
        root = recorded_root(request.recorded)
    used: CommandRunner = runner or RecordedRunner(root.parent / "commands")
    files = NodeFiles(root, keep=request.record is not None)
    node = examine(
        root, used, request.depth, process_id=str(job.examined) if job else "self", known=known,
        name=name_of(request, root), told=request.told, files=files,
        masks=[rank.settings for rank in job.ranks] if job else (),
    )  # fmt: skip
    return node, used


def recorded_root(folder: Path) -> Path:
    """The root of a recorded tree. Raises `UserError` where there is none."""
    try:
        if not folder.is_dir():
            raise UserError(f"--recorded {folder}: {'not a folder' if folder.exists() else 'there is no such folder'}")
        list(folder.iterdir())
        if not (folder / "root").is_dir():
            raise UserError(f"--recorded {folder}: no recorded node (it has no folder root)")
        list((folder / "root").iterdir())
    except OSError as error:
        raise UserError(f"--recorded {folder}: cannot be read: {error.strerror}") from error
    return folder / "root"


def name_of(request: LiveRequest, root: Path) -> str:
    """Name of the node: the host's, or for a recorded one the name that its node.toml gives, else its folder's."""
    if request.recorded is None:
        return platform.node()
    try:
        told = loads_toml((root.parent / "node.toml").read_text(encoding="utf-8")).get("name")
    except (OSError, ValueError):
        told = None
    return told if isinstance(told, str) and told else request.recorded.resolve().name


def hash_library(node: Node, request: LiveRequest) -> None:
    """The SHA-256 of the library in use: its release alone does not identify a build. Too slow for a job's prolog."""
    from envdoctor.node.live.target import library_in_use

    library = library_in_use(node)
    if library is None or library.sha256 or request.depth == "files" or node.files is None:
        return
    read = library_file(node.files.real(library.path), shown=library.path, hash_content=True)
    node.libraries[library.path] = replace(library, sha256=read.sha256)


def write_record(
    request: LiveRequest, node: Node, runner: CommandRunner, job: jobs.Job | None, known: Callable[[str], bool]
) -> None:
    """Write the recorded tree."""
    from envdoctor.node.recording.record import record

    assert request.record is not None
    if request.record.is_dir() and any(request.record.iterdir()):
        raise UserError(f"--record {request.record}: the folder is not empty")
    ran = runner.ran if isinstance(runner, SystemRunner) else ()
    try:
        record(node, ran, request.record, process_id=str(job.examined) if job else "self", known=known)
    except OSError as error:
        raise UserError(f"--record {request.record}: cannot be written: {error.strerror}") from error


def source(request: LiveRequest) -> str:
    """What was examined, in words."""
    if request.recorded is not None:
        return f"recorded in {request.recorded}"
    return f"process {request.pid} on this machine" if request.pid is not None else "this machine"


def probe_lines(rules: Sequence[Rule], platform: str | None) -> dict[str, str]:
    """Name of a rule -> probe whose line it belongs to; on some platforms another one tells of the same thing."""
    lines: dict[str, str] = {}
    for rule in rules:
        common = rule.common
        if "probe" in common:
            lines[rule.name] = common.get("probe_cuda", common["probe"]) if platform == "cuda" else common["probe"]
    return lines


def notes(request: LiveRequest, job: jobs.Job | None) -> list[str]:
    """What a reader has to know of how this was found out."""
    found = []
    if job is not None:
        found.append(EXEC_ONLY.format(job.examined))
        if job.examined != job.asked:
            found.append(f"process {job.examined} of the same job is shown: {job.asked} itself does no rank's work")
        if not job.ranks:
            found.append(f"process {job.asked} has no variable that numbers ranks, and none of its children has")
    if request.depth == "files":
        found.append("torch was not asked: only files were read")
    return found
