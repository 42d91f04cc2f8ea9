"""The examined process: its environment and its mapped libraries."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from envdoctor.core.credentials import MASKED, is_credential
from envdoctor.core.facts import Channel, Op, Setting, Value
from envdoctor.node.probes.amd.layout import home_of
from envdoctor.node.probes.base import Absent, Facts, NodeView, ProbeFailed
from envdoctor.node.probes.files import NodeFiles

FAMILIES = (
    "NCCL_", "RCCL_", "MSCCL", "TORCH_NCCL_", "HSA_", "HIP_", "ROCM_", "ROCR_", "GPU_", "AMD_", "MIOPEN_", "ROCBLAS_",
    "HIPBLASLT_", "TENSILE_", "CUDA_", "CUDNN_", "CUBLAS_", "CUBLASLT_", "NVIDIA_TF32_OVERRIDE", "TORCH_", "PYTORCH_",
    "TORCHINDUCTOR_", "XLA_FLAGS",
    "TF_DETERMINISTIC_OPS", "TF_CUDNN_", "TF_GPU_", "JAX_", "OMP_", "MKL_", "UCX_", "GLOO_", "NVTE_", "LD_PRELOAD",
    "LD_LIBRARY_PATH", "PYTHONHASHSEED", "MASTER_ADDR", "MASTER_PORT", "WORLD_SIZE", "RANK", "LOCAL_RANK",
)  # fmt: skip
"""Families of variables that are recorded where the caller has no catalogue at hand."""
PATH_VARIABLES = ("ROCM_PATH", "ROCM_HOME", "HIP_PATH")
MAPS_LIMIT = 16 << 20
"""A training process has some 10,000 mappings of 100 bytes."""

_SHARED = re.compile(r"\.so(?:\.[0-9][\w.]*)?$")


def in_families(name: str) -> bool:
    """Whether a variable belongs to one of `FAMILIES`."""
    return name.startswith(FAMILIES)


def parse_environ(data: str) -> dict[str, str]:
    """The variables of `/proc/PID/environ`, in order; of a name that stands twice, the first, as getenv gives it."""
    variables: dict[str, str] = {}
    for item in data.split("\0"):
        name, equals, value = item.partition("=")
        if equals and name:
            variables.setdefault(name, value)
    return variables


def parse_maps(text: str) -> list[str]:
    """Shared libraries of `/proc/PID/maps`, each once, in order of first appearance."""
    paths: dict[str, None] = {}
    for line in text.splitlines():
        fields = line.split(None, 5)
        if len(fields) == 6 and fields[5].startswith("/"):
            path = fields[5].removesuffix(" (deleted)")
            if _SHARED.search(path):
                paths[path] = None
    return list(paths)


def read_environment(files: NodeFiles, proc: str) -> dict[str, str]:
    """All variables of a process as they were at its exec; {} where they may not be read."""
    return parse_environ(files.read_text(f"{proc}/environ", 4 << 20) or "")


def read_mapped(files: NodeFiles, proc: str) -> list[str]:
    """Shared libraries that a process has mapped; [] where that may not be read."""
    return parse_maps(files.read_text(f"{proc}/maps", MAPS_LIMIT) or "")


def masked_value(name: str, value: str) -> Value:
    """A value to record: the literal, or nothing of it where it looks like a credential."""
    return Value("unknown", MASKED) if is_credential(name, value) else Value("literal", value)


def setting(facts: Facts, name: str, value: str, path: str, line: int, *, channel: Channel, op: Op) -> Setting:
    """A setting of the examined process, numbered after those already stated."""
    place = facts.place(path, line)
    return Setting(op, name, masked_value(name, value), place, channel, order=len(facts.settings))


def state_settings(facts: Facts, environment: Mapping[str, str], path: str, names: Iterable[str]) -> None:
    """One setting for each of `names`. Line N of the place is the Nth variable of the environment."""
    line_of = {name: line for line, name in enumerate(environment, 1)}
    for name in names:
        facts.settings.append(
            setting(facts, name, environment[name], path, line_of[name], channel="process-environment", op="set")
        )


def environment_probe(view: NodeView) -> None:
    """Settings of the process, of known names only."""
    path = f"{view.proc}/environ"
    if not view.environment:
        why = view.files.why(path)
        raise ProbeFailed(f"{path}: {why}") if why not in ("", "absent") else Absent("no environment to read")
    state_settings(view.facts, view.environment, path, [n for n in view.environment if view.known(n)])
    for name in PATH_VARIABLES:
        if value := view.environment.get(name):
            view.facts.observe("rocm.rocm_path_env", home_of(view.files, value), path, detail=name)
