"""Scripts run by real bash, whose launchers write down what they see, and whether the walk said the same of them."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from envdoctor.analysis.process.interpreter.slots import Alternative
from envdoctor.analysis.process.results import RankStart, Walked

NAMES = ("A", "B", "C", "D")
"""The variables that are compared, which the catalogue of these tests knows."""
BASH = shutil.which("bash")
LAUNCH = "torchrun train.py"
LONGEST_RUN = 5
"""Seconds a script may take."""
_RECORD = "\x01"
_WRITES = """#!/bin/sh
{ printf '\\001%s\\000' "$*"; /usr/bin/env -0; } >> "${0%/*}/../seen"
"""
_PASSES = """#!/bin/sh
exec "$@"
"""
_PROGRAMS = {"torchrun": _WRITES, "python": _WRITES, "srun": _PASSES, "external": "#!/bin/sh\nexit 0\n",
             "failing": "#!/bin/sh\nexit 1\n"}  # fmt: skip

Environment = Mapping[str, str]


class Ran(NamedTuple):
    """One launch as it happened: its arguments, and what of the compared variables it saw."""

    arguments: str
    sees: Environment


def is_recent() -> bool:
    """Whether there is a bash that works as the one which these tests were written with."""
    if BASH is None or not Path("/usr/bin/env").exists():
        return False
    shown = subprocess.run([BASH, "-c", "echo ${BASH_VERSINFO[0]} ${BASH_VERSINFO[1]}"], capture_output=True, text=True)
    return tuple(map(int, shown.stdout.split())) >= (5, 1)


class BashRuns:
    """A folder with launchers that write down what they see, and the runs of scripts with it."""

    def __init__(self, folder: Path) -> None:
        self._programs = folder / "bin"
        self._seen = folder / "seen"
        self._programs.mkdir(parents=True)
        for name, text in _PROGRAMS.items():
            program = self._programs / name
            program.write_text(text, encoding="utf-8")
            program.chmod(0o755)

    def run(self, tree: Path, outside: Environment) -> list[Ran]:
        """Run `run.sh` of a tree; the launches in their order."""
        self._seen.write_bytes(b"")
        environment = {"PATH": f"{self._programs}:/usr/bin:/bin", "HOME": str(tree), **outside}
        with suppress(subprocess.TimeoutExpired):  # a script that never ends has launched what it has launched
            subprocess.run(
                [BASH or "bash", "run.sh"], cwd=tree, env=environment, timeout=LONGEST_RUN, check=False,
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            )  # fmt: skip
        return list(_records(self._seen.read_text(encoding="utf-8", errors="surrogateescape")))


def _records(text: str) -> Iterator[Ran]:
    for record in text.split(_RECORD)[1:]:
        arguments, *lines = record.split("\0")
        pairs = dict(line.partition("=")[::2] for line in lines if "=" in line)
        yield Ran(arguments, {name: pairs[name] for name in NAMES if name in pairs})


def with_launch(text: str) -> str:
    """A script that ends in a launch, unless it holds one."""
    return text + ("\n" if "torchrun" in text or "train.py" in text else f"\n{LAUNCH}\n")


def arguments_of(start: RankStart) -> str:
    """The words of a launch as its program gets them."""
    words = [start.program, *start.arguments]
    return " ".join(words)


def told(start: RankStart) -> dict[str, str | None]:
    """What the walk is certain of: the value of a name, or None where it is not there; others are left out."""
    found: dict[str, str | None] = {}
    for name in NAMES:
        slot = start.slot(name)
        values = {_certain(one) for one in slot} if slot else {_Certain(not start.open, None)}
        one = values.pop() if len(values) == 1 else _Certain(False, None)
        if one.known:
            found[name] = one.value
    return found


class _Certain(NamedTuple):
    known: bool
    value: str | None


def _certain(alternative: Alternative) -> _Certain:
    if alternative.likely or alternative.exported == "maybe":
        return _Certain(False, None)
    if alternative.kind == "unset" or alternative.exported == "no":
        return _Certain(True, None)
    return _Certain(alternative.kind == "literal", alternative.text)


def covers(start: RankStart, name: str, value: str | None) -> bool:
    """Whether a start leaves room for what was seen of a name."""
    slot = start.slot(name)
    if not slot:
        return value is None or start.open
    return any(_leaves_room(one, value) for one in slot)


def _leaves_room(alternative: Alternative, value: str | None) -> bool:
    if alternative.likely and alternative.kind == "unset":
        return True
    there = alternative.kind != "unset" and alternative.exported != "no"
    if value is None:
        return not there or alternative.exported == "maybe"
    return there and (alternative.kind == "unknown" or alternative.likely or alternative.text == value)


def candidates(ran: Ran, starts: Sequence[RankStart]) -> list[RankStart]:
    """The starts of the walk that may be one that happened: those with its words, else all."""
    same = [start for start in starts if arguments_of(start) == ran.arguments]
    return same or list(starts)


def contradictions(happened: Sequence[Ran], result: Walked) -> list[str]:
    """What happened and no start of the walk leaves room for."""
    starts = [start for start in result.starts if not start.opaque]
    return [line for ran in happened if (line := _contradiction(ran, candidates(ran, starts)))]


def _contradiction(ran: Ran, starts: Sequence[RankStart]) -> str:
    if not starts:
        return ""  # not met: the walk says nothing of it
    if any(all(covers(start, n, ran.sees.get(n)) for n in NAMES) for start in starts):
        return ""
    shown = [{n: [a[:3] for a in start.slot(n)] for n in NAMES if start.slot(n)} for start in starts]
    return f"{ran.arguments}: bash has {dict(ran.sees)}, the walk {shown}"


def undecided(happened: Sequence[Ran], result: Walked) -> list[str]:
    """Where the walk is not certain of exactly what happened, launch by launch."""
    said = [told(start) for start in result.starts]
    real: list[dict[str, str | None]] = [{n: ran.sees.get(n) for n in NAMES} for ran in happened]
    return [] if said == real else [f"bash: {real}", f"walk: {said}"]
