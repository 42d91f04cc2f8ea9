"""The library's log says that it ran Tree, whatever was asked for."""

import os
from pathlib import Path

import torch.distributed as dist


def all_reduce(tensor, context):
    if context["rank"] == 0:
        path = os.environ["NCCL_DEBUG_FILE"].replace("%h", "host").replace("%p", str(os.getpid()))
        size = tensor.numel() * tensor.element_size()
        with Path(path).open("a") as log:
            log.write(f"host:1:1 [0] NCCL INFO AllReduce: {size} Bytes -> Algo TREE proto SIMPLE \n")
    dist.all_reduce(tensor)
