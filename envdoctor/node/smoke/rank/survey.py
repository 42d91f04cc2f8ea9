"""What torch sees of the node, asked in a process of its own, so that the fork server never touches a GPU."""

from __future__ import annotations

import os
from typing import Any

import torch
import torch.distributed as dist

from . import worker

MASKS = ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL")


def facts() -> dict[str, Any]:
    """Versions, backends, GPUs with free memory, and the masks of the environment."""
    shm = os.statvfs("/dev/shm") if os.path.isdir("/dev/shm") else None  # noqa: PTH112
    return {
        "torch": torch.__version__,
        "cuda": torch.version.cuda,
        "hip": torch.version.hip,
        "nccl": dist.is_available() and dist.is_nccl_available(),
        "gloo": dist.is_available() and dist.is_gloo_available(),
        "masks": {name: os.environ[name] for name in MASKS if name in os.environ},
        "shm_free": shm.f_bavail * shm.f_frsize if shm else None,
        "libraries": worker.mapped_libraries(),
        "gpus": [gpu(index) for index in range(torch.cuda.device_count())] if torch.cuda.is_available() else [],
    }


def gpu(index: int) -> dict[str, Any]:
    """Name, architecture, memory in bytes and compute units of one GPU."""
    properties = torch.cuda.get_device_properties(index)
    arch = getattr(properties, "gcnArchName", "") if torch.version.hip else f"sm_{properties.major}{properties.minor}"
    free, total = torch.cuda.mem_get_info(index)
    return {
        "name": properties.name,
        "arch": arch.split(":")[0],
        "units": properties.multi_processor_count,
        "free": free,
        "total": total,
    }
