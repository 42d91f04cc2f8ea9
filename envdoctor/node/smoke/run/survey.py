"""What the smoke test makes of torch's view of the node: the node for the planner, or why there is nothing to test."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from envdoctor.node.smoke.model import TestedGpu, TestedNode
from envdoctor.node.smoke.placement import memory_problem

SHM_NEEDED = 64 << 20
"""Shared memory below which NCCL's SHM transport fails with a few ranks."""


def node_of(survey: Mapping[str, Any], cpu: bool) -> TestedNode:
    """The node that the planner plans for."""
    if cpu:
        return TestedNode("cpu", library="gloo", torch=survey["torch"], shm_free=survey["shm_free"])
    gpus = tuple(TestedGpu(gpu["name"], gpu["arch"], gpu["free"], gpu["total"], gpu["units"]) for gpu in survey["gpus"])
    version = next(
        (library_version(item["version_code"]) for item in survey["libraries"] if "version_code" in item), ()
    )
    return TestedNode(
        "rocm" if survey["hip"] else "cuda", gpus, "rccl" if survey["hip"] else "nccl", version,
        numbers(survey["hip"] or ""), survey["torch"], survey["shm_free"],
    )  # fmt: skip


def problem(survey: Mapping[str, Any], cpu: bool) -> tuple[str, str]:
    """(reason in one word, message) why no experiment can run; empty strings where one can."""
    if cpu:
        return ("", "") if survey["gloo"] else ("no-backend", "this torch has no gloo backend")
    if not survey["cuda"] and not survey["hip"]:
        return "no-gpu-support", f"torch {survey['torch']} is built without CUDA and without ROCm"
    if not survey["gpus"]:
        return "no-gpu", "torch sees no GPU" + mask_words(survey["masks"])
    if not survey["nccl"]:
        return "no-backend", f"torch {survey['torch']} is built without the nccl backend"
    if tight := memory_problem(node_of(survey, cpu)):
        return "gpu-memory", tight
    return "", ""


def mask_words(masks: Mapping[str, str]) -> str:
    """What the visibility variables say, where they hide every GPU."""
    hiding = [f"{name} is set and empty" for name, value in masks.items() if value.strip() in ("", "-1", "NoDevFiles")]
    if hiding:
        return ": " + ", ".join(hiding)
    return "".join(f" ({name}={value})" for name, value in masks.items())


def shared_memory_note(node: TestedNode) -> tuple[str, ...]:
    """A warning for a nearly full /dev/shm, which ranks of one node talk through where P2P is not to be had."""
    if node.shm_free is None or node.shm_free >= SHM_NEEDED:
        return ()
    return (f"/dev/shm has {node.shm_free >> 20} MiB free: the library's shared memory transport may fail",)


def library_version(code: int) -> tuple[int, ...]:
    """The version behind `ncclGetVersion`: X*10000 + Y*100 + Z from 2.9 on, X*1000 + Y*100 + Z before."""
    if code >= 10000:
        return code // 10000, code % 10000 // 100, code % 100
    return code // 1000, code % 1000 // 100, code % 100


def numbers(version: str) -> tuple[int, ...]:
    """The leading numbers of a version."""
    found = re.match(r"\d+(?:\.\d+)*", version)
    return tuple(int(part) for part in found[0].split(".")) if found else ()
