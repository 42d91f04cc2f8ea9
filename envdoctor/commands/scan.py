"""`envdoctor scan`: judge the settings in files."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from envdoctor import config as configuration
from envdoctor import discovery, reports
from envdoctor.catalog import load_catalog
from envdoctor.config import Config
from envdoctor.engine import Engine, Result, selected, unknown_selectors
from envdoctor.errors import UserError
from envdoctor.findings import SEVERITIES
from envdoctor.project import Project
from envdoctor.reports import outputs
from envdoctor.reports.outputs import output
from envdoctor.rulebook import Rule, Rulebook, load_rulebook
from envdoctor.rulefiles import suggestion
from envdoctor.targets import Target, TargetError, parse_target

FIXES_SHOWN = {"json", "sarif"}
"""Formats that say how a finding can be put right, edit by edit."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of `scan`."""
    parser.add_argument("paths", nargs="*", metavar="PATH", help="files or folders to report on (default: .)")
    parser.add_argument("--target", help="judge against this: rocm-6.2,torch-2.4 (default: what the project says)")
    parser.add_argument("--level", choices=configuration.LEVELS, help="how much reproducibility is wanted")
    parser.add_argument("--select", type=_words, metavar="RULES", help="only these rules: names, ids or ED1")
    parser.add_argument("--ignore", type=_words, metavar="RULES", help="all but these rules")
    parser.add_argument("--exclude", type=_words, metavar="PATTERNS", help="folders and files to leave out")
    parser.add_argument("--fail-on", choices=configuration.FAIL_ON, help="exit status 1 from this severity on")
    formats = f"how to report, and where to: {', '.join(sorted(reports.FORMATS))}; repeat for several (default: text)"
    parser.add_argument("--format", type=output, action="append", default=[], metavar="FORMAT[:FILE]", help=formats)
    parser.add_argument("--output", metavar="FILE", type=Path, help="write the format without a file to this one")
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--baseline", metavar="FILE", type=Path, help="only what this baseline does not hold counts")
    group.add_argument("--write-baseline", metavar="FILE", type=Path, help="write what is found now as the baseline")
    parser.add_argument("--config", metavar="FILE", type=Path, help="this configuration file, and no other")
    parser.add_argument("--hints", action="store_true", help="show hints (severity info) too")
    parser.add_argument("--no-inline-ignores", action="store_true", help="report what ignore comments would silence")
    parser.add_argument("--docs", action="store_true", help="read the code blocks of Markdown and reStructuredText too")
    parser.add_argument("--show-launches", action="store_true", help="print what starts what with which settings")
    parser.add_argument("--fix", action="store_true", help="make the fixes that change nothing that works today")
    unsafe = "with --fix or --diff: those too that may change what a job does"
    parser.add_argument("--unsafe-fixes", action="store_true", help=unsafe)
    parser.add_argument("--diff", action="store_true", help="show what --fix would change, and change nothing")
    parser.add_argument("--add-ignores", action="store_true", help="write ignore comments for what is found")


def _words(text: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in text.split(",") if word.strip())


def run(arguments: argparse.Namespace) -> int:
    """Scan, report, and say by the exit status whether something counts."""
    wanted = outputs.planned(arguments.format, arguments.output)
    config = _config(arguments)
    rulebook = load_rulebook()
    rules = _rules(rulebook, config)
    project = _project(config, rules, arguments.docs)
    found = discovery.find(arguments.paths, project.base, config.exclude)
    if arguments.show_launches:
        return _show_launches(project, found.files)

    def judge(overlay: dict[str, bytes]) -> tuple[Engine, Result]:
        """Judge the files, some of them as they would be after fixes."""
        now, shown, comments = project.edited(overlay), arguments.hints, not arguments.no_inline_ignores
        engine = Engine(now, load_catalog(), rulebook, rules, shown, comments)
        engine.level, engine.levels = config.level, config.levels
        return engine, engine.judge(found.files, config.complaints)

    unwritten: list[str] = []
    if arguments.fix or arguments.unsafe_fixes or arguments.diff or arguments.add_ignores:
        from envdoctor.commands import scan_fix

        if arguments.diff:
            return scan_fix.show(arguments, judge, found)
        unwritten = scan_fix.write(arguments, judge, found)
        project = _project(config, rules, arguments.docs)  # what was read may have changed
    engine, result = judge({})
    if FIXES_SHOWN & {one.format for one in wanted}:
        from envdoctor.fixes.fixer import Fixer

        result.findings = Fixer(engine.project, engine.catalog).attach(result.findings)
    result.errors[:0] = [*found.errors, *unwritten]
    told = _against_baseline(arguments, result, found.files, rules)
    for message in (*result.errors, *told):
        print(f"envdoctor: {reports.printable(message)}", file=sys.stderr)
    outputs.write(wanted, result)
    return _status(result, config)


