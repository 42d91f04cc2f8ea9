"""`envdoctor scan --fix`, `--diff` and `--add-ignores`: changes made, shown, or kept from being needed."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from envdoctor.core.errors import UserError
from envdoctor.core.numbers import counted
from envdoctor.core.regexes import regex
from envdoctor.fixes import apply, ignores, writing
from envdoctor.fixes.apply import Judge, Made
from envdoctor.fixes.writing import Change
from envdoctor.project.discovery import Found
from envdoctor.reports.base import printable, tell

_LINE = regex(rb"[^\n]*\n|[^\n]+")


def write(arguments: argparse.Namespace, judge: Judge, judge_new: Judge, found: Found) -> list[str]:
    """Write what was asked for, and say on standard error what was done; the report is about what is left.

    What could not be written is returned; all other files are written.
    """
    made = _changes(arguments, judge, judge_new, found.files)
    allowed = writing.trees(arguments.paths)
    written = [(change.path, writing.write(found.root, change, allowed)) for change in made.changes]
    errors = [f"{path}: not written: {reason}" for path, reason in written if reason]
    for reason in made.refused:
        tell(reason)
    what = [f"{made.fixed} fixed"] if made.fixed else []
    what += [f"{made.ignored} ignored by new comments"] if made.ignored else []
    if files := len(made.changes) - len(errors):
        tell(f"{', '.join(what)}; {counted(files, 'file')} written")
    return errors


def show(arguments: argparse.Namespace, judge: Judge, judge_new: Judge, found: Found) -> int:
    """A unified diff on standard output, in the bytes of the files: 1 where something would change, 2 on errors."""
    import difflib

    made = _changes(arguments, judge, judge_new, found.files)
    errors = [*found.errors, *made.errors]
    out = bytearray()
    for change in made.changes:
        old, new = _LINE.findall(change.before), _LINE.findall(change.after)
        was, becomes = (f"{side}/{change.path}".encode("utf-8", "surrogateescape") for side in "ab")
        for line in difflib.diff_bytes(difflib.unified_diff, old, new, was, becomes):
            out += line if line.endswith(b"\n") else line + b"\n\\ No newline at end of file\n"
    for message in (*errors, *made.refused):
        tell(message)
    if sys.stdout.isatty():
        sys.stdout.write("".join(f"{printable(line)}\n" for line in out.decode("utf-8", "replace").split("\n")[:-1]))
    else:
        sys.stdout.flush()
        sys.stdout.buffer.write(bytes(out))
    return 2 if errors else int(bool(made.changes))


def _changes(arguments: argparse.Namespace, judge: Judge, judge_new: Judge, files: Sequence[str]) -> Made:
    """What was asked for, in memory: fixes first, then comments for what they and the baseline leave."""
    if arguments.unsafe_fixes and not (arguments.fix or arguments.diff):
        raise UserError("--unsafe-fixes goes with --fix or --diff")
    fixing = arguments.fix or not arguments.add_ignores
    made = apply.make(judge, files, arguments.unsafe_fixes) if fixing else Made()
    if not arguments.add_ignores:
        return made
    now = {change.path: change for change in made.changes}
    more = ignores.add(judge_new, files, {path: change.after for path, change in now.items()})
    for change in more.changes:
        before = now[change.path].before if change.path in now else change.before
        now[change.path] = Change(change.path, before, change.after)
    return Made(list(now.values()), made.fixed, [*made.refused, *more.refused], more.ignored, more.errors)
