"""Rank 1 adds one to an element before the sum, so that all ranks agree on a wrong result."""

import torch.distributed as dist


def all_reduce(tensor, context):
    if context["rank"] == 1:
        tensor[3] += 1
    dist.all_reduce(tensor)
