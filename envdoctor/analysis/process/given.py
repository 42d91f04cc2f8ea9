"""The environment of a process that runs already, in the form of what a walk tells."""

from __future__ import annotations

from collections.abc import Sequence

from envdoctor.analysis.process.beginnings.root import Root
from envdoctor.analysis.process.interpreter.slots import Alternative, Slot, ValueOrigin
from envdoctor.analysis.process.results import EndedRoot, RankStart, Walked
from envdoctor.core.facts import Setting


def of_process(settings: Sequence[Setting], is_rank: bool) -> Walked:
    """What the rules about launches are asked of a process with these settings; one that is a rank is a launch."""
    place = settings[0].place
    visible = {setting.name: _slot(setting) for setting in settings}
    root = Root(place.path, "program", place.path, place.line, None)
    if not is_rank:
        return Walked((), (), (), (), (EndedRoot(root, visible),), ())
    return Walked((RankStart(root, place, (), place.path, "", (), visible, {}, (), 0),), (), (), (), (), ())


def _slot(setting: Setting) -> Slot:
    origin = ValueOrigin(setting.name, setting.name_place or setting.place, "outside")
    return (Alternative("literal", setting.value.text, "yes", (origin,)),)
