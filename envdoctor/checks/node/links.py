"""Tests of observations about the links between GPUs, and about reductions inside the switch that joins them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, cast

from envdoctor.checks.node.common import Seen, Told, listed
from envdoctor.checks.node.libraries import parts, release_of
from envdoctor.core.findings import Severity
from envdoctor.core.numbers import counted

if TYPE_CHECKING:
    from envdoctor.knowledge.parameters.node import MissingLink, Nvls


def missing_link(seen: Seen) -> Iterator[Told]:
    """Pairs of GPUs without xGMI or NVLink where the rest has it."""
    count, whole, physical = seen.gpus(), seen.number("gpu.count"), seen.number("gpu.physical")
    kind = "NVLink" if seen.first("gpu.all_nvlink") else "xGMI"
    disabled = seen.first("gpu.nvlink_disabled")
    if disabled and disabled.value is True and count > 1:
        yield Told("the driver was loaded with NvLinkDisable", disabled.place)
    hidden = seen.hidden()
    missing = [o for o in seen.all("gpu.missing_link") if not hidden & set(o.detail.split(" - "))]
    if not missing or (count < whole and not hidden):
        return
    pairs = count * (count - 1) // 2
    # Cards that are joined by bridges in twos or fours lack most links in good order; a node where nearly every pair
    # has one, or whose GPUs come as one fully joined board, has lost them.
    chips = cast("MissingLink", seen.parameters)
    archs = set(seen.archs())
    dies = archs <= set(chips["two_dies"]) and whole > physical
    joined = bool(archs) and (archs <= set(chips["one_board"]) or dies)
    severity: Severity | None = None if joined or len(missing) * chips["few"] <= pairs else "info"
    examples = listed([f"{o.detail} ({o.value})" for o in missing])
    message = f"no {kind} in {counted(len(missing), 'pair')} of GPUs out of {pairs}: {examples}"
    yield Told(message, missing[0].place, severity)


def nvls(seen: Seen) -> Iterator[Told]:
    """NCCL may reduce in the NVSwitch, in an order that is not its own."""
    known = cast("Nvls", seen.parameters)
    archs, count = seen.archs(), seen.gpus()
    arch = re.fullmatch(r"sm_([0-9]+)", archs[0]) if len(archs) == 1 else None
    code, wired = seen.value("ccl.loaded_version_code"), seen.value("gpu.all_nvlink")
    if arch is None or int(arch[1]) < known["sm_since"] or count < 2 or wired is False:
        return
    if not isinstance(code, int) or release_of(code) < parts(known["nccl_since"]) or _excluded(seen):
        return
    setting = seen.setting("NCCL_NVLS_ENABLE") or seen.setting("NCCL_ALGO")
    place = setting.place if setting else None
    arch_place = seen.first("gpu.arch")
    assert arch_place is not None
    forced = f"; NCCL_NVLS_ENABLE={setting.value.known} asks for it" if setting and "NVLS" in setting.name else ""
    message = f"{count} GPUs of {arch[0]}: NCCL may reduce in the NVSwitch (NVLS), which may differ from run to run"
    yield Told(message + forced, place or arch_place.place, variable=setting.name if setting else None)


def _excluded(seen: Seen) -> bool:
    """NVLS is switched off, or NCCL_ALGO leaves it out."""
    switch = re.match(r"\s*[-+]?(?:0[xX])?[0-9]+", seen.known_value("NCCL_NVLS_ENABLE") or "")
    text = seen.known_value("NCCL_NVLS_ENABLE")
    if text is not None and (switch is None or int(switch[0], 0) == 0):
        return True
    algorithms = (seen.known_value("NCCL_ALGO") or "").lower()
    if not algorithms:
        return False
    listed_words = set(re.split(r"[,;:]", algorithms.lstrip("^")))
    return (
        ({"nvls", "nvlstree"} <= listed_words)
        if algorithms.startswith("^")
        else not any(word.startswith("nvls") for word in listed_words)
    )
