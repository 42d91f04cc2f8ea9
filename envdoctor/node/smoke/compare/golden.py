"""Golden hashes: keep what a run gave, and hold a later run against it, where the two can be compared at all.

Bits depend on the library, the number and placement of ranks, the partition mode and the architecture. Where one of
them differs a comparison would mean nothing, so it is refused and the difference named.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from envdoctor.node.smoke import placement
from envdoctor.node.smoke.compare import compare
from envdoctor.node.smoke.model import ExperimentResult, SmokeRequest, TestedNode

VERSION = 1
"""Of the file, of the data that is reduced and of the hash: any change of one of them is a new version."""
ROLES = ("user", "pinned", "control")


@dataclass(frozen=True, slots=True)
class Comparison:
    """`refused`: why nothing was compared, one reason a difference. `differing`: (experiment, case) pairs."""

    refused: tuple[str, ...] = ()
    compared: int = 0
    differing: tuple[tuple[str, str], ...] = ()
    settings: tuple[str, ...] = ()
    """The user's settings that differ between the two runs: no reason to refuse, but one for other bits."""


def conditions(request: SmokeRequest, node: TestedNode, results: Sequence[ExperimentResult]) -> dict[str, str]:
    """What must be equal for two runs to be comparable, by name."""
    run = compare.base(results)
    found = {
        "library": library(node, run),
        "ranks": str(len(placement.seats(node))),
        "placement": placement.label(node),
        "GPU architecture": ", ".join(sorted({gpu.arch for gpu in node.gpus})),
    }
    return {**found, **request.facts}


def library(node: TestedNode, run: ExperimentResult | None) -> str:
    """Name, version and build of the library, by its own banner where the log has one."""
    parts = [item for item in run.log.components if item.name.startswith(("nccl", "rccl"))] if run else []
    if parts:
        return " ".join(dict.fromkeys(f"{item.name} {item.version}" for item in parts))
    version = ".".join(map(str, node.library_version)) or (node.torch if node.platform == "cpu" else "unknown")
    return f"{node.library} {version}"


def golden(request: SmokeRequest, node: TestedNode, results: Sequence[ExperimentResult]) -> dict[str, Any]:
    """What to keep of a session: conditions, settings, and the hashes that all ranks and repeats agree on."""
    hashes = {
        result.id: {case: hash_ for case in compare.case_ids(result) if (hash_ := result.agreed(case))}
        for result in results
        if result.id in ROLES and result.status == "ok"
    }
    return {
        "version": VERSION,
        "conditions": conditions(request, node, results),
        "settings": dict(sorted(request.settings.items())),
        "hashes": hashes,
    }


def save(path: Path, kept: Mapping[str, Any]) -> None:
    """Write a golden file. Raises OSError."""
    path.write_text(json.dumps(kept, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def load(path: Path) -> dict[str, Any]:
    """Read a golden file. Raises OSError, or ValueError where it is none."""
    found = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(found, dict) or not {"version", "conditions", "hashes"} <= found.keys():
        raise ValueError(f"{path} holds no golden hashes")
    return found


def against(kept: Mapping[str, Any], now: Mapping[str, Any]) -> Comparison:
    """Hold a run (`golden`) against a kept one."""
    if kept["version"] != now["version"]:
        return Comparison((f"the file is of version {kept['version']}, this is version {now['version']}",))
    before, after = kept["conditions"], now["conditions"]
    names = dict.fromkeys((*before, *after))
    refused = tuple(
        f"{name}: {before.get(name, 'not recorded')} then, {after.get(name, 'not recorded')} now"
        for name in names
        if before.get(name) != after.get(name)
    )
    if refused:
        return Comparison(refused)
    pairs = [
        (experiment, case)
        for experiment, hashes in kept["hashes"].items()
        for case in hashes
        if case in now["hashes"].get(experiment, {})
    ]
    if not pairs:
        return Comparison(("the two runs have no experiment and case in common",))
    apart = tuple(pair for pair in pairs if kept["hashes"][pair[0]][pair[1]] != now["hashes"][pair[0]][pair[1]])
    return Comparison((), len(pairs), apart, changed_settings(kept.get("settings", {}), now.get("settings", {})))


def changed_settings(before: Mapping[str, str], after: Mapping[str, str]) -> tuple[str, ...]:
    """Settings that are not the same in two runs."""
    return tuple(sorted(name for name in {*before, *after} if before.get(name) != after.get(name)))
