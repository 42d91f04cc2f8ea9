"""Runs a program under the shim, as `envdoctor trace` does, and gives back everything there is to check."""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from envdoctor.node.trace.build import shim_library
from envdoctor.node.trace.launch import environment_for
from envdoctor.node.trace.merge import CONTEXT, Run, TracedSetting, merge
from envdoctor.node.trace.records import SIZE, NamePattern, Recording, create, read_all

PATTERNS = [NamePattern("NCCL_", prefix=True), *(NamePattern(name) for name in CONTEXT)]


@cache
def shim() -> Path:
    return shim_library(Path(tempfile.mkdtemp(prefix="envdoctor-shim-")))


@dataclass
class Traced:
    status: int
    out: str
    err: str
    run: Run
    recordings: list[Recording]
    pid: int

    def setting(self, name: str) -> TracedSetting:
        """The one setting of that name."""
        (found,) = [setting for setting in self.run.settings if setting.variable == name]
        return found

    def asked(self, name: str) -> list[tuple[str, int, str | None]]:
        """(file name of the library, count, value) of each asker."""
        asked = [a for setting in self.run.settings if setting.variable == name for a in setting.asked]
        return [(Path(a.library).name, a.count, a.value) for a in asked]


def traced(
    *command: str | Path,
    environment: dict[str, str] | None = None,
    patterns: Sequence[NamePattern] = PATTERNS,
    size: int = SIZE,
    unset: bool = True,
    timeout: float = 60,
) -> Traced:
    """Trace a command to its end. `environment` is all it gets."""
    with tempfile.TemporaryDirectory() as folder:
        records = Path(folder) / "records"
        create(records, patterns, size=size)
        env = environment_for({"PATH": os.environ["PATH"], **(environment or {})}, shim(), records)
        started = time.time()
        with subprocess.Popen(
            [str(word) for word in command], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as process:
            try:
                out, err = process.communicate(timeout=timeout)
            except subprocess.TimeoutExpired:
                process.kill()
                raise
        recordings = read_all(records)
    run = merge(recordings, started, unset=unset, relevant=lambda name: name not in CONTEXT)
    return Traced(process.returncode, out, err, run, recordings, process.pid)
