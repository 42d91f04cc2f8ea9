"""The words of target inference: a reason, a target, and what goes wrong."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

from envdoctor.core.errors import UserError
from envdoctor.core.facts import Place

Platform = Literal["cuda", "rocm", "ascend"]
Confidence = Literal["certain", "strong", "weak"]


class TargetError(ValueError):
    """A `--target` that cannot be understood; the message says what is allowed."""


class TargetDataError(UserError):
    """A file of `rules/targets/` that cannot be used; the message names the file and the key."""


class Reason(NamedTuple):
    """One hint in one file: what was matched, and what follows from it.

    `says` is the conclusion to show to people. `corroborates` marks a weak reason that decides together with a second,
    different one. `plain`: it speaks of what the program runs on, not of a setting somebody made. `order` is the rank
    of its kind of evidence, 0 the strongest. `holds` names whose libraries the versions are those of (wheel, image,
    index, pin, system); `wheel`: its torch is a wheel whose pins are known; `flavour` is the CUDA build of that wheel.
    """

    hint: str
    place: Place
    text: str
    says: str
    confidence: Confidence
    platform: Platform | None = None
    versions: Mapping[str, str] = {}
    minimums: Mapping[str, str] = {}
    gpus: tuple[str, ...] = ()
    corroborates: bool = False
    plain: bool = False
    order: int = 99
    holds: str = ""
    wheel: bool = False
    flavour: str = ""


class Target(NamedTuple):
    """What facts are judged against. A key that is missing is not known.

    `versions` gives releases (`{"rocm": "6.2", "torch": "2.4.1"}`), `minimums` the least that a bound admits,
    `gpus` architectures (`gfx942`, `sm_90`). `conflicts` are pairs of reasons that contradict each other: of platforms,
    which leave `platform` None, or of versions.
    """

    platform: Platform | None
    versions: Mapping[str, str]
    gpus: tuple[str, ...]
    reasons: tuple[Reason, ...]
    conflicts: tuple[tuple[Reason, Reason], ...]
    minimums: Mapping[str, str] = {}

    @property
    def plain(self) -> bool:
        """Whether the platform is given or made plain by what the program runs on, not only by settings."""
        if self.platform is None:
            return False
        mine = [r for r in self.reasons if r.platform == self.platform]
        return not mine or any(r.plain and r.confidence != "weak" for r in mine)


UNKNOWN = Target(None, {}, (), (), ())
