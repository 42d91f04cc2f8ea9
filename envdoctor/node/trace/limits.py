"""What a trace cannot see, in general and in this run."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from envdoctor.node.probes.libraries.elf import ElfError, read_elf
from envdoctor.node.trace.launch import Ended
from envdoctor.node.trace.merge import Run

ALWAYS = (
    "Python code reads os.environ, a copy made when the interpreter starts: such reads are not seen; those of C, C++ "
    "and Fortran code are",
    "code that walks `environ` itself, libraries loaded with RTLD_DEEPBIND, statically linked programs and set-user-id "
    "programs are not seen",
)


def limits_of(run: Run, ended: Ended) -> list[str]:
    """What this trace could not see, most telling first."""
    return [*_of_this_run(run, ended), *ALWAYS]


def _of_this_run(run: Run, ended: Ended) -> Iterator[str]:
    if all(process.pid != ended.pid for process in run.processes):
        yield f"{ended.program} itself left no record: {why_untraced(Path(ended.program))}"
    others = [program for program in run.untraced if program != ended.program]
    if others:
        shown = ", ".join(others[:5]) + (f" and {len(others) - 5} more" if len(others) > 5 else "")
        yield f"started and not traced (static, set-user-id, of another C library, or ended at once): {shown}"
    if run.lost:
        yield f"{run.lost} records found no room: what the table says was never asked for may have been asked for"
    if run.world_size and run.world_size > len(run.ranks):
        yield (
            f"{len(run.ranks)} of {run.world_size} ranks were seen: ranks on other hosts are traced where the launcher "
            "passes LD_PRELOAD and ENVDOCTOR_TRACE on, and --directory is a folder that all hosts share"
        )
    if any(setting.variable == "NCCL_ENV_PLUGIN" and setting.value is not None for setting in run.settings):
        yield "NCCL_ENV_PLUGIN is set: the plug-in may answer the library instead of the environment"
    running = still_running(run)
    if running:
        went = "1 process was" if running == 1 else f"{running} processes were"
        yield f"{went} still running when this was written: what is asked for later is not in it"


def why_untraced(program: Path) -> str:
    """Why nothing of a program could be recorded, as far as its file tells."""
    try:
        descriptor = os.open(program, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return "its file cannot be read; a program that needs privileges is not traced"
    try:
        status = os.fstat(descriptor)
        if status.st_mode & 0o6000:
            return "it is set-user-id or set-group-id, and nothing may be preloaded into such programs"
        elf = read_elf(descriptor)
    except (ElfError, OSError):
        return "what interprets it may be statically linked"
    finally:
        os.close(descriptor)
    if elf.interpreter is None:
        return "it is statically linked, so it calls no getenv that could be watched"
    if elf.bits != 64:
        return f"it is a {elf.bits}-bit program"
    if "musl" in elf.interpreter:
        return "it uses musl, and the shim was made for another C library"
    return "the shim could not be loaded into it or its record file not be opened"


def still_running(run: Run) -> int:
    """How many traced processes of this host go on after the command has ended."""
    host = os.uname().nodename
    return sum(_alive(process.pid, process.program) for process in run.processes if process.key[0] == host)


def _alive(pid: int, program: str) -> bool:
    """The process lives and still runs that program: a number may have been given to another process."""
    try:
        return os.readlink(f"/proc/{pid}/exe") == program  # noqa: PTH115
    except OSError:
        return False
