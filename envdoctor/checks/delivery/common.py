"""What the checks of delivery share: does a setting reach the process that needs it, in time and as it was meant?"""

from __future__ import annotations

from collections.abc import Iterable

from envdoctor.analysis.process.interpreter.slots import ValueOrigin
from envdoctor.analysis.process.journeys import Journey
from envdoctor.analysis.process.results import RankStart
from envdoctor.checks.context import LaunchContext
from envdoctor.core.facts import FileFacts, Place, Setting
from envdoctor.core.regexes import regex
from envdoctor.knowledge.catalog.model import Variable

GIVES = ("set", "default", "append")
MASKS = ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES")
TELLS = regex(r"DEBUG|LOG|DUMP|TRACE|VERBOSE|PROFIL|REPORT|WARN")
"""Names that only say what is told: to set them in one place is a choice."""


def judged(name: str, context: LaunchContext, path: str) -> Variable | None:
    """The variable, where something reads it here and so its delivery matters; other faults of a name come first."""
    variable = context.catalog.variable(name)
    if variable is None or variable.status not in ("real", "deprecated") or not variable.readings:
        return None
    platform = context.target_of(path).platform
    if variable.platform not in ("both", "cuda", "rocm") or variable.retired(context.catalog):
        return None
    return variable if platform is None or variable.platform in ("both", platform) else None


def setting_of(origin: ValueOrigin, context: LaunchContext) -> Setting | None:
    """What the file says at an origin: its value, its comment, its channel."""
    return context.setting_at(origin.place, origin.name)


def place_given(name: str, text: str, start: RankStart, context: LaunchContext) -> Place:
    """Where a value was written, of a name that the catalogue lacks: in the script of a launch, or in a caller."""
    for path in dict.fromkeys((start.place.path, *(place.path for place in start.callers[::-1]), start.root.path)):
        facts = context.files.get(path)
        for setting in facts.settings if facts is not None else ():
            if setting.name == name and setting.value.text == text and setting.op in GIVES:
                return setting.name_place or setting.place
    return start.place


def is_plain(journey: Journey, context: LaunchContext) -> bool:
    """Whether a value was plainly meant for ranks: real for the target, not empty, and no default."""
    origin, value = journey.origin, journey.value
    if origin.default or (value.kind == "literal" and not value.text):
        return False
    return judged(origin.name, context, origin.place.path) is not None


def is_used(name: str, starts: Iterable[RankStart], origin: ValueOrigin, context: LaunchContext) -> bool:
    """Whether a script on the way does something with a variable itself: it may hand it on in its own way."""
    paths = {origin.place.path}
    for start in starts:
        paths |= {start.place.path, start.root.path, *(place.path for place in start.callers)}
    return any(facts is not None and _uses(name, facts) for facts in map(context.files.get, paths))


def _uses(name: str, facts: FileFacts) -> bool:
    if any(use.name == name for use in facts.uses):
        return True
    if any(setting.name != name and name in setting.value.references for setting in facts.settings):
        return True
    plain, braced = f"${name}", f"${{{name}"
    return any(plain in word or braced in word for launch in facts.launches for word in launch.words)


def sets_itself(name: str, start: RankStart, context: LaunchContext) -> bool:
    """Whether the program that is started gives a variable by itself."""
    facts = context.files.get(start.path) if start.path else None
    return facts is not None and any(s.name == name and s.op in GIVES for s in facts.settings)
