"""What checks are given, and how they say what they found."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from envdoctor.core.facts import FileFacts, Observation, Setting
from envdoctor.core.findings import Finding
from envdoctor.core.records import dataclass, field
from envdoctor.core.target import Target
from envdoctor.knowledge.catalog.model import Catalog
from envdoctor.knowledge.rulebook import Rule

if TYPE_CHECKING:
    from envdoctor.analysis.process.model import Unit
    from envdoctor.analysis.python.programs import Programs
    from envdoctor.knowledge.launchers import Launchers


@dataclass(slots=True)
class Context:
    """What a check may look at: one file's facts, the target they are judged against, and what is known.

    `private` holds the names that the project's own code reads, `observations` what is known of a node. `memory` is
    for results that several rules of one kind share. `level` is what the configuration asks for, `programs` are the
    Python programs of the project.
    """

    facts: FileFacts
    target: Target
    catalog: Catalog
    private: frozenset[str] = frozenset()
    memory: dict[Any, Any] = field(default_factory=dict)
    observations: Sequence[Observation] = ()
    level: str = "auto"
    programs: Programs | None = None


@dataclass(slots=True)
class UnitContext:
    """What a check of launch units may look at: one unit, all units of the scan, and what is known.

    `level` is what the configuration asks for, `programs` are the Python programs of the project.
    """

    unit: Unit
    units: Sequence[Unit]
    target: Target
    catalog: Catalog
    launchers: Launchers
    level: str = "auto"
    programs: Programs | None = None


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


def finding(rule: Rule, setting: Setting, message: str, **more: Any) -> Finding:
    """A finding of `rule` at a setting, with the rule's severity, confidence and way out unless `more` says else."""
    fields: dict[str, Any] = {"severity": rule.severity, "confidence": rule.confidence, "help": rule.fix}
    fields["place"] = setting.name_place or setting.place
    fields.update(more)
    return Finding(rule=rule.id, name=rule.name, message=message, variable=setting.name, **fields)
