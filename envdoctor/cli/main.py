"""Arguments, exit status, and the one error boundary."""

from __future__ import annotations

import gc
import os
import sys

from envdoctor.cli.arguments import command, parser
from envdoctor.cli.isolation import leave_out_current_folder
from envdoctor.core import streams
from envdoctor.core.errors import UserError as UserError

TYPE_CHECKING = False
if TYPE_CHECKING:  # a scan that finds nothing new is answered before any of these is needed
    import argparse
    from collections.abc import Sequence


def _run(chosen: str | None, words: Sequence[str], given: argparse.Namespace | None = None) -> int:
    arguments = given or parser(chosen).parse_args(words)
    status: int = command(arguments.command).run(arguments)
    return status


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit status."""
    streams.complete()
    leave_out_current_folder()
    # Facts live until the end and nothing holds cycles worth a search for them every 700 objects: a fifth of a scan.
    gc.set_threshold(2_000_000)
    words = list(sys.argv[1:] if argv is None else argv)
    try:
        with streams.StandardOutput(sys.stdout):
            status = _status(words)
    except SystemExit as end:  # of argparse, which has said why
        raise SystemExit(streams.finished(end.code if isinstance(end.code, int) else 0)) from None
    return streams.finished(status)


def _status(words: Sequence[str]) -> int:
    """The exit status of a command. Whatever goes wrong ends here, in a line on standard error and never in 1."""
    chosen = next((w for w in words if not w.startswith("-")), None)
    try:
        _refuse_ambiguous(words)
        if words[:1] == ["scan"]:
            from envdoctor.cli import fast_path

            with streams.InOrder():
                return fast_path.answer(words[1:], lambda given: _run(chosen, words, given))
        return _run(chosen, words)
    except UserError as error:
        streams.say(str(error))
    except KeyboardInterrupt:
        streams.say("stopped")
        return 130
    except BrokenPipeError:
        return streams.NO_READER
    except streams.Undeliverable as error:
        return streams.not_delivered(error)
    except Exception as error:
        _tell(error)
    return streams.NOT_DONE


def _refuse_ambiguous(words: Sequence[str]) -> None:
    """Refuse an option that is the name of a file here as well: who names files by a list would not have meant it.

    pre-commit, `xargs` and `*` hand on names as they are, and a stranger's file can be named `--output=/etc/profile`.
    """
    for word in words:
        if word == "--":
            return
        if word.startswith("-") and word != "-" and os.path.lexists(word):
            raise UserError(f"{word}: an option, and a file here has this name: write ./{word}, or -- before all files")


def _is_folder_gone() -> bool:
    try:
        os.getcwd()  # noqa: PTH109
    except FileNotFoundError:
        return True
    return False


def _tell(error: Exception) -> None:
    """Say what an error of ours was. Where even that fails, as it may without memory, say that there was one."""
    try:
        if isinstance(error, FileNotFoundError) and _is_folder_gone():
            streams.say("the current folder is gone: start again in one that is there")
            return
        from envdoctor.core.internal_errors import advice, described

        what = described(error)
        streams.say(f"internal error: {what}. {advice(what)}")
    except Exception:
        os.write(2, b"envdoctor: internal error, and no memory to say which\n")
