"""What the checks of one scan share: what is known, and what they found out that another one asks for too.

Each part is made when it is first asked for, keeps what it found itself, and ends with the scan.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, cast

from envdoctor.knowledge.catalog.model import Catalog
from envdoctor.knowledge.rulebook import Rule

if TYPE_CHECKING:
    from envdoctor.analysis.python.timeline import EntryPoints
    from envdoctor.checks.names.verdicts import Verdicts
    from envdoctor.checks.python.intent import Intents
    from envdoctor.checks.python.patterns import PatternTable
    from envdoctor.checks.python.streams import Streams
    from envdoctor.knowledge.parameters.calls import CallOption, OptionParameters
    from envdoctor.knowledge.parameters.seeds import Seeds


class Shared:
    """The catalogue, the entry points of the project if it has any, and what was found out."""

    def __init__(self, catalog: Catalog, entry_points: EntryPoints | None = None) -> None:
        self.catalog = catalog
        self.entry_points = entry_points
        self._options: dict[str, PatternTable[CallOption]] = {}
        self._streams: dict[str, Streams] = {}

    @cached_property
    def verdicts(self) -> Verdicts:
        """What the catalogue says of names."""
        from envdoctor.checks.names.verdicts import Verdicts

        return Verdicts(self.catalog)

    @cached_property
    def intents(self) -> Intents:
        """What programs ask for."""
        from envdoctor.checks.python.intent import Intents

        return Intents()

    def options(self, rule: Rule) -> PatternTable[CallOption]:
        """The options that a rule lists."""
        if rule.id not in self._options:
            from envdoctor.checks.python.patterns import PatternTable

            self._options[rule.id] = PatternTable(cast("OptionParameters", rule.parameters).get("option", ()))
        return self._options[rule.id]

    def streams(self, rule: Rule) -> Streams:
        """The streams of random numbers that a rule lists, in programs."""
        if rule.id not in self._streams:
            from envdoctor.checks.python.streams import Streams

            self._streams[rule.id] = Streams(cast("Seeds", rule.parameters))
        return self._streams[rule.id]
