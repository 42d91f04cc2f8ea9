"""What the words of a launcher tell of the job: nodes, ranks, devices, where they meet (`job` of a launcher file)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from envdoctor.analysis.process.interpreter.text import Text
from envdoctor.core.facts import Place
from envdoctor.core.numbers import whole
from envdoctor.core.regexes import regex
from envdoctor.knowledge.launch.find import Invocation
from envdoctor.knowledge.launch.records import JobFlag, LauncherCommand, Tells

_SETTING = regex(r"^(\w+):[ \t]+(\"[^\"\n]*\"|'[^'\n]*'|[^\s#]+)[ \t]*(?:#.*)?\r?$", re.MULTILINE)


class JobValue(NamedTuple):
    """One thing that a launch tells of its job.

    `sure`: it is so whatever somebody outside has set. `likely`: it is so unless somebody outside has set it.
    """

    tells: Tells
    flag: str
    text: str
    place: Place
    sure: bool = True
    overrides: tuple[str, ...] = ()
    likely: bool = False
    refuses: tuple[str, ...] = ()
    """Flags that the command does not take beside this one."""

    @property
    def number(self) -> int | None:
        """The number that is told, where it is plainly one."""
        return whole(self.text) if self.sure else None

    @property
    def default(self) -> int | None:
        """The same, or the number that is taken where nobody gives another one."""
        return whole(self.text) if self.sure or self.likely else None


def job_values(found: Invocation[Text], place: Place) -> tuple[JobValue, ...]:
    """What a command tells of its job; nothing of it is sure where words may hold any flag, or parts differ."""
    values = [value for row in found.row.job for value in _values(found, row)]
    if found.flags.opaque or len(found.segments) > 1:
        told = dict.fromkeys(row.tells for row in found.row.job)
        return tuple(JobValue(tells, "", "", place, False) for tells in told)
    return tuple(values)


def _values(found: Invocation[Text], row: JobFlag) -> Iterator[JobValue]:
    operands = found.segments[0].operands
    if row.operand and len(operands) >= row.operand and (value := _value(row, "", operands[row.operand - 1])):
        yield value
    for flag in row.flags.split():
        told_by = [value for word in found.flags.words.get(flag, ()) if (value := _value(row, flag, word))]
        yield from told_by[-1:]


def _value(row: JobFlag, flag: str, word: Text) -> JobValue | None:
    """What one word tells; None: something else."""
    text = word.text.strip("\"'")
    if row.value and word.sure:
        match = regex(row.value).fullmatch(text)
        if match is None:
            return None
        text = match[1]
    loses, refuses = tuple(row.overrides.split()), tuple(row.refuses.split())
    return JobValue(row.tells, flag, text, word.written(), word.sure, loses, word.known and not word.sure, refuses)


def values_in(row: LauncherCommand, text: str, place: Place, known: Iterable[JobValue]) -> Iterator[JobValue]:
    """What a file of settings tells of a job, but for what flags tell; `place` is where the file is named."""
    settings = dict(_SETTING.findall(text))
    said = {value.tells for value in known}
    for job in row.job:
        found = settings.get(job.setting, "").strip("\"'") if job.setting else ""
        if found and job.tells not in said and (not job.value or regex(job.value).fullmatch(found)):
            loses = tuple(job.overrides.split())
            yield JobValue(job.tells, job.setting, found, place, overrides=loses)


def told(values: Iterable[JobValue], tells: Tells) -> JobValue | None:
    """The one value that is told; one that is not sure where several differ."""
    found = [value for value in values if value.tells == tells]
    if not found:
        return None
    return found[0] if len({value.text for value in found}) == 1 else found[0]._replace(sure=False, likely=False)
