"""One smoke test from end to end: ask the node, plan, run, plan further, judge.

All verdicts come from pure functions over the results; this module only moves data between them.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from envdoctor.node.smoke import placement
from envdoctor.node.smoke.compare import confirm, verdicts
from envdoctor.node.smoke.model import (
    Ask,
    Experiment,
    ExperimentResult,
    SmokeConfirmation,
    SmokeRequest,
    SmokeVerdict,
    TestedNode,
)
from envdoctor.node.smoke.plan.planner import plan, plan_further
from envdoctor.node.smoke.run import survey
from envdoctor.node.smoke.run.driver import ServerError
from envdoctor.node.smoke.run.library import loaded_library, names_of
from envdoctor.node.smoke.run.runner import ExperimentRunner, SmokeSetup

ROUNDS = 8
"""More rounds than the division of any plausible group of names takes."""
HANGS = 2
"""After so many launches that hung, the rest would only take their time limits too."""
Progress = Callable[[str], None]
NamesIn = Callable[[str], frozenset[str] | None]


@dataclass(slots=True)
class Session:
    """What one smoke test found. `reason` (one word) and `message` are set where nothing could be run.

    `left`: processes that even SIGKILL could not end. `timings`: seconds for the import of torch, the survey, each
    experiment by its id, and the whole.
    """

    request: SmokeRequest
    node: TestedNode | None = None
    reason: str = ""
    message: str = ""
    label: str = ""
    library: str = ""
    """Path of the collectives library that the ranks ran; empty where it cannot be told."""
    notes: tuple[str, ...] = ()
    results: list[ExperimentResult] = field(default_factory=list)
    asked: tuple[Ask, ...] | None = None
    verdicts: tuple[SmokeVerdict, ...] = ()
    confirmations: tuple[SmokeConfirmation, ...] = ()
    claim: str = ""
    timings: dict[str, float] = field(default_factory=dict)
    left: tuple[int, ...] = ()


def run_smoke(request: SmokeRequest, setup: SmokeSetup, names_in: NamesIn = names_of,
              progress: Progress = lambda _: None, keep: Path | None = None) -> Session:  # fmt: skip
    """Run the whole test. `names_in`: what a library's file can ask for, asked for the one that the ranks ran.

    `keep`: an existing folder for logs and results, else they are deleted. Never raises for what it finds: a node
    without torch or GPU is a session with a reason.
    """
    session = Session(request)
    begin = time.monotonic()
    try:
        with tempfile.TemporaryDirectory(prefix="envdoctor-", ignore_cleanup_errors=True) as temporary:
            run_in(session, setup, keep or Path(temporary), progress)
    except OSError as error:
        session.reason, session.message = session.reason or "work-folder", session.message or str(error)
    session.library = loaded_library(session.results)
    judge(session, names_in(session.library) if session.library else None)
    session.timings["total"] = round(time.monotonic() - begin, 3)
    return session


def run_in(session: Session, setup: SmokeSetup, folder: Path, progress: Progress) -> None:
    """Run everything, with files below `folder`."""
    with ExperimentRunner(session.request, setup, folder) as runner:
        try:
            if open_session(session, setup, runner, progress):
                run_all(session, runner, progress)
                read_trace(session, setup)
        finally:
            runner.close()
            session.left = tuple(runner.left)


def open_session(session: Session, setup: SmokeSetup, runner: ExperimentRunner, progress: Progress) -> bool:
    """Import torch and ask for the node; False, with the reason in the session, where nothing can be run."""
    begin = time.monotonic()
    try:
        progress("import torch")
        server = runner.server()
        server.wait_ready()
        session.timings["import"] = round(time.monotonic() - begin, 3)
        progress("GPUs")
        found = server.survey()
    except ServerError as error:
        session.reason, session.message = error.reason, str(error)
        return False
    session.timings["survey"] = round(time.monotonic() - begin - session.timings["import"], 3)
    session.reason, session.message = survey.problem(found, setup.cpu)
    if session.reason:
        return False
    session.node = survey.node_of(found, setup.cpu)
    session.label = placement.label(session.node)
    session.notes = (*placement.sharing(session.node), *survey.shared_memory_note(session.node))
    return True


def run_all(session: Session, runner: ExperimentRunner, progress: Progress) -> None:
    """Run the plan, and what its results ask for besides."""
    assert session.node is not None
    waiting = plan(session.request, session.node)
    for _ in range(ROUNDS):
        while waiting:
            start_ahead(waiting, runner)
            experiment = waiting.pop(0)
            progress(experiment.why)
            result = run_one(experiment, session, runner)
            session.results.append(result)
            session.timings[experiment.id] = result.seconds
        waiting = plan_further(session.request, session.node, session.results)


def start_ahead(waiting: Sequence[Experiment], runner: ExperimentRunner) -> None:
    """Start the next server that an experiment needs for itself: its import runs beside the others."""
    fresh = next((experiment for experiment in waiting if experiment.fresh), None)
    if fresh is not None:
        try:
            runner.server(fresh)
        except (ServerError, OSError):
            return  # said again, as its result, when its turn comes


def run_one(experiment: Experiment, session: Session, runner: ExperimentRunner) -> ExperimentResult:
    """Run one experiment, or say why it would show nothing."""
    assert session.node is not None
    if reason := hopeless(session.results):
        return ExperimentResult(experiment, "not run", reason=reason)
    for needed in experiment.needs:
        before = next((result for result in session.results if result.id == needed), None)
        if before is None or before.status != "ok":
            return ExperimentResult(experiment, "not run", reason=f"'{needed}' did not succeed")
    return runner.run(experiment, session.node)


def hopeless(results: Sequence[ExperimentResult]) -> str:
    """Why no further launch can be expected to end; empty if one can."""
    if any(rank.unkillable for result in results for rank in result.ranks):
        return "a process is stuck in the kernel"
    if sum(result.status == "hung" for result in results) >= HANGS:
        return f"{HANGS} launches hung before"
    return ""


def read_trace(session: Session, setup: SmokeSetup) -> None:
    """Read the trace files of the traced runs that succeeded."""
    folders = [result.trace for result in session.results if result.trace and result.status == "ok"]
    if folders and setup.tracing is not None:
        try:
            session.asked = tuple(ask for folder in folders for ask in setup.tracing.read(Path(folder)))
        except OSError as error:
            session.notes = (*session.notes, f"the trace cannot be read: {error}")


def judge(session: Session, library_names: frozenset[str] | None) -> None:
    """Verdicts, confirmations and the one sentence on what was compared."""
    if session.node is None:
        session.verdicts = (verdicts.not_run(session.reason, session.message),)
        reason = f"no experiment could be run: {session.message}"
        session.confirmations = confirm.untestable(session.request, reason)
        return
    session.verdicts = verdicts.verdicts(session.request, session.node, session.results)
    evidence = confirm.Evidence(session.node, session.results, library_names, session.asked)
    session.confirmations = confirm.confirmations(session.request, evidence)
    session.claim = verdicts.claim(session.node, session.results)
