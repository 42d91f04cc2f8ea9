"""`envdoctor scan`: judge the settings in files."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from envdoctor import config as configuration
from envdoctor import discovery, reports
from envdoctor.catalog import load_catalog
from envdoctor.config import Config
from envdoctor.engine import Engine, Result, selected, unknown_selectors
from envdoctor.errors import UserError
from envdoctor.findings import SEVERITIES
from envdoctor.project import Project
from envdoctor.rulebook import Rule, Rulebook, load_rulebook
from envdoctor.rulefiles import suggestion
from envdoctor.targets import Target, TargetError, parse_target


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of `scan`."""
    parser.add_argument("paths", nargs="*", metavar="PATH", help="files or folders to report on (default: .)")
    parser.add_argument("--target", help="judge against this: rocm-6.2,torch-2.4 (default: what the project says)")
    parser.add_argument("--level", choices=configuration.LEVELS, help="how much reproducibility is wanted")
    parser.add_argument("--select", type=_words, metavar="RULES", help="only these rules: names, ids or ED1")
    parser.add_argument("--ignore", type=_words, metavar="RULES", help="all but these rules")
    parser.add_argument("--exclude", type=_words, metavar="PATTERNS", help="folders and files to leave out")
    parser.add_argument("--fail-on", choices=configuration.FAIL_ON, help="exit status 1 from this severity on")
    parser.add_argument("--format", choices=sorted(reports.FORMATS), default="text", help="how to report")
    parser.add_argument("--output", metavar="FILE", type=Path, help="write the report to a file")
    parser.add_argument("--config", metavar="FILE", type=Path, help="this configuration file, and no other")
    parser.add_argument("--hints", action="store_true", help="show hints (severity info) too")
    parser.add_argument("--no-inline-ignores", action="store_true", help="report what ignore comments would silence")


def _words(text: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in text.split(",") if word.strip())


def run(arguments: argparse.Namespace) -> int:
    """Scan, report, and say by the exit status whether something counts."""
    config = _config(arguments)
    rulebook = load_rulebook()
    rules = _rules(rulebook, config)
    project = _project(config, rules)
    found = discovery.find(arguments.paths, project.base, config.exclude)
    engine = Engine(project, load_catalog(), rulebook, rules, arguments.hints, not arguments.no_inline_ignores)
    engine.level, engine.levels = config.level, config.levels
    result = engine.judge(found.files, config.complaints)
    result.errors[:0] = found.errors
    _write(arguments, result)
    return _status(result, config)


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


def _project(config: Config, rules: list[Rule]) -> Project:
    """The project around what is scanned; paths are reported from the current folder."""
    target: Target | None = None
    if config.target:
        try:
            target = parse_target(config.target)
        except TargetError as error:
            raise UserError(f"--target: {error}") from error
    triggers = {t.encode() for rule in rules for t in rule.triggers} | set(load_catalog().triggers())
    return Project(Path().resolve(), config.root.resolve(), config.exclude, target, tuple(sorted(triggers)))


def _write(arguments: argparse.Namespace, result: Result) -> None:
    """The report to where it was asked for; what went wrong to standard error."""
    for error in result.errors:
        print(f"envdoctor: {reports.printable(error)}", file=sys.stderr)
    colour = arguments.output is None and sys.stdout.isatty() and "NO_COLOR" not in os.environ
    text = reports.report(arguments.format, colour).render(result)
    if arguments.output is None:
        sys.stdout.write(text)
        return
    try:
        arguments.output.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UserError(f"{arguments.output}: cannot be written: {error.strerror}") from error


def _status(result: Result, config: Config) -> int:
    """0, 1 or 2 as the design says."""
    if result.errors or any(c.fatal for c in config.complaints):
        return 2
    if config.fail_on == "never":
        return 0
    return int(result.worst() >= SEVERITIES.index("error" if config.fail_on == "error" else "warning"))
