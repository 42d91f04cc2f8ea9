"""What an experiment left behind, read and classified: ended well, refused, hung, died, or failed."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from envdoctor.node.logs.nccl import DebugLog, read_logs
from envdoctor.node.smoke.model import Experiment, ExperimentResult, RankResult, Status
from envdoctor.node.smoke.run.driver import ending, read_text

FRAME = re.compile(r'File "(?P<path>[^"]*)", line (?P<line>\d+) in (?P<function>\S+)')
REFUSED = ("invalid usage", "ncclInvalidUsage", "ncclInvalidArgument", "no algorithm/protocol available")
AFTERMATH = ("Connection closed", "connection closed", "closed by remote", "Connection reset", "Broken pipe")
"""What the other ranks say when one has gone: a consequence, never the cause."""


def result_of(experiment: Experiment, outcomes: Sequence[Mapping[str, Any]], directory: Path, seconds: float,
              trace: str = "") -> ExperimentResult:  # fmt: skip
    """One experiment's result out of how its ranks ended and what they wrote."""
    ranks = tuple(read_rank(outcome, directory) for outcome in outcomes)
    log = debug_log(directory)
    status, reason = classify(ranks, log, experiment.timeout, directory)
    return ExperimentResult(experiment, status, ranks, reason, seconds, log, trace)


def debug_log(directory: Path) -> DebugLog:
    """The library's debug files of all ranks, and their stdout, where older releases print the banner."""
    files = [*sorted(directory.glob("*.log")), *sorted(directory.glob("rank-*.out"))]
    return read_logs((path.name, read_text(path)) for path in files)


def read_rank(outcome: Mapping[str, Any], directory: Path) -> RankResult:
    """What one rank wrote, up to the line at which it ended."""
    rank = int(outcome["rank"])
    found = RankLines(read_text(directory / f"rank-{rank}.jsonl"))
    return RankResult(
        rank, int(outcome["pid"]), outcome["exit"], outcome["signal"], bool(outcome["hung"]),
        bool(outcome.get("unkillable")), float(outcome["seconds"] or 0), found.done, found.last,
        found.error, found.hashes, found.sha256, found.wrong, found.communicator, found.cases, found.peak,
        tuple(found.libraries),
    )  # fmt: skip


class RankLines:
    """The lines of one rank's file; a last line that was cut off is left out."""

    def __init__(self, text: str) -> None:
        self.hashes: dict[str, tuple[str, ...]] = {}
        self.sha256: dict[str, tuple[str, ...]] = {}
        self.wrong: dict[str, int] = {}
        self.libraries: list[dict[str, object]] = []
        self.done, self.last, self.error = False, "start", ""
        self.communicator = self.cases = 0.0
        self.peak = 0
        for line in text.splitlines():
            if line.endswith("}"):
                self.take(json.loads(line))

    def take(self, entry: Mapping[str, Any]) -> None:
        """Take one line."""
        event = entry["event"]
        if event == "case":
            case = entry["case"]
            self.hashes[case], self.sha256[case] = tuple(entry["hashes"]), tuple(entry["sha256"])
            self.wrong[case] = entry["wrong"]
            self.cases += entry["seconds"]
        elif event == "begin":
            self.last = entry["case"]
        elif event == "communicator":
            self.communicator, self.libraries, self.last = entry["at"], entry["libraries"], "communicator"
        elif event == "error":
            self.error = entry["text"]
        elif event == "done":
            self.done, self.peak, self.last = True, entry["peak"], "done"
        elif event == "group":
            self.last = "making the communicator"


def classify(ranks: Sequence[RankResult], log: DebugLog, timeout: float, directory: Path) -> tuple[Status, str]:
    """How an experiment ended, and why: the first cause, not what the other ranks said after it."""
    if ranks and all(rank.exit == 0 and rank.done for rank in ranks):
        return "ok", ""
    killed = [rank for rank in ranks if rank.signal is not None and not rank.hung]
    if killed:
        first = min(killed, key=lambda rank: rank.seconds)
        words = ending({"signal": first.signal})
        return "died", f"rank {first.rank} was ended by {words} in {first.last}{killer(first.signal)}"
    failed = [rank for rank in ranks if rank.exit not in (0, None) and not rank.hung]
    if failed:
        return failure(failed, log, directory)
    return "hung", hang(ranks, timeout, directory)


def killer(number: int | None) -> str:
    """Who usually sends a SIGKILL."""
    return " (the kernel's out-of-memory killer sends this one)" if number == 9 else ""


def failure(failed: Sequence[RankResult], log: DebugLog, directory: Path) -> tuple[Status, str]:
    """The cause where ranks ended with an error."""
    first = min(failed, key=lambda rank: (is_aftermath(rank.error), rank.seconds))
    stderr = read_text(directory / f"rank-{first.rank}.err").strip().splitlines()
    text = first.error or (stderr[-1] if stderr else ending({"exit": first.exit}))
    refusal = next((item for item in log.refusals if item.used is None), None)
    if refusal is not None:
        given = f"{refusal.name}={refusal.given}" if refusal.name else refusal.given
        return "refused", f"the library refuses {given}: {refusal.text}"
    warning = next((note.text for note in log.warnings if not is_aftermath(note.text)), "")
    status: Status = "refused" if any(word in text for word in REFUSED) else "error"
    if not first.error and not stderr:
        status = "died"
    return status, f"rank {first.rank} in {first.last}: {warning or shortened(text)}"


def is_aftermath(text: str) -> bool:
    """Whether a message only says that another rank has gone."""
    return any(word in text for word in AFTERMATH)


def shortened(text: str) -> str:
    """The telling part of torch's long messages: what stands after `Last error:`, or the first line."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if "Last error:" in lines[:-1]:
        return lines[lines.index("Last error:") + 1]
    return lines[0] if lines else ""


def hang(ranks: Sequence[RankResult], timeout: float, directory: Path) -> str:
    """Where each rank stood when the time was up, ranks at one place together."""
    places: dict[str, list[str]] = {}
    for rank in ranks:
        if rank.hung:
            where = stack_top(read_text(directory / f"rank-{rank.rank}.err")) or "native code"
            places.setdefault(f"{where} ({rank.last})", []).append(str(rank.rank))
    stuck = [str(rank.rank) for rank in ranks if rank.unkillable]
    words = "; ".join(f"rank {', '.join(numbers)} in {where}" for where, numbers in places.items())
    tail = f"; rank {', '.join(stuck)} could not be killed and is left in the kernel" if stuck else ""
    return f"no end within {timeout:.0f} s: {words}{tail}"


def stack_top(text: str) -> str:
    """The innermost Python frame that faulthandler wrote."""
    found = FRAME.search(text)
    return f"{found['function']}, {found['path'].rsplit('/', 1)[-1]}:{found['line']}" if found else ""
