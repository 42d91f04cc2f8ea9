"""torch: read from its files first, without importing it, then asked in a child process with a timeout."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from envdoctor.node.probes.base import Absent, NodeView, ProbeFailed
from envdoctor.node.probes.children import TORCH, child_argv
from envdoctor.node.probes.keys import fits
from envdoctor.node.probes.parts import Torch
from envdoctor.node.probes.torch.pythons import interpreter_of

SECONDS = 60.0
"""A first import from a network file system takes that long."""
BUNDLED = "lib*.so*"
GPU_LIBRARIES = re.compile(r"lib(?:rccl|nccl|amdhip64|hsa-runtime64|MIOpen|rocblas|hipblaslt)\.so[^/]*$")
WHEELS = ("nvidia_nccl*-*.dist-info", "nvidia_cudnn*-*.dist-info", "nvidia_cublas*-*.dist-info")
"""Distributions beside torch whose version decides which collectives, convolutions and matrix products run."""

_ASSIGN = re.compile(
    r"^(__version__|hip|cuda)\s*(?::[^=\n]*)?=\s*(?:'([^'\n]*)'|\"([^\"\n]*)\"|None)\s*$", re.MULTILINE
)


def parse_version_file(text: str) -> dict[str, str | None]:
    """`__version__`, `hip` and `cuda` of torch/version.py, read as text."""
    return {m[1]: m[2] if m[2] is not None else m[3] for m in _ASSIGN.finditer(text)}


def torch_files_probe(view: NodeView, site_packages: Iterable[str]) -> Torch:
    """The torch that the process imports, as its files describe it; facts of every torch there is.

    Raises `Absent` where there is none.
    """
    found = [torch for folder in site_packages if (torch := read_torch(view, folder))]
    if not found:
        raise Absent("no torch in the site-packages of this node")
    first = found[0]
    for key in ("hip", "cuda"):
        view.facts.observe_known(f"torch.{key}", getattr(first, key), f"{first.folder}/torch/version.py")
    view.facts.observe_known("rocm.torch_hip", first.hip, f"{first.folder}/torch/version.py")
    view.facts.observe_known("cuda.torch_cuda", first.cuda, f"{first.folder}/torch/version.py")
    state_libraries(view, first)
    return first


def read_torch(view: NodeView, folder: str) -> Torch | None:
    """torch in one site-packages folder."""
    path = f"{folder}/torch/version.py"
    told = parse_version_file(view.files.read_text(path) or "")
    version = told.get("__version__")
    if not version:
        return None
    view.facts.observe("torch.version", version, path, detail=folder)
    view.facts.component("torch", version, path, detail=told.get("hip") or told.get("cuda") or "cpu")
    return Torch(version, told.get("hip"), told.get("cuda"), folder, interpreter_of(view.files, folder))


def state_libraries(view: NodeView, torch: Torch) -> None:
    """Facts of the GPU libraries that come with torch: inside its wheel, or in wheels beside it."""
    for name in view.files.names(f"{torch.folder}/torch/lib", BUNDLED):
        if GPU_LIBRARIES.match(name):
            path = f"{torch.folder}/torch/lib/{name}"
            view.facts.observe("torch.bundled", path, path, detail=path)
    for pattern in WHEELS:
        for name in view.files.names(torch.folder, pattern):
            distribution, _, version = name.removesuffix(".dist-info").rpartition("-")
            path = f"{torch.folder}/{name}"
            view.facts.observe("torch.wheel", version, path, detail=distribution.replace("_", "-"))


def torch_child_probe(view: NodeView, torch: Torch | None, interpreter: str = "") -> Torch:
    """What torch says in a fresh process.

    Raises `Absent` where no interpreter has torch, `ProbeFailed` where its import fails, hangs or prints garbage.
    """
    chosen = interpreter or (torch.interpreter if torch else "") or "python3"
    result = view.run(*child_argv(chosen, TORCH), timeout=SECONDS)
    if not result.ok:
        raise ProbeFailed(result.failure)
    report = parse_report(result.stdout)
    if error := report.get("error"):
        if torch is None and "No module named 'torch'" in str(error):
            raise Absent(f"{chosen} has no torch")
        state_import_error(view, str(error), chosen)
        raise ProbeFailed(f"import torch: {error}")
    asked = torch or Torch()
    take_over(asked, report)
    state_report(view, report, f"{chosen} (fresh process)")
    return asked


def state_import_error(view: NodeView, error: str, interpreter: str) -> None:
    """The fact that a library is missing or does not fit, where the import fails for that: any other failure may be
    that of an environment which is not the one torch is used in."""
    if LIBRARY_ERROR.search(error):
        view.facts.observe("torch.import_error", " ".join(error.split())[:300], f"{interpreter} (fresh process)")


def parse_report(text: str) -> dict[str, Any]:
    """The object that the child printed; other output may stand before it."""
    try:
        data = json.loads(text[max(text.find("{"), 0) :])
    except (ValueError, RecursionError):
        raise ProbeFailed("the torch child printed no JSON") from None
    if not isinstance(data, dict):
        raise ProbeFailed("the torch child printed other JSON than it should")
    return data


def take_over(torch: Torch, report: Mapping[str, Any]) -> None:
    """What a running torch says counts more than its files."""
    torch.report = report
    torch.version = text_of(report, "torch") or torch.version
    torch.hip = text_of(report, "torch.version.hip") or torch.hip
    torch.cuda = text_of(report, "torch.version.cuda") or torch.cuda


def text_of(report: Mapping[str, Any], key: str) -> str | None:
    """A string of the report, or None."""
    value = report.get(key)
    return value if isinstance(value, str) else None


LIBRARY_ERROR = re.compile(r"cannot open shared object file|undefined symbol|version `[^']+' not found")
"""What the dynamic linker says of a library that is not there or is another one."""

REPORTED = {
    "cuda_error": "torch.cuda_error",
    "driver_library": "torch.driver_library",
    "torch.cuda.is_available": "torch.cuda_available",
    "torch.cuda.device_count": "torch.device_count",
    "device_name": "torch.device_name",
    "torch.backends.cuda.matmul.allow_tf32": "torch.matmul_allow_tf32",
    "torch.backends.cudnn.allow_tf32": "torch.cudnn_allow_tf32",
    "torch.backends.cudnn.benchmark": "torch.cudnn_benchmark",
    "torch.backends.cudnn.deterministic": "torch.cudnn_deterministic",
    "torch.are_deterministic_algorithms_enabled": "torch.deterministic_algorithms",
    "torch.get_float32_matmul_precision": "torch.float32_matmul_precision",
    "torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction": "torch.bf16_reduced_precision_reduction",
    "torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction": "torch.fp16_reduced_precision_reduction",
}
"""Key of the report -> key of the observation."""


def state_report(view: NodeView, report: Mapping[str, Any], source: str) -> None:
    """Facts of the fresh process: its defaults, not those of a training script."""
    for theirs, ours in REPORTED.items():
        value = report.get(theirs)
        if value is not None and fits(ours, value):
            view.facts.observe(ours, value, source, detail="fresh process")
    if arch := arch_of(report):
        view.facts.observe("torch.arch", arch, source)
    if build := re.search(r"BUILD_TYPE=(\w+)", text_of(report, "torch.__config__.show") or ""):
        view.facts.observe("torch.build_type", build[1], source)


def arch_of(report: Mapping[str, Any]) -> str | None:
    """gfx942 or sm_90 of the first device as torch says it; features like :sramecc+ are left out."""
    capability = report.get("capability")
    if name := text_of(report, "gcnArchName"):
        return name.partition(":")[0]
    if isinstance(capability, list) and len(capability) == 2:
        return f"sm_{capability[0]}{capability[1]}"
    return None
