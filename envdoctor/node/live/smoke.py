"""The smoke test as part of `envdoctor live`: the findings go in, experiments run, and what they said comes back."""

from __future__ import annotations

import os
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

from envdoctor.core.errors import UserError
from envdoctor.core.facts import Setting
from envdoctor.core.findings import SEVERITIES
from envdoctor.knowledge.catalog.load import load_catalog
from envdoctor.knowledge.rulebook import load_rulebook
from envdoctor.node.live.examination import Examination
from envdoctor.node.live.target import library_in_use
from envdoctor.node.smoke import findings as joined
from envdoctor.node.smoke.compare import golden
from envdoctor.node.smoke.compare.agreement import agreements, blindness
from envdoctor.node.smoke.compare.matrix import matrix, render
from envdoctor.node.smoke.export import session_data
from envdoctor.node.smoke.run.runner import SmokeSetup, Tracing
from envdoctor.node.smoke.run.session import Session, run_smoke


@dataclass(frozen=True, slots=True)
class SmokeOptions:
    """How the smoke test is run: `save` and `against` are files of golden hashes."""

    cpu: bool = False
    thorough: bool = False
    save: Path | None = None
    against: Path | None = None
    colour: bool = False
    told: Callable[[str], None] = lambda _: None


def add_smoke_test(examination: Examination, options: SmokeOptions) -> Session:
    """Run the test and put verdicts, confirmations and experiments into the examination."""
    catalog, rulebook = load_catalog(), load_rulebook()
    settings = [*examination.node.facts.settings, *examination.script_settings]
    kept = load_kept(options.against)
    with tempfile.TemporaryDirectory(prefix="envdoctor-trace-", ignore_cleanup_errors=True) as scratch, stoppable():
        tracing = tracing_for(Path(scratch), settings)
        request = joined.request(
            examination.findings, settings, catalog, examination.level, thorough=options.thorough,
            trace=tracing is not None, facts=facts_of(examination),
        )  # fmt: skip
        setup = SmokeSetup((interpreter(examination),), dict(os.environ), options.cpu, tracing)
        session = run_smoke(request, setup, progress=options.told)
    found = joined.confirmed(examination.findings, session.confirmations)
    found += joined.verdict_findings(session, rulebook, examination.node.name)
    examination.findings = sorted(found, key=lambda f: (-SEVERITIES.index(f.severity), f.rule))
    examination.experiments = list(session_data(session)["experiments"])
    examination.session = session_data(session)
    examination.smoke = told(session, kept, options)
    if options.save is not None and session.node is not None:
        save(options.save, session)
    return session


def interpreter(examination: Examination) -> str:
    """The Python that torch was found for, else this one."""
    torch = examination.node.torch
    return (torch.interpreter if torch is not None else "") or sys.executable


def facts_of(examination: Examination) -> dict[str, str]:
    """What else must be equal for saved hashes to be comparable."""
    found = {}
    library = library_in_use(examination.node)
    if library is not None and library.sha256:
        found["library sha256"] = library.sha256
    for observation in examination.node.facts.observations:
        if observation.key in ("gpu.compute_partition", "gpu.memory_partition"):
            found[observation.key] = str(observation.value)
    return found


def tracing_for(scratch: Path, settings: list[Setting]) -> Tracing | None:
    """How to trace a run, or None where this machine has no shim and cannot make one."""
    from envdoctor.node.smoke.run.tracing import shim_tracing
    from envdoctor.node.trace.build import ShimError

    try:
        return shim_tracing(scratch, sorted({s.name for s in settings}))
    except ShimError:
        return None


def load_kept(path: Path | None) -> Mapping[str, Any] | None:
    """Golden hashes that were kept. Raises `UserError` where they cannot be read."""
    if path is None:
        return None
    try:
        return golden.load(path)
    except (OSError, ValueError) as error:
        raise UserError(f"--against {path}: {error}") from error


def save(path: Path, session: Session) -> None:
    """Keep golden hashes. Raises `UserError` where they cannot be written."""
    assert session.node is not None
    try:
        golden.save(path, golden.golden(session.request, session.node, session.results))
    except OSError as error:
        raise UserError(f"--save {path}: cannot be written: {error.strerror}") from error


def told(session: Session, kept: Mapping[str, Any] | None, options: SmokeOptions) -> str:
    """What a person reads of the session: the matrix, what was compared, and what it does not exercise."""
    if session.node is None:
        return f"the smoke test could not run: {session.message}"
    lines = [session.label, render(matrix(session.results), options.colour)]
    for item in agreements(session.results):
        words = ", ".join(f"{world}: {item.letters[place]}" for place, world in enumerate(item.worlds))
        lines.append(f"{item.case} by number of ranks: {words}")
    if (seen := blindness(session.results)) is not None:
        lines.append(seen.sentence())
    lines += [*session.notes, *([session.claim] if session.claim else [])]
    if kept is not None:
        found = golden.against(kept, golden.golden(session.request, session.node, session.results))
        lines.append(
            f"not comparable with the saved hashes: {'; '.join(found.refused)}"
            if found.refused
            else f"against the saved hashes: {len(found.differing)} of {found.compared} differ"
        )
    lines.append(f"{session.timings['total']:.1f} s in all")
    return "\n".join(lines)


@contextmanager
def stoppable() -> Iterator[None]:
    """SIGTERM leaves through the cleanup, so that no process and no folder is left."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise SystemExit(128 + number)

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
