"""The six kinds of check that rules of users may name, and what each stands for.

Rules of envdoctor name their code itself. A kind that stands for several checks is told which one by a parameter.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from envdoctor.knowledge.files import suggestion
from envdoctor.knowledge.rule_errors import RuleKeyError


class CheckKind(NamedTuple):
    """A public kind: the parameter that chooses (`""`: there is no choice), and the codes that it chooses from."""

    chooser: str
    codes: Mapping[str, tuple[str, ...]]


TOPICS = {
    "names": "name", "values": "value", "relations": "relation", "levels": "relation", "delivery": "delivery",
    "python": "call", "node": "observation", "own": "own",
}  # fmt: skip
"""Topic of a code -> kind. `own`: said by envdoctor about itself (unreadable files, ignores, configuration)."""
RELATIONS = ("relations.twice", "relations.pairs", "relations.code", "relations.arguments")
OBSERVED = (
    "several_rocm", "mixed_rocm", "driver_pair", "gfx_override", "library_differs", "library_override", "conf_file",
    "debug_library", "tuning_databases", "no_gpu", "partition_mode", "unequal_gpus", "device_denied", "shared_gpu",
    "clock_cap", "missing_link", "nvls", "small_limits", "host_tuning", "precision_override",
)  # fmt: skip
KINDS: Mapping[str, CheckKind] = {
    "name": CheckKind("", {"": ("names.verdicts",)}),
    "value": CheckKind("", {"": ("values.grammar",)}),
    "relation": CheckKind("fault", {"contradictory": RELATIONS, "ineffective-setting": ("relations.idle",)}),
    "delivery": CheckKind(
        "fault",
        {
            "not-exported": ("delivery.not_exported",),
            "not-forwarded": ("delivery.not_forwarded",),
            "set-too-late": ("delivery.too_late",),
            "inconsistent-launch": ("delivery.inconsistent",),
            "command-misread": ("delivery.misread_commands",),
        },
    ),
    "call": CheckKind(
        "of",
        {
            "seeds": ("python.seeds",),
            "missing": ("python.missing_switches",),
            "options": ("python.options", "python.option_arguments", "python.option_builds"),
            "blind": ("python.blind_tests",),
        },
    ),
    "observation": CheckKind("test", {name: (f"node.{name}",) for name in OBSERVED}),
}


def kind_codes(check: str, parameters: Mapping[str, Any], where: str) -> tuple[tuple[str, ...], Mapping[str, Any]]:
    """The codes that a kind and its parameters mean, and the parameters without the one that chose."""
    kind = KINDS.get(check)
    if kind is None:
        raise RuleKeyError(
            where, ("check",), f"{check!r} is not one of {', '.join(KINDS)}{suggestion(check, list(KINDS))}"
        )
    if not kind.chooser:
        return kind.codes[""], parameters
    chosen = parameters.get(kind.chooser)
    if not isinstance(chosen, str) or chosen not in kind.codes:
        said = f"{chosen!r} is not" if kind.chooser in parameters else "missing: write"
        close = suggestion(chosen, list(kind.codes)) if isinstance(chosen, str) else ""
        raise RuleKeyError(where, ("parameters", kind.chooser), f"{said} one of {', '.join(kind.codes)}{close}")
    return kind.codes[chosen], {key: value for key, value in parameters.items() if key != kind.chooser}
