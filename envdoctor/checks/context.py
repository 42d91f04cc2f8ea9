"""What checks are given."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from envdoctor.core.facts import FileFacts, Observation, Setting
from envdoctor.core.records import dataclass
from envdoctor.core.target import Target

if TYPE_CHECKING:
    from envdoctor.analysis.process.model import Unit
    from envdoctor.analysis.python.timeline import EntryPoints
    from envdoctor.checks.shared import Shared
    from envdoctor.knowledge.catalog.model import Catalog
    from envdoctor.knowledge.launchers import Launchers


class _WithShared:
    """What every context hands on of what the checks of a scan share."""

    __slots__ = ()
    shared: Shared

    @property
    def catalog(self) -> Catalog:
        """The catalogue that settings are judged by."""
        return self.shared.catalog

    @property
    def entry_points(self) -> EntryPoints | None:
        """The files of the project that start a Python program."""
        return self.shared.entry_points


@dataclass(slots=True)
class FileContext(_WithShared):
    """What a check may look at: one file's facts, the target they are judged against, and what is known.

    `observations` is what is known of a node, `level` what the configuration asks for.
    """

    facts: FileFacts
    target: Target
    shared: Shared
    observations: Sequence[Observation] = ()
    level: str = "auto"


@dataclass(slots=True)
class UnitContext(_WithShared):
    """What a check of launch units may look at: one unit, all units of the scan, and what is known.

    `level` is what the configuration asks for.
    """

    unit: Unit
    units: Sequence[Unit]
    target: Target
    shared: Shared
    launchers: Launchers
    level: str = "auto"


def judged(settings: list[Setting]) -> Iterator[Setting]:
    """The settings that give or forward a value to some process, each fault once.

    A name that is only exported or forwarded is judged only if the file does not also set it: there it is one fault.
    """
    given = {s.name for s in settings if s.op in ("set", "default", "append") and not s.guarded}
    forwarded: set[str] = set()
    for setting in settings:
        if setting.guarded or setting.op == "unset" or (setting.channel == "argument" and setting.exported == "no"):
            continue
        if setting.op in ("export", "pass"):
            if setting.name in given or setting.name in forwarded:
                continue
            forwarded.add(setting.name)
        yield setting
