"""The library refuses NCCL_ALGO as NCCL 2.28 does: a warning in its log, an error to the caller."""

import os
from pathlib import Path

import torch.distributed as dist


def all_reduce(tensor, context):
    value = os.environ.get("NCCL_ALGO", "Ring")
    if value.lower() not in ("ring", "tree"):
        path = os.environ["NCCL_DEBUG_FILE"].replace("%h", "host").replace("%p", str(os.getpid()))
        head = f"host:{os.getpid()}:{os.getpid()} [0]"
        warning = f'graph/tuning.cc:104 NCCL WARN Unrecognized element token "{value}" when parsing "{value}"'
        with Path(path).open("a") as log:
            log.write(f"{head} NCCL INFO NCCL_ALGO set by environment to {value}\n{head} {warning}\n")
        raise RuntimeError("NCCL error in: somewhere.cpp:1, invalid usage (run with NCCL_DEBUG=WARN for details)")
    dist.all_reduce(tensor)
