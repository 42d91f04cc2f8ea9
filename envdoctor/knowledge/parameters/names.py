"""Parameters of the checks of names."""

from __future__ import annotations

from typing import Literal

from envdoctor.knowledge.parameters.forms import Common

VerdictKind = Literal["ghost", "not-known", "misnamed", "deprecated", "other-release", "retired", "other-platform"]


class NameParameters(Common):
    """`names.verdicts`: settings by what the catalogue says of their names."""

    verdicts: list[VerdictKind]
    """Which verdicts on a name are findings. `ghost`: nothing reads it. `not-known`: the catalogue does not tell.
    `misnamed`: another name was meant. `deprecated`: there is a newer one. `other-release`, `retired` and
    `other-platform`: nothing reads it in the target's release, any more, or on its platform."""
