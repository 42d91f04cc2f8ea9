"""A traced run as JSON, and as a table for the terminal."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath
from typing import Any

from envdoctor.core.credentials import MASKED, is_credential
from envdoctor.core.numbers import counted
from envdoctor.node.trace.merge import Asked, Late, Run, TracedSetting
from envdoctor.reports.base import printable

VERSION = 1
GENERATED_CODE = "(generated code)"


def as_json(run: Run, command: Sequence[str], limits: Sequence[str]) -> dict[str, Any]:
    """The report of a run; an empty `asked` means never asked for in this run."""
    return {
        "version": VERSION,
        "command": masked_command(command),
        "settings": [_setting(setting) for setting in run.settings],
        "limits": list(limits),
    }


def _setting(setting: TracedSetting) -> dict[str, Any]:
    name = setting.variable
    return {
        "variable": name,
        "value": shown_value(name, setting.value),
        "asked": [
            {
                "library": asked.library or GENERATED_CODE,
                "rank": asked.rank,
                "seconds": round(asked.seconds, 6),
                "count": asked.count,
                "value": shown_value(name, asked.value),
            }
            for asked in setting.asked
        ],
        "late": bool(setting.late),
        "ranks": list(setting.ranks),
        "set": [
            {
                "library": given.library or GENERATED_CODE,
                "rank": given.rank,
                "seconds": round(given.seconds, 6),
                "value": shown_value(name, given.value),
            }
            for given in setting.given
        ],
    }


def shown_value(name: str, value: str | None) -> str | None:
    """A value as a report may carry it."""
    return MASKED if value is not None and is_credential(name, value) else value


def masked_command(command: Sequence[str]) -> list[str]:
    """The command's words, without what looks like a password or key."""
    shown, flag = [], ""
    for word in command:
        name, _, value = word.partition("=")
        secret = is_credential(_as_name(flag), word) or (value and is_credential(_as_name(name), value))
        shown.append(f"{name}={MASKED}" if secret and value else MASKED if secret else word)
        flag = word if word.startswith("-") and "=" not in word else ""
    return shown


def _as_name(flag: str) -> str:
    return flag.lstrip("-").replace("-", "_").upper() if flag.startswith("-") else flag


def as_text(run: Run, limits: Sequence[str]) -> str:
    """A table of the settings and the limits of the trace, safe for a terminal."""
    rows = [(setting.variable, _shown(setting), verdict(setting, run.ranks)) for setting in run.settings]
    widths = [min(max([len(row[at]) for row in rows], default=0), 40) for at in (0, 1)]
    lines = [summary(run), ""] if rows else [summary(run)]
    for name, value, texts in rows:
        lines += [f"  {name:<{widths[0]}}  {value:<{widths[1]}}  {texts[0]}"]
        lines += [f"  {'':<{widths[0]}}  {'':<{widths[1]}}  {text}" for text in texts[1:]]
    lines += ["", "What this trace cannot tell:", *(f"  - {limit}" for limit in limits)]
    return "".join(printable(line).replace("\n", "\\n").replace("\r", "\\r") + "\n" for line in lines)


def summary(run: Run) -> str:
    """One line: how many settings, how many of them asked for."""
    given = [setting for setting in run.settings if setting.value is not None]
    asked = sum(bool(setting.asked) for setting in given)
    ranks = f", {counted(len(run.ranks), 'rank')}" if run.ranks else ""
    if not given:
        return f"envdoctor trace: no setting that the catalogue knows was found{ranks}"
    settings = counted(len(given), "setting")
    return f"envdoctor trace: {settings}, {asked} asked for, {len(given) - asked} never asked for{ranks}"


def verdict(setting: TracedSetting, ranks: Sequence[int]) -> list[str]:
    """What became of a setting, in words, the worst first."""
    parts = [*_too_late(setting.late), *_partial(setting, ranks)]
    late = {(item.library, item.rank) for item in setting.late}
    parts += _askers([asked for asked in setting.asked if (asked.library, asked.rank) not in late])
    return parts if setting.asked else [*parts, "never asked for in this run"]


def _shown(setting: TracedSetting) -> str:
    value = shown_value(setting.variable, setting.value)
    return "(not set)" if value is None else value if len(value) <= 40 else value[:37] + "..."


def _too_late(late: Sequence[Late]) -> Iterator[str]:
    for library in dict.fromkeys(item.library for item in late):
        items = [item for item in late if item.library == library]
        first = items[0]
        ranks = [item.rank for item in items if item.rank is not None]
        where = f" ({_ranks(ranks)})" if ranks else ""
        yield (
            f"TOO LATE for {_file_name(library)}{where}: it asked at {first.asked:.4f} s, the variable was set at "
            f"{first.given:.4f} s, and it did not ask again"
        )


def _partial(setting: TracedSetting, ranks: Sequence[int]) -> Iterator[str]:
    if ranks and setting.value is not None and len(setting.ranks) < len(ranks):
        yield f"set only in {_ranks(setting.ranks)} of {len(ranks)}" if setting.ranks else "set in no rank"


def _askers(asked: Sequence[Asked]) -> Iterator[str]:
    groups: dict[str, list[Asked]] = defaultdict(list)
    for item in asked:
        groups[item.library].append(item)
    for library, items in groups.items():
        ranks = {item.rank for item in items if item.rank is not None}
        times = sum(item.count for item in items)
        of_ranks = f", {_ranks(sorted(ranks))}" if ranks else ""
        unset = "" if any(item.value is not None for item in items) else ", where it was not set"
        yield f"asked for by {_file_name(library)} at {items[0].seconds:.4f} s ({times}x{of_ranks}){unset}"


def _ranks(ranks: Sequence[int]) -> str:
    """`rank 3`, `ranks 0-2, 5`."""
    runs: list[list[int]] = []
    for rank in sorted(set(ranks)):
        if runs and rank == runs[-1][-1] + 1:
            runs[-1].append(rank)
        else:
            runs.append([rank])
    text = ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)
    return f"rank {text}" if len(set(ranks)) == 1 else f"ranks {text}"


def _file_name(library: str) -> str:
    return PurePosixPath(library).name or GENERATED_CODE
