"""A library that always adds by pairs: the positive control then shows no difference."""

import torch
import torch.distributed as dist


def all_reduce(tensor, context):
    parts = [torch.empty_like(tensor) for _ in range(context["world"])]
    dist.all_gather(parts, tensor)
    while len(parts) > 1:
        pairs = [parts[index : index + 2] for index in range(0, len(parts), 2)]
        parts = [pair[0] + pair[1] if len(pair) == 2 else pair[0] for pair in pairs]
    tensor.copy_(parts[0])
