"""Which formats go where: `--format NAME[:FILE]`, as often as is wanted, and `--output FILE`."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from envdoctor.core.errors import UserError
from envdoctor.engine import ScanResult
from envdoctor.reports.findings import formats


class ReportOutput(NamedTuple):
    """A format and the file it is written to; None is standard output."""

    format: str
    path: Path | None = None


def output(text: str) -> ReportOutput:
    """`sarif:out.sarif` or `text`, for argparse."""
    import argparse

    name, colon, file = text.partition(":")
    if name not in formats.FORMATS:
        raise argparse.ArgumentTypeError(f"{name!r} is not one of {', '.join(sorted(formats.FORMATS))}")
    if colon and not file:
        raise argparse.ArgumentTypeError(f"{text!r} names no file")
    return ReportOutput(name, Path(file) if file else None)


def planned(given: Sequence[ReportOutput], file: Path | None, statistics: bool = False) -> list[ReportOutput]:
    """The outputs of a run. `file` (`--output`) is where the one format without a file of its own goes.

    `UserError`: two formats want the same place, `--output` has no format left, or there are `statistics` in none.
    """
    outputs = list(given) or [ReportOutput("text")]
    if statistics:
        outputs = [_counting(one) for one in outputs]
    if file is not None:
        if all(o.path is not None for o in outputs):
            raise UserError("--output: each --format has a file of its own already")
        outputs = [o if o.path is not None else ReportOutput(o.format, file) for o in outputs]
    seen: dict[Path | None, str] = {}
    for wanted in outputs:
        if wanted.path in seen:
            where = "standard output" if wanted.path is None else str(wanted.path)
            raise UserError(f"--format: {seen[wanted.path]} and {wanted.format} both go to {where}; use FORMAT:FILE")
        seen[wanted.path] = wanted.format
    return outputs


def _counting(wanted: ReportOutput) -> ReportOutput:
    """The form of a format that counts findings instead of listing them."""
    if wanted.format not in formats.COUNTING:
        raise UserError(f"--statistics: {wanted.format} lists findings; use {' or '.join(formats.COUNTING)}")
    return ReportOutput(formats.COUNTING[wanted.format], wanted.path)


def coloured() -> bool:
    """Whether standard output takes colours: a terminal, and nobody asked for none (https://no-color.org)."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def write(outputs: Sequence[ReportOutput], result: ScanResult) -> None:
    """Render and write each; `UserError` where a file cannot be written."""
    for wanted in outputs:
        text = formats.report(wanted.format, wanted.path is None and coloured()).render(result)
        # Names of files that are not UTF-8 must not end a scan: what cannot be encoded is written as its code.
        if wanted.path is None:
            encoding = sys.stdout.encoding or "utf-8"
            sys.stdout.write(text.encode(encoding, "backslashreplace").decode(encoding))
            continue
        try:
            wanted.path.write_text(text, encoding="utf-8", errors="backslashreplace", newline="\n")
        except OSError as error:
            raise UserError(f"{wanted.path}: cannot be written: {error.strerror}") from error
