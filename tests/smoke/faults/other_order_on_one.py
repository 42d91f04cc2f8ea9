"""Rank 1 adds the parts from the last to the first, the others from the first to the last."""

import torch
import torch.distributed as dist


def all_reduce(tensor, context):
    parts = [torch.empty_like(tensor) for _ in range(context["world"])]
    dist.all_gather(parts, tensor)
    if context["rank"] == 1:
        parts.reverse()
    total = parts[0].clone()
    for part in parts[1:]:
        total += part
    tensor.copy_(total)
