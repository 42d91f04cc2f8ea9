"""`envdoctor rules`: list the rules, and validate and test files of rules and of the catalogue."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from envdoctor.core.numbers import counted
from envdoctor.knowledge.catalog.model import CatalogError
from envdoctor.knowledge.rule_errors import RuleError
from envdoctor.knowledge.rulebook import Rule, load_rulebook
from envdoctor.reports.base import printable

if TYPE_CHECKING:
    from envdoctor.cli.rule_examples import Outcome
    from envdoctor.knowledge.own_files import OwnFile


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of `rules`."""
    parser.add_argument("--format", choices=("text", "json"), default="text", help="how to list them")
    group = parser.add_mutually_exclusive_group()
    files = "rule or catalogue files"
    group.add_argument("--validate", nargs="+", type=Path, metavar="FILE", help=f"say what is wrong with {files}")
    group.add_argument("--test", nargs="+", type=Path, metavar="FILE", help=f"run the examples in {files}")


def run(arguments: argparse.Namespace) -> int:
    """List all rules, or judge files: 1 where one is invalid or an example fails."""
    if paths := arguments.validate or arguments.test:
        return judge_files(paths, test=bool(arguments.test))
    rules = load_rulebook()
    if arguments.format == "json":
        sys.stdout.write(json.dumps([as_json(rule) for rule in rules], indent=2) + "\n")
        return 0
    for rule in rules:
        print(f"{rule.id}  {rule.severity:<7}  {rule.name:<28}  {rule.title}")
    return 0


def as_json(rule: Rule) -> dict[str, Any]:
    """A rule without its examples."""
    keys = ("id", "name", "title", "severity", "confidence", "level", "check", "since", "why", "fix", "exceptions")
    return {key: getattr(rule, key).strip() for key in keys}


def judge_files(paths: Sequence[Path], test: bool) -> int:
    """Validate files, each by itself and then together; where all are valid, run their examples if asked to."""
    from envdoctor.cli import rule_examples
    from envdoctor.knowledge import own_files

    read = [_read(path) for path in paths]
    files = [file for file in read if file is not None]
    try:
        book, catalog = own_files.together(files)
    except (RuleError, CatalogError) as error:
        print(f"invalid  {printable(str(error))}")
        return 1
    failed = 0
    for file in files:
        print(f"valid    {printable(str(file.path))}: {_what(file)}")
        if test and file.rule is not None:
            failed += sum(_tell(file, outcome) for outcome in rule_examples.try_examples(file.rule, book, catalog))
    return int(bool(failed or len(files) < len(read)))


def _read(path: Path) -> OwnFile | None:
    """A file, or None where it is invalid, which is said."""
    from envdoctor.knowledge import own_files

    try:
        return own_files.read(path)
    except (RuleError, CatalogError) as error:
        print(f"invalid  {printable(str(error))}")
        return None


def _what(file: OwnFile) -> str:
    """`rule ED950 my-rule, 2 examples`, or `3 variables, 1 prefix`."""
    if file.rule is not None:
        return f"rule {file.rule.id} {printable(file.rule.name)}, {counted(len(file.rule.examples), 'example')}"
    words = {"library": "libraries", "prefix": "prefixes"}
    parts = [
        (key, len(file.content[key])) for key in ("library", "prefix", "parser", "variable") if key in file.content
    ]
    return ", ".join(f"1 {key}" if n == 1 else f"{n} {words.get(key, key + 's')}" for key, n in parts)


def _tell(file: OwnFile, outcome: Outcome) -> bool:
    """Print how an example went; whether it failed."""
    where = f"{printable(str(file.path))}: example {outcome.number} ({outcome.kind})"
    if outcome.skipped:
        print(f"skipped  {where}: {printable(outcome.skipped)}")
    elif not outcome.failed:
        print(f"passed   {where}")
    for error in outcome.errors:
        print(f"failed   {where}: {printable(error)}")
    for label, places in (("expected, not found", outcome.missing), ("found, not expected", outcome.surplus)):
        for line, variable in places:
            about = "" if variable is None else f" about {printable(variable)}"
            print(f"failed   {where}: {label}: line {line}{about}")
    return outcome.failed
