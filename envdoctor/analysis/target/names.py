"""What the name of a file says of the platform: `run_mi300x.sh`, `train_npu.sh`, `dgx_a100/model_config.yaml`."""

from __future__ import annotations

from typing import cast

from envdoctor.analysis.target.hints import gpus_of
from envdoctor.core.source import Source
from envdoctor.core.target import Platform, Reason
from envdoctor.knowledge.targets.table import TargetTable, table


def name_reasons(path: str, knowledge: TargetTable | None = None) -> list[Reason]:
    """What the nearest part of a path says that says anything; nothing where it has words of two vendors.

    Of a path that leads out of the project only the name of the file is read: the folders are those of a machine.
    """
    known = knowledge or table()
    parts = path.split("/")
    if path.startswith(("/", "../")):
        parts = parts[-1:]
    for part in reversed(parts):
        found = [(hint, match) for hint in known.file_names if (match := hint.pattern.search(part.lower()))]
        if len({hint.text("platform") for hint, _ in found}) > 1:
            return []
        if found:
            hint, match = found[0]
            platform = cast("Platform", hint.text("platform"))
            gpus = tuple(dict.fromkeys(gpus_of(hint, match, known)))
            place = Source(path, "").place(0, 0)
            return [Reason(hint.id, place, part, hint.says, "strong", platform, gpus=gpus, order=hint.order)]
    return []
