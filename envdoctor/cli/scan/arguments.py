"""The arguments of `envdoctor scan`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from envdoctor.project import config as configuration
from envdoctor.reports.findings.formats import FORMATS
from envdoctor.reports.outputs import output

if TYPE_CHECKING:
    import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """All arguments, in the order in which help shows them."""
    parser.add_argument("paths", nargs="*", metavar="PATH", help="files or folders to report on (default: .)")
    _what_to_judge(parser)
    _which_findings(parser)
    _how_to_report(parser)
    _instead_of_findings(parser)
    _fixes(parser)


def _words(text: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in text.split(",") if word.strip())


def _what_to_judge(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--target", help="judge against this: rocm-6.2,torch-2.4 (default: what the project says)")
    parser.add_argument("--level", choices=configuration.LEVELS, help="how much reproducibility is wanted")
    parser.add_argument("--config", metavar="FILE", type=Path, help="this configuration file, and no other")
    parser.add_argument("--exclude", type=_words, metavar="PATTERNS", help="folders and files to leave out")
    parser.add_argument("--force-exclude", action="store_true", help="leave them out even where they are named")
    parser.add_argument("--docs", action="store_true", help="read the code blocks of Markdown and reStructuredText too")
    stdin = "judge standard input as the content of this file"
    parser.add_argument("--no-cache", action="store_true", help="judge anew what did not change since an earlier scan")
    parser.add_argument("--stdin-filename", metavar="FILE", help=stdin)


def _which_findings(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--select", type=_words, metavar="RULES", help="only these rules: names, ids or ED1")
    parser.add_argument("--ignore", type=_words, metavar="RULES", help="all but these rules")
    parser.add_argument("--since", metavar="REV", help="only findings on lines changed since this commit of git")
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--baseline", metavar="FILE", type=Path, help="only what this baseline does not hold counts")
    group.add_argument("--write-baseline", metavar="FILE", type=Path, help="write what is found now as the baseline")
    parser.add_argument("--no-inline-ignores", action="store_true", help="report what ignore comments would silence")
    parser.add_argument("--hints", action="store_true", help="show hints (severity info) too")
    parser.add_argument("--fail-on", choices=configuration.FAIL_ON, help="exit status 1 from this severity on")
    unknown = "exit status 1 where a launch could not be followed to its ranks (--show-unknown)"
    parser.add_argument("--fail-on-unknown", action="store_true", help=unknown)


def _how_to_report(parser: argparse.ArgumentParser) -> None:
    formats = f"how to report, and where to: {', '.join(sorted(FORMATS))}; repeat for several (default: text)"
    parser.add_argument("--format", type=output, action="append", default=[], metavar="FORMAT[:FILE]", help=formats)
    parser.add_argument("--output", metavar="FILE", type=Path, help="write the format without a file to this one")
    parser.add_argument("--statistics", action="store_true", help="how often each rule speaks, in place of findings")


def _instead_of_findings(parser: argparse.ArgumentParser) -> None:
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--show-files", action="store_true", help="print the files that would be read")
    group.add_argument("--show-settings", action="store_true", help="print the configuration in force, and from where")
    group.add_argument("--show-target", action="store_true", help="print what files are judged against, and why")
    group.add_argument("--show-launches", action="store_true", help="print what starts what with which settings")
    group.add_argument("--show-unknown", action="store_true", help="print the launches that could not be followed")
    launches = "how two launches differ (FILE or FILE:LINE), what can change bits first"
    group.add_argument("--diff-launch", nargs=2, metavar=("A", "B"), help=launches)


def _fixes(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--fix", action="store_true", help="make the fixes that change nothing that works today")
    unsafe = "with --fix or --diff: those too that may change what a job does"
    parser.add_argument("--unsafe-fixes", action="store_true", help=unsafe)
    parser.add_argument("--diff", action="store_true", help="show what --fix would change, and change nothing")
    parser.add_argument("--add-ignores", action="store_true", help="write ignore comments for what is found")
