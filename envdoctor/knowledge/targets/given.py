"""Targets that people give: the grammar of `--target`."""

from __future__ import annotations

import re
from typing import cast

from envdoctor.core.regexes import regex
from envdoctor.core.target import Platform, Target, TargetError
from envdoctor.core.versions import from_cu
from envdoctor.knowledge.targets.combine import filled
from envdoctor.knowledge.targets.table import TargetTable, table

ITEM = regex(r"([a-z][a-z_]*(?:-[a-z][a-z_]*)*)(?:(?:==|=|-|)v?(\d[\w.+]*))?")
CUDA_TAG = regex(r"cu(\d{2,3})")


def parse_target(text: str) -> Target:
    """The target that `--target` gives: a comma list of platform, component or GPU, each with `-` and a version.

    `rocm-6.2,torch-2.4`, `cuda`, `nccl-2.21.5`, `mi300x`. What follows by the tables is filled in. Raises
    `TargetError` for names that are not known and for parts that contradict each other.
    """
    known = table()
    versions: dict[str, str] = {}
    gpus: list[str] = []
    platforms: dict[Platform, str] = {}
    for item in (part.strip().lower() for part in text.split(",")):
        name, version, gpu = _item(item, known)
        if gpu:
            gpus.append(gpu)
        elif version:
            if versions.get(name, version) != version:
                raise TargetError(f"{name} is given twice: {versions[name]} and {version}")
            versions[name] = version
        platform = ("rocm" if gpu.startswith("gfx") else "cuda") if gpu else known.data["components"][name]
        if platform is not None:
            platforms.setdefault(cast("Platform", platform), item)
    if len(platforms) > 1:
        first, second = list(platforms)[:2]
        raise TargetError(f"{platforms[first]} and {platforms[second]} belong to different platforms: name one")
    return filled(Target(next(iter(platforms), None), versions, tuple(dict.fromkeys(gpus)), (), ()))


def _item(item: str, known: TargetTable) -> tuple[str, str, str]:
    """Component, version and GPU architecture of one part; what it does not name is empty."""
    if gpu := known.gpu(item):
        return "", "", gpu
    if item in known.data["gfx"] or re.fullmatch(r"sm_\d{2,3}", item):
        return "", "", item
    if tag := CUDA_TAG.fullmatch(item):
        return "cuda", from_cu(tag[1]), ""
    found = ITEM.fullmatch(item)
    name = known.data["aliases"].get(found[1], found[1]) if found else item
    if found is None or name not in known.data["components"]:
        raise TargetError(_not_known(item, known))
    return name, found[2] or "", ""


def _not_known(item: str, known: TargetTable) -> str:
    """What is wrong with a part, what is allowed, and the closest name if there is one."""
    import difflib

    names = [*known.data["components"], *known.data["aliases"], *known.data["gpu-models"], *known.data["gfx"]]
    word, number = re.split(r"[-=]*(?=\d|$)", item, maxsplit=1) if item[:1].isalpha() else (item, "")
    close = difflib.get_close_matches(item, names, n=1, cutoff=0.75)
    if not close and (alike := difflib.get_close_matches(word, names, n=1, cutoff=0.6)):
        close = [f"{alike[0]}-{number}" if number else alike[0]]
    hint = f" (did you mean {close[0]}?)" if close else ""
    allowed = ", ".join(known.data["components"])
    return f"{item or 'an empty part'!s} is not known{hint}; a comma list of {allowed} or a GPU, each with -VERSION"
