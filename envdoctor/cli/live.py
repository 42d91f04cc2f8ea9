"""`envdoctor live`: examine this node, a recorded one or a running job, and judge what is really there."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from envdoctor.core.errors import UserError
from envdoctor.core.findings import SEVERITIES
from envdoctor.engine import selected, unknown_selectors
from envdoctor.knowledge.files import suggestion
from envdoctor.knowledge.rulebook import Rule, load_rulebook
from envdoctor.node.live.examination import Examination
from envdoctor.node.live.progress import progress
from envdoctor.node.live.run import LiveRequest, examine_node
from envdoctor.project import config as configuration
from envdoctor.reports.base import tell
from envdoctor.reports.node.formats import FORMATS, node_format

DESCRIPTION = """
Examines this node: driver, ROCm and CUDA, GPUs and their links, the collectives library that torch really loads,
torch, limits, and the environment of this process with the library's conf files; then judges all of it. Reads and
asks, and changes nothing.
"""
EPILOG = """
exit status: 0 nothing at or above --fail-on, 1 something (no GPU is something), 2 what was asked for could not be done
"""

MOST_GPUS = 1024
"""GPUs of one node; 64 is an MI300X platform in CPX."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of `live`."""
    parser.description, parser.epilog = DESCRIPTION, EPILOG
    depth = parser.add_mutually_exclusive_group()
    depth.add_argument("--no-torch", action="store_true", help="files only, no torch, no smoke test (job prologs)")
    depth.add_argument("--no-smoke", action="store_true", help="ask torch, and run no smoke test")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--recorded", metavar="DIR", type=Path, help="examine a recorded node instead of this one")
    what.add_argument("--pid", metavar="N", type=int, help="a running job: environment, libraries, all its ranks")
    parser.add_argument("--record", metavar="DIR", type=Path, help="also write a recorded tree, names replaced")
    parser.add_argument("--script", metavar="FILE", type=Path, help="also judge a launch script against this node")
    parser.add_argument("--gpus", metavar="N", type=_count, help="how many GPUs this node should have")
    parser.add_argument("--cpu", action="store_true", help="smoke test on gloo: exercises the harness, no GPU")
    parser.add_argument("--thorough", action="store_true", help="smoke test with more sizes, repeats and toggles")
    parser.add_argument("--save", metavar="FILE", type=Path, help="keep the hashes of the smoke test")
    parser.add_argument("--against", metavar="FILE", type=Path, help="compare with hashes that were kept")
    parser.add_argument("--level", choices=configuration.LEVELS, help="how much reproducibility is wanted")
    parser.add_argument("--select", type=_words, metavar="RULES", help="only these rules: names, ids or ED7")
    parser.add_argument("--ignore", type=_words, metavar="RULES", help="all but these rules")
    parser.add_argument("--fail-on", choices=configuration.FAIL_ON, help="exit status 1 from this severity on")
    parser.add_argument("--format", choices=sorted(FORMATS), default="text", help="how to report")
    parser.add_argument("--output", metavar="FILE", type=Path, help="write the report to a file")
    parser.add_argument("--config", metavar="FILE", type=Path, help="this configuration file, and no other")
    parser.add_argument("--details", action="store_true", help="every fact, with where it was read; hints too")
    parser.add_argument("--hints", action="store_true", help="show hints (severity info) too")


def _words(text: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in text.split(",") if word.strip())


def _count(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and 0 < int(text[:9]) <= MOST_GPUS):
        raise argparse.ArgumentTypeError(f"{text!r} is no number from 1 to {MOST_GPUS}")
    return int(text)


def run(arguments: argparse.Namespace) -> int:
    """Examine, report, and say by the exit status whether something counts."""
    config = _config(arguments)
    if arguments.record and arguments.recorded:
        raise UserError("--record writes what is examined live; --recorded is no live node")
    with progress() as told:
        request = LiveRequest(
            arguments.recorded, arguments.record, "files" if arguments.no_torch else "torch", arguments.pid,
            arguments.script, config.level, _rules(config), gpus=config.gpus or None, told=told,
        )  # fmt: skip
        examination = examine_node(request)
    examination.smoke = _smoke(arguments, examination)
    _write(arguments, examination)
    return _status(examination, config.fail_on)


def _config(arguments: argparse.Namespace) -> configuration.Config:
    """The configuration of the current folder, with what the command line says over it."""
    if arguments.config is not None and not arguments.config.is_file():
        raise UserError(f"{arguments.config}: no such configuration file")
    config = configuration.load(Path(), arguments.config)
    if fatal := [c for c in config.complaints if c.fatal]:
        raise UserError(f"{fatal[0].place.path}: {fatal[0].message}")
    return config.over(
        level=arguments.level,
        select=arguments.select,
        ignore=arguments.ignore,
        fail_on=arguments.fail_on,
        gpus=arguments.gpus,
    )


def _rules(config: configuration.Config) -> list[Rule]:
    """The selected rules; a selector that means nothing cannot be met."""
    rulebook = load_rulebook()
    for word in unknown_selectors(rulebook, (*config.select, *config.ignore)):
        names = [name for rule in rulebook for name in (rule.id, rule.name)]
        raise UserError(f"no rule is named {word!r}{suggestion(word, names)} (`envdoctor rules` lists them)")
    return selected(rulebook, config.select, config.ignore)


def _smoke(arguments: argparse.Namespace, examination: Examination) -> str:
    """Run the smoke test; what it showed, or why there was none."""
    if arguments.recorded:
        return "the smoke test was not run: a recorded node cannot run one"
    if arguments.no_torch or arguments.no_smoke or arguments.pid:
        return "the smoke test was not run: it was not asked for"
    if not examination.node.devices and not arguments.cpu:
        return "the smoke test was not run: there is no GPU (--cpu exercises the harness on gloo)"
    from envdoctor.node.live.progress import progress_text
    from envdoctor.node.live.smoke import SmokeOptions, add_smoke_test

    colour = arguments.output is None and sys.stdout.isatty() and "NO_COLOR" not in os.environ
    with progress_text("the smoke test") as told:
        options = SmokeOptions(arguments.cpu, arguments.thorough, arguments.save, arguments.against, colour, told)
        add_smoke_test(examination, options)
    return examination.smoke


def _write(arguments: argparse.Namespace, examination: Examination) -> None:
    """The report to where it was asked for; what went wrong to standard error."""
    for error in examination.errors:
        tell(error)
    encoding = (sys.stdout.encoding or "ascii") if arguments.output is None else "utf-8"
    report = node_format(
        arguments.format, colour=arguments.output is None and sys.stdout.isatty() and "NO_COLOR" not in os.environ,
        details=arguments.details, hints=arguments.hints, ascii_only=not encoding.lower().startswith("utf"),
    )  # fmt: skip
    text = report.render(examination)
    if arguments.output is None:
        sys.stdout.write(text.encode(encoding, "backslashreplace").decode(encoding))
        return
    try:
        arguments.output.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UserError(f"{arguments.output}: cannot be written: {error.strerror}") from error


def _status(examination: Examination, fail_on: str) -> int:
    """0, 1 or 2 as the design says. A finding that an experiment refuted leaves the count."""
    if examination.errors:
        return 2
    if fail_on == "never":
        return 0
    least = SEVERITIES.index("error" if fail_on == "error" else "warning")
    counts = [f for f in examination.findings if f.confirmation is None or f.confirmation.state != "refuted"]
    return int(any(SEVERITIES.index(f.severity) >= least for f in counts))
