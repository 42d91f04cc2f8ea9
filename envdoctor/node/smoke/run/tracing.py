"""Traced runs of the smoke test, with the shim of `envdoctor trace`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path, PurePosixPath

from envdoctor.node.smoke.model import Ask
from envdoctor.node.smoke.plan.planner import COLLECTIVES
from envdoctor.node.smoke.run.runner import Tracing
from envdoctor.node.trace.build import shim_library
from envdoctor.node.trace.launch import environment_for
from envdoctor.node.trace.records import NamePattern, create, read_all

RECORDS = "records"


def shim_tracing(scratch: Path, names: Iterable[str]) -> Tracing:
    """Tracing of the collectives' variables and of `names`. `scratch`: a folder of our own for a compiled shim.

    Raises ShimError where this machine has no shim and cannot make one.
    """
    shim = shim_library(scratch)
    patterns = [NamePattern(prefix, prefix=True) for prefix in COLLECTIVES]
    patterns += [NamePattern(name) for name in names if not name.startswith(COLLECTIVES)]

    def environment(folder: Path, before: Mapping[str, str]) -> Mapping[str, str]:
        create(folder / RECORDS, patterns)
        return environment_for(before, shim, folder / RECORDS)

    return Tracing(environment, asked)


def asked(folder: Path) -> Sequence[Ask]:
    """What the processes of a run asked for, in the order in which they first did. Raises RecordError."""
    records = [record for recording in read_all(folder / RECORDS) for record in recording.records]
    records.sort(key=lambda record: record.first)
    return [
        Ask(record.name, PurePosixPath(record.library).name or record.library, record.value)
        for record in records
        if record.kind == "ask"
    ]
