"""Development entry: `python -m envdoctor.node.smoke --cpu`. The command for users is `envdoctor live`."""

from __future__ import annotations

import argparse
import json
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import cast, get_args

from envdoctor.node.smoke.compare import agreement, golden
from envdoctor.node.smoke.compare.matrix import matrix, render
from envdoctor.node.smoke.export import session_data
from envdoctor.node.smoke.model import Kind, Level, SmokeRequest, Suspect
from envdoctor.node.smoke.run.runner import SmokeSetup
from envdoctor.node.smoke.run.session import Session, run_smoke


def parser() -> argparse.ArgumentParser:
    """The arguments."""
    found = argparse.ArgumentParser("python -m envdoctor.node.smoke", description=__doc__)
    found.add_argument("--cpu", action="store_true", help="gloo on the CPU: exercises the harness only")
    found.add_argument("--python", default=sys.executable, help="the interpreter that torch is installed for")
    found.add_argument("--setting", action="append", default=[], metavar="NAME=VALUE")
    found.add_argument("--suspect", action="append", default=[], metavar="KIND:NAME[=VALUE]")
    found.add_argument("--level", choices=get_args(Level), default="run-to-run")
    found.add_argument("--thorough", action="store_true")
    found.add_argument("--sha256", action="store_true", help="check the hash on the host too")
    found.add_argument("--save", type=Path)
    found.add_argument("--against", type=Path)
    found.add_argument("--json", action="store_true")
    return found


def suspect(text: str) -> Suspect:
    """A suspect from `kind:NAME=value`."""
    kind, _, rest = text.partition(":")
    name, _, value = rest.partition("=")
    if kind not in get_args(Kind):
        raise ValueError(f"{kind} is none of {', '.join(get_args(Kind))}")
    return Suspect(name, cast("Kind", kind), value)


def text_report(session: Session) -> str:
    """What a person reads."""
    lines = [f"{verdict.rule}: {verdict.message}" for verdict in session.verdicts]
    lines += [
        f"{item.suspect.name} ({item.suspect.kind}): {item.state}: {item.reason}" for item in session.confirmations
    ]
    lines += [f"note: {note}" for note in session.notes]
    if session.results:
        lines += [session.label, render(matrix(session.results), sys.stdout.isatty())]
    for item in agreement.agreements(session.results):
        words = ", ".join(f"{world}: {item.letters[place]}" for place, world in enumerate(item.worlds))
        lines.append(f"{item.case} by number of ranks: {words}")
    if seen := agreement.blindness(session.results):
        lines.append(seen.sentence())
    lines += [session.claim] if session.claim else []
    return "\n".join(lines)


def compared(session: Session, path: Path) -> str:
    """The comparison with kept hashes, in words."""
    assert session.node is not None
    now = golden.golden(session.request, session.node, session.results)
    found = golden.against(golden.load(path), now)
    if found.refused:
        return "not comparable with the saved hashes: " + "; ".join(found.refused)
    return f"against the saved hashes: {len(found.differing)} of {found.compared} differ"


def stop(number: int, frame: FrameType | None) -> None:
    """Leave through the cleanup on SIGTERM too."""
    raise SystemExit(128 + number)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run; 0 no difference, 1 a verdict besides what is expected of the CPU, 2 nothing could be run."""
    options = parser().parse_args(arguments)
    signal.signal(signal.SIGTERM, stop)
    settings = dict(item.split("=", 1) for item in options.setting)
    suspects = tuple(suspect(item) for item in options.suspect)
    request = SmokeRequest(settings, suspects, options.level, options.thorough, sha256=options.sha256)
    session = run_smoke(request, SmokeSetup((options.python,), cpu=options.cpu))
    print(json.dumps(session_data(session), indent=1) if options.json else text_report(session))
    if session.node is None:
        return 2
    if options.against:
        print(compared(session, options.against))
    if options.save:
        golden.save(options.save, golden.golden(request, session.node, session.results))
    return int(any(verdict.reason != "cpu" for verdict in session.verdicts))


if __name__ == "__main__":
    sys.exit(main())
