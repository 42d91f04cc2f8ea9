"""What torch says in a fresh process, as JSON: the text of this file is run by the interpreter that has torch.

Written for any Python from 3.6 on; imports nothing of this package. What a device or release does not answer is null.
"""

# envdoctor: what torch is (recordings know the script by this line)

import os
import sys

sys.path[:] = [path for path in sys.path if path]  # no module of the current folder

import ctypes  # noqa: E402
import importlib  # noqa: E402
import json  # noqa: E402
import re  # noqa: E402
from typing import Any  # noqa: E402

WANTED = re.compile(r"/lib(nccl|rccl|amdhip64|MIOpen|hsa-runtime64|cudart|torch_hip|torch_cuda)[^/]*\.so[^/]*$")
SWITCHES = (
    "torch.backends.cuda.matmul.allow_tf32",
    "torch.backends.cudnn.allow_tf32",
    "torch.backends.cudnn.benchmark",
    "torch.backends.cudnn.deterministic",
    "torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction",
    "torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction",
)
QUESTIONS = (
    "torch.are_deterministic_algorithms_enabled",
    "torch.get_float32_matmul_precision",
    "torch.cuda.is_available",
    "torch.cuda.device_count",
    "torch.cuda.nccl.version",
    "torch.__config__.show",
)


def mapped() -> "list[str]":
    """GPU libraries in this process's memory map, in its order."""
    paths = []  # type: list[str]
    try:
        with open("/proc/self/maps") as lines:  # noqa: PTH123
            for line in lines:
                path = line.split(None, 5)[5].strip() if line.count("/") else ""
                if WANTED.search(path) and path not in paths:
                    paths.append(path)
    except OSError:
        pass
    return paths


def version_code(path: "str | None") -> "int | None":
    """What ncclGetVersion of a library says; None is the process's own global scope."""
    code = ctypes.c_int(-1)
    try:
        failed = ctypes.CDLL(path).ncclGetVersion(ctypes.byref(code))
    except (OSError, AttributeError):
        return None
    return None if failed else code.value


def ask(torch: Any, name: str) -> Any:
    """The value at a dotted name below torch, called if it is a function."""
    value = torch
    try:
        for part in name.split(".")[1:]:
            value = getattr(value, part)
        return value() if callable(value) else value
    except (AttributeError, RuntimeError, AssertionError, ImportError, OSError):
        return None


def devices(torch: Any, report: "dict[str, Any]") -> None:
    """Name and architecture of the first device, and of each, if there is one; else why there is none."""
    if not report["torch.cuda.is_available"]:
        why_blind(torch, report)
        return
    try:
        each = [torch.cuda.get_device_properties(index) for index in range(torch.cuda.device_count())]
    except (RuntimeError, AssertionError):
        return
    report["devices"] = [
        {"name": one.name, "arch": arch(torch, one), "memory_bytes": getattr(one, "total_memory", None),
         "units": getattr(one, "multi_processor_count", None)}
        for one in each
    ]  # fmt: skip
    for one in each[:1]:
        report["device_name"] = one.name
        report["gcnArchName"] = getattr(one, "gcnArchName", None) if torch.version.hip else None
        if not report["gcnArchName"]:
            report["capability"] = [one.major, one.minor]


def arch(torch: Any, one: Any) -> str:
    """`gfx942:sramecc+:xnack-` or `sm_90`."""
    return str(getattr(one, "gcnArchName", "") if torch.version.hip else "") or f"sm_{one.major}{one.minor}"


def why_blind(torch: Any, report: "dict[str, Any]") -> None:
    """What torch itself says where it sees no device, and whether the driver's library can be loaded."""
    try:
        torch.cuda.init()
    except (RuntimeError, AssertionError, AttributeError, OSError) as error:
        report["cuda_error"] = str(error).strip().split("\n")[0][:300]
    if getattr(torch.version, "cuda", None):
        try:
            ctypes.CDLL("libcuda.so.1")
        except OSError as error:
            report["driver_library"] = str(error)


def collectives(report: "dict[str, Any]") -> None:
    """Which libraries are mapped, and what each collectives library among them says of itself."""
    report["mapped"] = mapped()
    libraries = [path for path in report["mapped"] if re.search(r"/lib[nr]ccl\.so[^/]*$", path)]
    report["ncclGetVersion.by_path"] = {path: version_code(path) for path in libraries}
    report["ncclGetVersion.global"] = version_code(None)


def main() -> None:
    """Print the report, and nothing else: what imports print goes to standard error."""
    answer = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    try:
        torch = importlib.import_module("torch")
    except (ImportError, OSError, AttributeError, RuntimeError) as error:
        json.dump({"error": f"{type(error).__name__}: {error}"}, answer)
        return
    report = {"torch": torch.__version__, "device_name": None, "gcnArchName": None}  # type: dict[str, Any]
    report["torch.version.hip"] = getattr(torch.version, "hip", None)
    report["torch.version.cuda"] = getattr(torch.version, "cuda", None)
    for name in SWITCHES + QUESTIONS:
        report[name] = ask(torch, name)
    devices(torch, report)
    collectives(report)
    json.dump(report, answer, indent=1, default=str)


if __name__ == "__main__":
    main()