def _show_launches(project: Project, files: Sequence[str]) -> int:
    """Print the launch units of the files."""
    from envdoctor import units
    from envdoctor.launchers import load_launchers
    from envdoctor.units import show

    catalog = load_catalog()
    read = [facts for path in files if (facts := project.context(path)) is not None]
    built = units.build(project, read, catalog.variable)
    for line in show.lines(built, load_launchers(), catalog.variable):
        print(reports.printable(line))
    return 0


def _against_baseline(
    arguments: argparse.Namespace, result: Result, files: Sequence[str], rules: Sequence[Rule]
) -> list[str]:
    """Leave out what the baseline holds, or write it first; notices about it."""
    if arguments.baseline is None and arguments.write_baseline is None:
        return []
    from envdoctor import baseline

    scope = baseline.Scope(Path().resolve(), files, {rule.name for rule in rules})
    if arguments.baseline is not None:
        return baseline.apply(baseline.load(arguments.baseline), result, scope)
    if result.errors:
        raise UserError(f"{arguments.write_baseline}: not written: {result.errors[0]}")
    return baseline.apply(baseline.write(arguments.write_baseline, result, scope), result, scope)


def _config(arguments: argparse.Namespace) -> Config:
    """The configuration file, with what the command line says over it."""
    if arguments.config is not None and not arguments.config.is_file():
        raise UserError(f"{arguments.config}: no such configuration file")
    first = Path(arguments.paths[0]) if arguments.paths else Path()
    start = first if first.is_dir() else first.parent
    config = configuration.load(start if start.is_dir() else Path(), arguments.config)
    return config.over(
        target=arguments.target,
        level=arguments.level,
        levels={} if arguments.level else None,
        select=arguments.select,
        ignore=arguments.ignore,
        fail_on=arguments.fail_on,
        exclude=(*config.exclude, *arguments.exclude) if arguments.exclude else None,
    )


def _rules(rulebook: Rulebook, config: Config) -> list[Rule]:
    """The selected rules; a selector that means nothing cannot be met."""
    for word in unknown_selectors(rulebook, (*config.select, *config.ignore)):
        names = [name for rule in rulebook for name in (rule.id, rule.name)]
        raise UserError(f"no rule is named {word!r}{suggestion(word, names)} (`envdoctor rules` lists them)")
    return selected(rulebook, config.select, config.ignore)


def _project(config: Config, rules: list[Rule], docs: bool) -> Project:
    """The project around what is scanned; paths are reported from the current folder."""
    target: Target | None = None
    if config.target:
        try:
            target = parse_target(config.target)
        except TargetError as error:
            raise UserError(f"--target: {error}") from error
    triggers = {t.encode() for rule in rules for t in rule.triggers} | set(load_catalog().triggers())
    return Project(Path().resolve(), config.root.resolve(), config.exclude, target, tuple(sorted(triggers)), docs=docs)


def _status(result: Result, config: Config) -> int:
    """0, 1 or 2 as the design says."""
    if result.errors or any(c.fatal for c in config.complaints):
        return 2
    if config.fail_on == "never":
        return 0
    return int(result.worst() >= SEVERITIES.index("error" if config.fail_on == "error" else "warning"))
