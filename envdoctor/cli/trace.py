"""`envdoctor trace -- COMMAND`: run a program and say which settings its libraries asked for."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import socket
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from envdoctor.core.errors import UserError
from envdoctor.knowledge.catalog.load import load_catalog
from envdoctor.knowledge.catalog.model import Catalog
from envdoctor.node.trace import launch
from envdoctor.node.trace.build import ShimError, shim_library
from envdoctor.node.trace.launch import Ended, LaunchError
from envdoctor.node.trace.limits import limits_of
from envdoctor.node.trace.merge import CONTEXT, RANK_VARIABLES, Run, merge
from envdoctor.node.trace.records import NamePattern, RecordError, create, read_all
from envdoctor.reports import trace as report
from envdoctor.reports.base import tell

RUNTIMES = ("GLOO_", "GOMP_", "KMP_", "MKL_", "OMP_", "OPENBLAS_")
"""Families of the thread, arithmetic and transport libraries under every framework, listed in the catalogue or not."""
DESCRIPTION = """
Runs COMMAND and watches which environment variables its C, C++ and Fortran code asks for. When it has ended, a table
on standard error says for each setting that the catalogue knows: which library asked for it and when, whether it was
set only after that, or that nothing asked for it in this run.
"""
EPILOG = """
exit status: that of COMMAND (128 and the number of the signal that killed it), or 2 if it could not be run.

Works under and over launchers: `envdoctor trace -- torchrun ...` merges the ranks of this host;
`srun envdoctor trace --output trace-%r.json -- python ...` writes one report a rank.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of `trace`."""
    parser.description, parser.epilog = DESCRIPTION, EPILOG
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--output", metavar="FILE", help="write the report as JSON; %%h: host, %%p: process, %%r: rank")
    parser.add_argument("--all", action="store_true", help="also names that were asked for and set by nobody")
    parser.add_argument(
        "--name", action="append", default=[], metavar="NAME", help="also watch this variable (NAME* for a prefix)"
    )
    parser.add_argument("--directory", metavar="DIR", type=Path, help="keep the record here; shared by all hosts")
    parser.add_argument("--quiet", action="store_true", help="no table on standard error")
    parser.add_argument("program", nargs=argparse.REMAINDER, metavar="-- COMMAND", help="the command and its arguments")


def run(arguments: argparse.Namespace) -> int:
    """Run the command, report, and return the command's own exit status."""
    command = arguments.program[1:] if arguments.program[:1] == ["--"] else arguments.program
    if not command:
        raise UserError("no command to trace: envdoctor trace -- COMMAND")
    output = _output_path(arguments.output) if arguments.output else None
    catalog = load_catalog()
    folder = _private_folder(arguments.directory)
    try:
        ended, traced = _trace(command, folder, catalog, arguments.name, arguments.all)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    limits = limits_of(traced, ended)
    if output is not None:
        _write(output, json.dumps(report.as_json(traced, command, limits), indent=2) + "\n")
    if not arguments.quiet:
        sys.stderr.write(report.as_text(traced, limits))
    return ended.status


def _trace(
    command: Sequence[str], folder: Path, catalog: Catalog, names: Sequence[str], unset: bool
) -> tuple[Ended, Run]:
    records = folder / "records"
    try:
        shim = shim_library(folder)
        create(records, list(patterns(catalog, names)))
        ended = launch.run(command, launch.environment_for(os.environ, shim, records))
        recordings = read_all(records)
    except (ShimError, LaunchError, RecordError) as error:
        raise UserError(str(error)) from error

    def relevant(name: str) -> bool:
        chosen = any(name.startswith(n[:-1]) if n.endswith("*") else name == n for n in names)
        return chosen or _of_interest(catalog, name)

    return ended, merge(recordings, ended.started, relevant=relevant, unset=unset)


def _of_interest(catalog: Catalog, name: str) -> bool:
    """A name of the catalogue or its families, and not one like HOME, which is set for other ends."""
    known = catalog.variable(name)
    if known is not None:
        return known.status != "incidental"
    return name.startswith(RUNTIMES) or catalog.prefix_of(name) is not None


def patterns(catalog: Catalog, names: Sequence[str]) -> Iterator[NamePattern]:
    """What to watch: the families of the catalogue, its names outside of them, and the names the user adds.

    Of a name that only the user knows, no value is recorded: it may be a secret.
    """
    families = tuple(dict.fromkeys([*RUNTIMES, *(prefix.name for prefix in catalog.prefixes)]))
    yield from (NamePattern(name, prefix=True) for name in families)
    alone = [name for name in catalog.variables if not name.startswith(families)]
    yield from (NamePattern(name) for name in dict.fromkeys([*alone, *CONTEXT]))
    for name in names:
        prefix = name.endswith("*")
        yield NamePattern(name.rstrip("*"), prefix, value=not prefix and catalog.variable(name) is not None)


def _private_folder(parent: Path | None) -> Path:
    try:
        return Path(tempfile.mkdtemp(prefix="envdoctor-trace-", dir=parent))
    except OSError as error:
        raise UserError(f"no folder for the record can be made in {error.filename}: {error.strerror}") from error


def _output_path(text: str) -> Path:
    """The report's file, with %h, %p, %r replaced. Complains before the program runs, not after."""
    rank = next((os.environ[name] for name in RANK_VARIABLES if name in os.environ), "0")
    for mark, value in (("%h", socket.gethostname()), ("%p", str(os.getpid())), ("%r", rank)):
        text = text.replace(mark, value.replace("/", "_"))
    path = Path(text)
    if path.is_dir() or not os.access(path if path.exists() else path.parent, os.W_OK):
        raise UserError(f"{path}: cannot be written")
    return path


def _write(path: Path, text: str) -> None:
    """The program has run by now: its exit status stands, whatever becomes of the report."""
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        tell(f"{path}: cannot be written: {error.strerror}")
