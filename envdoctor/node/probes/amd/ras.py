"""What amdgpu tells of faults: errors that its blocks could not correct, pages it has given up, and who computes."""

from __future__ import annotations

import re
from collections.abc import Sequence

from envdoctor.node.probes.base import NodeView
from envdoctor.node.probes.parts import Device

PROCESSES = "/sys/class/kfd/kfd/proc"
"""A folder for each process that has opened /dev/kfd."""


def uncorrected(text: str) -> int | None:
    """Errors that could not be corrected, of `ue: 0` and `ce: 3`; None for a file of another shape.

    docs.kernel.org/gpu/amdgpu/ras.html: the error counts of a block.
    """
    match = re.search(r"^ue:\s*([0-9]{1,18})\s*$", text, re.MULTILINE)
    return int(match[1]) if match else None


def ras_probe(view: NodeView, folder: str, device: Device) -> None:
    """Fill in what the files of a card tell of faults. A card without them says nothing."""
    counts = {name: uncorrected(view.files.read_text(f"{folder}/ras/{name}") or "")
              for name in view.files.names(f"{folder}/ras", "*_err_count")}  # fmt: skip
    known = {name: count for name, count in counts.items() if count is not None}
    if known:
        device.ecc_errors = sum(known.values())
        device.sources["ecc_errors"] = f"{folder}/ras/{max(known, key=lambda name: known[name])}"
    path = f"{folder}/ras/gpu_vram_bad_pages"
    if (text := view.files.read_text(path)) is not None:
        # "0x00000001 : 0x00001000 : R": R is given up, P waits, F could not be given up.
        rows = re.findall(r"^0x[0-9a-fA-F]+\s*:\s*0x[0-9a-fA-F]+\s*:\s*([RPF])\s*$", text, re.MULTILINE)
        device.bad_pages, device.pages_pending = len(rows), "P" in rows
        device.sources.update({"bad_pages": path, "pages_pending": path})


def computing(view: NodeView) -> Sequence[int]:
    """Processes that have opened /dev/kfd, this one left out."""
    own = (view.process, view.files.readlink("/proc/self") or "")
    return [int(name) for name in view.files.names(PROCESSES, "[0-9]*") if name.isdecimal() and name not in own]
