"""`envdoctor scan`: judge the settings in files."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from envdoctor.analysis.project import Project
from envdoctor.cli.scan.arguments import add_arguments as add_arguments
from envdoctor.cli.scan.setup import ScanSetup, prepare
from envdoctor.core.errors import UserError
from envdoctor.core.findings import SEVERITIES
from envdoctor.engine import Engine, ScanResult, summed
from envdoctor.project import discovery
from envdoctor.project.config import Config
from envdoctor.project.discovery import Found
from envdoctor.reports import base as reports
from envdoctor.reports import outputs, progress
from envdoctor.reports.outputs import ReportOutput

if TYPE_CHECKING:
    import argparse

FIXES_SHOWN = {"html", "json", "markdown", "sarif", "statistics", "statistics-json"}
"""Formats that say how a finding can be put right, edit by edit, or how many can."""
FIXING = ("fix", "unsafe_fixes", "diff", "add_ignores")
SHOWING = ("show_files", "show_settings", "show_target", "show_launches", "show_unknown", "diff_launch")
STDIN = "-"


def run(arguments: argparse.Namespace) -> int:
    """Scan, report, and say by the exit status whether something counts."""
    _refuse(arguments)
    wanted = outputs.planned(arguments.format, arguments.output, arguments.statistics)
    setup = prepare(arguments)
    found, stdin = _found(arguments, setup)
    if any(getattr(arguments, name) for name in SHOWING):
        from envdoctor.cli.scan import show as scan_show

        return scan_show.show(arguments, setup, found, stdin)
    scan = Scan(arguments, setup, found, stdin)
    unwritten: list[str] = []
    if any(getattr(arguments, name) for name in FIXING):
        from envdoctor.cli.scan import fix as scan_fix

        if arguments.diff:
            return scan_fix.show(arguments, scan.judge, scan.judge_new, found)
        unwritten = scan_fix.write(arguments, scan.judge, scan.judge_new, found)
        scan.read_again()
    return scan.report(wanted, unwritten)


class Scan:
    """The files of one scan and how they are judged."""

    def __init__(self, arguments: argparse.Namespace, setup: ScanSetup, found: Found, stdin: dict[str, bytes]) -> None:
        self.arguments = arguments
        self.setup = setup
        self.found = found
        self.stdin = stdin
        self.project = setup.project(arguments.docs)

    def read_again(self) -> None:
        """Forget what was read: it may have changed. What could not be done is not forgotten."""
        self.project = self.setup.project(self.arguments.docs, self.project.internal)

    def judge(self, overlay: dict[str, bytes]) -> tuple[Engine, ScanResult]:
        """Judge the files, some of them as they would be after fixes."""
        engine = self._engine(self.project.edited({**self.stdin, **overlay}))
        with progress.Watcher(progress.is_wanted()) as engine.watch:
            return engine, engine.judge(self.found.files, self.setup.config.complaints)

    def judge_new(self, overlay: dict[str, bytes]) -> tuple[Engine, ScanResult]:
        """The same, without what the baseline holds."""
        engine, result = self.judge(overlay)
        if self.arguments.baseline is not None:
            _against_baseline(self.arguments, result, self.found.files, self.setup)
        return engine, result

    def report(self, wanted: Sequence[ReportOutput], unwritten: Sequence[str]) -> int:
        """Judge the files as they are, write the reports, and give the exit status."""
        engine, result = self.judge({})
        if FIXES_SHOWN & {one.format for one in wanted}:
            from envdoctor.fixes.fixer import Fixer

            with engine.project.internal.guard(engine.project.files.name, "looking for fixes"):
                result.findings = Fixer(engine.project, engine.catalog).attach(result.findings)
        result.errors = [*self.found.errors, *unwritten, *engine.errors()]
        told = _against_baseline(self.arguments, result, self.found.files, self.setup)
        if self.arguments.since:
            _only_changed(self.arguments.since, result, self.setup)
        for message in (*result.errors, *told):
            reports.tell(message)
        outputs.write(wanted, result)
        return _status(result, self.setup.config, self.arguments.fail_on_unknown)

    def _engine(self, project: Project) -> Engine:
        setup, arguments = self.setup, self.arguments
        engine = Engine(project, setup.catalog, setup.rulebook, setup.rules)
        engine.show_hints, engine.inline_ignores = arguments.hints, not arguments.no_inline_ignores
        engine.level, engine.levels = setup.config.level, setup.by_path(setup.config.levels)
        engine.ignores = setup.by_path(setup.config.per_file_ignores)
        return engine


def _refuse(arguments: argparse.Namespace) -> None:
    """Say what cannot be asked for together."""
    writing = any(getattr(arguments, name) for name in FIXING)
    if arguments.stdin_filename is None and STDIN in arguments.paths:
        raise UserError("standard input needs --stdin-filename FILE: a name says what kind of file it is")
    if arguments.stdin_filename is not None:
        if [path for path in arguments.paths if path != STDIN]:
            raise UserError("--stdin-filename and PATH do not go together")
        if (arguments.fix or arguments.unsafe_fixes or arguments.add_ignores) and not arguments.diff:
            raise UserError("standard input cannot be written to: --diff shows what --fix would change")
    if arguments.since and (writing or arguments.write_baseline):
        raise UserError("--since only chooses what to report: it does not go with fixes or --write-baseline")


def _found(arguments: argparse.Namespace, setup: ScanSetup) -> tuple[Found, dict[str, bytes]]:
    """The files to report on, and the bytes of the one that comes from standard input."""
    if arguments.stdin_filename is not None:
        named = os.path.realpath(setup.base / arguments.stdin_filename)
        path = discovery.relative_path(Path(named), setup.base)
        left_out = arguments.force_exclude and discovery.excluded(path, setup.config.exclude)
        files = () if left_out else (path,)
        return Found(setup.base, files, frozenset(files)), {path: _standard_input()}
    found = discovery.find(arguments.paths, setup.base, setup.config.exclude)
    if arguments.force_exclude:
        kept = tuple(path for path in found.files if not discovery.excluded(path, setup.config.exclude))
        found = Found(found.root, kept, found.named & set(kept), found.errors)
    return found, {}


def _standard_input() -> bytes:
    try:
        return sys.stdin.buffer.read()
    except OSError as error:
        raise UserError(f"standard input cannot be read: {error.strerror}") from error


def _against_baseline(
    arguments: argparse.Namespace, result: ScanResult, files: Sequence[str], setup: ScanSetup
) -> list[str]:
    """Leave out what the baseline holds, or write it first; notices about it."""
    if arguments.baseline is None and arguments.write_baseline is None:
        return []
    from envdoctor.project import baseline

    scope = baseline.BaselineScope(setup.base, files, {rule.name for rule in setup.rules})
    if arguments.baseline is not None:
        held = baseline.load(arguments.baseline)
    elif result.errors:
        raise UserError(f"{arguments.write_baseline}: not written: {result.errors[0]}")
    else:
        held = baseline.write(arguments.write_baseline, result.findings, scope)
    every = len(result.findings)
    result.findings, notices = baseline.apply(held, result.findings, scope)
    result.summary |= {**summed(result.findings), "baseline": {"held": every - len(result.findings)}}
    return notices


def _only_changed(revision: str, result: ScanResult, setup: ScanSetup) -> None:
    """Leave in what lines changed since a commit have to do with."""
    from envdoctor.project import since

    result.findings = since.within(result.findings, since.changed(setup.base, revision))
    result.summary |= summed(result.findings)


def _status(result: ScanResult, config: Config, fail_on_unknown: bool) -> int:
    """0, 1 or 2 as the design says."""
    if result.errors or any(c.fatal for c in config.complaints):
        return 2
    launches = result.summary.get("launches", {"found": 0, "followed": 0})
    if fail_on_unknown and launches["followed"] < launches["found"]:
        return 1
    if config.fail_on == "never":
        return 0
    return int(result.worst() >= SEVERITIES.index("error" if config.fail_on == "error" else "warning"))
